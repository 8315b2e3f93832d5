"""What a test in Python can expect of an agent's way and of its JSON, and how failures read."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.execution import Execution
from pytest_agentbench.grading.performed import Performed
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import Event, EventKind, Trace
from pytest_agentbench.workspace import Workspace
from tests.project import Project


def call(tool: str, status: int = 200, **args: object) -> list[Event]:
    return [
        Event(kind=EventKind.CALL, tool=tool, args=args),
        Event(kind=EventKind.RESULT, tool=tool, status=status),
    ]


DEEDS = [
    *call("read", path="law/POLICY.md", status=404),
    *call("exec", command="cat law/policy.md prices.csv"),
    *call("write", path="out/decision.json", content="{}"),
    *call("exec", argv=["python3", "-m", "pytest", "-q"]),
    Event(kind=EventKind.ASSISTANT, text="It is done."),
]


@pytest.fixture
def performed(tmp_path: Path) -> Performed:
    done = Execution(status=Status.COMPLETED, trace=Trace(events=tuple(DEEDS)))
    return Performed.of(done, tmp_path)


def test_a_partial_order(performed: Performed) -> None:
    performed.expect_order("read policy", "write decision", "run pytest", "say done").expect_order(
        ("read policy", "read prices"), "write decision"
    )
    assert performed.status is Status.COMPLETED


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (
            ("write decision", "read policy"),
            (
                "'read policy' came before 'write decision'\n"
                "  expected: 'write decision', then 'read policy'\n"
                '  found:    event 0: read {"path": "law/POLICY.md"}\n'
                '  before:   event 4: write {"path": "out/decision.json", "content": "{}"}'
            ),
        ),
        # It was tried before, and worked only after: what failed is no reading.
        (
            ("run pytest", ("write decision", "say done")),
            (
                "'write decision' came before 'run pytest'\n"
                "  expected: 'run pytest', then 'write decision'\n"
                '  found:    event 4: write {"path": "out/decision.json", "content": "{}"}\n'
                '  before:   event 6: exec {"argv": ["python3", "-m", "pytest", "-q"]}'
            ),
        ),
        (
            ("read minutes", "write decision"),
            (
                "'read minutes' was never done\n"
                "  expected: a call that does it and works\n"
                "  found:    4 calls:\n"
                '            event 0: read {"path": "law/POLICY.md"}\n'
                '            event 2: exec {"command": "cat law/policy.md prices.csv"}\n'
                '            event 4: write {"path": "out/decision.json", "content": "{}"}\n'
                '            event 6: exec {"argv": ["python3", "-m", "pytest", "-q"]}'
            ),
        ),
    ],
    ids=["reversed", "in a group", "missing"],
)
def test_what_is_out_of_order_is_shown(
    performed: Performed, steps: tuple[str, ...], message: str
) -> None:
    with pytest.raises(AssertionError) as error:
        performed.expect_order(*steps)
    assert str(error.value) == message


def test_what_failed_was_not_done(tmp_path: Path) -> None:
    trace = Trace(events=tuple(call("read", path="policy.md", status=404)))
    done = Performed.of(Execution(status=Status.COMPLETED, trace=trace), tmp_path)
    with pytest.raises(AssertionError, match="'read policy' was never done"):
        done.expect_order("read policy")


@pytest.mark.parametrize("step", ["policy", "study policy", "read "])
def test_a_step_that_cannot_be_understood_is_an_error_of_the_test(
    performed: Performed, step: str
) -> None:
    with pytest.raises(ValueError, match="must be a verb and words; verbs: read, open, see, write"):
        performed.expect_order(step)


def test_what_agents_write_is_shown_harmless(tmp_path: Path) -> None:
    trace = Trace(events=tuple(call("write", path="\x1b[31mx\n", content="a" * 999)))
    done = Performed.of(Execution(status=Status.COMPLETED, trace=trace), tmp_path)
    with pytest.raises(AssertionError) as error:
        done.expect_order("read policy")
    assert "\x1b" not in str(error.value)
    assert max(map(len, str(error.value).splitlines())) < 160


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    text = '{"total": 12.5, "rows": [{"id": 1}, {"id": 2, "name": "b"}], "words": "all done"}'
    (tmp_path / "a.json").write_text(text)
    (tmp_path / "b.json").write_text("{\x1b]")
    return Workspace(tmp_path)


def test_what_a_json_file_holds(workspace: Workspace) -> None:
    workspace.expect_json("a.json").at("total").equals(12.5)
    workspace.expect_json("a.json").at("$.total").equals(12, tolerance=0.5)
    workspace.expect_json("a.json").at("rows").at("[*].id").equals([1, 2])
    workspace.expect_json("a.json").contains("rows").at("words").contains("done")
    workspace.expect_json("a.json").at("rows[*].id").contains(2)
    rows = [{"id": 1}, {"id": 2, "name": "b"}]
    workspace.expect_json("a.json", {"total": 12, "rows": rows, "words": "all done"}, tolerance=1)
    assert workspace.expect_json("a.json").at("rows[1].name").value == "b"


FAILURES = {
    "other value": (
        lambda w: w.expect_json("a.json").at("total").equals(13),
        "'a.json' at $.total\n  expected: 13\n  found:    12.5",
    ),
    "beyond the tolerance": (
        lambda w: w.expect_json("a.json").at("total").equals(13, tolerance=0.1),
        "'a.json' at $.total\n  expected: 13 within 0.1\n  found:    12.5",
    ),
    "the first difference": (
        lambda w: w.expect_json("a.json").at("rows").equals([{"id": 1}, {"id": 2, "name": "c"}]),
        '\'a.json\' at $.rows[1].name\n  expected: "c"\n  found:    "b"',
    ),
    "a key too few": (
        lambda w: w.expect_json("a.json").at("rows[0]").equals({"id": 1, "full name": "a"}),
        "'a.json' at $.rows[0]['full name']\n  expected: \"a\"\n  found:    nothing; it has: id",
    ),
    "a key too many": (
        lambda w: w.expect_json("a.json").at("rows[1]").equals({"id": 2}),
        "'a.json' at $.rows[1].name\n  expected: nothing\n  found:    \"b\"",
    ),
    "an item too few": (
        lambda w: w.expect_json("a.json").at("rows").equals([{"id": 1}]),
        (
            "'a.json' at $.rows\n  expected: 1 items\n"
            '  found:    2 items: [{"id": 1}, {"id": 2, "name": "b"}]'
        ),
    ),
    "nothing there": (
        lambda w: w.expect_json("a.json").at("sum"),
        "'a.json' at $.sum\n  expected: a value\n  found:    nothing; it has: total, rows, words",
    ),
    "not contained": (
        lambda w: w.expect_json("a.json").at("words").contains("nothing"),
        (
            "'a.json' at $.words\n  expected: something that contains \"nothing\"\n"
            '  found:    "all done"'
        ),
    ),
    "no JSON": (
        lambda w: w.expect_json("b.json"),
        (
            "'b.json' is not JSON\n  expected: JSON\n  found:    {\\x1b]\n"
            "  why:      Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
        ),
    ),
    "no file": (
        lambda w: w.expect_json("c.json"),
        "there is no file 'c.json' in the workspace; it has: a.json, b.json",
    ),
}


@pytest.mark.parametrize(("expect", "message"), FAILURES.values(), ids=FAILURES)
def test_what_is_expected_found_and_where(
    workspace: Workspace, expect: object, message: str
) -> None:
    assert callable(expect)
    with pytest.raises(AssertionError) as error:
        expect(workspace)
    assert str(error.value) == message


TEST = """
def test_shout(agent, workspace):
    (workspace / "word.txt").write_text("lower")
    execution = agent.run("Copy the word of word.txt in upper case to answer.json.")
    workspace.expect_json("answer.json").at("word").equals("LOWER")
"""
RUNTIMES = """\
[tool.agentbench.runtimes.quiet]
adapter = "command"
argv = ["sh", "-c", "echo '{\\"word\\": \\"lower\\"}' > answer.json"]
"""


def test_a_failed_expectation_is_a_verdict_on_the_agent(project: Project) -> None:
    project.write("pyproject.toml", RUNTIMES)
    project.write("scenarios/test_shout.py", TEST)
    result = project.run("scenarios/test_shout.py", "--runtime=quiet", "--run-dir=run")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*'answer.json' at $.word*",
            '*expected: "LOWER"*',
            '*found:    "lower"*',
        ]
    )
    (record,) = project.records()
    assert (record["status"], record["grade"]["score"]) == ("completed", 0.0)
