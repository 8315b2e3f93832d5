from __future__ import annotations

import dataclasses
import errno
import json
import multiprocessing
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_agentbench.execution import Usage
from pytest_agentbench.grade import Grade
from pytest_agentbench.record import PlannedTrial, Record, ScenarioFacts, closed_line
from pytest_agentbench.report.ledger import Ledger, LedgerError, LedgerView, read
from pytest_agentbench.report.plan import Plan, PlanError, read_plan, write_plan
from pytest_agentbench.status import Status, TrialFault


def record(
    key: str, status: Status = Status.COMPLETED, score: float = 0.5, message: str = ""
) -> Record:
    graded = status.policy.graded
    return Record(
        key=key,
        node_id=f"a.yaml::{key}",
        scenario=ScenarioFacts(id="a"),
        runtime="r",
        adapter="r",
        model="",
        mode="baseline",
        index=1,
        status=status,
        message=message,
        grade=Grade(policy="composite", threshold=0.6, score=score) if graded else None,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "ledger.jsonl"


def test_what_is_appended_is_read_back(path: Path) -> None:
    ledger = Ledger(path)
    for key in ("a", "b"):
        ledger.append(record(key).to_json())
    view = read(path)
    assert view.records == {"a": record("a"), "b": record("b")}
    assert (view.lines, view.torn, view.foreign) == (2, 0, 0)


def test_a_ledger_that_does_not_exist_is_empty(path: Path) -> None:
    assert read(path) == LedgerView()


def test_the_closed_line_completes_the_record_before_it(path: Path) -> None:
    ledger = Ledger(path)
    ledger.append(record("a").to_json())
    ledger.append(record("b").to_json())
    ledger.append(closed_line("a", ("sleep 99",)))
    records = read(path).records
    assert (records["a"].closed, records["a"].survivors) == (True, ("sleep 99",))
    assert not records["b"].closed
    ledger.append(record("a", score=0.75).to_json())
    assert not read(path).records["a"].closed


def test_the_last_score_of_a_key_wins(path: Path) -> None:
    ledger = Ledger(path)
    for score in (0.25, 0.75):
        ledger.append(record("a", score=score).to_json())
    view = read(path)
    counted = dataclasses.replace(record("a", score=0.75), flags=("graded_again",))
    assert view.records == {"a": counted}
    assert [r.grade.score for r in view.history["a"] if r.grade] == [0.25, 0.75]


def test_a_score_stands_against_a_later_loss_of_the_worker(path: Path) -> None:
    ledger = Ledger(path)
    ledger.append(record("a").to_json())
    ledger.append(record("a", Status.WORKER_LOST).to_json())
    assert read(path).records["a"] == record("a")


def test_records_without_a_score_become_attempts_of_the_one_that_counts(path: Path) -> None:
    ledger = Ledger(path)
    ledger.append(record("a", Status.NOT_STARTED).to_json())
    ledger.append(record("a", Status.PROVIDER_ERROR, message="503").to_json())
    ledger.append(record("a", Status.INTERRUPTED).to_json())
    ledger.append(record("a", Status.WORKER_LOST, message="gw1").to_json())
    assert read(path).records["a"].status is Status.WORKER_LOST
    ledger.append(record("a").to_json())
    found = read(path).records["a"]
    assert found.graded
    assert [(a.status, a.message) for a in found.attempts] == [
        (Status.PROVIDER_ERROR, "503"),
        (Status.WORKER_LOST, "gw1"),
    ]


def test_a_torn_tail_is_repaired_by_the_next_append(path: Path) -> None:
    ledger = Ledger(path)
    ledger.append(record("a").to_json())
    whole = path.read_bytes()
    for cut in (1, len(whole) // 2, len(whole) - 2):
        path.write_bytes(whole + whole[:cut])
        assert read(path).torn == 1
        ledger.append(record("b").to_json())
        view = read(path)
        assert view.records == {"a": record("a"), "b": record("b")}
        assert (view.lines, view.torn) == (3, 1)


def test_lines_that_are_no_records_are_counted_and_skipped(path: Path) -> None:
    Ledger(path).append(record("a").to_json())
    broken = record("b").to_json()
    del broken["status"]
    lines = [
        b"\xff\xfe",
        b"[1]",
        b"[" * 100_000,
        b"",
        json.dumps(broken).encode(),
        json.dumps(closed_line("nobody", ())).encode(),
        b'{"event": "note"}',
        b"{}",
        json.dumps(record("c").to_json() | {"status": "unheard_of"}).encode(),
    ]
    with path.open("ab") as file:
        file.write(b"\n".join(lines) + b"\n")
    view = read(path)
    assert view.records == {"a": record("a")}
    assert (view.lines, view.torn, view.foreign) == (9, 3, 5)


def test_another_major_schema_is_refused(path: Path) -> None:
    Ledger(path).append(record("a").to_json())
    Ledger(path).append(record("b").to_json() | {"schema": "2.0"})
    with pytest.raises(LedgerError) as caught:
        read(path)
    assert str(caught.value) == (
        "ledger.jsonl:2: record schema '2.0'; this version of pytest-agentbench reads schema 1.x. "
        "Read the ledger with the version that wrote it, or choose another --run-dir"
    )


def test_what_json_does_not_have_is_written_as_null_or_text(path: Path) -> None:
    hostile = dataclasses.replace(
        record("a", message="\udcff\n\x00"),
        usage=Usage(cost_usd=float("nan")),
        observed={"where": Path("x"), "speed": [float("inf")]},
    )
    Ledger(path).append(hostile.to_json())
    found = read(path).records["a"]
    assert found.message == "\udcff\n\x00"
    assert found.usage.cost_usd is None
    assert found.observed == {"where": "x", "speed": [None]}


def _append_many(path: Path, worker: int) -> None:
    ledger = Ledger(path)
    for number in range(25):
        key = f"{worker}-{number}"
        ledger.append(record(key, message="x" * (worker * 3_000)).to_json())


def test_eight_processes_append_at_once(path: Path) -> None:
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_append_many, args=(path, n)) for n in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    view = read(path)
    assert [worker.exitcode for worker in workers] == [0] * 8
    assert (view.lines, view.torn, view.foreign) == (200, 0, 0)
    assert view.records.keys() == {f"{w}-{n}" for w in range(8) for n in range(25)}


@pytest.fixture
def small_files() -> Iterator[None]:
    """Files of this process may not grow beyond 4 KiB: a disk that fills up within a line."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, before)


def test_a_line_that_does_not_fit_leaves_nothing_behind(path: Path, small_files: None) -> None:
    ledger = Ledger(path)
    ledger.append(record("a").to_json())
    before = path.read_bytes()
    with pytest.raises(OSError, match="File too large") as caught:
        ledger.append(record("b", message="x" * 8_000).to_json())
    assert caught.value.errno == errno.EFBIG
    assert path.read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_a_fault_of_its_own(tmp_path: Path) -> None:
    full = tmp_path / "ledger.jsonl"
    full.symlink_to("/dev/full")
    with pytest.raises(TrialFault) as caught:
        Ledger(full).append(record("a").to_json())
    assert caught.value.status is Status.NO_SPACE
    assert str(caught.value) == (
        "ledger.jsonl: no space left to record a trial; what was recorded so far is kept, "
        "free some space and run again with the same --run-dir to go on"
    )


def planned(scenario: str, index: int = 1, lock: str = "") -> PlannedTrial:
    return PlannedTrial(
        key=f"{scenario}{index}{lock}",
        node_id=f"{scenario}.yaml::{scenario}[r-baseline-t{index}]",
        scenario=ScenarioFacts(id=scenario, tags=("x",)),
        runtime="r",
        adapter="r",
        model="",
        mode="baseline",
        index=index,
    )


def test_a_plan_comes_back_equal(tmp_path: Path) -> None:
    path = tmp_path / "new" / "plan.json"
    plan = write_plan(path, [planned("b"), planned("a")], profile="full")
    assert plan == Plan(trials=(planned("b"), planned("a")), profile="full")
    assert read_plan(path) == plan
    assert sorted(p.name for p in path.parent.iterdir()) == [".lock", "plan.json"]


def test_plans_merge_in_a_stable_order(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_plan(path, [planned("b"), planned("a")])
    before = path.read_bytes()
    write_plan(path, [planned("a"), planned("b")])
    assert path.read_bytes() == before
    assert write_plan(path, [planned("c"), planned("a", 2)]).trials == (
        planned("b"),
        planned("a"),
        planned("c"),
        planned("a", 2),
    )


def _plan_one(path: Path, number: int) -> None:
    write_plan(path, [planned("a", number)])


def test_processes_that_plan_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run" / "plan.json"
    with multiprocessing.get_context("fork").Pool(8) as pool:
        pool.starmap(_plan_one, [(path, number) for number in range(1, 41)])
    assert sorted(trial.index for trial in read_plan(path).trials) == list(range(1, 41))


def test_a_changed_scenario_takes_the_place_of_its_former_version(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_plan(path, [planned("a"), planned("b")], profile="core")
    plan = write_plan(path, [planned("a", lock="changed")])
    assert plan.trials == (planned("a", lock="changed"), planned("b"))
    assert plan.profile == ""


def test_a_file_that_is_no_plan_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("[]")
    with pytest.raises(PlanError) as caught:
        write_plan(path, [planned("a")])
    assert str(caught.value) == (
        "plan.json: not a plan of pytest-agentbench (TypeError: list indices must be integers or "
        "slices, not str). Remove the file, or choose another --run-dir"
    )
    assert path.read_text() == "[]"


def test_a_plan_of_another_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text('{"schema": "3.0"}')
    with pytest.raises(PlanError) as caught:
        read_plan(path)
    assert str(caught.value) == (
        "plan.json: plan schema 3.0; this version of pytest-agentbench reads schema 1.0. "
        "Read it with the version that wrote it, or choose another --run-dir"
    )
