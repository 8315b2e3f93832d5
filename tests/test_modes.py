"""Modes of several phases: skills are written, learnt from a run, given again, and watched."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.journal import Journal
from pytest_agentbench.modes import MODES, Mode, Stage, declared, phases
from pytest_agentbench.scenario.load import load
from pytest_agentbench.seeds import seeds
from pytest_agentbench.trial import Phase
from tests.project import Project

LESSON = """\
---
name: shouting
description: How to put a word into upper case, as JSON. Use it when a word has to be shouted.
---

Read the word, and write it in upper case into the file that is asked for.

```sh
mkdir -p out
cat word.txt
printf '{"word": "%s"}' "$(tr a-z A-Z < word.txt)" > out/answer.json
echo done
```
"""
TABLE = """\
[tool.agentbench.models.apprentice]
backend = "scripted"
policy = "apprentice"
lesson = "shouting/SKILL.md"
"""
SEVERAL = ("--mode=baseline", "--mode=preskill", "--mode=postskill")


@pytest.fixture
def taught(project: Project) -> Project:
    """A project whose scripted model can teach what it does not know."""
    project.write("shouting/SKILL.md", LESSON)
    project.write("pyproject.toml", TABLE)
    return project


def bench(project: Project, *args: str, model: str = "apprentice") -> pytest.RunResult:
    return project.bench(f"--model={model}", "--gate=none", *args, runtime="minimal")


def by_mode(project: Project, run: str = "run") -> dict[str, dict[str, Any]]:
    return {record["mode"]: record for record in project.records(run)}


def told(record: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(p["name"], p.get("role", "execute"), p["status"]) for p in record["phases"]]


def test_what_an_agent_writes_down_helps_it_later(taught: Project, workers: list[str]) -> None:
    bench(taught, *SEVERAL, "--mode=discard-skill", *workers)
    found = by_mode(taught)
    word = {mode: r["grade"]["checks"][0]["passed"] for mode, r in found.items()}
    assert word == {"baseline": False, "preskill": True, "postskill": True, "discard-skill": False}
    assert told(found["preskill"]) == [
        ("preskill_author", "author", "completed"),
        ("preskill_execute", "execute", "completed"),
    ]
    assert told(found["postskill"]) == [
        ("postskill_first", "execute", "completed"),
        ("postskill_summary", "summarise", "completed"),
        ("postskill_second", "execute", "completed"),
    ]
    first, summary, second = found["postskill"]["phases"]
    assert first["score"] < found["postskill"]["grade"]["score"]
    assert (first["strict"], first["graded"], "graded" in second) == (False, False, False)
    (seed,) = summary["given"]
    assert (seed["name"], seed["seeded"], seed["shown"]) == ("skill-creator", True, True)
    (made,) = summary["made"]
    assert (made["name"], made["files"], made["quality"]) == ("shouting", 1, 0.6)
    (given,) = second["given"]
    assert given["sha256"] == made["sha256"]
    assert (given["shown"], given["opened"], given["used"]) == (True, True, False)
    assert second["mutation"] == {"added": [], "edited": [], "deleted": []}
    assert found["postskill"]["usage"] == second["usage"]
    assert all(phase["usage"]["input_tokens"] > 0 for phase in (first, summary, second))


def test_the_seeds_of_the_controls(taught: Project) -> None:
    bench(taught, "--mode=empty-skill", "--mode=irrelevant-skill")
    names = {m: [s["name"] for s in r["phases"][0]["given"]] for m, r in by_mode(taught).items()}
    assert names == {"empty-skill": ["working-notes"], "irrelevant-skill": ["sourdough-baking"]}
    assert not any(record["grade"]["checks"][0]["passed"] for record in taught.records())


def test_the_files_of_each_phase_are_kept(taught: Project) -> None:
    bench(taught, "--mode=postskill")
    (record,) = taught.records()
    folder = taught.path / "run" / "trials" / record["key"] / "phases"
    assert sorted(path.name for path in folder.iterdir()) == [
        ".done",
        "postskill_first",
        "postskill_summary",
    ]
    summary = folder / "postskill_summary"
    assert (summary / "skills" / "shouting" / "SKILL.md").read_text() == LESSON
    prompt = (summary / "prompt.txt").read_text()
    assert prompt.startswith("[agentbench: write down what was learnt]\n")
    assert ".agentbench/first_run.json tells how it went" in prompt
    changed = json.loads((summary / "workspace.json").read_text())["files"]
    assert ".agents/skills/shouting/SKILL.md" in [file["path"] for file in changed]
    assert (summary / "trace.jsonl").exists()


def test_a_trial_is_shown_phase_by_phase(
    taught: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    bench(taught, "--mode=postskill")
    capsys.readouterr()
    assert main(["show", str(taught.path / "run"), "shout[minimal-apprentice-postskill-t1]"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("phases")
    shown = [
        re.sub(r"[\d.]+ s of|[\d,]+ tokens", "T", line) for line in lines[start + 1 : start + 9]
    ]
    assert shown == [
        "  postskill_first (execute): completed, T 30 s, 1 steps, T, score 0.325",
        "  postskill_summary (summarise): completed, T 30 s, 2 steps, T",
        "      given skill-creator (the harness's): shown, not opened, not used",
        "      made shouting: 1 files, 310 bytes, form 0.6",
        "  postskill_second (execute): completed, T 30 s, 7 steps, T, graded",
        "      given shouting: shown, opened, not used",
        "",
        "usage",
    ]


def test_a_skill_that_is_changed_is_a_violation(taught: Project) -> None:
    edits = TABLE.replace("apprentice]", "editor]") + "edits = true\n"
    taught.write("pyproject.toml", TABLE + edits)
    bench(taught, "--mode=preskill", model="editor")
    (record,) = taught.records()
    changed = record["phases"][1]["mutation"]
    assert changed == {"added": [], "edited": ["shouting/SKILL.md"], "deleted": []}
    assert "skill_changed" in record["flags"]
    assert record["grade"]["checks"][0]["passed"]
    score = record["grade"]["score"]
    arguments = ("--mode=preskill", "--skill-mutation=fail", "--run-dir=strict")
    bench(taught, *arguments, model="editor").assert_outcomes(failed=1)
    (record,) = taught.records("strict")
    assert (record["grade"]["passed"], record["grade"]["score"]) == (False, score)
    assert record["grade"]["notes"] == "the agent changed skills"


def test_outputs_written_by_an_author_are_a_violation(taught: Project) -> None:
    # This one does the task whatever it is told.
    taught.write(
        "pyproject.toml",
        '[tool.agentbench.runtimes.eager]\nadapter = "command"\n'
        "argv = ['sh', '-c', 'mkdir -p out && echo x > out/answer.json && echo y > note.txt']\n",
    )
    taught.bench("--mode=preskill", "--gate=none", runtime="eager")
    (record,) = taught.records()
    assert record["phases"][0]["outputs_written"] == ["out/answer.json"]
    assert "outputs_early" in record["flags"]
    assert "outputs_written" not in record["phases"][1]


def test_a_phase_that_is_lost_is_run_again_alone(taught: Project) -> None:
    taught.write(
        "conftest.py",
        "import pytest\n"
        "from pytest_agentbench.status import Status, TrialFault\n"
        "from pytest_agentbench.runtimes.minimal import Minimal\n"
        "class Lossy(Minimal):\n"
        "    lost = 0\n"
        "    def prepare(self, run):\n"
        "        if run.phase.name == 'postskill_summary' and not Lossy.lost:\n"
        "            Lossy.lost += 1\n"
        "            raise TrialFault(Status.SANDBOX_ERROR, 'the sandbox is gone')\n"
        "        return super().prepare(run)\n"
        "def pytest_agentbench_runtimes(config): return {'lossy': Lossy}\n",
    )
    taught.bench("--model=apprentice", "--mode=postskill", "--gate=none", runtime="lossy")
    (record,) = taught.records()
    tries = [len(phase.get("attempts", ())) for phase in record["phases"]]
    assert (record["status"], tries) == ("completed", [0, 1, 0])
    assert record["phases"][1]["attempts"][0]["message"] == "the sandbox is gone"
    assert record["phases"][2]["given"][0]["name"] == "shouting"


STOPS = """\
import os, signal
from pytest_agentbench.runtimes.minimal import Minimal

class Stopping(Minimal):
    def prepare(self, run):
        if run.phase.name == "postskill_second" and not os.path.exists("stopped"):
            open("stopped", "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        with open("ran", "a") as file:
            file.write(run.phase.name + "\\n")
        return super().prepare(run)

def pytest_agentbench_runtimes(config): return {"stopping": Stopping}
"""


def test_a_stopped_run_goes_on_after_the_finished_phases(taught: Project) -> None:
    taught.write("conftest.py", STOPS)
    arguments = ("--model=apprentice", "--mode=postskill", "--gate=none")
    assert taught.bench(*arguments, runtime="stopping").ret == -9
    assert not (taught.path / "run" / "ledger.jsonl").exists()
    taught.bench(*arguments, runtime="stopping")
    (record,) = taught.records()
    ran = (taught.path / "ran").read_text().split()
    assert ran == ["postskill_first", "postskill_summary", "postskill_second"]
    assert [phase.get("kept", False) for phase in record["phases"]] == [True, True, False]
    # All that an undisturbed run has.
    taught.bench(*arguments, "--run-dir=whole", runtime="stopping")
    (whole,) = taught.records("whole")
    assert record["grade"] == whole["grade"]
    assert record["phases"][2]["given"] == whole["phases"][2]["given"]
    # What is asked for again begins with the first phase.
    taught.bench(*arguments, "--rerun=failed", runtime="stopping")
    taught.bench(*arguments, f"--rerun={record['key'][:12]}", runtime="stopping")
    assert (taught.path / "ran").read_text().split()[-3:] == ran


def test_a_trial_with_a_score_begins_anew(taught: Project) -> None:
    bench(taught, "--mode=postskill")
    (record,) = taught.records()
    journal = Journal(folder=taught.path / "run" / "trials" / record["key"] / "phases")
    assert journal.folder is not None
    assert journal.load("postskill_first") is None
    (journal.folder / ".done").unlink()
    left = journal.load("postskill_first")
    assert left is not None
    journal.finish()
    journal.keep(left)
    assert [path.name for path in journal.folder.iterdir()] == ["postskill_first"]
    assert journal.load("postskill_first") == left


def test_a_phase_with_a_secret_is_run_again(
    taught: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "tr-0123456789-abcdef")
    taught.write("shouting/SKILL.md", LESSON + "\nThe token is tr-0123456789-abcdef.\n")
    taught.write("conftest.py", STOPS)
    arguments = ("--model=apprentice", "--mode=postskill", "--gate=none")
    assert taught.bench(*arguments, runtime="stopping").ret == -9
    taught.bench(*arguments, runtime="stopping")
    ran = (taught.path / "ran").read_text().split()
    assert ran == ["postskill_first", *["postskill_summary"] * 2, "postskill_second"]
    kept = [path for path in (taught.path / "run").rglob("*") if path.is_file()]
    assert not [path for path in kept if b"tr-0123456789" in path.read_bytes()]


def test_an_agent_in_python_goes_through_all_phases(taught: Project) -> None:
    taught.write(
        "scenarios/test_shout.py",
        "def test_shout(agent, workspace):\n"
        "    (workspace / 'word.txt').write_text('lower\\n')\n"
        "    agent.run('Shout the word of word.txt into out/answer.json.')\n"
        "    assert 'LOWER' in workspace.read_text('out/answer.json')\n",
    )
    bench(taught, *SEVERAL, "-k", "test_shout").assert_outcomes(passed=2, failed=1)
    found = by_mode(taught)
    assert not found["baseline"]["grade"]["passed"]
    assert len(found["postskill"]["phases"]) == 3
    assert "score" not in found["postskill"]["phases"][0]


def test_modes_of_a_third_party(taught: Project) -> None:
    taught.write(
        "conftest.py",
        "from pytest_agentbench.modes import Mode, Stage\n"
        "def pytest_agentbench_modes(config):\n"
        "    warm = Stage(name='warm', graded=False, scored=True)\n"
        "    cold = Stage(name='cold', prompt_prefix='Once {more}:\\n\\n', share=0.5)\n"
        "    return (Mode(name='twice', stages=(warm, cold)),)\n",
    )
    taught.bench("--mode=twice")
    (record,) = taught.records()
    assert [(p["name"], p["limit"]) for p in record["phases"]] == [("warm", 30.0), ("cold", 15.0)]
    prompt = (taught.path / "run" / "trials" / record["key"] / "prompt.txt").read_text()
    assert prompt.startswith("Once {more}:\n\nCopy the word")


def test_the_lock_holds_what_a_mode_adds(project: Project) -> None:
    scenario = load(project.path / "scenarios" / "shout.yaml")
    told = {name: declared(phases(mode, scenario), scenario) for name, mode in MODES.items()}
    assert (told["baseline"], told["with-skill"]) == ("", "")
    assert len(set(told.values())) == len(MODES) - 1


def test_the_lock_holds_what_a_graded_phase_is_given(project: Project) -> None:
    scenario = load(project.path / "scenarios" / "shout.yaml")
    mode = Mode(name="plain", stages=(Stage(name="plain", skills="siblings"),))
    (folder,) = seeds("irrelevant")
    given = {declared(phases(mode, scenario, siblings=s), scenario) for s in ((), (folder,))}
    assert len(given) == 2
    assert "" in given


def test_how_the_first_run_went_gives_nothing_away(taught: Project) -> None:
    bench(taught, "--mode=postskill")
    (record,) = taught.records()
    folder = taught.path / "run" / "trials" / record["key"] / "phases" / "postskill_first"
    shown = json.loads((folder / "first_run.json").read_text())
    assert list(shown) == [
        *("task_id", "task_name", "prompt", "expected_behavior", "grading_criteria"),
        *("status", "seconds", "grade", "outputs", "transcript_summary"),
    ]
    assert shown["grade"]["breakdown"] == {"word": False, "said": True, "read_first": False}
    assert "LOWER" not in json.dumps(shown)


def test_a_phase_is_guarded_where_skills_are_given() -> None:
    given = [Phase(name="a", seconds=1, skills=()), Phase(name="a", seconds=1, reuses=True)]
    assert all(phase.guarded for phase in given)
    assert not Phase(name="a", seconds=1).guarded
    assert not Phase(name="a", seconds=1, role="author", skills=()).guarded
