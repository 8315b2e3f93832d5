"""Whatever people can write, set, override or read in a report has its line in the docs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

from pytest_agentbench import hooks
from pytest_agentbench.cli import main
from pytest_agentbench.flag import Flag
from pytest_agentbench.modes import MODES
from pytest_agentbench.report.label import Label
from pytest_agentbench.report.terminal import EXIT_RUNTIME_MISSING
from pytest_agentbench.rules import GATES, RULE_KEYS
from pytest_agentbench.runtimes.registry import ADAPTERS
from pytest_agentbench.sandbox.registry import SANDBOXES
from pytest_agentbench.scenario.checktypes import CHECK_TYPES
from pytest_agentbench.scenario.load import load
from pytest_agentbench.status import Status
from pytest_agentbench.tool_table import DEFAULT_KEYS, TABLE_KEYS, Table
from pytest_agentbench.views import EXPOSURES
from tests.project import Project

ROOT = Path(__file__).parent.parent
PAGES = {path.name: path.read_text("utf-8") for path in sorted(ROOT.glob("docs/*.md"))}
PAGES["README.md"] = (ROOT / "README.md").read_text("utf-8")


def undocumented(page: str, names: Iterable[str]) -> list[str]:
    """The names that stand nowhere on the page as code."""
    code = " ".join(re.findall(r"`([^`\n]+)`", PAGES[page]))
    return [name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", code)]


def blocks(*languages: str) -> list[tuple[str, str]]:
    """Page and text of each fenced block in these languages."""
    fence = re.compile(r"(?ms)^(`{3,})(\w+)\n(.*?)^\1$")
    return [
        (page, text)
        for page, content in PAGES.items()
        for _, language, text in fence.findall(content)
        if language in languages
    ]


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("statuses.md", tuple(Status)),
        ("statuses.md", (*Label, *EXPOSURES)),
        ("records.md", tuple(Flag)),
        ("scenarios.md", tuple(CHECK_TYPES)),
        ("runtimes.md", tuple(ADAPTERS)),
        ("reference.md", tuple(name for name in vars(hooks) if name.startswith("pytest_"))),
        ("reference.md", (*TABLE_KEYS, *DEFAULT_KEYS)),
        ("reference.md", (*GATES, *MODES, *SANDBOXES)),
        (
            "ci.md",
            (*RULE_KEYS, *yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["inputs"]),
        ),
    ],
)
def test_every_name_is_documented(page: str, names: tuple[str, ...]) -> None:
    assert undocumented(page, names) == []


def test_every_option_is_documented(project: Project) -> None:
    lines = project.run("--help").outlines
    start = next(i for i, line in enumerate(lines) if line.startswith("agent benchmarks:")) + 1
    own = "\n".join(lines[start : lines.index("", start)])
    options = re.findall(r"(?m)^  (--[a-z-]+)", own)
    assert len(options) == len(set(options)) >= 9
    assert undocumented("reference.md", options) == []
    assert not re.search(r"(?m)^ +agentbench_\w+ \(", "\n".join(lines))  # no key of the ini file


def test_every_fixture_is_documented(project: Project) -> None:
    result = project.run("--fixtures", "--runtime=nop")
    fixtures = re.findall(r"(?m)^(\w+)(?: \[.*\])? -- .*pytest_agentbench", result.stdout.str())
    assert len(fixtures) >= 8
    assert undocumented("reference.md", fixtures) == []


def test_defaults_are_listed_in_full() -> None:
    listed = re.search(
        r"(?s)has the keys (.*?)any other is an\s+error\. `defaults` may hold (.*)\n\nProfiles are",
        PAGES["reference.md"],
    )
    assert listed is not None
    keys, defaults = (re.findall(r"`(\w+)`", text) for text in listed.groups())
    assert sorted(keys) == sorted(TABLE_KEYS)
    assert set(DEFAULT_KEYS) <= set(defaults)


def test_options_that_have_no_default_are_named() -> None:
    page = PAGES["README.md"].partition("## Options")[2]
    options = re.findall(r"`--([a-z-]+)", page.partition("\n\nDefaults")[0])
    named = re.search(r"(?s)`\[tool\.agentbench\.defaults\]`(.*?);", page)
    assert named is not None
    refused = {name for name in options if name.replace("-", "_") not in DEFAULT_KEYS}
    assert set(re.findall(r"`--([a-z-]+)`", named[1])) == refused


def commands(capsys: pytest.CaptureFixture[str], *above: str) -> list[tuple[str, ...]]:
    """The commands of ``agentbench`` below this one, as their help lists them."""
    with pytest.raises(SystemExit):
        main([*above, "--help"])
    found: list[tuple[str, ...]] = []
    for name in re.findall(r"(?m)^ {4}([a-z]+)(?: |$)", capsys.readouterr().out):
        found += commands(capsys, *above, name) or [(*above, name)]
    return found


def test_every_command_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        re.findall(r"`([^`]+)`", line.split(" | ")[0])
        for line in PAGES["reference.md"].partition("\n## `agentbench`\n")[2].splitlines()
        if line.startswith("| `agentbench ")
    ]
    listed = {tuple(row[0].split()[1:]) for row in rows}
    for first, *others in rows:
        above = first.split()[1]
        listed |= {(above, *text.removeprefix("… ").split()) for text in others if text[0] == "…"}
    found = commands(capsys)
    assert len(found) > 20
    assert [name for name in found if not any(row[: len(name)] == name for row in listed)] == []


def test_exit_codes_are_documented() -> None:
    assert f" {EXIT_RUNTIME_MISSING}: " in PAGES["reference.md"]


def test_every_page_is_reached_from_another() -> None:
    linked = {
        target.rpartition("/")[2]
        for content in PAGES.values()
        for target in re.findall(r"\]\(([\w/.-]+\.md)[^)]*\)", content)
    }
    assert set(PAGES) - {"README.md"} <= linked
    assert linked <= {*PAGES, "CONTRIBUTING.md", "CHANGELOG.md"}


SCENARIOS = [
    block for block in blocks("yaml", "markdown") if re.search(r"(?i)\bprompt\b", block[1])
]


@pytest.mark.parametrize(("page", "text"), SCENARIOS)
def test_every_scenario_in_the_docs_loads(tmp_path: Path, page: str, text: str) -> None:
    for name in re.findall(r"workspace_files: \[([\w/.]+)\]", text):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    path = tmp_path / ("task_example.md" if text.startswith("---\n") else "example.yaml")
    path.write_text(text)
    assert load(path).prompt


def test_every_table_in_the_docs_is_one(tmp_path: Path) -> None:
    tables = [text for _, text in blocks("toml") if "[tool.agentbench" in text]
    assert tables
    for text in tables:
        (tmp_path / "pyproject.toml").write_text(text)
        Table.read(tmp_path / "pyproject.toml")


def test_a_program_that_is_given_a_key_in_the_docs_has_a_network_to_use_it() -> None:
    profiles = [
        (page, name, profile)
        for page, text in blocks("toml")
        if "[tool.agentbench.runtimes." in text
        for name, profile in tomllib.loads(text)["tool"]["agentbench"]["runtimes"].items()
        if "pass_env" in profile
    ]
    assert len(profiles) >= 3
    assert [each[:2] for each in profiles if each[2].get("network") != "open"] == []


TESTS = [block for block in blocks("python") if "def test_" in block[1]]


@pytest.mark.parametrize(("page", "text"), TESTS)
def test_every_python_scenario_in_the_docs_is_a_trial(
    project: Project, page: str, text: str
) -> None:
    project.write("test_example.py", text)
    result = project.run("test_example.py", "--runtime=nop", "--collect-only", "-q")
    result.stdout.fnmatch_lines(["test_example.py::test_*[[]nop-baseline-t1]"])
