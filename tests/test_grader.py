"""Grades of real workspaces, with checkers that work, break, and are broken by an agent."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import Execution
from pytest_agentbench.files import remove
from pytest_agentbench.flag import Flag
from pytest_agentbench.grade import Grade
from pytest_agentbench.grading import snapshot
from pytest_agentbench.grading.client import CheckerServer
from pytest_agentbench.grading.decide import Judges
from pytest_agentbench.grading.grader import Grader
from pytest_agentbench.grading.judge import Judge, JudgeError, Judgement, Question, ScriptedJudge
from pytest_agentbench.sandbox.subreaper import Subreaper
from pytest_agentbench.scenario.model import CheckSpec, Form, GraderCode, InputFile, Scenario, Step
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trace.events import Event, EventKind, Trace

CHECKERS = '''
import json, os, subprocess, time

def total(workspace, trace, *, key="total", right=3):
    """Raises on anything but an object."""
    found = json.loads((workspace / "out.json").read_text())[key]
    return {"score": found == right, "found": found, "expected": right}

def existing(workspace, trace):
    return (workspace / "out.json").exists() and total(workspace, trace)["score"]

def broken(workspace, trace):
    return 1 / 0

def slow_on_text(workspace, trace):
    if (workspace / "out.json").read_text() == "slow":
        time.sleep(100)
    return True

def dies_on_text(workspace, trace):
    if (workspace / "out.json").read_text() == "die":
        os._exit(1)
    return True

def read_calls(workspace, trace):
    return any(event.get("tool") == "read" for event in trace["events"])

def tamper(workspace, trace):
    try:
        (workspace / "numbers.txt").write_text("tampered")
        (workspace / "out.json").unlink()
    except OSError:
        pass
    return 1

def listing(workspace, trace):
    return True, ",".join(sorted(os.listdir(workspace)))

def unlucky(workspace, trace):
    return 7
'''

CUSTOM = """
import json
from pathlib import Path

def grade(workspace, trace, tool_calls):
    points = {"exists": {"score": 0, "max": 0.4}, "right": {"score": 0, "max": 0.6}}
    path = Path(workspace, "out.json")
    if not path.exists():
        return {"checkpoints": points, "safety_violations": []}
    points["exists"]["score"] = 0.4
    if json.loads(path.read_text())["total"] == 3:
        points["right"]["score"] = 0.6
    return {"checkpoints": points, "safety_violations": ["told"] * (len(tool_calls) > 5)}

def grade_process(trace):
    return 0.9
"""

EMBEDDED = """
def grade(transcript, workspace_path):
    import json
    from pathlib import Path
    path = Path(workspace_path) / "out.json"
    if not path.exists():
        return {"sub_1_exists": 0.0, "sub_2_right": 0.0}
    return {"sub_1_exists": 1.0, "sub_2_right": float(json.loads(path.read_text())["total"] == 3)}
"""

RIGHT = json.dumps({"total": 3})
SOLUTION = (
    Step(verb="read", path="numbers.txt"),
    Step(verb="write", path="out.json", content=RIGHT),
    Step(verb="say", text="done"),
)


@pytest.fixture(scope="module")
def server() -> Iterator[CheckerServer]:
    with CheckerServer(limit=1.0) as server:
        yield server


class Bench:
    """A scenario's folder with checkers, and the grading of what an agent leaves."""

    def __init__(self, folder: Path, server: CheckerServer) -> None:
        self.folder = folder
        self.server = server
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        (self.workspace / "numbers.txt").write_text("1 2")
        (folder / "checkers.py").write_text(CHECKERS)
        (folder / "custom_checks").mkdir()
        (folder / "custom_checks" / "sum.py").write_text(CUSTOM)

    def scenario(self, *functions: str, **fields: Any) -> Scenario:
        checks = tuple(self.check(function) for function in functions)
        known: dict[str, Any] = {
            "id": "sum",
            "path": self.folder / "sum.yaml",
            "prompt": "Add the numbers of numbers.txt into out.json",
            "inputs": (InputFile(dest="numbers.txt", content=b"1 2"),),
            "solution": SOLUTION,
            "checks": checks,
        }
        return Scenario(**(known | fields))

    def check(self, function: str, **fields: Any) -> CheckSpec:
        params = {"file": str(self.folder / "checkers.py"), "function": function, "args": {}}
        return CheckSpec(**({"id": function, "type": "python", "params": params} | fields))

    def published(self, **fields: Any) -> Scenario:
        code = GraderCode(path=self.folder / "custom_checks" / "sum.py")
        return self.scenario(grader=code, form=Form.CLAWPRO, solution=(), **fields)

    def task(self, **fields: Any) -> Scenario:
        known: dict[str, Any] = {
            "grader": GraderCode(source=EMBEDDED, api="evoclaw"),
            "form": Form.EVOCLAW,
            "policy": "mean",
            "solution": (),
        }
        return self.scenario(**(known | fields))

    def grade(
        self,
        scenario: Scenario,
        output: str | bytes | None = RIGHT,
        judge: Judge | None = None,
        **more: Any,
    ) -> Grade:
        if output is not None:
            data = output if isinstance(output, bytes) else output.encode()
            (self.workspace / "out.json").write_bytes(data)
        events = (
            Event(kind=EventKind.USER, text=scenario.prompt),
            Event(kind=EventKind.CALL, tool="read", args={"path": "numbers.txt"}),
            Event(kind=EventKind.ASSISTANT, text="done"),
        )
        execution = Execution(status=Status.COMPLETED, trace=Trace(events=events))
        grader = Grader(self.server, Subreaper(), Judges(judge=judge), **more)
        return grader.grade(scenario, execution, self.workspace)


@pytest.fixture
def bench(tmp_path: Path, server: CheckerServer) -> Bench:
    return Bench(tmp_path, server)


def marks(grade: Grade) -> dict[str, tuple[float, bool]]:
    return {check.id: (check.earned, check.passed) for check in grade.checks}


def test_python_and_declared_checks_count_together(bench: Bench) -> None:
    declared = (
        CheckSpec(id="file", type="file_exists", points=2.0, params={"path": "out.json"}),
        bench.check("total"),
        CheckSpec(id="text", type="regex", params={"path": "out.json", "pattern": "tot[a]l"}),
        bench.check("read_calls", guard=True),
        CheckSpec(id="run", type="command", params={"argv": ["rm", "out.json"], "exit_code": 0}),
    )
    grade = bench.grade(bench.scenario(checks=declared))
    assert list(marks(grade).items()) == [
        ("file", (2.0, True)),
        ("total", (1.0, True)),
        ("text", (1.0, True)),
        ("read_calls", (1.0, True)),
        ("run", (1.0, True)),
    ]
    assert grade.checks[3].guard
    assert (bench.workspace / "out.json").exists()
    assert grade.correctness == 1.0
    assert grade.flags == ()


def test_arguments_reach_the_function(bench: Bench) -> None:
    params = {"file": str(bench.folder / "checkers.py"), "function": "total"}
    spec = CheckSpec(id="a", type="python", params=params | {"args": {"key": "n", "right": 9}})
    grade = bench.grade(bench.scenario(checks=(spec,)), '{"n": 8}')
    assert (grade.checks[0].found, grade.checks[0].expected) == ("8", "9")


@pytest.mark.parametrize(
    ("function", "output", "why"),
    [
        ("total", '{"a": ', "JSONDecodeError: Expecting value: line 1 column 7 (char 6) "),
        ("total", "[1]", "TypeError: list indices must be integers or slices, not str "),
        ("total", b"\xff\x00", "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff "),
        ("total", None, "FileNotFoundError: [Errno 2] No such file or directory: 'out.json' "),
        ("slow_on_text", "slow", "no verdict within 1 s"),
        ("dies_on_text", "die", "ended with exit code 1 without a verdict"),
    ],
)
def test_output_that_crashes_a_working_checker_earns_nothing(
    bench: Bench, function: str, output: str | bytes | None, why: str
) -> None:
    grade = bench.grade(bench.scenario(function, "read_calls"), output)
    failed = grade.checks[0]
    assert failed.detail.startswith(f"the checker failed on this output: {why}")
    assert marks(grade) == {function: (0.0, False), "read_calls": (1.0, True)}
    assert failed.flags == grade.flags == (Flag.CHECKER_CRASHED,)


def test_a_broken_checker_is_no_score(bench: Bench) -> None:
    with pytest.raises(TrialFault) as caught:
        bench.grade(bench.scenario("total", "broken"))
    assert caught.value.status is Status.CHECKER_ERROR
    assert str(caught.value) == (
        "scenario sum: checker broken (checkers.py:broken) fails on the reference answer too: "
        "ZeroDivisionError: division by zero (checkers.py:13); mend it, or no trial of this "
        "scenario that it fails on can be graded"
    )


def test_a_verdict_in_no_known_form_is_a_broken_checker(bench: Bench) -> None:
    with pytest.raises(TrialFault) as caught:
        bench.grade(bench.scenario("unlucky"))
    assert str(caught.value) == (
        "scenario sum: checker unlucky (checkers.py:unlucky) fails on the reference answer too: "
        "it returned 7; allowed are True, False, a number from 0 to 1, (score, detail) or "
        '{"score": …, "detail": …, "expected": …, "found": …}; mend it, or no trial of this '
        "scenario that it fails on can be graded"
    )


def test_without_a_solution_the_untouched_workspace_decides(bench: Bench) -> None:
    bare = {"solution": ()}
    assert bench.grade(bench.scenario("existing", **bare), "[").flags == (Flag.CHECKER_CRASHED,)
    with pytest.raises(TrialFault, match="fails on the untouched workspace too: FileNotFound"):
        bench.grade(bench.scenario("total", **bare), "[")


def test_a_solution_that_cannot_be_played_is_no_reference(bench: Bench) -> None:
    steps = (*SOLUTION, Step(verb="call", service="mail", args={}))
    grade = bench.grade(bench.scenario("existing", solution=steps), "[")
    assert grade.flags == (Flag.CHECKER_CRASHED,)


def test_the_reference_is_played_once(bench: Bench, server: CheckerServer) -> None:
    played = bench.folder / "played"
    count = Step(verb="exec", argv=("sh", "-c", f"echo >> {played}"))
    scenario = bench.scenario("total", solution=(*SOLUTION, count))
    for output in ("[", "{", "nonsense"):
        assert bench.grade(scenario, output).checks[0].earned == 0
    assert played.read_text() == "\n"


def test_a_slow_pattern_harms_its_own_check_alone(bench: Bench) -> None:
    slow = {"path": "out.json", "pattern": "(a+)+$"}
    quick = {"path": "out.json", "pattern": "a!"}
    checks = (
        CheckSpec(id="slow", type="regex", params=slow),
        CheckSpec(id="quick", type="regex", params=quick),
    )
    solution = (Step(verb="write", path="out.json", content="aaa"),)
    grade = bench.grade(bench.scenario(checks=checks, solution=solution), "a" * 40 + "!")
    assert marks(grade) == {"slow": (0.0, False), "quick": (1.0, True)}
    assert grade.flags == (Flag.CHECKER_CRASHED,)


def test_a_published_grader_replaces_declared_checks(bench: Bench) -> None:
    declared = CheckSpec(id="ignored", type="file_exists", params={"path": "out.json"})
    grade = bench.grade(bench.published(checks=(declared,)))
    assert marks(grade) == {"exists": (0.4, True), "right": (0.6, True)}
    assert (grade.correctness, grade.process) == (1.0, 0.9)


def test_a_native_scenario_has_both(bench: Bench) -> None:
    code = GraderCode(path=bench.folder / "custom_checks" / "sum.py")
    grade = bench.grade(bench.scenario("total", grader=code))
    assert list(marks(grade)) == ["total", "exists", "right"]


def test_garbage_for_a_published_grader_keeps_its_denominator(bench: Bench) -> None:
    grade = bench.grade(bench.published(), "[")
    assert marks(grade) == {"exists": (0.0, False), "right": (0.0, False)}
    assert [check.points for check in grade.checks] == [0.4, 0.6]
    assert (grade.process, grade.score, grade.flags) == (0.0, 0.0, (Flag.CHECKER_CRASHED,))


def test_published_graders_import_from_their_checkout(bench: Bench) -> None:
    (bench.folder / "harness").mkdir()
    (bench.folder / "harness" / "helpers.py").write_text("POINTS = 3")
    (bench.folder / "custom_checks" / "sum.py").write_text(
        "from harness.helpers import POINTS\n"
        "def grade(workspace, trace):\n"
        "    return {'checkpoints': {'a': {'score': POINTS, 'max': POINTS}}}\n"
    )
    assert marks(bench.grade(bench.published())) == {"a": (3.0, True)}


def test_an_embedded_grader(bench: Bench) -> None:
    grade = bench.grade(bench.task(), '{"total": 4}')
    assert marks(grade) == {"sub_1_exists": (1.0, True), "sub_2_right": (0.0, False)}
    assert grade.score == 0.5
    assert grade.sub_problems == {"1": 1.0, "2": 0.0}
    assert bench.grade(bench.task(), "[").score == 0.0


def test_a_broken_embedded_grader_names_its_line(bench: Bench) -> None:
    code = GraderCode(
        source="def grade(transcript, workspace_path):\n    return [][0]", api="evoclaw"
    )
    with pytest.raises(TrialFault) as caught:
        bench.grade(dataclasses.replace(bench.task(), grader=code))
    assert str(caught.value) == (
        "scenario sum: grader sum.yaml fails on the untouched workspace too: IndexError: list "
        "index out of range (sum.yaml:2); mend it, or no trial of this scenario that it fails on "
        "can be graded"
    )


def test_a_checker_cannot_alter_the_evidence(bench: Bench) -> None:
    unchanged = CheckSpec(id="inputs", type="inputs_unchanged", guard=True)
    checks = (bench.check("tamper"), unchanged, bench.check("read_calls"))
    grade = bench.grade(bench.scenario(checks=checks))
    assert all(check.passed for check in grade.checks)
    assert (bench.workspace / "numbers.txt").read_text() == "1 2"
    assert (bench.workspace / "out.json").exists()


def fifo(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def big(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(200 << 20)


@pytest.mark.parametrize(
    ("leave", "note"),
    [
        (fifo, "is no regular file"),
        (unix_socket, "is no regular file"),
        (big, "is larger than 10 MiB"),
        (lambda p: p.symlink_to("/etc/passwd"), "is a link that leaves the workspace"),
        (lambda p: p.symlink_to("../checkers.py"), "is a link that leaves the workspace"),
        (lambda p: p.symlink_to(p.parent / "numbers.txt"), "is a link that leaves the workspace"),
    ],
    ids=["fifo", "socket", "200MB", "passwd", "parent", "absolute"],
)
def test_traps_at_the_expected_path(
    bench: Bench, leave: Callable[[Path], None], note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bench.workspace)  # a socket may not have a long path
    leave(Path("out.json") if leave is unix_socket else bench.workspace / "out.json")
    declared = CheckSpec(
        id="json", type="file_contains", params={"path": "out.json", "pattern": "r"}
    )
    checks = (bench.check("total"), bench.check("listing"), declared)
    grade = bench.grade(bench.scenario(checks=checks), None)
    assert marks(grade) == {"total": (0, False), "listing": (1, True), "json": (0, False)}
    assert grade.checks[0].detail.startswith(
        "the checker failed on this output: FileNotFoundError: [Errno 2] No such file"
    )
    assert grade.checks[1].detail == "numbers.txt"
    assert grade.notes == f"not shown to checkers: out.json {note}"
    assert "root:" not in repr(grade)


def test_a_directory_at_the_expected_path(bench: Bench) -> None:
    (bench.workspace / "out.json").mkdir()
    grade = bench.grade(bench.scenario("total"), None)
    assert "IsADirectoryError" in grade.checks[0].detail
    assert grade.correctness == 0


#: Ways to change a workspace that hide whether it could be done.
WRITERS = {
    "writes": "(root / 'made').write_text('x')",
    "makes a folder": "(root / 'made').mkdir()",
    "renames": "(root / 'numbers.txt').rename(root / 'made')",
    "starts a process": "subprocess.run(['cp', 'numbers.txt', 'made'], cwd=root, check=True)",
    "forks": "os.fork() or ((root / 'made').touch(), os._exit(0)); os.wait()",
    "moves there": "os.chdir(root); open('made', 'w').close()",
    "opens a database": "sqlite3.connect(root / 'made').execute('create table t (c)')",
}


@pytest.mark.parametrize("body", WRITERS.values(), ids=WRITERS)
def test_a_published_grader_that_changes_the_workspace_is_given_a_copy(
    bench: Bench, body: str
) -> None:
    source = (
        "import os, sqlite3, subprocess\nfrom pathlib import Path\n"
        "def grade(transcript, workspace_path):\n    root = Path(workspace_path)\n"
        f"    try:\n        {body}\n    except OSError:\n        pass\n"
        "    return {'made': float((root / 'made').exists())}\n"
    )
    scenario = bench.task(grader=GraderCode(source=source, api="evoclaw"))
    for _ in range(2):
        assert marks(bench.grade(scenario)) == {"made": (1, True)}
    assert {path.name for path in bench.workspace.iterdir()} == {"numbers.txt", "out.json"}
    assert not list(bench.server.scratch.glob("view-*"))


def test_a_published_grader_that_only_reads_sees_the_workspace_itself(bench: Bench) -> None:
    if bench.server.confinement != "bwrap":
        pytest.skip("nothing else makes the workspace read-only")
    source = (
        "import tempfile\n"
        "def grade(transcript, workspace_path):\n"
        "    with tempfile.TemporaryFile() as file:\n        file.write(b'x')\n"
        f"    return {{'itself': float(workspace_path == {str(bench.workspace)!r})}}\n"
    )
    scenario = bench.task(grader=GraderCode(source=source, api="evoclaw"))
    assert marks(bench.grade(scenario)) == {"itself": (1, True)}


def test_a_view_keeps_inner_links_and_odd_names(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "a" / "b").mkdir(parents=True)
    (workspace / "a" / "file").write_text("x")
    (workspace / "a" / "b" / "up").symlink_to("../file")
    (workspace / "a" / "b" / "root").symlink_to("../..")
    (workspace / "a" / "sly").symlink_to("b/root/../checkers.py")
    (workspace / "loop").symlink_to("loop")
    os.mkfifo(os.fsencode(workspace) + b"/\xff")
    view = snapshot.take(workspace, tmp_path / "copy")
    assert view.root == tmp_path / "copy"
    assert view.notes == (
        "not shown to checkers: \\xff is no regular file",
        "not shown to checkers: a/sly is a link that leaves the workspace",
    )
    assert (view.root / "a" / "b" / "up").read_text() == "x"
    assert sorted(path.name for path in (view.root / "a").iterdir()) == ["b", "file"]
    assert snapshot.take(view.root, tmp_path / "other") == snapshot.View(view.root)


def test_a_view_that_is_too_deep_to_walk_is_graded_and_removed(
    bench: Bench, server: CheckerServer
) -> None:
    deep = bench.workspace
    while len(str(deep)) < 3000:  # below what a path may be, above what Python recurses into
        deep /= "d"
        deep.mkdir()
    os.mkfifo(bench.workspace / "pipe")  # so that the view is a copy
    grade = bench.grade(bench.scenario("total"))
    assert marks(grade) == {"total": (1, True)}
    assert not list(server.scratch.glob("view-*"))
    remove(bench.workspace)


def test_a_view_ends_at_the_entry_limit(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    for number in range(22):
        (workspace / f"{number:02}").touch()
    view = snapshot.take(workspace, tmp_path / "copy", limit=20)
    assert view.notes == ("not shown to checkers: 20 and all after it: more than 20 entries",)
    assert len(list(view.root.iterdir())) == 20


def test_a_view_of_folders_nested_beyond_any_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "file").touch()
    monkeypatch.chdir(workspace)
    for _ in range(60):
        Path("d" * 100).mkdir()
        os.chdir("d" * 100)
    Path("link").symlink_to("x")
    os.chdir(tmp_path)
    view = snapshot.take(workspace, tmp_path / "copy")
    assert (view.root / "file").exists()
    assert [note.endswith("File name too long") for note in view.notes] == [True]


HYBRID = {"hybrid": (0.5, 0.5), "rubric": "Is it good?"}


class Recorder:
    name = "recorder"

    def __init__(self, total: Any) -> None:
        self.total = total
        self.asked: list[Question] = []

    def judge(self, question: Question) -> Judgement:
        self.asked.append(question)
        if isinstance(self.total, Exception):
            raise self.total
        return Judgement(total=self.total)


def test_a_hybrid_blends_the_judges_part(bench: Bench) -> None:
    judge = Recorder(0.5)
    grade = bench.grade(bench.task(**HYBRID), judge=judge)
    assert grade.score == 0.75
    (question,) = judge.asked
    assert question.deliverable == f"=== out.json\n{RIGHT}"
    assert question.transcript.endswith("\nassistant_message: done")
    assert question.rubric == "Is it good?"


class Hesitant(Recorder):
    def judge(self, question: Question) -> Judgement:
        self.asked.append(question)
        if len(self.asked) == 1:
            raise JudgeError("the answer was cut off")
        return Judgement(total=self.total)


def test_a_judge_without_a_verdict_is_asked_again(bench: Bench) -> None:
    judge = Hesitant(0.5)
    assert bench.grade(bench.task(**HYBRID), judge=judge).score == 0.75
    assert judge.asked == [judge.asked[0]] * 2


def test_nothing_to_judge_is_not_judged(bench: Bench) -> None:
    judge = Recorder(1.0)
    assert bench.grade(bench.task(**HYBRID), None, judge=judge).score == 0.0
    assert judge.asked == []


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        (
            None,
            (
                "scenario sum: a part of its grade is a judge's, and there is no judge; "
                "name one with --judge=NAME, a model of [tool.agentbench.models], or return one from "
                "the hook pytest_agentbench_judge in a conftest.py"
            ),
        ),
        (
            ScriptedJudge(default=None),
            (
                "scenario sum: judge scripted gave no verdict: "
                "the scripted judge has no verdict on sum"
            ),
        ),
        (Recorder(ValueError("x")), "scenario sum: judge recorder raised ValueError: x"),
        (
            Recorder(float("nan")),
            "scenario sum: judge recorder gave nan; a verdict is a number from 0 to 1",
        ),
        (Recorder(1.5), "scenario sum: judge recorder gave 1.5; a verdict is a number from 0 to 1"),
        (Recorder("1"), "scenario sum: judge recorder gave '1'; a verdict is a number from 0 to 1"),
    ],
)
def test_a_judge_without_a_verdict_is_no_score(bench: Bench, judge: Any, message: str) -> None:
    with pytest.raises(TrialFault) as caught:
        bench.grade(bench.task(**HYBRID), judge=judge)
    assert caught.value.status is Status.JUDGE_ERROR
    assert str(caught.value) == message
