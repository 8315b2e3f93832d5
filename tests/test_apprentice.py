"""A scripted model that knows only what it is told: what it learns, does, writes and edits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.gateway.apprentice import Apprentice, commands, tells_of
from pytest_agentbench.gateway.chat import BackendError, ChatRequest, Message
from pytest_agentbench.gateway.lesson import lessons
from pytest_agentbench.gateway.scripted import ScriptedModel, ScriptPlan
from pytest_agentbench.prefixes import AUTHOR, REUSE, SUMMARISE
from pytest_agentbench.skill import Offer
from pytest_agentbench.skills.place import place
from pytest_agentbench.trial import ProfileError
from tests.made import profile, trial
from tests.offers import SURFACES, Surface
from tests.project import Project
from tests.talking import Talk, ask

FOLDER = ".agents/skills"
SKILL = """\
---
name: shouting
description: How to put words in upper case.
---

# Shouting

Do not forget the end of the line.

```sh
# The whole of it.
sh "$(find . -path '*/skills/shouting/scripts/shout.sh' -print -quit)" word.txt
printf 'done\\n' >> log.txt
```

    ```sh
    printf 'again\\n' >> log.txt
    ```

```python
raise SystemExit("no command of a shell")
```
"""
SHOUT = 'mkdir -p out && tr a-z A-Z < "$1" > out/word.txt\n'
TOLD = {
    "a path": f"\n- {FOLDER}/shouting/SKILL.md: name: shouting description: How to",
    "a path below a root": "\n- shouting: How to. (file: r1/shouting/SKILL.md)",
    "a tag": "<skill>\n<name>shouting</name>\n<description>How to</description>\n</skill>",
    "a list": "Skills for the Skill tool:\n\n- shouting: How to put words in upper case.\n",
    "bold": "### Workspace skills\n- **shouting** — How to.  `shouting/SKILL.md`\n",
}


def skill(folder: Path) -> Path:
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    (folder / "scripts" / "shout.sh").write_text(SHOUT)
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """With one skill that a runtime may tell of, and one that nobody does."""
    ws = tmp_path / "ws"
    for name in ("shouting", "whispering"):
        place([Offer(folder=skill(tmp_path / name))], ws, FOLDER)
    other = ws / FOLDER / "whispering" / "SKILL.md"
    other.write_text(SKILL.replace("shouting", "whispering").replace("log.txt", "other.txt"))
    (ws / "word.txt").write_text("lower\n")
    return ws


@pytest.mark.parametrize("surface", SURFACES.values(), ids=SURFACES.keys())
def test_it_does_what_the_skill_says_with_the_tools_of(surface: Surface, workspace: Path) -> None:
    talk = Talk(surface, workspace, told=TOLD["a path"]).run(Apprentice())
    assert (workspace / "out" / "word.txt").read_text() == "LOWER\n"
    assert (workspace / "log.txt").read_text() == "done\nagain\n"
    assert not (workspace / "other.txt").exists()
    if surface is not SURFACES["mini-swe-agent"]:  # whose last word is a command
        assert talk.said == ["I did what the skills say."]


@pytest.mark.parametrize("told", TOLD.values(), ids=TOLD.keys())
def test_skills_are_known_however_a_runtime_tells_of_them(told: str, workspace: Path) -> None:
    Talk(SURFACES["minimal"], workspace, told=told).run(Apprentice())
    assert (workspace / "out" / "word.txt").exists()
    assert not (workspace / "other.txt").exists()


def test_a_skill_that_nobody_tells_of_is_left_alone(workspace: Path) -> None:
    told = "\nSkills: - shoutings: no. shouting. x-shouting/SKILL.md <name>shouting-2</name>"
    talk = Talk(SURFACES["minimal"], workspace, told=told).run(Apprentice())
    assert talk.used == ["exec"]
    assert talk.said == ["I do not know how this is done."]


def test_without_a_word_about_skills_it_does_nothing(workspace: Path) -> None:
    talk = Talk(SURFACES["minimal"], workspace).run(Apprentice())
    assert (talk.used, talk.said) == ([], ["I do not know how this is done."])


def test_a_prompt_that_names_the_folder_is_enough(workspace: Path) -> None:
    prompt = REUSE.format(skills=FOLDER) + "Do it."
    Talk(SURFACES["minimal"], workspace, prompt=prompt).run(Apprentice())
    assert (workspace / "log.txt").exists()
    assert (workspace / "other.txt").exists()


def test_a_skill_without_commands_teaches_it_nothing(workspace: Path) -> None:
    (workspace / FOLDER / "shouting" / "SKILL.md").write_text(
        "---\nname: shouting\n---\n\nShout.\n"
    )
    talk = Talk(SURFACES["minimal"], workspace, told=TOLD["a tag"]).run(Apprentice())
    assert talk.said == ["I do not know how this is done."]


def test_one_that_edits_adds_a_line_to_the_skill_that_it_used(workspace: Path) -> None:
    before = (workspace / FOLDER / "whispering" / "SKILL.md").read_text()
    Talk(SURFACES["codex"], workspace, told=TOLD["a path"]).run(Apprentice(edits=True))
    skills = workspace / FOLDER
    assert (skills / "shouting/SKILL.md").read_text() == f"{SKILL}A line of the apprentice's own.\n"
    assert (skills / "whispering/SKILL.md").read_text() == before


@pytest.mark.parametrize("prefix", [AUTHOR, SUMMARISE], ids=["author", "summarise"])
@pytest.mark.parametrize("surface", SURFACES.values(), ids=SURFACES.keys())
def test_asked_for_a_skill_it_writes_its_lesson_and_nothing_else(
    surface: Surface, prefix: str, tmp_path: Path
) -> None:
    (lesson,) = lessons(str(skill(tmp_path / "shouting") / "SKILL.md")).values()
    ws = tmp_path / "ws"
    ws.mkdir()
    prompt = prefix.format(skills=FOLDER, evidence="e.json") + "Shout the word of word.txt."
    talk = Talk(surface, ws, prompt=prompt, told=TOLD["a list"]).run(Apprentice(lesson=lesson))
    made = {
        path.relative_to(ws).as_posix(): path.read_text()
        for path in sorted(ws.rglob("*"))
        if path.is_file()
    }
    assert made == {
        f"{FOLDER}/shouting/SKILL.md": SKILL,
        f"{FOLDER}/shouting/scripts/shout.sh": SHOUT,
    }
    if surface is not SURFACES["mini-swe-agent"]:
        assert talk.said == ["I wrote down what I know."]


def test_one_without_a_lesson_has_nothing_to_teach(tmp_path: Path) -> None:
    prompt = AUTHOR.format(skills=FOLDER) + "Do it."
    talk = Talk(SURFACES["minimal"], tmp_path, prompt=prompt).run(Apprentice())
    assert (talk.used, talk.said) == ([], ["I have nothing to teach."])


def test_without_a_shell_it_is_the_requests_fault() -> None:
    asked = Message(role="user", text="Look into your skills.")
    request = ChatRequest(model="toy", messages=(asked,), tools=SURFACES["minimal"].tools[:1])
    with pytest.raises(BackendError, match="the script needs a tool 'exec'; offered: read"):
        ask(Apprentice(), request)


@pytest.mark.parametrize(
    "shown",
    [
        "```sh\nls\n```",
        "1| ```sh\n2| # a comment\n3| ls\n4| ```\n",
        "     1→```sh\n     2→ls\n     3→```",
        "1: ```sh\n2: ls\n3:\n4: ```",
        '{"returncode": 0, "output": "```sh\\nls\\n```\\n"}',
        "Chunk ID: 1\nOutput:\n  ```sh\n  ls\n  ```\n",
    ],
)
def test_commands_are_found_however_a_file_is_shown(shown: str) -> None:
    assert commands(shown) == ["ls"]


def test_what_is_no_fence_of_a_shells_is_no_command() -> None:
    assert commands("sh ls\n```\nls\n```\n```shell\nls\n```\n```sh ls\n```") == []


def test_a_name_is_told_of_as_a_whole() -> None:
    assert tells_of("read planning/SKILL.md", "planning")
    assert not tells_of("read shift-planning/SKILL.md", "planning")
    assert not tells_of("- planning the day: no skill", "plan")


def plan(scenario: str = "demo", **options: Any) -> ScriptPlan:
    model = ScriptedModel.of(profile(policy="apprentice", **options))
    return model.plan(trial(id=scenario), ())


def test_it_never_sees_the_steps() -> None:
    made = ScriptedModel.of(profile(policy="apprentice")).plan(trial(), trial().scenario.solution)
    assert made == ScriptPlan(kind="apprentice", options={"lesson": {}, "edits": False})


def test_a_lesson_may_be_a_text_a_file_or_a_folder(tmp_path: Path) -> None:
    folder = skill(tmp_path / "shouting")
    text = plan(lesson=SKILL).options["lesson"]
    assert text == {"shouting/SKILL.md": SKILL}
    whole = {"shouting/SKILL.md": SKILL, "shouting/scripts/shout.sh": SHOUT}
    assert plan(lesson=str(folder)).options["lesson"] == whole
    assert plan(lesson=str(folder / "SKILL.md")).options["lesson"] == whole
    assert plan(lesson="No front matter.\n").options["lesson"] == {
        "lesson/SKILL.md": "No front matter.\n"
    }


def test_a_lesson_may_differ_by_scenario() -> None:
    table = {"demo": "---\nname: one\n---\n", "": "---\nname: two\n---\n"}
    assert list(plan(lesson=table).options["lesson"]) == ["one/SKILL.md"]
    assert list(plan("other", lesson=table).options["lesson"]) == ["two/SKILL.md"]
    assert plan("other", lesson={"demo": SKILL}).options["lesson"] == {}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {"policy": "solve", "lesson": SKILL},
            "lesson is an option of policy apprentice, not of solve",
        ),
        (
            {"policy": "solve", "edits": True},
            "edits is an option of policy apprentice, not of solve",
        ),
        ({"policy": "apprentice", "edits": 1}, "edits must be true or false, not 1"),
        (
            {"policy": "apprentice", "lesson": 1},
            (
                "lesson must be the text or the path of a SKILL.md, or a table of such by scenario, "
                "not 1"
            ),
        ),
        (
            {"policy": "apprentice", "lesson": "nowhere/SKILL.md"},
            "lesson 'nowhere/SKILL.md' is no SKILL.md and no folder with one; look at its path",
        ),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ProfileError) as caught:
        ScriptedModel.of(profile(**options))
    assert str(caught.value) == f"[tool.agentbench.models.toy]: {problem}"


def test_lessons_that_cannot_travel_are_refused(tmp_path: Path) -> None:
    folder = skill(tmp_path / "shouting")
    (folder / "data.bin").write_bytes(b"\xff" * 8)
    refused = r"lesson '.*shouting' has a file that is not UTF-8 text"
    with pytest.raises(ProfileError, match=refused):
        plan(lesson=str(folder))
    (folder / "data.bin").write_bytes(b" " * (256 << 10))
    with pytest.raises(ProfileError, match="has more than 256 KiB; leave files out"):
        plan(lesson=str(folder))


def test_in_a_run_it_gains_by_the_skill_alone(project: Project) -> None:
    skill(project.path / "scenarios" / "shouting")
    script = 'mkdir -p out && printf \'{"word": "%s"}\' "$(tr a-z A-Z < "$1")" > out/answer.json\n'
    project.write("scenarios/shouting/scripts/shout.sh", script)
    scenario = project.path / "scenarios" / "shout.yaml"
    scenario.write_text(scenario.read_text() + "skills: [shouting]\n")
    table = "[tool.agentbench.models.app]\nbackend = 'scripted'\npolicy = 'apprentice'\n"
    project.write("pyproject.toml", table)
    project.bench("--model=app", "--mode=baseline", "--mode=with-skill", runtime="minimal")
    told = {
        record["mode"]: {check["id"]: check["passed"] for check in record["grade"]["checks"]}
        for record in project.records()
    }
    assert {mode: checks["word"] for mode, checks in told.items()} == {
        "baseline": False,
        "with-skill": True,
    }
