"""One Inspect evaluation whose solver does nothing: ``python peer_inspect.py SAMPLES LOG_FOLDER``."""

import sys

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import solver


@solver
def idle():
    async def solve(state, generate):
        return state

    return solve


def main(count: int, folder: str) -> None:
    samples = [Sample(id=number, input=f"question {number}", target="x") for number in range(count)]
    task = Task(dataset=MemoryDataset(samples), solver=idle(), scorer=includes())
    # mockllm is Inspect's own stand-in for a model; nothing here calls it.
    (log,) = evaluate(task, model="mockllm/model", log_dir=folder, display="none", max_samples=32)
    assert log.status == "success", log.error
    assert log.results is not None
    assert log.results.completed_samples == count


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
