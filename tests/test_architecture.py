"""The house rules that a machine can check."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "pytest_agentbench"
FILES = sorted(PACKAGE.rglob("*.py"))
PYTEST_FACING = {
    "plugin",
    "hooks",
    "collect",
    "bench",
    "offers",
    "selection",
    "start",
    "fixtures",
    "planner",
    "conclusion",
    "recorder",
    "schedule",
    "turns",
    "report.terminal",
    "report.live",
    "report.conformance",
    *(f"conformance.{file.stem}" for file in PACKAGE.glob("conformance/test_*.py")),
    "conformance.conftest",
}
#: A module may import from its own layer and from those before it.
LAYERS = (
    (
        *(
            "status",
            "flag",
            "trace.events",
            "scenario.checktypes",
            "scenario.capability",
            "spending",
        ),
        *(
            "scenario.model",
            "scenario.rubric",
            "execution",
            "grade",
            "skill",
            "trial",
            "plain",
            "decoder",
            "phase_record",
            "record",
            "prefixes",
        ),
    ),
    (
        "scenario",
        "settings",
        "profiles",
        "tool_table",
        "asked",
        "jury",
        "options",
        "place",
        "shard",
        "claim",
        "views",
        "pricing",
        "rules",
        "files",
        "redaction",
        "text",
        "interrupt",
        "pace",
        "slots",
        "stops",
        "sandbox",
        "trace",
        "workspace",
        "json_file",
        "grading.equality",
        "grading.json_query",
        "skills",
        "seeds",
        "scoring",
    ),
    ("grading", "runtimes", "gateway", "outcome", "attempt", "runner", "modes", "provenance"),
    (
        *("report", "conformance.binding", "conformance.clauses", "conformance.faults"),
        *("conformance.result", "conformance.table", "importing"),
    ),
    (
        *(
            "hooks",
            "offers",
            "collect",
            "selection",
            "bench",
            "shelf",
            "start",
            "asking",
            "fixtures",
            "draft",
            "first_run",
            "journal",
            "pipeline",
            "planner",
            "conclusion",
        ),
        *("recorder", "turns"),
        "schedule",
        *("report.conformance", "report.live", "report.terminal"),
    ),
    (
        *("plugin", "lint", "lint_skills", "doctor", "doctor_text", "shell", "terminal_inside"),
        *(
            "audit",
            "cli",
            "cli_agree",
            "cli_audit",
            "cli_calibrate",
            "cli_compare",
            "cli_conformance",
            "cli_doctor",
            "cli_import",
            "cli_inventory",
            "cli_merge",
            "cli_regrade",
            "cli_report",
            "cli_rubric",
            "rubric_arms",
            "rubric_draft",
            "rubric_merge",
            "rubric_question",
            "cli_sets",
            "cli_skills",
            "cli_suite",
            "cli_trial",
            "conformance",
        ),
    ),
)


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imports(path: Path, *, typing_only: bool = False) -> list[str]:
    """Modules that a file imports; those for type checkers only are left out unless asked for."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test) and not typing_only:
            node.body = []
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            found.append(module)
            found.extend(f"{module}.{alias.name}" for alias in node.names)
    return found


def layer(name: str) -> int:
    for length in (2, 1):
        prefix = ".".join(name.split(".")[:length])
        for number, names in enumerate(LAYERS):
            if prefix in names:
                return number
    raise AssertionError(f"{name} is in no layer: add it to LAYERS and to docs/architecture.md")


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_only_some_modules_import_pytest_and_none_its_private_parts(path: Path) -> None:
    found = imports(path, typing_only=True)
    assert not [name for name in found if name.split(".")[0] == "_pytest"]
    if name_of(path) not in PYTEST_FACING:
        assert not [name for name in found if name.split(".")[0] in ("pytest", "xdist")]


@pytest.mark.parametrize("path", [f for f in FILES if name_of(f)], ids=name_of)
def test_imports_go_one_way(path: Path) -> None:
    ours = [name.removeprefix("pytest_agentbench.") for name in imports(path)]
    known = {name_of(file) for file in FILES} - {""}
    here = layer(name_of(path))
    above = [name for name in ours if name in known and layer(name) > here]
    assert not above, f"{name_of(path)} imports from a later layer: {above}"


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("scoring/*.py")), ids=name_of)
def test_figures_come_from_the_standard_library_alone(path: Path) -> None:
    tops = {name.split(".")[0] for name in imports(path, typing_only=True)}
    agreement = {"nltk"} if name_of(path) == "scoring.agreement" else set[str]()
    assert tops - {*sys.stdlib_module_names, "pytest_agentbench"} == agreement


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_module_stays_under_300_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


@pytest.mark.parametrize(
    ("needed", "heavy"),
    [
        (
            "bench fixtures recorder",
            "jsonschema docker numpy aiohttp jinja2 requests tomllib http.server",
        ),
        # Only judges need a client, and to wait for several.
        ("grading.grader grading.judging.account", "http.client ssl concurrent.futures"),
    ],
    ids=["to start", "to grade"],
)
def test_importing_what_a_worker_needs_stays_lean(needed: str, heavy: str) -> None:
    ours = ", ".join(f"pytest_agentbench.{name}" for name in needed.split())
    code = (
        f"import sys, pytest\nimport {ours}\n"
        f"print(*[name for name in {heavy.split()} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == []
