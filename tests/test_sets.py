"""Many runs at once: leaderboards, and what they say of the benchmark."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.grade import Grade
from pytest_agentbench.record import ScenarioFacts
from pytest_agentbench.report.analysis import Analysis, analyses
from pytest_agentbench.report.analysis_set import Entry, Identity
from pytest_agentbench.report.leaderboard import leaderboard
from pytest_agentbench.scoring.correlation import pearson, ranks, spearman
from tests.made_runs import write_run

Capture = pytest.CaptureFixture[str]


def grade(score: float, *, strict: bool = False, process: float = 1.0, gate: float = 1.0) -> Grade:
    return Grade(
        policy="composite",
        threshold=0.6,
        correctness=score,
        process=process,
        gate=gate,
        capability=gate * (0.65 * score + 0.35 * process),
        score=gate * (0.65 * score + 0.35 * process),
        strict=strict,
        passed=score >= 0.6,
    )


def entry(name: str, scores: dict[str, list[float]], **kw: float) -> Entry:
    grades = {s: tuple(grade(x, strict=x == 1, **kw) for x in xs) for s, xs in scores.items()}
    made = Entry(
        identity=Identity(
            profile="", runtime=name, version="1", model="", mode="baseline", policy="composite"
        ),
        run="run",
        started=0.0,
        score=0.0,
        lower=0.0,
        coverage=1.0,
        facts={scenario: ScenarioFacts(id=scenario) for scenario in scores},
        grades=grades,
    )
    return made


def analyse(entries: list[Entry]) -> Analysis:
    (found,) = analyses(entries)
    return found


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    assert ranks([0.3, 0.9, 0.5, 0.5]) == [4.0, 1.0, 2.5, 2.5]
    assert ranks([]) == []


def test_coefficients_by_hand() -> None:
    # Ranks 1 2.5 2.5 4 against 1 2 3 4: rho = 4.5 / sqrt(4.5 * 5).
    pairs = [(4.0, 9.0), (3.0, 5.0), (3.0, 4.0), (1.0, 0.0)]
    assert spearman(pairs) == pytest.approx(4.5 / (4.5 * 5) ** 0.5)
    assert pearson([(0, 0), (1, 2), (2, 4)]) == pytest.approx(1.0)
    assert pearson([(0, 4), (1, 2), (2, 0)]) == pytest.approx(-1.0)


@pytest.mark.parametrize("pairs", [[], [(0, 0), (1, 1)], [(0, 1), (0, 2), (0, 3)]])
def test_what_no_coefficient_can_be_told_of(pairs: list[tuple[float, float]]) -> None:
    assert pearson(pairs) is None
    assert spearman(pairs) is None


def test_other_weights_and_formulas_move_rows() -> None:
    # By hand, C and P: a .9 .2, b .7 .8, c .5 .5.
    rows = [
        entry("a", {"s": [0.9]}, process=0.2),
        entry("b", {"s": [0.7]}, process=0.8),
        entry("c", {"s": [0.5]}, process=0.5),
    ]
    found = analyse(rows)
    # w=.65: a .655, b .735, c .5; w=.80: a .76, b .72, c .5; w=.50: a .55, b .75, c .5.
    low, high = found.weights
    assert (low.first, low.second, low.spearman, low.moved) == ("0.65 C", "0.50 C", 1.0, 0.0)
    assert (high.second, high.spearman, high.moved) == ("0.80 C", pytest.approx(0.5), 1.0)
    by_name = {each.second: each for each in found.ablations}
    assert list(by_name) == ["C", "C+P", "gated", "strict"]
    assert by_name["C"].spearman == pytest.approx(0.5)
    assert by_name["C+P"].spearman == 1.0
    assert by_name["strict"].spearman is None  # all are 0


def test_variance_between_and_within_scenarios() -> None:
    (spread,) = analyse([entry("a", {"s": [1.0, 0.0], "t": [1.0, 1.0]})]).spreads
    # Scores are .35 + .65 C. Means .675 and 1: variance .1625**2; within (.325**2 + 0) / 2.
    assert spread.between == pytest.approx(0.1625**2)
    assert spread.within == pytest.approx(0.325**2 / 2)
    assert spread.share == pytest.approx(2 / 3)
    (once,) = analyse([entry("a", {"s": [1.0], "t": [0.0]})]).spreads
    assert (once.within, once.share) == (None, None)


def test_scenarios_that_tell_nobody_apart_or_the_wrong_way() -> None:
    rows = [
        entry("good", {"easy": [1], "hard": [0], "fair": [1], "odd": [0], "more": [0.9], "most": [0.9]}, process=0),
        entry("fair", {"easy": [1], "hard": [0], "fair": [0.5], "odd": [0.5], "more": [0.6], "most": [0.6]}, process=0),
        entry("bad", {"easy": [1], "hard": [0], "fair": [0], "odd": [1], "more": [0.1], "most": [0.1]}, process=0),
    ]  # fmt: skip
    powers = {power.id: power for power in analyse(rows).powers}
    # With P = 0 a score is .65 C, so nothing is saturated yet.
    assert powers["hard"].verdict == "floor"
    assert powers["odd"].verdict == "inverted"
    assert powers["odd"].discrimination is not None
    assert powers["odd"].discrimination < 0
    assert powers["easy"].discrimination is None
    assert powers["fair"].verdict == ""
    whole = analyse([entry("a", {"easy": [1.0], "s": [0.0]}), entry("b", {"easy": [1.0]})])
    assert whole.scenarios == 1  # those that all rows have
    assert whole.powers[0].verdict == "saturated"


def test_nothing_in_common_and_nothing_at_all() -> None:
    assert analyse([entry("a", {"s": [1.0]}), entry("b", {"t": [1.0]})]).scenarios == 0
    assert leaderboard([]) == ()


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "1", {"s": "11", "t": "10", "u": "00"}, runtime="alpha")
    write_run(tmp_path / "1", {"s": "11", "t": "1x", "u": "xx"}, runtime="beta")
    write_run(tmp_path / "2", {"s": "10", "t": "00", "u": "00"}, runtime="alpha")
    write_run(tmp_path / "3", {"s": "11", "t": "11", "u": "01"}, runtime="=gamma")
    return tmp_path


def board(capsys: Capture, *args: str) -> str:
    capsys.readouterr()
    assert main(["leaderboard", *args]) == 0
    return capsys.readouterr().out


def test_a_leaderboard_of_runs(runs: Path, capsys: Capture) -> None:
    shown = board(capsys, "1", "2", "3", "--aggregation=best", "-k", "1").splitlines()
    places = [line.split("  ")[0] for line in shown[1:4]]
    assert places == ["1. beta · baseline", "2. =gamma · baseline", "3. alpha · baseline"]
    # Of beta, half of the trials were lost: its place is luck.
    beta = shown[1]
    assert "1.000" in beta
    assert "0.500 -1" in beta
    assert "50%" in beta
    assert "rows are over different numbers of scenarios" in shown[-1]


def test_how_several_runs_of_a_row_are_put_together(runs: Path, capsys: Capture) -> None:
    values = {}
    for how in ("best", "mean", "median", "latest"):
        found = json.loads(board(capsys, str(runs), f"--aggregation={how}", "--format=json"))
        values[how] = {row["identity"]["runtime"]: row["views"]["overall"] for row in found}
    assert values["best"]["alpha"] == pytest.approx(0.5)
    assert values["mean"]["alpha"] == values["median"]["alpha"] == pytest.approx(1 / 3)


def test_csv_runs_no_formula(runs: Path, capsys: Capture) -> None:
    rows = list(csv.DictReader(io.StringIO(board(capsys, str(runs), "--format=csv"))))
    assert {row["runtime"] for row in rows} == {"alpha", "beta", "'=gamma"}
    assert len(rows[0]) == 18


def test_an_analysis_of_runs(runs: Path, capsys: Capture) -> None:
    capsys.readouterr()
    assert main(["analyze", str(runs)]) == 0
    shown = capsys.readouterr().out
    for title in ("views of the score", "weight of correctness", "variance of scores", "scenarios"):
        assert title in shown
    assert shown.startswith("4 rows over the 2 scenarios of all of them\n")
    assert main(["analyze", str(runs), "--format=json"]) == 0
    first = capsys.readouterr().out
    assert main(["analyze", str(runs), "--format=json"]) == 0
    assert capsys.readouterr().out == first
    (found,) = json.loads(first)
    assert set(found) == {
        *("policy", "rows", "scenarios", "views", "weights", "ablations", "variance"),
        "discrimination",
    }


@pytest.fixture
def mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two models over scenarios of two scoring policies, which have none in common."""
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.chdir(tmp_path)
    facts = {"m": {"policy": "mean"}}
    write_run(tmp_path / "1", {"s": "11", "t": "10", "m": "10"}, model="large", facts=facts)
    write_run(tmp_path / "2", {"s": "10", "t": "00", "m": "11"}, model="little", facts=facts)
    return tmp_path


def test_each_scoring_policy_has_ranks_of_its_own(mixed: Path, capsys: Capture) -> None:
    shown = board(capsys, "1", "2", "-k", "1").splitlines()
    assert [line.split("  ")[0] for line in shown[:8]] == [
        *("composite", "1. large", "2. little", ""),
        *("mean", "1. little", "2. large", ""),
    ]
    assert shown[8] == "in all names: demo · baseline"
    assert "rows of different scoring policies are no ranking: each has its own" in shown
    assert not any("different numbers" in line for line in shown)
    rows = list(csv.DictReader(io.StringIO(board(capsys, "1", "2", "--format=csv"))))
    assert [(row["policy"], row["model"], row["rank"]) for row in rows] == [
        *(("composite", "large", "1.0"), ("composite", "little", "2.0")),
        *(("mean", "little", "1.0"), ("mean", "large", "2.0")),
    ]


def test_names_are_whole_where_there_is_room(
    mixed: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    shown = board(capsys, "1", "2")
    assert "1. demo · large · baseline  " in shown
    assert "in all names" not in shown


def test_each_scoring_policy_is_analysed_apart(mixed: Path, capsys: Capture) -> None:
    capsys.readouterr()
    assert main(["analyze", "1", "2"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("policy composite\n\n2 rows over the 2 scenarios of all of them\n")
    assert "\n\n\npolicy mean\n\n2 rows over the 1 scenario of all of them\n" in shown
    assert main(["analyze", "1", "2", "--format=json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(each["policy"], each["scenarios"]) for each in found] == [
        ("composite", 2),
        ("mean", 1),
    ]


def test_what_cannot_be_ranked(runs: Path, capsys: Capture) -> None:
    (runs / "none").mkdir()
    assert main(["leaderboard", "none"]) == 2
    assert capsys.readouterr().out == (
        "agentbench leaderboard: none is no run folder and holds none; give folders of runs\n"
    )
    assert main(["leaderboard", "1", "-k", "9"]) == 2
    assert capsys.readouterr().out == (
        "agentbench leaderboard: -k: 9 is not between 1 and 1, which all rows have\n"
    )
