"""Trials that must not run side by side, and trials that wait for a provider to recover."""

from __future__ import annotations

import fcntl
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_agentbench import slots
from pytest_agentbench.pace import FIRST, LONGEST, Pace
from pytest_agentbench.status import Status
from tests.project import Project

CAPPED = """
[tool.agentbench.runtimes.heavy]
adapter = "command"
argv = ["sh", "-c", "sleep 0.3"]
max_concurrent = 1

[tool.agentbench.runtimes.light]
adapter = "oracle"
"""


def overlapping(spans: list[tuple[float, float]]) -> int:
    """The most that were under way at once."""
    moments = sorted([(began, 1) for began, _ in spans] + [(ended, -1) for _, ended in spans])
    most = now = 0
    for _, change in moments:
        now += change
        most = max(most, now)
    return most


def spans(project: Project, runtime: str, run: str = "run") -> list[tuple[float, float]]:
    return [
        (r["started"], r["started"] + r["seconds"])
        for r in project.records(run)
        if r["runtime"] == runtime
    ]


def test_a_profile_caps_how_many_of_it_run_at_once(project: Project) -> None:
    project.write("pyproject.toml", CAPPED)
    project.bench("--trials=4", "-n", "2", runtime="heavy").assert_outcomes(failed=4)
    assert overlapping(spans(project, "heavy")) == 1


MEETING = """
import os, time
import pytest

def pytest_collection_finish(session):
    (session.config.rootpath / f"there-{os.getpid()}").touch()
    while len(list(session.config.rootpath.glob("there-*"))) < 2:
        time.sleep(0.01)
"""


def test_two_runs_share_the_places_of_a_machine(project: Project) -> None:
    project.write("pyproject.toml", CAPPED)
    project.write("conftest.py", MEETING)
    argv = (sys.executable, "-mpytest", "scenarios", "--runtime=heavy", "--trials=3", "-q")
    runs = [
        subprocess.Popen((*argv, f"--run-dir={name}"), cwd=project.path, stdout=subprocess.DEVNULL)
        for name in ("one", "two")
    ]
    assert [run.wait(120) for run in runs] == [1, 1]
    both = spans(project, "heavy", "one") + spans(project, "heavy", "two")
    assert len(both) == 6
    assert overlapping(both) == 1
    waited = [r["observed"].get("waited", {}) for r in project.records("one")]
    waited += [r["observed"].get("waited", {}) for r in project.records("two")]
    assert any(each.get("place", 0) > 0 for each in waited)


ORDER = """
import fcntl
import pytest
from pytest_agentbench import slots

def pytest_timeout_set_timer(item, settings):
    with (slots.folder() / "heavy.0").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            (item.config.rootpath / "had").touch()
"""


def test_whoever_waits_for_a_place_is_not_timed_yet(project: Project) -> None:
    project.write("pyproject.toml", CAPPED)
    project.write("conftest.py", ORDER)
    project.bench(runtime="heavy").assert_outcomes(failed=1)
    assert (project.path / "had").exists()


def test_a_place_goes_with_the_process_that_holds_it(project: Project) -> None:
    cap = slots.Cap(name="a/b", most=1)
    slots.prepare()
    code = (
        "from pytest_agentbench import slots\n"
        "with slots.place(slots.Cap(name='a/b', most=1)):\n"
        "    print('held', flush=True)\n"
        "    input()\n"
    )
    argv = (sys.executable, "-c", code)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with (slots.folder() / "a%2Fb.0").open() as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        holder.kill()
    with slots.place(cap) as waited:
        assert waited == 0


def test_a_run_that_waits_for_a_place_can_be_stopped(project: Project, workers: list[str]) -> None:
    project.write("pyproject.toml", CAPPED)
    slots.prepare()
    argv = (sys.executable, "-mpytest", "scenarios", "--runtime=heavy", "--run-dir=run", *workers)
    with slots.place(slots.Cap(name="heavy", most=1)):
        run = subprocess.Popen(argv, cwd=project.path, stdout=subprocess.DEVNULL)
        while not (project.path / "run" / "plan.json").exists():
            time.sleep(0.01)
        time.sleep(0.5)  # the plan is a worker's: its controller has yet to hear of the trial
        run.send_signal(signal.SIGINT)
        assert run.wait(60) == pytest.ExitCode.INTERRUPTED
    assert [r["status"] for r in project.records()] == ["not_started"]


def test_a_capped_runtime_does_not_hold_up_others(project: Project) -> None:
    """One worker waits for nobody while there is something that it may start."""
    project.write("pyproject.toml", CAPPED)
    args = ("--runtime=light", "--trials=4", "-n", "2")
    project.bench(*args, runtime="heavy").assert_outcomes(passed=4, failed=4)
    assert [r for r in project.records() if "waited" in r["observed"]] == []


def test_an_adapter_may_cap_itself_and_a_profile_overrides_it(project: Project) -> None:
    project.write(
        "conftest.py",
        """
from pytest_agentbench.runtimes.oracle import Oracle

class Hungry(Oracle):
    max_concurrent = 1

def pytest_agentbench_runtimes():
    return {"hungry": Hungry}
""",
    )
    project.write(
        "pyproject.toml",
        "[tool.agentbench.runtimes.fed]\nadapter = 'hungry'\nmax_concurrent = 7\n",
    )
    project.run("scenarios", "--runtime=hungry", "--runtime=fed").assert_outcomes(passed=2)
    assert sorted(path.name for path in slots.folder().iterdir()) == ["fed.0", "hungry.0"]


@pytest.mark.parametrize("value", ["0", "'2'", "true"])
def test_a_wrong_cap_is_refused(project: Project, value: str) -> None:
    table = f"[tool.agentbench.runtimes.mine]\nadapter = 'nop'\nmax_concurrent = {value}\n"
    project.write("pyproject.toml", table)
    shown = {"0": "0", "'2'": "'2'", "true": "True"}[value]
    assert (
        "ERROR: [tool.agentbench.runtimes.mine]: max_concurrent must be a whole number from 1 to "
        f"10000, not {shown}"
    ) in project.run("scenarios", "--runtime=mine").errlines


def test_a_cap_that_cannot_be_kept_is_refused(project: Project) -> None:
    project.write("pyproject.toml", CAPPED)
    project.write(".agentbench", "a file")
    assert (
        f"ERROR: max_concurrent of heavy cannot be kept: {slots.folder()}: Not a directory; set "
        "HOME to a folder that can be written to"
    ) in project.run("scenarios", "--runtime=heavy").errlines


LIMITED = """
[tool.agentbench.defaults]
max_attempts = 1

[tool.agentbench.models.busy]
backend = "scripted"
faults = { "shout-t1" = 429 }
"""


def test_after_a_429_the_next_trial_of_the_model_waits(project: Project) -> None:
    project.write("pyproject.toml", LIMITED)
    args = ("--model=busy", "--model=scripted", "--trials=3")
    project.bench(*args, runtime="minimal").assert_outcomes(passed=5, errors=1)
    waited = {(r["model"], r["index"]): r["observed"].get("waited", {}) for r in project.records()}
    assert 0 < waited["busy", 2].pop("provider") <= FIRST + 1
    assert set(map(str, waited.values())) == {"{}"}  # the second worked, so the third may go


def test_all_workers_wait_for_the_provider(project: Project) -> None:
    """The second trial is held back until the first has failed; then both workers are free."""
    project.write("pyproject.toml", LIMITED)
    project.write(
        "conftest.py",
        """
import pytest, time

@pytest.fixture
def skills(trial, request):
    ledger = request.config.rootpath / "run" / "ledger.jsonl"
    while trial.index == 2 and not (ledger.exists() and "provider_error" in ledger.read_text()):
        time.sleep(0.01)
    if trial.index == 2:
        pytest.skip("held back")
    return ()
""",
    )
    result = project.bench("--model=busy", "--trials=4", "-n", "2", runtime="minimal")
    result.assert_outcomes(passed=2, errors=1, skipped=1)
    by_index = {r["index"]: r for r in project.records()}
    failed = by_index[1]["started"] + by_index[1]["seconds"]
    for later in (3, 4):
        assert by_index[later]["started"] >= failed + FIRST - 0.05


def test_the_pause_doubles_up_to_a_minute_and_ends_with_a_success(tmp_path: Path) -> None:
    pace = Pace(tmp_path, "some/model")
    pauses = []
    for _ in range(9):
        pace.note(Status.PROVIDER_ERROR, time.monotonic())
        pauses.append(pace.left())
    expected = [min(LONGEST, FIRST * 2**n) for n in range(9)]
    assert pauses == [pytest.approx(seconds, abs=0.5) for seconds in expected]
    assert Pace(tmp_path, "another").left() == 0
    pace.note(Status.HARNESS_ERROR, time.monotonic())
    assert pace.left() > 50
    pace.note(Status.COMPLETED, time.monotonic())
    assert (pace.left(), pace.wait()) == (0, pytest.approx(0, abs=0.1))


def test_workers_that_fail_together_fail_once(tmp_path: Path) -> None:
    pace = Pace(tmp_path, "model")
    began = time.monotonic()
    for _ in range(5):
        pace.note(Status.PROVIDER_ERROR, began)
    assert pace.left() <= FIRST
    pace.note(Status.COMPLETED, began)  # lucky before the others failed
    assert pace.left() > 0
