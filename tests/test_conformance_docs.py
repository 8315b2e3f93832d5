"""The published tables of the conformance suite, and what makes and prints them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.conformance import table
from pytest_agentbench.conformance.result import Verdict, write
from tests.test_conformance import FOUND

PAGE = Path(__file__).parent.parent / "docs" / "conformance.md"


@pytest.mark.parametrize("made", [table.clauses, table.faults, table.endings])
def test_the_tables_of_the_docs_are_those_of_the_suite(made: object) -> None:
    assert callable(made)
    assert made() in PAGE.read_text("utf-8")


def test_results_as_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = (
        *FOUND.verdicts,
        Verdict(clause="fault.429", outcome="passed"),
        Verdict(clause="fault.hang", outcome="failed", detail="why"),
        Verdict(clause="ending.refusal", outcome="not applicable", detail="why"),
    )
    write(tmp_path / "found" / "small.json", replace(FOUND, verdicts=verdicts))
    write(tmp_path / "big.json", replace(FOUND, runtime="big", version="2"))
    assert main(["conformance", "table", str(tmp_path / "found"), str(tmp_path / "big.json")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:5] == [
        "| runtime | version | clauses hold | broken | do not apply | sandbox |",
        "| --- | --- | --- | --- | --- | --- |",
        "| `big` | 2 | 1 of 3 | `a.two` | `a.three` | bwrap |",
        "| `small` | 1 | 2 of 5 | `a.two`, `fault.hang` | `a.three`, `ending.refusal` | bwrap |",
        "",
    ]
    assert "| provoked | must end as | `big` | `small` |" in lines
    assert "| `fault.429` | `provider_error` | not run | yes |" in lines
    assert "| `fault.hang` | `provider_error` | not run | **no** |" in lines
    assert "| `ending.refusal` | `refusal` | not run | – |" in lines


def test_results_are_put_into_a_page(tmp_path: Path) -> None:
    write(tmp_path / "one.json", FOUND)
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{table.BEGIN}\nold\n{table.END}\nafter\n")
    asked = ["conformance", "table", str(tmp_path / "one.json"), f"--into={page}"]
    assert main(asked) == 0
    first = page.read_text()
    assert main(asked) == 0
    assert page.read_text() == first
    assert first.startswith(f"before\n\n{table.BEGIN}\n\n| runtime |")
    assert first.endswith(f"\n{table.END}\nafter\n")
    assert "\nold\n" not in first


def test_what_cannot_be_shown_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "page.md").write_text("no marks\n")
    write(tmp_path / "one.json", FOUND)
    one, page = str(tmp_path / "one.json"), tmp_path / "page.md"
    assert main(["conformance", "table", str(tmp_path / "none.json")]) == 2
    assert main(["conformance", "table", one, f"--into={page}"]) == 2
    assert main(["conformance", "table", one, f"--into={tmp_path / 'no.md'}"]) == 2
    assert capsys.readouterr().out.splitlines() == [
        f"agentbench conformance: cannot read {tmp_path / 'none.json'}: No such file or directory",
        (
            "agentbench conformance: the page has no place for results: put in "
            f"{table.BEGIN} and {table.END}"
        ),
        f"agentbench conformance: cannot use {tmp_path / 'no.md'}: No such file or directory",
    ]


def test_what_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "home" / "codex@0.171.0" / "bin" / "codex"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho codex-cli 0.171.0\n")
    program.chmod(0o755)
    monkeypatch.setenv("AGENTBENCH_RUNTIMES", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert main(["conformance", "installed"]) == 0
    assert capsys.readouterr().out == "codex\n"
