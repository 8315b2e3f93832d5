"""Two reviewers' versions of a draft become one, as they see it on the command line."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_agentbench.cli import main
from pytest_agentbench.rubric_merge import merge
from pytest_agentbench.scenario.rubric_file import load_rubric
from tests.rubrics import contrasted, contrastive

BASE = contrastive()


def version(**changes: Any) -> dict[str, Any]:
    """The draft as a reviewer leaves it: by id a list of criteria in its place, or changed keys."""
    criteria: list[dict[str, Any]] = []
    for each in copy.deepcopy(BASE["criteria"]):
        change = changes.pop(each["criterion_id"], {})
        criteria += change if isinstance(change, list) else [{**each, **change}]
    return BASE | {"criteria": criteria + list(changes.values())}


SPLIT = [
    contrasted("probes.1", category_id="empirical_verification_loop"),
    contrasted("probes.2", category_id="empirical_verification_loop"),
]
SAID = {"statement": "The agent opens what it made."}
OTHER = {"statement": "The agent looks at what it made."}


def run(folder: Path, a: Any, b: Any, resolution: str = "") -> int:
    for name, value in (("base", BASE), ("a", a), ("b", b)):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(value, sort_keys=False))
    (folder / "said.yaml").write_text(resolution or "{}")
    names = [str(folder / f"{name}.yaml") for name in ("a", "b", "base", "said", "merged")]
    more = ("--resolution", names[3]) if resolution else ()
    return main([
        *("rubric", "calibrate", *names[:2], "--base", names[2]),
        *("-o", names[4], *more),
    ])  # fmt: skip


def test_what_both_did_is_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = version(probes=SPLIT, opens=SAID, rushes=[])
    assert run(tmp_path, both, both) == 0
    out = capsys.readouterr().out
    assert "5 criteria: 2 kept, 1 reworded, 1 split, 1 removed; agreement 1.00\n" in out
    merged = load_rubric(tmp_path / "merged.yaml")
    assert [each.id for each in merged.criteria] == [
        *("verdict", "opens", "probes.1", "probes.2", "phases"),
    ]
    assert merged.criteria[1].statement == SAID["statement"]
    assert [each["category_id"] for each in merged.facts["category_taxonomy"]] == [
        *("durable_artifact", "output_discipline", "empirical_verification_loop"),
        "phase_adherence",
    ]
    assert merged.facts["calibration"]["agreement"] == 1.0


def test_disagreements_are_named_and_wait_for_a_resolution(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = version(probes=SPLIT, opens=SAID, rushes=[])
    b = version(opens=OTHER, phases={"weight": 5}, extra=contrasted("extra"))
    assert run(tmp_path, a, b) == 1
    assert capsys.readouterr().out == (
        "6 criteria: 1 kept, 1 reworded, 1 changed, 1 split, 1 removed, 1 added; agreement 0.17\n"
        "  opens: A reworded, B reworded: open\n"
        "  probes: A split, B kept: open\n"
        "  phases: A kept, B changed: open\n"
        "  rushes: A removed, B kept: open\n"
        "  extra: A absent, B added: open\n"
        "say what holds of each in a file, and give it with --resolution:\n"
        "  opens: a    # or b, drop, or the criterion written out\n"
        "  probes: a    # or b, drop, or the criterion written out\n"
        "  phases: a    # or b, drop, or the criterion written out\n"
        "  rushes: a    # or b, drop, or the criterion written out\n"
        "  extra: a    # or b, drop, or the criterion written out\n"
    )
    assert not (tmp_path / "merged.yaml").exists()
    written = {**contrasted("opens", category_id="output_discipline"), **SAID}
    resolution = {"opens": written, "probes": "a", "phases": "b", "rushes": "drop", "extra": "a"}
    assert run(tmp_path, a, b, yaml.safe_dump(resolution)) == 0
    merged = load_rubric(tmp_path / "merged.yaml")
    assert {each.id: each.weight for each in merged.criteria} == {
        "verdict": 2.0,
        "opens": 2.0,
        "probes.1": 2.0,
        "probes.2": 2.0,
        "phases": 5.0,
    }
    decisions = merged.facts["calibration"]["decisions"]
    assert {each["id"]: each["resolution"] for each in decisions} == {
        "opens": "rewritten",
        "probes": "a",
        "phases": "b",
        "rushes": "drop",
        "extra": "a",
    }


def test_a_resolution_of_what_nobody_disputes_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, BASE, BASE, "opens: a") == 2
    assert capsys.readouterr().err == (
        "agentbench rubric calibrate: the resolution names opens, on which the reviewers do not "
        "disagree; disputed: nothing\n"
    )
    assert run(tmp_path, version(opens=SAID), BASE, "opens: c") == 2
    assert "the resolution of opens must be one of a, b, drop, or the criterion" in (
        capsys.readouterr().err
    )


def test_what_would_be_no_rubric_is_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = version(verdict=[], opens={"gatekeeper": True})
    assert run(tmp_path, a, BASE, "{verdict: a, opens: b}") == 2
    assert "must have exactly one with `gatekeeper: true`" in capsys.readouterr().err
    assert not list(tmp_path.glob("merged*"))


def test_a_name_that_only_looks_like_a_split_is_none() -> None:
    base = [contrasted("a", gatekeeper=True), contrasted("a.1")]
    found = merge(base, [base[0]], base, {})
    assert [(each.id, each.a, each.b) for each in found.decisions] == [
        ("a", "kept", "kept"),
        ("a.1", "removed", "kept"),
    ]
