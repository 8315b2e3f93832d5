"""The conformance suite itself: what it finds of a good adapter, and of broken ones."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench import __version__
from pytest_agentbench.conformance.clauses import CLAUSES, LAYERS
from pytest_agentbench.conformance.faults import ENDINGS, FAULTS
from pytest_agentbench.conformance.result import Result, ResultError, Verdict, read, write
from tests.project import Project

SUITE = ("--pyargs", "pytest_agentbench.conformance", "-q", "-p", "no:cacheprovider")
#: They take their time by design, and have nothing to do with what is broken here.
SLOW = "not hang and not agent_timeout and not huge"
BROKEN = {
    "sharing": {"state.files", "safety.outside"},
    "unquoting": {"dispatch.quotes"},
    "nameless": {"trace.ids"},
    "boasting": {"fault.crash", "fault.killed"},
    "straying": {
        *("dispatch.workspace", "artefacts.files", "parallel.apart"),
        *("fault.none", "fault.slow", "fault.crash", "fault.killed"),
    },
    "careless": {"dispatch.environment", "identity.version", "safety.capabilities"},
}


def suite(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", *SUITE, *args],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=1500,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of somebody's, with adapters in its conftest.py."""
    folder = tmp_path_factory.mktemp("third-party")
    (folder / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\naddopts = "--strict-markers --strict-config"\n'
        'filterwarnings = ["error"]\n'
    )
    shutil.copy(Path(__file__).with_name("broken_adapters.py"), folder / "conftest.py")
    return folder


def test_a_good_adapter_keeps_every_clause(folder: Path) -> None:
    done = suite(folder, "--runtime=minimal", "--run-dir=run")
    assert done.returncode == 0, done.stdout + done.stderr
    result = read(folder / "run" / "conformance.json")
    assert [verdict.clause for verdict in result.verdicts] == list(CLAUSES)
    assert {verdict.outcome for verdict in result.verdicts} == {"passed"}
    assert (result.passed, result.clauses) == (len(CLAUSES), len(CLAUSES))
    assert (result.runtime, result.version, result.plugin) == ("minimal", "1", __version__)
    count = len(CLAUSES)
    assert f"minimal 1: {count} of {count} clauses hold\n" in done.stdout
    assert f"{folder / 'run' / 'conformance.json'}\n" in done.stdout


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_adapter_breaks_its_own_clauses_and_no_other(
    folder: Path, tmp_path: Path, name: str
) -> None:
    found = tmp_path / "found.json"
    faults = any(clause.startswith("fault.") for clause in BROKEN[name])
    chosen = SLOW if faults else f"{SLOW} and not test_fault"
    done = suite(folder, f"--runtime={name}", "-k", chosen, f"--conformance-report={found}")
    assert done.returncode == 1, done.stdout + done.stderr
    result = read(found)
    details = {v.clause: v.detail for v in result.verdicts if v.outcome == "failed"}
    assert set(result.failed) == BROKEN[name], details
    left = {v.clause for v in result.verdicts if v.outcome == "not run"}
    assert left >= {"fault.hang", "fault.huge", "ending.agent_timeout"}
    assert all(clause.startswith(("fault.", "ending.")) for clause in left)
    if name == "boasting":
        assert details["fault.killed"] == KILLED


#: Which clause is broken, and where to look.
KILLED = (
    "boasting 1 breaks the clause fault.killed (execution status):\n"
    "  contract: the program gets SIGKILL in the middle of a command: the run ends as "
    "`agent_error`\n"
    "  seen:     it ended as completed: the agent ended with exit code -9; nobody can tell "
    "who sent a signal that the harness did not: if it excused a run, an agent in trouble could "
    "excuse itself with one `kill`\n"
    "  look at:  the status that `collect` returns, against `pytest_agentbench/outcome.py`; and "
    "whether the program goes on by itself after such an answer"
)


@pytest.mark.parametrize("more", [(), ("-n", "2")], ids=["alone", "-n2"])
def test_a_runtime_that_is_missing_is_said_once(folder: Path, more: tuple[str, ...]) -> None:
    # Of a version that nobody has.
    done = suite(folder, "--runtime=codex@0.0.1", *more)
    assert done.returncode == 11
    assert "runtime codex@0.0.1: codex 0.0.1 is not installed" in done.stdout
    assert "npm install --prefix" in done.stdout
    assert "clauses hold" not in done.stdout
    assert "Traceback" not in done.stdout


def test_a_runtime_that_asks_no_model_through_the_gateway_is_refused(folder: Path) -> None:
    done = suite(folder, "--runtime=oracle")
    assert done.returncode == 1
    assert (
        "the runtime oracle does not reach its model through the gateway (RuntimeInfo.endpoint is "
        "false), so nobody can see what it asks: this contract is for those that do\n"
    ) in done.stdout


def test_every_clause_has_one_test_and_every_test_a_clause() -> None:
    package = Path(__file__).parent.parent / "pytest_agentbench" / "conformance"
    text = "\n".join(path.read_text() for path in sorted(package.glob("test_*.py")))
    marked = re.findall(r'mark\.clause\(f?"([\w.{}]+)"\)', text)
    named = {name for name in marked if "{" not in name}
    families = {name.partition("{")[0] for name in marked if "{" in name}
    assert families == {"dispatch.", "evidence.", "fault.", "ending."}
    assert named <= set(CLAUSES)
    assert all(id_ in named or id_.partition(".")[0] + "." in families for id_ in CLAUSES)
    tests = [
        node.name
        for path in package.glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    assert len(tests) == len(marked)
    assert {id_.partition(".")[0] for id_ in CLAUSES} == set(LAYERS)


def test_there_are_fifteen_faults() -> None:
    assert len(FAULTS) == 15
    ids = [each.id for each in (*FAULTS, *ENDINGS)]
    assert len(ids) == len(set(ids))
    assert all(ending.status.policy.counts == "result" for ending in ENDINGS)


FOUND = Result(
    runtime="small",
    adapter="minimal",
    version="1",
    digest="d",
    plugin="0.9",
    sandbox="bwrap",
    verdicts=(
        Verdict(clause="a.one", outcome="passed"),
        Verdict(clause="a.two", outcome="failed", detail="why\nand where"),
        Verdict(clause="a.three", outcome="not applicable", detail="it has none"),
        Verdict(clause="a.four", outcome="not run"),
    ),
)


def test_a_result_survives_its_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "conformance.json"
    write(path, FOUND)
    assert read(path) == FOUND
    data = json.loads(path.read_text())
    assert (data["schema"], data["passed"], data["clauses"]) == ("1.0", 1, 3)
    assert FOUND.failed == ("a.two",)
    assert FOUND.file_name == "minimal@1.json"
    assert replace(FOUND, version="1/../x y").file_name == "minimal@1_.._x_y.json"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "{",
            "JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2",
        ),
        ("{}", "KeyError: 'schema'"),
        ('{"schema": "2.0"}', "ValueError: its schema is 2.0; this version reads 1.0"),
    ],
)
def test_a_file_that_is_no_result(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "conformance.json"
    path.write_text(text)
    with pytest.raises(ResultError) as caught:
        read(path)
    said = f"{path} is no result of pytest_agentbench.conformance: {problem}"
    assert str(caught.value).startswith(said)


def digest_of_minimal() -> str:
    from pytest_agentbench.runtimes.minimal import Minimal
    from pytest_agentbench.trial import RuntimeProfile

    return Minimal(RuntimeProfile(name="minimal", adapter="minimal")).probe().digest


def bench(project: Project, *args: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Record and row of a run of ``minimal``, and what was printed."""
    result = project.bench("--model=scripted", *args, runtime="minimal")
    assert result.ret == 0
    report = json.loads((project.path / "run" / "report.json").read_text())
    return project.records()[0]["observed"], report["rows"][0], result.stdout.str()


def test_what_was_found_is_bound_into_the_rows(project: Project, workers: list[str]) -> None:
    found = replace(FOUND, digest=digest_of_minimal())
    write(project.path / "reports" / "conformance" / "minimal@1.json", found)
    observed, row, printed = bench(project, *workers)
    expected = {
        "passed": 1,
        "clauses": 3,
        "failed": ["a.two"],
        "plugin": "0.9",
        "sandbox": "bwrap",
    }
    assert observed["conformance"] == row["conformance"] == expected
    assert "conformant 1/3" in row["labels"]
    assert "conformant 1/3" in printed


@pytest.mark.parametrize("changed", ["digest", "version", "adapter"])
def test_what_was_found_of_another_program_is_not(project: Project, changed: str) -> None:
    found = replace(replace(FOUND, digest=digest_of_minimal()), **{changed: "another"})
    write(project.path / "reports" / "conformance" / "minimal@1.json", found)
    observed, row, _ = bench(project)
    assert "conformance" not in observed
    assert row["conformance"] == {}
    assert not [label for label in row["labels"] if "conformant" in label]


def test_a_profile_names_its_result(project: Project) -> None:
    table = '[tool.agentbench.runtimes.minimal]\nadapter = "minimal"\nconformance = "ours.json"\n'
    project.write("pyproject.toml", table)
    result = project.bench("--model=scripted", runtime="minimal")
    assert result.ret == 4
    assert result.stderr.str() == (
        "ERROR: [tool.agentbench.runtimes.minimal]: conformance: cannot read "
        f"{project.path / 'ours.json'}: No such file or directory\n"
    )
    write(project.path / "ours.json", replace(FOUND, digest=digest_of_minimal()))
    assert bench(project)[0]["conformance"]["passed"] == 1
