"""Skills that agents authored are kept, listed, and given to agents on siblings."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.redaction import Redactor
from pytest_agentbench.skill import MadeSkill
from pytest_agentbench.skills.library import Entry, Library, of_siblings
from tests.project import Project
from tests.test_modes import LESSON, TABLE


@pytest.fixture
def siblings(project: Project) -> Project:
    """Two scenarios of a family, and one of another."""
    project.write("shouting/SKILL.md", LESSON)
    project.write("pyproject.toml", TABLE)
    text = project.scenario("shout").read_text()
    other = text.replace("id: shout", "id: yell").replace("lower", "quiet")
    project.write("scenarios/yell.yaml", other.replace("LOWER", "QUIET"))
    project.scenario("alone", family="others")
    return project


def bench(project: Project, run: str, *args: str) -> pytest.RunResult:
    options = ("--model=apprentice", "--gate=none", f"--run-dir={run}")
    return project.bench(*options, *args, runtime="minimal")


def skills_of(record: dict[str, Any]) -> list[str]:
    """The ids of what it was given out of the library."""
    ids: list[str] = record["observed"]["transfer"]["skills"]
    return ids


def words(project: Project, run: str) -> dict[str, bool]:
    return {
        f"{r['scenario']['id']} {r['mode']}": r["grade"]["checks"][0]["passed"]
        for r in project.records(run)
        if r["grade"]
    }


def test_what_was_authored_on_one_helps_on_its_sibling(
    siblings: Project, workers: list[str]
) -> None:
    author = ("--mode=preskill", "--skill-library=library", "-k", "shout")
    bench(siblings, "author", *author, *workers)
    options = ("--mode=baseline", "--transfer", "--skill-library=library", "-rs")
    result = bench(siblings, "transfer", *options, *workers)
    assert words(siblings, "transfer") == {
        "shout baseline": False,
        "yell baseline": False,
        "yell transfer": True,
        "alone baseline": False,
    }
    reason = "the library has no skill of minimal for a sibling (words)"
    result.stdout.fnmatch_lines([f"*{reason}; fill it with --mode=preskill or --mode=postskill*"])
    (record,) = [r for r in siblings.records("transfer") if r["mode"] == "transfer" and r["grade"]]
    (phase,) = record["phases"]
    assert (phase["given"][0]["name"], phase["given"][0]["opened"]) == ("shouting", True)
    assert record["lock"]["mode"]


def test_a_library_that_is_not_there_is_named(siblings: Project) -> None:
    result = bench(siblings, "run", "--transfer", "--skill-library=nowhere", "-rs")
    result.stdout.fnmatch_lines(
        ["*the library *nowhere does not exist, so it has no skill of minimal for a sibling (*"]
    )


def test_transfer_needs_a_library(siblings: Project) -> None:
    result = bench(siblings, "run", "--transfer")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    message = (
        "ERROR: mode transfer needs --skill-library=DIR: a library that runs of --mode=preskill or "
        "--mode=postskill have filled, for example reports/RUN/skills"
    )
    assert message in result.errlines


def test_what_is_disabled_or_has_findings_is_not_given(siblings: Project) -> None:
    bench(siblings, "author", "--mode=preskill", "-k", "shout or yell")
    library = Library(siblings.path / "author" / "skills")
    shout, yell = library.entries()
    library.disable(shout.id, "it is about another company")
    (yell.folder / "SKILL.md").write_text(LESSON + "\n    sudo rm -rf /\n")
    options = ("--transfer", "--mode=baseline", "--skill-library=author/skills")
    result = bench(siblings, "transfer", *options, "-rs")
    told = "the library's skill for it is refused: shouting: SKILL.md:15 removes what is not its own: rm -rf /"
    assert told in " ".join(" ".join(result.outlines).split())
    assert not [name for name in words(siblings, "transfer") if "transfer" in name]
    library.disable(shout.id, "")
    bench(siblings, "again", *options)
    assert words(siblings, "again")["yell transfer"]


def test_the_next_best_is_given_where_the_best_is_refused(siblings: Project) -> None:
    bench(siblings, "author", "--mode=preskill", "-k", "shout", "--skill-library=library")
    (good,) = Library(siblings.path / "library").entries()
    siblings.write("shouting/SKILL.md", LESSON + "\n    sudo true\n")
    bench(siblings, "worse", "--mode=preskill", "-k", "shout", "--skill-library=library")
    bench(siblings, "transfer", "--transfer", "--skill-library=library", "-k", "yell")
    (record,) = [r for r in siblings.records("transfer") if r["mode"] == "transfer"]
    assert record["grade"]["checks"][0]["passed"]
    assert record["observed"]["transfer"] == {
        "scenario": "shout",
        "mode": "preskill",
        "index": 1,
        "score": good.score,
        "key": good.key,
        "skills": [good.id],
        "refused": ["shouting: SKILL.md:15 asks for more rights: sudo"],
    }


def test_a_run_that_goes_on_gives_what_it_was_begun_with(
    siblings: Project, workers: list[str]
) -> None:
    author = ("--mode=preskill", "--skill-library=library", "-k", "shout")
    transfer = ("--transfer", "--skill-library=library", "-k", "yell", *workers)
    bench(siblings, "author", *author)
    (old,) = Library(siblings.path / "library").entries()
    bench(siblings, "run", *transfer)
    begun = siblings.records("run")
    siblings.write("shouting/SKILL.md", LESSON + "\nSay done in the end.\n")
    bench(siblings, "more", *author)
    assert bench(siblings, "run", *transfer, "--trials=2").ret == 0
    records = siblings.records("run")
    assert records[: len(begun)] == begun
    assert [(r["index"], skills_of(r)) for r in records if r["mode"] == "transfer"] == [
        (1, [old.id]),
        (2, [old.id]),
    ]
    # It is gone: what was planned cannot be kept to, unless one says so.
    shutil.rmtree(old.place)
    result = bench(siblings, "run", *transfer)
    told = " ".join((result.stdout.str() + result.stderr.str()).split())
    assert "plan.json: what this run began with has changed: scenario 'yell': mode (" in told
    assert siblings.records("run") == records
    bench(siblings, "run", *transfer, "--accept-changes")
    (new,) = Library(siblings.path / "library").entries()
    assert [skills_of(r) for r in siblings.records("run")[len(records) :]] == [[new.id]]


def test_a_run_is_given_nothing_of_what_it_authors(siblings: Project) -> None:
    both = ("--mode=preskill", "--transfer", "--skill-library=library", "-k", "not alone", "-rs")
    bench(siblings, "run", *both)
    begun = {r["key"] for r in siblings.records("run")}
    result = bench(siblings, "run", *both)
    assert {r["key"] for r in siblings.records("run")} == begun
    told = (
        "the library had no skill for it when this run began, and has one now: choose another "
        "--run-dir, or give --accept-changes"
    )
    assert told in " ".join(result.stdout.str().split())
    bench(siblings, "other", *both)
    assert words(siblings, "other")["yell transfer"]


def test_a_refused_skill_is_given_to_no_later_phase(siblings: Project) -> None:
    siblings.write("shouting/SKILL.md", LESSON.replace("cat word.txt", "cat word.txt; sudo true"))
    bench(siblings, "record", "--mode=preskill", "-k", "shout")
    options = ("--mode=preskill", "--skill-check=refuse", "-k", "shout")
    bench(siblings, "refuse", *options)
    (recorded,), (refused,) = siblings.records("record"), siblings.records("refuse")
    told = "SKILL.md:10 asks for more rights: sudo"
    assert recorded["phases"][0]["made"][0]["deviations"] == [told]
    assert recorded["phases"][1]["given"]
    assert refused["phases"][0]["made"][0]["refused"] == told
    assert "given" not in refused["phases"][1]
    assert recorded["key"] != refused["key"]


def test_a_library_that_cannot_be_written_is_no_trials_fault(siblings: Project) -> None:
    siblings.write("library", "a file in the place of the folder")
    options = ("--mode=preskill", "--skill-library=library", "-k", "shout")
    assert bench(siblings, "run", *options).ret == 0
    (record,) = siblings.records("run")
    assert record["grade"]["checks"][0]["passed"]
    assert record["observed"]["library"].startswith("skills are not in the library: ")


def entry(**facts: object) -> Entry:
    values = {
        "scenario": "a",
        "family": "f",
        "runtime": "r",
        "runtime_version": "1",
        "model": "m",
        "mode": "preskill",
        "phase": "preskill_author",
        "index": 1,
        "key": "k" * 64,
        "created": 1.0,
        "plugin": "0",
        "skill": MadeSkill(name="s", files=1, bytes=1, sha256="0" * 64),
    }
    return Entry(**(values | facts))  # type: ignore[arg-type]


def test_the_best_of_the_siblings_comes_first() -> None:
    wanted = {"scenario": "b", "siblings": (), "family": "f", "runtime": "r", "model": "m"}
    entries = (
        entry(key="1", score=0.5, created=9.0),
        entry(key="2", score=0.9, created=1.0),
        entry(key="3", score=0.9, created=2.0),
        entry(key="3", score=0.9, created=2.0, phase="other"),
        entry(key="3", score=0.9, created=1.5, phase="run before"),
        entry(key="4", score=1.0, scenario="b"),
        entry(key="5", score=1.0, model="other"),
        entry(key="6", score=1.0, family="other"),
        entry(key="7", score=1.0, disabled="wrong"),
        entry(key="8", score=None, created=99.0),
    )
    found = of_siblings(entries, **wanted)  # type: ignore[arg-type]
    assert [[e.key for e in trial] for trial in found] == [["3", "3"], ["3"], ["2"], ["1"], ["8"]]
    named = wanted | {"siblings": ("z",)}
    assert of_siblings(entries, **named) == ()  # type: ignore[arg-type]


def test_the_same_skill_of_a_trial_is_there_once(tmp_path: Path) -> None:
    skill = tmp_path / "made" / "totals"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("key: hunter2-hunter2")
    library = Library(tmp_path / "library")
    redactor = Redactor(known=(("hunter2-hunter2", "[redacted]"),))
    for _ in range(2):
        library.add(entry(scenario="../a", model=""), skill, redactor)
    (found,) = library.entries()
    assert (found.folder / "SKILL.md").read_text() == "key: [redacted]"
    assert found.place.relative_to(tmp_path / "library").parts[:3] == ("_a", "r", "-")


def test_an_entry_that_leads_elsewhere_is_none(tmp_path: Path) -> None:
    skill = tmp_path / "made" / "totals"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("x")
    library = Library(tmp_path / "library")
    kept = library.add(entry(), skill, Redactor())
    path = kept.place / "entry.json"
    data = json.loads(path.read_text())
    for name in ("../../../../../made/totals", "", "gone"):
        path.write_text(json.dumps({**data, "skill": {**data["skill"], "name": name}}))
        assert library.entries() == ()
    path.write_text("{")
    assert library.entries() == ()


def test_the_command(
    siblings: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench(siblings, "author", "--mode=preskill", "-k", "shout")
    monkeypatch.chdir(siblings.path)
    capsys.readouterr()
    assert main(["skills", "list", "author"]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split() == ["skill", "scenario", "runtime", "model", "mode", "score", "disabled"]
    assert row.split()[1:] == [
        *("shouting", "shout", "minimal", "apprentice", "preskill"),
        *("0.655", "no"),
    ]
    name = row.split()[0]
    assert main(["skills", "show", "author", name[:6]]) == 0
    shown = capsys.readouterr().out
    assert "authored    2" in shown
    assert "on shout[preskill], phase preskill_author, trial 1" in shown
    assert "--- SKILL.md\n---\nname: shouting\n" in shown
    assert main(["skills", "disable", "author", name, "--reason", "old"]) == 0
    assert capsys.readouterr().out == f"{name} is disabled\n"
    assert main(["skills", "list", "author"]) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith("old")
    assert main(["skills", "enable", "author", name]) == 0
    capsys.readouterr()
    assert main(["skills", "show", "author", "zz"]) == 2
    assert capsys.readouterr().out == (
        f"agentbench skills: skill 'zz' is not there; there are: {name}\n"
    )
    for wrong, problem in (("nowhere", "does not exist"), ("author/plan.json", "is no folder")):
        for args in (["list", wrong], ["show", wrong, "x"], ["enable", wrong, "x"]):
            assert main(["skills", *args]) == 2
            assert capsys.readouterr().out == f"agentbench skills: {wrong} {problem}\n"
    assert main(["skills", "list", "scenarios"]) == 2
    assert capsys.readouterr().out == (
        "agentbench skills: scenarios holds no skills; runs with --mode=preskill or "
        "--mode=postskill make them\n"
    )


def test_a_skill_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skill = tmp_path / "shouting"
    assert main(["skills", "check", str(skill)]) == 2
    assert capsys.readouterr().out == (
        f"agentbench skills: {skill} has no SKILL.md; give the folder of a skill\n"
    )
    skill.mkdir()
    (skill / "SKILL.md").write_text(LESSON)
    assert main(["skills", "check", str(skill)]) == 0
    assert capsys.readouterr().out == "shouting: nothing speaks against it\n"
    (skill / "SKILL.md").write_text(LESSON.replace("name: shouting", "name: Loud") + "sudo x\n")
    assert main(["skills", "check", str(skill)]) == 1
    assert capsys.readouterr().out == (
        "finding: SKILL.md:14 asks for more rights: sudo\n"
        "deviation: name 'Loud' is not lower-case letters, digits and hyphens\n"
        "deviation: name 'Loud' is not that of the folder\n"
    )
