"""Pages to test in a browser, of runs that were made for it: ``python -m tests.browser.pages DIR``."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from pytest_agentbench.cli import main
from pytest_agentbench.execution import Attempt, Usage
from pytest_agentbench.grade import CheckResult, CriterionVerdict, Grade, RubricGrade
from pytest_agentbench.record import PlannedTrial, Record, ScenarioFacts
from pytest_agentbench.report.ledger import encode
from pytest_agentbench.report.plan import Plan, save_plan
from pytest_agentbench.scenario.model import DIMENSIONS
from pytest_agentbench.scenario.rubric import Criterion, Rubric
from pytest_agentbench.scoring.rubric import grade_rubric
from pytest_agentbench.status import Status
from pytest_agentbench.trace.canonical import to_json
from pytest_agentbench.trace.events import Event, EventKind
from tests.made_skills import every

#: What a page must show and never run. The first mark of each is what a test looks for.
HOSTILE = (
    "<img src=x onerror=\"document.title='pwned'\">",
    "</script><script>document.title='pwned'</script>",
    "javascript:document.title='pwned'",
    "\u2028document.title='pwned'\u2029",
    "<!--<script>document.title='pwned'",
    "\u202egnp.exe\x1b[31m\x00",
    "\ud800 half a pair",
    "{{script}} ${1} ]]> &lt;b&gt;",
)


def trials(scenarios: int, count: int, runtimes: int) -> Iterator[PlannedTrial]:
    names = list(DIMENSIONS)
    for place in range(runtimes):
        for number in range(scenarios):
            facts = ScenarioFacts(
                id=f"s{number:03}",
                name=f"Scenario {number}",
                dimension=names[number % len(names)],
                difficulty=("easy", "medium", "hard", "expert")[number % 4],
                tags=(f"tag{number % 3}",),
            )
            for index in range(1, count + 1):
                yield PlannedTrial(
                    key=f"{place:02x}{number:04x}{index:058x}",
                    node_id=f"scenarios/{facts.id}.yaml::{facts.id}[r{place}-baseline-t{index}]",
                    scenario=facts,
                    runtime=f"r{place}",
                    adapter="minimal",
                    model="m",
                    mode="baseline",
                    index=index,
                )


def ended(trial: PlannedTrial, rng: random.Random, hostile: tuple[str, ...]) -> Record:
    """A record; each field that an agent may have a say in holds all of ``hostile``."""
    said = " ".join(hostile)
    if rng.random() < 0.05:
        return trial.end(Status.PROVIDER_ERROR, message=f"answered 503 {said}", flags=(*hostile,))
    passed = rng.random() < 0.7
    checks = (
        CheckResult(id="word", type="json_path", points=2.0, earned=2.0, passed=True),
        CheckResult(
            id=f"approval {said}",
            type="json_path",
            points=1.0,
            earned=float(passed),
            passed=passed,
            detail=f"detail {said}",
            expected=f"expected {said}",
            found=f"found {said}",
            flags=hostile,
        ),
    )
    score = 1.0 if passed else 0.5
    return trial.end(
        Status.COMPLETED,
        message=said,
        grade=Grade(
            policy="composite",
            threshold=0.6,
            checks=checks,
            score=score,
            capability=score,
            correctness=score,
            process=1.0,
            strict=passed,
            loose=score,
            passed=passed,
            sub_problems={"1": score, said: 0.25} if hostile else {"1": score},
            flags=hostile,
            notes=said,
            rubric=judged(passed, hostile) if hostile else None,
        ),
        steps=rng.randint(2, 9),
        tool_calls=rng.randint(2, 9),
        usage=Usage(input_tokens=rng.randint(100, 999), output_tokens=0, cost_usd=rng.random()),
        seconds=rng.random(),
        attempts=(Attempt(status=Status.PROVIDER_ERROR, message=said or "503", seconds=1.0),)
        if hostile
        else (),
        flags=hostile,
        sandbox=said or "bwrap",
        observed={"runtime_version": said or "1.2.3"},
    )


def judged(passed: bool, hostile: tuple[str, ...]) -> RubricGrade:
    """A judge's verdicts, of which every text repeats what the agent wrote."""
    said = " ".join(hostile)
    criterion = Criterion(
        id=f"cause {said}",
        statement="The agent names the cause.",
        kind="completion",
        category="durable_artifact",
        gatekeeper=True,
    )
    verdict = CriterionVerdict.of(criterion, passed, reason=said, quotes=hostile, flags=hostile)
    rubric = Rubric(criteria=(criterion,), path=Path("x.rubric.yaml"))
    return grade_rubric(rubric, [verdict], judges=(f"judge {said}",), message=said)


def run(folder: Path, planned: tuple[PlannedTrial, ...], hostile: tuple[str, ...] = ()) -> None:
    """Write the folder of a run with records and evidence of ``planned``."""
    folder.mkdir(parents=True)
    save_plan(folder / "plan.json", Plan(trials=planned))
    rng = random.Random(1)
    with (folder / "ledger.jsonl").open("wb") as file:
        for trial in planned:
            file.write(encode(ended(trial, rng, hostile).to_json()))
            leave(folder / "trials" / trial.key, " ".join(hostile) or "nothing", rng)


def leave(folder: Path, said: str, rng: random.Random) -> None:
    folder.mkdir(parents=True)
    events = [
        Event(kind=EventKind.USER, text=said, time=0.0),
        Event(kind=EventKind.CALL, tool="read", args={"path": said}, time=0.5, native_name=said),
        Event(kind=EventKind.RESULT, tool="read", text=said, status=200, time=0.75),
        Event(kind=EventKind.ASSISTANT, text=f"{said} {rng.random()}", time=1.0),
    ]
    (folder / "trace.jsonl").write_text("".join(json.dumps(to_json(e)) + "\n" for e in events))
    lines = "".join(f"+{said} {rng.random()}\n" for _ in range(40))
    for name, text in {
        "prompt.txt": said,
        "stdout": said,
        "stderr": said,
        "workspace.diff": f"--- a/{said}\n+++ b/{said}\n@@ -0,0 +1,40 @@\n{lines}",
    }.items():
        (folder / name).write_bytes(text.encode("utf-8", "surrogatepass"))


def build(into: Path) -> None:
    run(into / "hostile", tuple(trials(7, 3, 2)), HOSTILE)
    run(into / "large", tuple(trials(50, 5, 4)))
    every(into / "skills", " ".join(HOSTILE))
    for name in ("hostile", "large", "skills"):
        page = into / f"{name}.html"
        assert main(["report", str(into / name), "--format", "html", "-o", str(page)]) == 0


if __name__ == "__main__":
    build(Path(sys.argv[1]))
