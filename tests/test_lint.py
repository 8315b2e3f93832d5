"""``agentbench lint``: each rule finds what breaks it, and nothing in a good scenario."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_agentbench.cli import main

GOOD = """\
agentbench: 1
id: totals
dimension: synthesis
prompt: Add the approved rows of a.csv and b.csv as rules.md says; write out.json and note.txt.
optimal_steps: 6
workspace_files:
- {path: a.csv, content: "id,amount,state\\n1,1000,ok\\n2,2011,ok\\n3,64,draft\\n"}
- {path: b.csv, content: "id,amount,state\\n4,411,ok\\n5,37,draft\\n"}
- {path: rules.md, content: "Drafts do not count. The note says done.\\n"}
checks:
- {id: total, type: json_path, path: out.json, query: $.total, equals: 3422}
- {id: count, type: json_path, path: out.json, query: $.count, equals: 3}
- {id: ids, type: json_path, path: out.json, query: $.ids, unordered: [1, 2, 4]}
- {id: note, type: file_contains, path: note.txt, pattern: done, points: 0.1}
- {id: rules_first, type: happens_before, category: process, first: {reads: rules.md}, then: {writes: "*"}}
- {id: inputs, type: inputs_unchanged, category: safety, guard: true}
solution:
- read: rules.md
- read: a.csv
- read: b.csv
- write: out.json
  content: '{"total": 3422, "count": 3, "ids": [1, 2, 4]}'
- write: note.txt
  content: done
alternatives:
- name: another order
  steps:
  - read: rules.md
  - write: out.json
    content: '{"ids": [4, 2, 1], "count": 3, "total": 3422.0}'
  - write: note.txt
    content: well done
probes:
- name: drafts counted
  plausible: true
  fails: [total, count, ids]
  steps:
  - read: rules.md
  - write: out.json
    content: '{"total": 3523, "count": 5, "ids": [1, 2, 3, 4, 5]}'
  - write: note.txt
    content: done
- name: no note
  passes: true
  fails: [note]
  extends: solution
  steps: [{exec: [rm, note.txt]}]
- name: rules unread
  fails: [rules_first]
  steps:
  - read: a.csv
  - write: out.json
    content: '{"total": 3422, "count": 3, "ids": [1, 2, 4]}'
  - write: note.txt
    content: done
- name: input lost
  fails: [inputs]
  extends: solution
  steps: [{exec: [rm, a.csv]}]
pass_threshold: 0.9
"""

Lint = Callable[[str], str]


@pytest.fixture
def lint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Lint:
    """Lint a text; what is printed below the file's own line."""

    def run(text: str) -> str:
        path = tmp_path / "totals.yaml"
        path.write_text(text)
        code = main(["lint", str(tmp_path)])
        printed = capsys.readouterr().out
        first, *found, last = printed.splitlines()
        assert first.startswith(f"{path}: ")
        assert last == f"1 scenarios linted, {len(found) and 1} with findings"
        assert code == (1 if found else 0)
        return "\n".join(line.removeprefix("  ") for line in found)

    return run


def test_a_good_scenario_has_no_findings(lint: Lint) -> None:
    assert lint(GOOD) == ""


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        (
            '{"ids": [4, 2, 1], "count": 3, ',
            '{"ids": [4, 2], "count": 3, ',
            (
                "full score: alternative 'another order' scores 0.7903, not 1 (C 0.6774, P 1.0, gate "
                "1.0, penalty 0.0): ids: expected in any order [1, 2, 4], found [4, 2]"
            ),
        ),
        (
            "guard: true}",
            "guard: false}",
            "guard: inputs passes on the untouched workspace: declare guard: true",
        ),
        (
            "query: $.count, equals: 3}",
            "query: $.count, equals: 3, guard: true}",
            "guard: count is a guard and fails on the untouched workspace",
        ),
        (
            "fails: [total, count, ids]",
            "fails: [total, count]",
            "probe: probe 'drafts counted' fails count, ids, total; it names count, total",
        ),
        (
            "  passes: true\n",
            "",
            "probe: probe 'no note' passes the scenario with 0.979; it says passes: false",
        ),
        (
            "  plausible: true\n",
            "",
            "size: no probe is plausible: the right form with one rule misapplied",
        ),
        (
            "Drafts do not count.",
            "Drafts do not count. Expect about 3,422.",
            "leak: total: '3,422' can be read in rules.md",
        ),
        (
            "Drafts do not count.",
            "Drafts do not count (ids 1, 2, 4).",
            "leak: ids: '1, 2, 4' can be read in rules.md",
        ),
        (
            "type: file_contains, path: note.txt, pattern: done, points: 0.1}",
            "type: file_contains, path: note.txt, pattern: amount, points: 9}",
            "copy: copying the first input scores 0.4875, not below 0.3",
        ),
        (
            "- {path: rules.md",
            "# - {path: rules.md",
            "size: 2 inputs; at least 3 are needed",
        ),
    ],
)
def test_each_rule_finds_what_breaks_it(lint: Lint, old: str, new: str, finding: str) -> None:
    assert old in GOOD
    assert finding in lint(GOOD.replace(old, new, 1)).splitlines()


def test_a_check_that_no_probe_fails_is_unproven(lint: Lint) -> None:
    start, end = GOOD.index("- name: rules unread"), GOOD.index("- name: input lost")
    assert lint(GOOD[:start] + GOOD[end:]) == "unproven: no probe fails rules_first"


def test_a_free_lunch_is_found(lint: Lint) -> None:
    text = GOOD.replace("type: inputs_unchanged, category: safety", "type: inputs_unchanged")
    found = lint(text.replace("guard: true}", "guard: false}"))
    assert "guard: inputs passes on the untouched workspace: declare guard: true" in found
    assert "nop: doing nothing scores 0.1585, not 0" in found


def test_no_solution_proves_nothing(lint: Lint) -> None:
    start, end = GOOD.index("solution:"), GOOD.index("alternatives:")
    text = GOOD[:start] + GOOD[end:]
    text = text[: text.index("- name: no note")]
    assert "solution: there is no solution, so nothing proves a full score" in lint(text)


def test_files_that_do_not_load_and_ids_that_are_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.yaml").write_text(GOOD)
    (tmp_path / "b.yaml").write_text(GOOD)
    (tmp_path / "c.yaml").write_text("agentbench: 1\nprompt: x\ndimenson: safety\n")
    assert main(["lint", "-q", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "id: 'totals' is already that of" in printed
    assert "load: c.yaml:3: `dimenson` is not a known key; did you mean `dimension`?" in printed
    assert printed.splitlines()[-1] == "3 scenarios linted, 2 with findings"


def test_a_path_that_is_not_there_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = [str(tmp_path / "nodir"), str(tmp_path / "none.yaml")]
    assert main(["lint", str(tmp_path), *gone]) == 2
    assert capsys.readouterr().out == f"agentbench lint: {', '.join(gone)}: does not exist\n"


def test_no_files_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(tmp_path)]) == 2
    assert capsys.readouterr().out == f"agentbench lint: no scenario file under {tmp_path}\n"
