"""``agentbench compare``: what it prints and returns for runs that were written by hand."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench import cli
from tests.made_runs import write_run

#: Ten scenarios of three trials, of which seven pass all.
STEADY = {f"s{i}": "111" for i in range(7)} | {"low": "000", "some": "101", "most": "110"}
#: The same with most of them failing.
FALLEN = {f"s{i}": "100" if i < 6 else "111" for i in range(7)} | {
    "low": "000",
    "some": "100",
    "most": "110",
}


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.chdir(tmp_path)


def compare(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    """The exit code, and what was printed with each run of spaces and line ends as one space."""
    code = cli.main(["compare", *args])
    return code, re.sub(r"\s+", " ", capsys.readouterr().out)


def test_a_run_that_fell_is_a_regression(capsys: pytest.CaptureFixture[str]) -> None:
    write_run(Path("a"), STEADY)
    write_run(Path("b"), FALLEN)
    code, text = compare(capsys, "a", "b")
    assert code == 1
    # six scenarios lost 2/3, one lost 1/3, three are as they were
    change = -(6 * 2 / 3 + 1 / 3) / 10
    assert "regression: 1 finding against the rules (exit code 1)" in text
    assert f"demo · baseline: allowed_drop: the score changed by {change:+.3f}, at best by" in text
    assert "; allowed: a drop of 0.000" in text
    before, after = (7 + 4 / 3) / 10, (7 + 4 / 3) / 10 + change
    assert f"score {before:.3f} → {after:.3f}, change {change:+.3f} [" in text
    assert "(90 %)" in text
    assert "all trials pass in 1 on both sides, in 6 only before, in 0 only now, in 3 on" in text
    assert "(McNemar p 0.031)" in text
    assert "down: s0 1.00 → 0.33, s1 1.00 → 0.33, s2" in text
    assert "some 0.67 → 0.33" in text
    assert "low 0.00" not in text  # it did not move
    assert re.search(r"a drop of 0\.\d\d\d or more would have been detected in 80 %", text)
    assert re.search(r"asked for: 0\.050, which takes \d+ scenarios such as these 10", text)


def test_the_same_run_twice_is_no_regression_but_ten_scenarios_are_too_few_to_say(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_run(Path("a"), STEADY)
    write_run(Path("b"), STEADY)
    code, text = compare(capsys, "a", "b")
    assert code == 0
    assert "inconclusive: no rule is broken, as far as this can be told (exit code 0)" in text
    assert "not settled: demo · baseline: detect_drop: the score changed by +0.000" in text
    assert "needed: above -0.050, to rule such a drop out" in text
    assert "could have detected is not known: nothing varied" in text
    assert compare(capsys, "a", "b", "--inconclusive=10")[0] == 10
    assert compare(capsys, "a", "b", "--inconclusive=fail")[0] == 1
    code, text = compare(capsys, "a", "b", "--detect-drop=0.3", "--inconclusive=10")
    assert (code, text[:31]) == (0, "pass: no rule is broken, and no")


def test_one_scenario_has_no_interval(capsys: pytest.CaptureFixture[str]) -> None:
    write_run(Path("a"), {"s0": "111"})
    write_run(Path("b"), {"s0": "000"})
    code, text = compare(capsys, "a", "b", "--inconclusive=10")
    assert code == 10
    assert "the score changed by -1.000, and one scenario or family alone bounds nothing;" in text
    assert "change -1.000 no interval, as there is one scenario" in text
    assert "could have detected is not known: too few scenarios" in text


def test_a_drop_that_is_allowed_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    write_run(Path("a"), STEADY)
    write_run(Path("b"), FALLEN)
    assert compare(capsys, "a", "b", "--allowed-drop=0.5")[0] == 0
    assert compare(capsys, "a", "b", "--allowed-drop=0.1")[0] == 1
    assert compare(capsys, "b", "a")[0] == 0  # it rose


def test_one_row_on_either_side_is_compared_whatever_its_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_run(Path("a"), STEADY, runtime="openclaw@1")
    write_run(Path("b"), FALLEN, runtime="openclaw@2")
    code, text = compare(capsys, "a", "b")
    assert code == 1
    assert "openclaw@1 · baseline → openclaw@2 · baseline: allowed_drop" in text


def test_rows_pair_by_name_and_share_the_level(capsys: pytest.CaptureFixture[str]) -> None:
    for folder, gone in (("a", "old"), ("b", "new")):
        write_run(Path(folder), STEADY, model="m1")
        write_run(Path(folder), STEADY, model="m2")
        write_run(Path(folder), STEADY, model=gone)
    code, text = compare(capsys, "a", "b", "--format=json")
    data = json.loads(text)
    names = [row["after"]["name"] for row in data["comparison"]["rows"]]
    assert names == [f"demo · {model} · baseline" for model in ("m1", "m2", "new")]
    assert data["comparison"]["tail"] == pytest.approx(0.05 / 3)
    write_run(Path("b"), STEADY, model="newer")
    code, text = compare(capsys, "a", "b")
    assert "only before: demo · old · baseline" in text
    assert "only now: demo · new · baseline, demo · newer · baseline" in text
    assert "in 5 % of comparisons, shared out among 2 rows" in text
    assert code == 0


def test_trials_that_are_missing_are_facts_and_no_zeros(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_run(Path("a"), STEADY | {"gone": "111", "off": "111"})
    write_run(Path("b"), STEADY | {"s0": "1xx", "s1": "xxx", "off": "uuu", "fresh": "1--"})
    code, text = compare(capsys, "a", "b")
    assert code == 0
    assert "compared: 9 scenarios" in text
    assert "change +0.000" in text
    assert "trials without a score now: 5 provider_error, 2 not_started, 3 unsupported" in text
    assert (
        "not compared, as no trial has a score on one side: s1 (before 3 completed; now 3 "
        "provider_error), off (before 3 completed; now 3 unsupported)" in text
    )
    assert "planned only before: gone" in text
    assert "planned only now: fresh" in text


def test_a_changed_scenario_is_compared_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    write_run(Path("a"), {"s0": "111"}, lock={"checker": "1", "model": "m"})
    write_run(Path("a"), {"s1": "111"}, lock={"checker": "1", "model": "m"})
    write_run(Path("b"), {"s0": "111"}, lock={"checker": "2", "model": "n"})
    write_run(Path("b"), {"s1": "111"}, lock={"checker": "1", "model": "n"})
    _, text = compare(capsys, "a", "b")
    assert (
        "compared although changed in between, so that the change may be theirs: s0 (checker)"
        in text
    )
    assert "the profile of the model is not the one of before" in text
    assert "compared: 2 scenarios" in text


def test_scenarios_without_any_in_common_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    write_run(Path("a"), {"s0": "111"})
    write_run(Path("b"), {"other": "111"})
    code, text = compare(capsys, "a", "b")
    assert code == 1
    assert (
        "demo · baseline: baseline: no scenario has a score on both sides (3 graded trials before, "
        "3 now); allowed: at least one" in text
    )
    write_run(Path("c"), {"s0": "111"}, runtime="x")
    write_run(Path("c"), {"s0": "111"}, runtime="y")
    code, text = compare(capsys, "a", "c")
    assert code == 1
    assert (
        "baseline: no row in common: demo · baseline before, x · baseline, y · baseline now; "
        "allowed: the same runtime, model and mode, or one row on either side" in text
    )


def test_two_models_are_compared_policy_by_policy(capsys: pytest.CaptureFixture[str]) -> None:
    facts = {"m": {"policy": "mean"}}
    for folder, model in (("a", "large"), ("b", "little")):
        write_run(Path(folder), {"s0": "111", "s1": "110", "m": "111"}, model=model, facts=facts)
    code, text = compare(capsys, "a", "b")
    assert code == 0
    for policy in ("composite", "mean"):
        line = f"demo · large · baseline · {policy} → demo · little · baseline · {policy}"
        assert f"{line} ({policy} scoring) score " in text


def test_a_row_keeps_its_name_beside_a_new_scoring_policy(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_run(Path("a"), {"s0": "111", "s1": "110"})
    write_run(Path("b"), {"s0": "111", "s1": "110", "m": "111"}, facts={"m": {"policy": "mean"}})
    _, text = compare(capsys, "a", "b")
    assert " demo · baseline · composite (composite scoring) score " in text
    assert "→ demo" not in text


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["a", "nowhere"],
            (
                "'nowhere' does not exist; give the folder of an earlier run, of which plan.json and "
                "ledger.jsonl are needed"
            ),
        ),
        (
            ["a", "empty"],
            (
                "'empty' has no plan.json; give the folder of an earlier run, or a file in it: "
                "plan.json and ledger.jsonl are needed"
            ),
        ),
        (
            ["a", "copied.json"],
            (
                "'copied.json' is a file by itself, and a baseline is a run: report.json, wherever "
                "it was copied to, does not have the trials that are compared; give the folder of "
                "an earlier run, of which plan.json and ledger.jsonl are needed"
            ),
        ),
        (["a", "bad"], "bad: plan.json: not a plan of pytest-agentbench (JSONDecodeError: "),
        (
            ["a", "a", "--level=0.95"],
            (
                "--level is the share of false alarms, from 0.0001 to 0.5, not the confidence: for "
                "0.95 write 0.05"
            ),
        ),
        (["a", "a", "--allowed-drop=5"], "--allowed-drop must be a number from 0 to 1, not 5.0"),
        (
            ["a", "a", "--allowed-drop=0.1", "--detect-drop=0.1"],
            (
                "detect_drop 0.1 must be above allowed_drop 0.1: a drop that is "
                "allowed raises no alarm"
            ),
        ),
        (
            ["a", "a", "--inconclusive=maybe"],
            "--inconclusive: 'maybe' is not known; allowed: pass, fail, 10",
        ),
        (["a", "a", "--rules=none.toml"], "--rules: none.toml is no file; give a pyproject.toml"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    capsys: pytest.CaptureFixture[str], args: list[str], message: str
) -> None:
    write_run(Path("a"), {"s0": "111"})
    Path("copied.json").write_text("{}")
    Path("empty").mkdir()
    write_run(Path("bad"), {"s0": "111"})
    Path("bad/plan.json").write_text("{")
    code, text = compare(capsys, *args)
    assert code == 2
    assert f"agentbench compare: {message}" in text


def test_a_file_of_a_run_stands_for_its_folder(capsys: pytest.CaptureFixture[str]) -> None:
    write_run(Path("a"), STEADY)
    assert compare(capsys, "a/plan.json", "a/ledger.jsonl") == compare(capsys, "a", "a")


def test_rules_come_from_a_file_and_options_go_before_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_run(Path("a"), STEADY)
    write_run(Path("b"), FALLEN)
    Path("rules.toml").write_text(
        "[tool.agentbench.gate]\nallowed_drop = 0.6\nmin_coverage = 0.9\n"
        'quarantine = [{scenario = "s0", until = 9999-12-31, reason = "flaky clock"}]\n'
    )
    code, text = compare(capsys, "a", "b", "--rules=rules.toml")
    assert code == 0
    assert "compared: 9 scenarios" in text
    assert "left out, in quarantine: s0" in text
    assert "quarantine of s0 until 9999-12-31: flaky clock" in text
    assert compare(capsys, "a", "b", "--rules=rules.toml", "--allowed-drop=0")[0] == 1


def test_json_has_all_figures_and_the_same_bytes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write_run(Path("a"), STEADY, facts={"s0": {"dimension": "safety"}})
    write_run(Path("b"), FALLEN)
    code = cli.main(["compare", "a", "b", "--format=json"])
    first = capsys.readouterr().out
    data: dict[str, Any] = json.loads(first)
    assert (code, data["exit_code"], data["result"], data["schema"]) == (1, 1, "regression", "1.0")
    (row,) = data["comparison"]["rows"]
    assert row["score"]["change"] == pytest.approx(-13 / 30)
    assert row["mcnemar"] == {"both": 1, "lost": 6, "gained": 0, "neither": 3, "p": 0.03125}
    assert {m["name"] for m in row["scenarios"]} == set(STEADY)
    assert data["rules"]["level"] == 0.05
    assert str(tmp_path) not in first
    cli.main(["compare", "a", "b", "--format=json"])
    assert capsys.readouterr().out == first


def test_markdown_shows_hostile_names_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    name = "a|b](http://x) <img src=x> @all `c`\x1b[31m\n# big"
    write_run(Path("a"), STEADY | {name: "111"})
    write_run(Path("b"), FALLEN | {name: "000"})
    cli.main(["compare", "a", "b", "--format=md"])
    text = capsys.readouterr().out
    assert text.startswith("## Gate: regression\n")
    assert (
        "| a\\|b\\]\\(http\\://x\\) &lt;img src=x&gt; \\@all \\`c\\`\\\\x1b\\[31m\\\\n\\# big | 1.000 |"
        in text
    )
    assert "\x1b" not in text
    cli.main(["compare", "a", "b"])
    assert "\x1b" not in capsys.readouterr().out
