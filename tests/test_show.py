"""What is kept of a trial, and how it is looked at: ``agentbench show`` and ``agentbench shell``."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.report.kept import keep
from tests.project import Project

Capture = pytest.CaptureFixture[str]
#: What a hostile agent leaves, and says.
HOSTILE = r"""
[tool.agentbench.runtimes.hostile]
adapter = "command"
argv = ["sh", "-c", '''
printf 'look \033[31mred\033[0m'
echo complaint >&2
mkdir -p out && echo '{"word": "wrong"}' > out/answer.json
ln -s /etc/passwd leads-out
ln -s answer.json out/stays
mkfifo pipe
exit 3
''']
"""


def shown(capsys: Capture, *args: str) -> str:
    capsys.readouterr()
    assert main(["show", *args]) == 0
    return capsys.readouterr().out


def agentbench(project: Project, *args: str, **kw: Any) -> subprocess.CompletedProcess[str]:
    argv = (sys.executable, "-m", "pytest_agentbench.cli", *args)
    return subprocess.run(
        argv, cwd=project.path, capture_output=True, text=True, timeout=120, check=False, **kw
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def workspaces(project: Project) -> list[Path]:
    return sorted((project.path / "run" / "trials").glob("*/workspace"))


@pytest.mark.parametrize(
    ("option", "kept"),
    [
        ([], set()),
        (["--keep-workspace=failed"], {"nop"}),
        (["--keep-workspace=all"], {"nop", "oracle"}),
    ],
)
def test_workspaces_are_kept_as_asked(
    project: Project, workers: list[str], option: list[str], kept: set[str]
) -> None:
    project.bench("--runtime=nop", *option, *workers).assert_outcomes(passed=1, failed=1)
    runtimes = {r["key"]: r["runtime"] for r in project.records()}
    assert {runtimes[path.parent.name] for path in workspaces(project)} == kept
    for path in workspaces(project):
        assert (path / "word.txt").read_text() == "lower\n"


def test_a_workspace_is_kept_for_a_fault_too_and_goes_when_the_trial_passes(
    project: Project,
) -> None:
    conftest = project.write(
        "conftest.py",
        "import pytest\n@pytest.fixture\ndef skills(workspace): raise ValueError('broken')\n",
    )
    project.bench("--keep-workspace=failed").assert_outcomes(errors=1)
    assert [names(path) for path in workspaces(project)] == [["word.txt"]]
    conftest.unlink()
    project.bench("--keep-workspace=failed").assert_outcomes(passed=1)
    assert workspaces(project) == []


def test_what_is_not_harmless_is_not_kept_and_that_is_noted(project: Project) -> None:
    project.write("pyproject.toml", HOSTILE)
    project.bench("--keep-workspace=all", runtime="hostile").assert_outcomes(failed=1)
    (path,) = workspaces(project)
    assert names(path) == ["out", "word.txt"]
    assert (path / "out" / "stays").readlink() == Path("answer.json")
    (record,) = project.records()
    assert record["observed"]["kept_workspace"] == {
        "files": 2,
        "bytes": len('{"word": "wrong"}\n') + len("lower\n"),
        "notes": ["leads-out is a link that leaves the workspace", "pipe is no regular file"],
    }


def test_no_more_is_kept_than_the_limit(tmp_path: Path) -> None:
    source = tmp_path / "ws"
    source.mkdir()
    for name in ("a", "b", "c"):
        (source / name).write_bytes(b"x" * (1 << 20))
    kept = keep(source, tmp_path / "kept", limit=2 << 20)
    assert (kept.files, kept.bytes) == (2, 2 << 20)
    assert kept.notes == ("c is beyond the 2 MiB that are kept",)
    assert names(tmp_path / "kept") == ["a", "b"]


def test_show_prints_prompt_timeline_checks_and_usage(project: Project, capsys: Capture) -> None:
    project.bench("--model=scripted", runtime="minimal").assert_outcomes(passed=1)
    (record,) = project.records()
    text = shown(capsys, str(project.path / "run"), record["key"][:8])
    lines = text.splitlines()
    assert lines[:4] == [
        "scenarios/shout.yaml::shout[minimal-scripted-baseline-t1]",
        f"key {record['key']}",
        "runtime minimal; adapter minimal; model scripted; mode baseline; trial 1; the model is scripted",
        "status completed (result)",
    ]
    assert "passed with 1.000, threshold 0.6; C 1.000, P 1.000, gate 1, penalty 0.000" in lines
    prompt = 'Copy the word of word.txt in upper case to out/answer.json as {"word": ...}.'
    assert lines[lines.index("prompt") + 1] == f"  {prompt}"
    start = lines.index("timeline (seconds)") + 1
    timeline = [re.sub(r"^ +[\d.]+ +", "", line) for line in lines[start : lines.index("", start)]]
    assert timeline == [
        f"asked   {prompt}",
        "call    read  path=word.txt",
        "result  read 200  lower\\n",
        'call    write  path=out/answer.json  content={"word": "LOWER"}',
        "result  write 200  wrote 17 bytes to out/answer.json",
        "said    done",
    ]
    assert "  ✓ word (json_path, correctness): 1 of 1" in lines
    assert f"  requests            {record['usage']['requests']}" in lines


def test_show_says_what_was_expected_and_found_and_escapes_it(
    project: Project, capsys: Capture
) -> None:
    project.write("pyproject.toml", HOSTILE)
    project.bench("--keep-workspace=all", runtime="hostile")
    text = shown(capsys, str(project.path / "run"), "shout[hostile-baseline-t1]")
    assert "\x1b" not in text
    lines = text.splitlines()
    assert "         ?  said    look \\x1b[31mred\\x1b[0m" in lines
    assert "status agent_error (result)" in lines
    at = lines.index("  ✗ word (json_path, correctness): 0 of 1")
    assert lines[at + 1 : at + 3] == ["      expected LOWER", "      found    wrong"]
    assert lines[lines.index("standard error (its end)") + 1] == "  complaint"
    assert str(project.path / "run") in lines[-1]
    assert lines[-1].endswith("(agentbench shell opens it)")


def test_show_gives_json(project: Project, capsys: Capture) -> None:
    project.bench()
    (record,) = project.records()
    found = json.loads(shown(capsys, str(project.path / "run"), record["node_id"], "--json"))
    assert found["record"]["key"] == found["trial"]["key"] == record["key"]
    assert found["record"]["grade"]["score"] == 1.0
    assert found["prompt"].startswith("Copy the word of word.txt")
    assert [event["kind"] for event in found["events"]][:2] == ["user_message", "tool_call"]
    assert found["workspace"] is None


def test_show_of_a_trial_that_was_not_run(project: Project, capsys: Capture) -> None:
    project.bench("--trials=2", "-x", runtime="nop")
    (project.path / "run" / "ledger.jsonl").unlink()
    text = shown(capsys, str(project.path / "run"), "shout[nop-baseline-t2]")
    assert text.splitlines()[-1] == "it has no record: it was not run to an end"


def test_show_says_which_trials_there_are(project: Project, capsys: Capture) -> None:
    project.bench("--runtime=nop")
    run = str(project.path / "run")
    capsys.readouterr()
    assert main(["show", run, "shout[oracl-baseline-t1]"]) == 2
    assert capsys.readouterr().out == (
        f"agentbench show: {run} has no trial shout[oracl-baseline-t1]; give the beginning of a "
        "key, or an id such as:\n  shout[oracle-baseline-t1]\n  shout[nop-baseline-t1]\n"
    )
    assert main(["show", str(project.path), "x"]) == 2
    assert capsys.readouterr().out == (
        f"agentbench show: {project.path} has no plan.json; give the folder of a run\n"
    )


def test_show_says_when_a_key_is_not_clear(project: Project, capsys: Capture) -> None:
    project.bench("--trials=17")
    keys = {r["key"]: r["node_id"].rpartition("::")[2] for r in project.records()}
    first = next(d for d in "0123456789abcdef" if sum(key[0] == d for key in keys) > 1)
    capsys.readouterr()
    assert main(["show", str(project.path / "run"), first]) == 2
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"agentbench show: {first} is the key of several trials:"
    assert set(said[1:]) == {
        f"  {key[:12]}  {item}" for key, item in keys.items() if key[0] == first
    }


def test_shell_runs_a_command_in_a_copy_of_the_workspace(project: Project) -> None:
    project.bench("--keep-workspace=all")
    (record,) = project.records()
    script = "cat out/answer.json; echo changed > out/answer.json; ls ~; echo no >&2; exit 7"
    done = agentbench(project, "shell", "run", record["key"][:10], "--", "sh", "-c", script)
    assert (done.returncode, done.stdout, done.stderr) == (7, '{"word": "LOWER"}', "no\n")
    (kept,) = workspaces(project)
    assert (kept / "out" / "answer.json").read_text() == '{"word": "LOWER"}'


def test_shell_tells_its_options_from_those_of_the_command(project: Project) -> None:
    project.bench("--keep-workspace=all")
    place = ("run", "shout[oracle-baseline-t1]")
    for ours in (["--sandbox", "bwrap", *place], [*place, "--sandbox", "bwrap"]):
        done = agentbench(project, "shell", *ours, "--", "ls", "-1", "--", "word.txt")
        assert (done.returncode, done.stdout, done.stderr) == (0, "word.txt\n", "")
    told = agentbench(project, "shell", "--help").stdout
    assert told.startswith("usage: agentbench shell [-h] [--sandbox NAME] RUN KEY [-- ARGV ...]\n")


def test_shell_sees_as_little_as_the_agent_did(project: Project) -> None:
    project.bench("--keep-workspace=all", "--sandbox=bwrap")
    script = f"ls {project.path}; cat /proc/net/dev | wc -l"
    done = agentbench(
        project, "shell", "run", "shout[oracle-baseline-t1]", "--", "sh", "-c", script
    )
    assert "No such file" in done.stderr
    assert done.stdout == "3\n"  # two lines of heading, and the loopback device


def test_shell_reads_commands_where_there_is_no_terminal(project: Project) -> None:
    project.bench("--keep-workspace=all")
    done = agentbench(project, "shell", "run", "shout[oracle-baseline-t1]", input="cat word.txt\n")
    assert (done.returncode, done.stdout) == (0, "lower\n")


@pytest.mark.parametrize("sandbox", ["bwrap", "unshare", "subreaper"])
def test_shell_is_interactive_at_a_terminal(project: Project, sandbox: str) -> None:
    project.bench("--keep-workspace=all")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(project.path)
        argv = (sys.executable, "-m", "pytest_agentbench.cli", "shell", "run")
        os.execv(argv[0], [*argv, "shout[oracle-baseline-t1]", f"--sandbox={sandbox}"])
    said = b""
    os.write(terminal, b"test -t 0 && echo $((6*7)) $(cat word.txt); exit 5\n")
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # what the end of a terminal is on Linux
            break
        if not piece:
            break
        said += piece
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5, said
    assert f"a copy of the workspace in the sandbox {sandbox}, without a network".encode() in said
    assert b"42 lower" in said


def test_shell_says_that_nothing_was_kept(project: Project, capsys: Capture) -> None:
    project.bench()
    capsys.readouterr()
    assert main(["shell", str(project.path / "run"), "shout[oracle-baseline-t1]"]) == 2
    assert capsys.readouterr().out == (
        "agentbench shell: the workspace of scenarios/shout.yaml::shout[oracle-baseline-t1] was not "
        "kept; run the trial again with --keep-workspace=all (or failed) and another --run-dir\n"
    )


def test_a_wrong_choice_is_refused(project: Project) -> None:
    result = project.run("scenarios", "--runtime=nop", "--keep-workspace=some")
    assert (
        "ERROR: --keep-workspace: 'some' is not known; allowed: none, failed, all"
    ) in result.errlines
