"""Runs with skills, as people and programs read them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.report.json_report import build
from pytest_agentbench.report.reader import open_run
from pytest_agentbench.report.report_schema import schema
from pytest_agentbench.report.run import read_run
from pytest_agentbench.report.skill_comparison import SkillComparison
from pytest_agentbench.skill import GivenSkill, MadeSkill, Mutation
from tests.made_skills import (
    ADDED,
    GIVEN,
    SCORES,
    SKILL,
    Made,
    Spend,
    author,
    baseline,
    control,
    every,
    first,
    postskill,
    preskill,
    write_modes,
)
from tests.test_reports import PYTHONS, report

HOSTILE = "<b>\x1b[31m| `x` @you\u202e"


def compared(folder: Path) -> dict[str, SkillComparison]:
    with open_run(folder) as run:
        found = run.scoreboard().skills
    assert found == read_run(folder).scoreboard.skills  # read whole or trial by trial
    return {each.mode: each for each in found}


def printed(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["report", str(folder), *options]) == 0
    return capsys.readouterr().out


def test_what_a_skill_adds_and_takes(tmp_path: Path) -> None:
    folder = write_modes(tmp_path / "run", {"baseline": baseline(), "preskill": preskill()})
    found = compared(folder)["preskill"]
    assert (found.kind, found.graded, found.left_out) == ("within-task", 12, 0)
    # Scores sum to 1.2 of 6 without, and to 1.2 + 3.3 with the skill.
    assert found.score is not None
    assert (found.score.before, found.score.after) == pytest.approx((0.2, 0.75))
    assert found.ratio == pytest.approx(3.75)
    tokens, cost, time = (found.resources[name] for name in ("tokens", "cost_usd", "seconds"))
    # 1000 / 800; 1000 / (2000 + 800); 2000 at 200 a use; (2000 + 800 n) / 1000 n.
    assert (tokens.execution, tokens.end_to_end) == pytest.approx((1.25, 1000 / 2800))
    assert tokens.break_even == 10
    assert list(tokens.amortised.values()) == pytest.approx([2.8, 1.8, 1.2, 1.0])
    # A use costs more dollars than a direct run, and half the time: 20 s at 5 s a use.
    assert (cost.execution, cost.break_even) == (pytest.approx(0.01 / 0.012), "never")
    assert (time.execution, time.break_even) == (2.0, 4)
    # 55 points for 6 · 1800 tokens more.
    assert found.points_per_million == pytest.approx(55 / 0.0108)
    assert found.made is not None
    assert (found.made.skills, found.made.with_skill, found.made.trials) == (12, 12, 12)
    assert found.made.quality == pytest.approx(0.8)
    assert (found.violations.mutated, found.violations.guarded) == (0, 12)
    assert found.first_to_second is None


def test_a_second_run_of_the_same_trial(tmp_path: Path) -> None:
    folder = write_modes(tmp_path / "run", {"baseline": baseline(), "postskill": postskill()})
    found = compared(folder)["postskill"]
    second = found.first_to_second
    assert second is not None
    assert (second.before, second.after, second.change) == pytest.approx((0.2, 0.6, 0.4))
    assert found.first_to_second_ratio == pytest.approx(3.0)
    tokens, cost = found.resources["tokens"], found.resources["cost_usd"]
    # The first run is credited as a direct one: 500 for the summary, and nothing saved by a use.
    assert (tokens.execution, tokens.end_to_end) == pytest.approx((1.0, 1000 / 2500))
    assert tokens.break_even == "never"
    assert list(tokens.amortised.values()) == pytest.approx([1.25, 3.5 / 3, 6.5 / 6, 11.5 / 11])
    # What the summary cost is unknown, so the whole is; the graded run alone is not.
    assert (cost.execution, cost.end_to_end) == (1.0, None)
    assert (cost.break_even, cost.amortised, cost.whole) == (None, {}, None)


def test_unknown_usage_is_unknown_and_never_0(tmp_path: Path) -> None:
    nothing = Spend(tokens=None, usd=None, seconds=5.0)
    folder = write_modes(tmp_path / "run", {"baseline": baseline(), "preskill": preskill(nothing)})
    found = compared(folder)["preskill"]
    tokens = found.resources["tokens"]
    assert (tokens.execution, tokens.end_to_end, tokens.break_even) == (None, None, None)
    assert (tokens.scenarios, tokens.before, found.points_per_million) == (0, None, None)
    assert found.resources["seconds"].execution == 2.0


def test_usage_that_is_known_of_some_scenarios(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    modes = preskill()
    modes["a"] = [Made(score=0.7, spend=Spend(tokens=None), before=(author(),))]
    folder = write_modes(tmp_path / "run", {"baseline": baseline(), "preskill": modes})
    tokens = compared(folder)["preskill"].resources["tokens"]
    assert (tokens.scenarios, tokens.execution) == (5, 1.25)
    assert "1.25 / 0.36*" in printed(folder, capsys)


def test_a_mode_without_a_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_modes(tmp_path / "run", {"preskill": preskill()})
    found = compared(folder)["preskill"]
    assert (found.score, found.ratio, found.resources) == (None, None, {})
    assert (found.left_out, found.points_per_million) == (6, None)
    assert found.attribution is not None
    assert found.attribution.reason == "no_baseline"
    assert "no scenario has a score both with it and in the mode baseline" in " ".join(
        printed(folder, capsys).split()
    )


def test_a_mode_of_which_nothing_has_a_score(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = {name: [Made(score=None)] for name in SCORES}
    folder = write_modes(tmp_path / "run", {"baseline": baseline(), "preskill": lost})
    found = compared(folder)["preskill"]
    assert (found.graded, found.score, found.left_out) == (0, None, 6)
    assert "0 of 6" in printed(folder, capsys)


def test_one_trial_has_a_gain_and_no_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_modes(tmp_path / "run", {"baseline": {"a": [0.0]}, "with-skill": {"a": [0.5]}})
    found = compared(folder)["with-skill"]
    assert found.score is not None
    assert (found.kind, found.ratio, found.score.interval) == ("given", "infinite", None)
    text = printed(folder, capsys)
    assert "2 with-skill given 0.000 0.500 +0.500 inf 1 of 1" in " ".join(text.split())
    assert "one scenario or family gives no interval (+0.500, no interval)" in " ".join(
        text.split()
    )


def test_a_loss_is_told_as_one(tmp_path: Path) -> None:
    worse = {name: [Made(score=score / 4)] for name, score in SCORES.items()}
    found = compared(write_modes(tmp_path / "run", {"baseline": baseline(), "with-skill": worse}))
    assert found["with-skill"].ratio == pytest.approx(0.25)
    assert found["with-skill"].attribution is not None
    assert found["with-skill"].attribution.reason == "score_fell"


def test_content_helped_only_where_every_control_is_beaten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    modes = {
        "baseline": baseline(),
        "preskill": preskill(),
        "postskill": postskill(),
        "empty-skill": control(0.05),
        "irrelevant-skill": control(0.4),
        "transfer": control(0.1),
    }
    folder = write_modes(tmp_path / "run", modes)
    found = compared(folder)
    said = {mode: each.attribution and each.attribution.reason for mode, each in found.items()}
    assert said == {
        "preskill": "supported",
        "postskill": "control_gains_as_much",
        "empty-skill": None,
        "irrelevant-skill": None,
        "transfer": "control_gains_as_much",
    }
    kinds = [each.kind for each in found.values()]
    assert kinds == ["within-task", "within-task", "control", "control", "transfer"]
    text = printed(folder, capsys)
    assert "2 preskill: the data support that the skill's content helped: +0.550" in text
    assert "6 transfer: the data do not show that the skill's content helped" in text


def test_a_skill_that_no_model_saw_explains_nothing(tmp_path: Path) -> None:
    unseen = GivenSkill(name="helpful", files=1, sha256="a" * 64, shown=False, opened=False)
    modes = {
        "baseline": baseline(),
        "with-skill": {
            name: [Made(score=score + ADDED[name], given=(unseen,))]
            for name, score in SCORES.items()
        },
        "preskill": {
            name: [Made(score=score + ADDED[name], before=(author(made=()),))]
            for name, score in SCORES.items()
        },
        "empty-skill": control(0.0),
    }
    found = compared(write_modes(tmp_path / "run", modes))
    reasons = {mode: each.attribution and each.attribution.reason for mode, each in found.items()}
    assert reasons == {
        "with-skill": "never_shown",
        "preskill": "no_skill_made",
        "empty-skill": None,
    }
    made = found["preskill"].made
    assert made is not None
    assert (made.skills, made.quality) == (0, 0.0)


def test_a_mode_that_has_no_skill_is_no_case_for_one(tmp_path: Path) -> None:
    twice = {name: [Made(score=0.9, before=(first(score),))] for name, score in SCORES.items()}
    folder = write_modes(tmp_path / "run", {"baseline": baseline(), "twice": twice})
    found = compared(folder)["twice"]
    assert (found.kind, found.attribution) == ("none", None)
    assert found.first_to_second is not None
    assert found.first_to_second.change == pytest.approx(0.7)
    assert found.resources["tokens"].end_to_end == pytest.approx(0.5)
    assert found.resources["tokens"].amortised == {}


def test_what_agents_did_to_skills_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = MadeSkill(name=HOSTILE, files=1, bytes=1, sha256="b" * 64, refused="too large")
    edited = Mutation(edited=(f"{HOSTILE}/SKILL.md",))
    trial = Made(score=0.5, before=(author(made=(SKILL, odd)),), given=(GIVEN,), mutation=edited)
    folder = write_modes(
        tmp_path / "run", {"baseline": {"a": [0.5]}, "preskill": {"a": [trial] * 2}}
    )
    found = compared(folder)["preskill"]
    assert found.made is not None
    assert (found.made.skills, found.made.refused, found.made.quality) == (4, 2, 0.4)
    assert (found.violations.mutated, found.violations.guarded) == (2, 2)
    text = printed(folder, capsys)
    assert "violation in a: edited <b>\\x1b[31m| `x` @you\\u202e/SKILL.md" in text
    assert "\x1b" not in text


def test_a_run_of_baselines_says_nothing_of_skills(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_modes(tmp_path / "run", {"baseline": baseline()})
    assert compared(folder) == {}
    for kind in ("text", "md", "json"):
        assert "skill" not in printed(folder, capsys, "--format", kind)


def test_runtimes_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    for runtime, added in (("one", 0.1), ("two", -0.1)):
        modes = {"baseline": baseline(), "with-skill": control(added)}
        write_modes(folder, modes, runtime=runtime)
    with open_run(folder) as run:
        changes = [each.score and round(each.score.change, 6) for each in run.scoreboard().skills]
    assert changes == [0.1, -0.1]
    text = printed(folder, capsys)
    assert "2 one · with-skill" in text
    assert "4 two · with-skill" in text


def test_tables_fit_into_100_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    modes = {
        "baseline": baseline(),
        "preskill": preskill(),
        "postskill": postskill(),
        "irrelevant-skill": control(0.4),
    }
    folder = write_modes(tmp_path / "run", modes, runtime="a runtime with a long name")
    write_modes(folder, modes, runtime="another runtime with a long name")
    lines = printed(folder, capsys).splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("skills: score"))
    assert max(map(len, lines[start:])) <= 100


def test_report_json_has_the_comparisons_and_holds_to_its_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = every(tmp_path / "run", HOSTILE)
    text = printed(folder, capsys, "--format", "json")
    data = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    jsonschema.validate(data, schema())
    assert data["schema"] == "1.1"
    assert [each["mode"] for each in data["skills"]] == [
        "preskill",
        "postskill",
        "empty-skill",
        f"own {HOSTILE}",
    ]
    assert data["skills"][3]["ratio"] == "infinite"
    assert data["skills"][1]["resources"]["cost_usd"]["end_to_end"] is None
    assert data["skills"][0]["resources"]["cost_usd"]["break_even"] == "never"
    assert data["skills"][0]["resources"]["tokens"]["amortised"].keys() == {"1", "2", "5", "10"}
    run = read_run(folder)
    assert json.loads(json.dumps(build(run.scoreboard, run.plan, run.view.records))) == data


def test_the_schema_asks_for_all_of_a_comparison(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = json.loads(printed(every(tmp_path / "run", HOSTILE), capsys, "--format", "json"))
    for name in list(data["skills"][0]):
        kept = data["skills"][0].pop(name)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(data, schema())
        data["skills"][0][name] = kept
    jsonschema.validate(data, schema())


def test_report_json_of_baselines_is_of_the_version_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_modes(tmp_path / "run", {"baseline": baseline()})
    data = json.loads(printed(folder, capsys, "--format", "json"))
    jsonschema.validate(data, schema())
    assert data["schema"] == "1.0"
    assert "skills" not in data


def test_markdown_says_what_the_data_support_and_nothing_in_it_is_markup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(every(tmp_path / "run", HOSTILE), capsys, "--format", "md")
    section = text[text.index("### Skills") : text.index("### Scenarios")]
    assert "- 2 preskill: the data support that the skill's content helped: +0." in section
    assert "| skills: score | skill | without | with | gain [interval] | R | pairs |" in section
    assert "| 2 preskill | within-task | 0.171 |" in section
    assert "violation in zero: added &#60;b&#62;" in section
    assert not {"<", "`", "@", "\x1b", "\u202e"} & set(section)
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    assert all(line.count("|") in (5, 6, 7, 8, 9) for line in rows)  # a name adds no column


def test_the_page_has_the_comparisons_only_where_there_are_some(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def page(folder: Path) -> dict[str, object]:
        printed(folder, capsys, "--format", "html")
        html = (folder / "report.html").read_text()
        start = html.index('id="data">') + len('id="data">')
        data: dict[str, object] = json.loads(html[start : html.index("</script>", start)])
        return data

    found = page(every(tmp_path / "run", HOSTILE))["skills"]
    assert isinstance(found, list)
    assert [(each["row"], each["mode"]) for each in found][:2] == [
        (1, "preskill"),
        (2, "postskill"),
    ]
    plain = write_modes(tmp_path / "plain", {"baseline": baseline()})
    assert "skills" not in page(plain)


@pytest.mark.parametrize("kind", ["text", "json", "md", "html"])
def test_comparisons_are_the_same_bytes_everywhere(tmp_path: Path, kind: str) -> None:
    folder = every(tmp_path / "run", HOSTILE)
    here = report(folder, kind, PYTHONHASHSEED="1")
    for python in PYTHONS:
        assert report(folder, kind, python=python, PYTHONHASHSEED="7", LC_ALL="C") == here, python
