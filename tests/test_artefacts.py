"""What a trial leaves as evidence: files below trials/, without secrets, bounded."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.redaction import Redactor
from pytest_agentbench.report.artefacts import LIMIT, read, write_artefacts
from pytest_agentbench.report.changes import Change, changes, diff, listing
from pytest_agentbench.scenario.model import InputFile
from tests.project import Project

#: A program that edits, adds, removes, and tells what it should not.
BUSY = """
[tool.agentbench.runtimes.busy]
adapter = "command"
pass_env = ["SHOP_API_KEY"]
argv = ["sh", "-c", '''
echo "key $SHOP_API_KEY home $KEPT_HOME"
echo lower > word.txt; echo UPPER >> word.txt
mkdir out; printf 'no newline' > out/new.txt; printf '\\000\\001' > out/blob
rm gone.txt
echo "$SHOP_API_KEY" > out/key.txt
''']
env = {KEPT_HOME = "%s"}
"""
SECRET = "a plain sentence that is a key"


def trial_folder(project: Project) -> Path:
    (folder,) = (project.path / "run" / "trials").iterdir()
    return folder


def load(folder: Path, name: str) -> Any:
    return json.loads(read(folder, name))


def test_a_trial_leaves_its_trace_a_trajectory_changes_and_its_grade(project: Project) -> None:
    project.bench("-q").assert_outcomes(passed=1)
    folder = trial_folder(project)
    names = ["grade.json", "prompt.txt", "trace.jsonl", "trajectory.json"]
    assert sorted(path.name for path in folder.iterdir()) == [
        *names, "workspace.diff", "workspace.json"
    ]  # fmt: skip
    (record,) = project.records()
    assert load(folder, "grade.json") == record["grade"]
    trajectory = load(folder, "trajectory.json")
    assert trajectory["schema_version"] == "ATIF-v1.8"
    assert trajectory["session_id"] == record["key"]
    assert read(folder, "workspace.diff").decode() == (
        "diff a/out/answer.json b/out/answer.json\n"
        "--- /dev/null\n+++ b/out/answer.json\n@@ -0,0 +1 @@\n"
        '+{"word": "LOWER"}\n\\ No newline at end of file\n'
    )
    (changed,) = load(folder, "workspace.json")["files"]
    assert (changed["path"], changed["kind"], changed["size"]) == ("out/answer.json", "added", 17)


def test_who_does_nothing_leaves_no_changes(project: Project) -> None:
    project.bench("-q", runtime="nop").assert_outcomes(failed=1)
    assert sorted(p.name for p in trial_folder(project).iterdir()) == ["grade.json", "prompt.txt"]


def test_changes_and_output_have_no_secret(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = project.path / "home of amina"
    home.mkdir()
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    monkeypatch.setenv("HOME", str(home))
    config = project.path / "pyproject.toml"
    config.write_text(config.read_text() + BUSY % home)
    scenario = project.path / "scenarios" / "shout.yaml"
    text = scenario.read_text().replace(
        "workspace_files:\n", 'workspace_files:\n  - {path: gone.txt, content: "bye\\n"}\n'
    )
    scenario.write_text(text)
    project.bench("-q", "--keep-workspace=none", runtime="busy").assert_outcomes(failed=1)
    folder = trial_folder(project)
    assert read(folder, "stdout").decode() == "key [redacted: SHOP_API_KEY] home ~\n"
    shown = read(folder, "workspace.diff").decode()
    assert "--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n" in shown
    assert "--- a/word.txt\n+++ b/word.txt\n@@ -1 +1,2 @@\n lower\n+UPPER\n" in shown
    assert "diff a/out/blob b/out/blob\n# binary or large: 0 bytes before, 2 after\n" in shown
    assert "+[redacted: SHOP_API_KEY]\n" in shown
    kinds = {each["path"]: each["kind"] for each in load(folder, "workspace.json")["files"]}
    assert kinds == {
        "gone.txt": "deleted",
        "out/blob": "added",
        "out/key.txt": "added",
        "out/new.txt": "added",
        "word.txt": "modified",
    }
    run = project.path / "run"
    for path in run.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert SECRET.encode() not in data, path
            assert str(home).encode() not in data, path


def test_files_of_a_setup_script_are_not_the_agents(project: Project) -> None:
    project.write("scenarios/prepare.sh", "echo made > made.txt\n")
    scenario = project.path / "scenarios" / "shout.yaml"
    scenario.write_text(scenario.read_text() + "setup_script: prepare.sh\n")
    project.bench("-q").assert_outcomes(passed=1)
    files = load(trial_folder(project), "workspace.json")["files"]
    assert [each["path"] for each in files] == ["out/answer.json"]


def test_large_files_are_compressed_alike_and_an_earlier_try_goes_aside(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    rows = [{"text": f"line {number}"} for number in range(9000)]
    write_artefacts(folder, {"stdout": b"first", "trace.jsonl": rows}, Redactor())
    packed = (folder / "trace.jsonl.gz").read_bytes()
    assert gzip.decompress(packed).count(b"\n") == 9000
    assert read(folder, "trace.jsonl", 21) == b'{"text": "line 0"}\n{"'
    write_artefacts(folder, {"stdout": b"", "trace.jsonl": rows}, Redactor())
    assert (folder / "trace.jsonl.gz").read_bytes() == packed
    assert not (folder / "stdout").exists()
    write_artefacts(folder, {"stdout": b"", "trace.jsonl": []}, Redactor())
    assert sorted(path.name for path in folder.iterdir()) == ["attempt-1", "attempt-2"]
    assert read(folder / "attempt-1", "stdout") == b"first"
    assert (folder / "attempt-2" / "trace.jsonl.gz").read_bytes() == packed
    assert read(folder, "trace.jsonl") == b""


def test_no_file_grows_beyond_its_limit(tmp_path: Path) -> None:
    rows = [{"text": "x" * (1 << 20)}] * 20
    write_artefacts(tmp_path / "t", {"trace.jsonl": rows, "stdout": b"y" * LIMIT * 2}, Redactor())
    trace = read(tmp_path / "t", "trace.jsonl", LIMIT * 2)
    assert len(trace.splitlines()) == 15  # whole lines
    assert len(read(tmp_path / "t", "stdout", LIMIT * 2)) == LIMIT


def test_a_packed_file_is_not_unpacked_beyond_what_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "stdout.gz").write_bytes(gzip.compress(b"0" * (64 << 20)))
    assert len(read(tmp_path, "stdout", 1000)) == 1000
    (tmp_path / "stderr.gz").write_bytes(b"no gzip")
    assert read(tmp_path, "stderr") == b""


def test_what_an_agent_leaves_cannot_forge_a_line_or_lead_out(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "a\nb\x1b[31m.txt").write_text("x\r\x0cy\n")
    (tmp_path / "ws" / "leads-out").symlink_to("/etc/passwd")
    (tmp_path / "ws" / "deep").mkdir()
    found = changes((), tmp_path / "ws")
    shown = diff((), tmp_path / "ws", found)
    assert shown == (
        "diff a/a\\nb\\x1b[31m.txt b/a\\nb\\x1b[31m.txt\n"
        "--- /dev/null\n+++ b/a\\nb\\x1b[31m.txt\n@@ -0,0 +1 @@\n+x\r\x0cy\n"
        "diff a/leads-out b/leads-out\n# is a link that leaves the workspace\n"
    )
    assert found[1].note == "is a link that leaves the workspace"


def test_what_the_runtime_puts_there_is_listed_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "MEMORY.md").write_text("mine\n")
    found = changes((), tmp_path, ("memory/*",))
    assert [(each.path, each.own) for each in found] == [("memory/MEMORY.md", True)]
    assert diff((), tmp_path, found) == ""


def test_a_changed_mode_is_a_change(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_bytes(b"true\n")
    before = (InputFile(dest="run.sh", content=b"true\n", executable=True),)
    (change,) = changes(before, tmp_path)
    assert (change.kind, change.executable) == ("modified", False)
    assert isinstance(change, Change)
    assert [item.dest for item in listing(tmp_path)] == ["run.sh"]


DEEP = """
[tool.agentbench.runtimes.deep]
adapter = "command"
argv = ["python3", "-c", '''
import sys
deep = "[" * 700 + '"https://bot:hunter-2-hunter@x/y"' + "]" * 700
print(open(sys.argv[1], "w").write('{"kind": "tool_call", "tool": "exec", "args": {"a": %s}}\\n' % deep))
''', "{trace_file}"]
"""


def test_a_trace_that_is_nested_too_deeply_ends_nothing(project: Project) -> None:
    config = project.path / "pyproject.toml"
    config.write_text(config.read_text() + DEEP.replace("python3", sys.executable))
    result = project.bench("-q", "--runtime=oracle", runtime="deep")
    result.assert_outcomes(failed=1, passed=1)
    assert [record["status"] for record in project.records()] == ["completed"] * 2
    assert project.records()[0]["tool_calls"] == 1
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()


def test_words_that_are_secrets_too_change_no_field_that_something_is_known_by(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, word in enumerate(
        ("completed", "baseline", "correctness", "composite", "tool_use")
    ):
        monkeypatch.setenv(f"ODD_{number}_KEY", word)
    project.bench("-q").assert_outcomes(passed=1)
    (record,) = project.records()
    assert (record["status"], record["mode"]) == ("completed", "baseline")
    assert (record["grade"]["policy"], record["scenario"]["dimension"]) == ("composite", "tool_use")


JUDGE = """
def pytest_agentbench_judge(config):
    raise ZeroDivisionError("no judge today")
"""


def test_a_judge_that_cannot_be_had_ends_its_trial_alone(project: Project) -> None:
    project.write("conftest.py", JUDGE)
    result = project.bench("-q", "--runtime=nop")
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    assert {record["status"] for record in project.records()} == {"harness_error"}
