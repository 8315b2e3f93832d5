"""Eight runs at once: none of them knows of another."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_agentbench.conformance import tasks
from pytest_agentbench.conformance.conftest import Contract
from pytest_agentbench.conformance.rig import Rig, Seen
from pytest_agentbench.scenario.model import Step

RUNS = 8


@pytest.mark.clause("parallel.apart")
def test_apart(contract: Contract, rig: Rig) -> None:
    words = [f"word{secrets.token_hex(8)}" for _ in range(RUNS)]
    limit = rig.limit * RUNS

    def run(word: str) -> Seen:
        steps = (
            Step(verb="write", path=f"{word}.txt", content=f"{word}\n"),
            tasks.read(f"{word}.txt"),
            tasks.say(f"My word is {word}."),
        )
        task = tasks.task("conformance-apart", steps, prompt=f"Your word is {word}.")
        return rig.run(task, seconds=limit)

    with ThreadPoolExecutor(RUNS) as pool:
        found = list(pool.map(run, words))
    for word, seen in zip(words, found, strict=True):
        contract.done(seen)
        trace = "\n".join(
            f"{event.text} {dict(event.args)} {dict(event.native)}"
            for event in seen.execution.trace.events
        )
        for place, text in (("transcript", trace), ("requests", seen.heard.bodies)):
            contract.holds(word in text, f"the {place} of the run with {word} does not name it")
            others = [other for other in words if other != word and other in text]
            contract.holds(not others, f"the {place} of the run with {word} names {others}")
        contract.holds(
            [name for name in seen.files if name.startswith("word")] == [f"{word}.txt"],
            f"the workspace of the run with {word} has {', '.join(seen.files)}",
        )
