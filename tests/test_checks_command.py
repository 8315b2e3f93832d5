from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.grade import CheckResult
from pytest_agentbench.sandbox.subreaper import Subreaper
from pytest_agentbench.status import Status, TrialFault
from tests.evaluating import check


def run(workspace: Path, script: str, **params: Any) -> CheckResult:
    argv = [sys.executable, "-c", script]
    return check("command", workspace, sandbox=Subreaper(), argv=argv, **params)


@pytest.mark.parametrize(
    ("script", "params", "passed"),
    [
        ("pass", {}, True),
        ("exit(3)", {}, False),
        ("exit(3)", {"exit_code": 3}, True),
        ("print('Total: 42')", {"stdout_contains": "total"}, True),
        ("print('Total: 42')", {"stdout_contains": ["total", "43"]}, False),
        ("print('  a b ')", {"stdout_equals": "a b\n"}, True),
        ("print('a  b')", {"stdout_equals": "a b"}, False),
        ('print(\'{"b": 1.0, "a": [2]}\')', {"stdout_equals": '{"a": [2], "b": 1}'}, True),
        ("print('42')", {"stdout_equals": 42}, True),
        ("print(input())", {"stdin": "hello", "stdout_equals": "hello"}, True),
        ("print(open('data.txt').read())", {"stdout_equals": "given"}, True),
    ],
)
def test_exit_code_and_output_decide(
    tmp_path: Path, script: str, params: dict[str, Any], passed: bool
) -> None:
    (tmp_path / "data.txt").write_text("given")
    assert run(tmp_path, script, **params).passed is passed


def test_a_failure_tells_what_came(tmp_path: Path) -> None:
    result = run(tmp_path, "import sys; print('no', file=sys.stderr); exit(2)")
    assert (result.detail, result.expected, result.found) == ("no", "exit code 0", "exit code 2")


def test_the_command_works_on_a_copy(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("given")
    script = "from pathlib import Path as P; P('data.txt').write_text('new'); P('made').touch()"
    assert run(tmp_path, script).passed
    assert (tmp_path / "data.txt").read_text() == "given"
    assert [path.name for path in tmp_path.iterdir()] == ["data.txt"]


def test_the_environment_is_clean_and_home_is_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "abc")
    (tmp_path / "data.txt").touch()
    script = (
        "import os; assert os.listdir(os.environ['HOME']) == []; "
        "assert os.listdir('.') == ['data.txt']; print(os.environ.get('SECRET_KEY'))"
    )
    assert run(tmp_path, script, stdout_equals="None").passed


def test_a_command_that_does_not_end_fails(tmp_path: Path) -> None:
    result = run(tmp_path, "import time; time.sleep(60)", timeout=0.5)
    assert (result.passed, result.detail) == (False, "still running after 0.5 s")


def test_nothing_of_the_copy_remains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    (tmp_path / "workspace").mkdir()
    script = "import os; os.makedirs('a/b'); os.chmod('a', 0); os.symlink('/', 'root')"
    assert run(tmp_path / "workspace", script).passed
    assert list(scratch.iterdir()) == []


def test_without_a_sandbox_nothing_is_run(tmp_path: Path) -> None:
    with pytest.raises(TrialFault, match="a command check needs a sandbox") as fault:
        check("command", tmp_path, argv=["true"])
    assert fault.value.status is Status.HARNESS_ERROR


def test_links_that_leave_and_pipes_are_not_in_the_copy(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "run.sh").write_text("")
    (workspace / "run.sh").chmod(0o755)
    (workspace / "inner").symlink_to("run.sh")
    (workspace / "outer").symlink_to("../secret")
    (workspace / "etc").symlink_to("/etc")
    os.mkfifo(workspace / "pipe")
    script = "import os; print(sorted(os.listdir()), os.access('inner', os.X_OK))"
    assert run(workspace, script, stdout_equals="['inner', 'run.sh'] True").passed


def test_a_workspace_too_large_to_copy_scores_nothing(tmp_path: Path) -> None:
    for i in range(30):
        with (tmp_path / str(i)).open("wb") as file:
            file.truncate(10 << 20)
    result = run(tmp_path, "pass")
    assert (result.earned, result.detail) == (
        0.0,
        "the workspace holds 314,572,800 bytes; for a command at most 268,435,456 are copied",
    )


def test_bytecode_in_the_workspace_is_not_read(tmp_path: Path) -> None:
    """Source and bytecode of one second and one size: which of them runs would be chance."""
    source = tmp_path / "rule.py"
    source.write_text("ANSWER = 1\n")
    subprocess.run(
        [sys.executable, "-c", "import rule"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
        check=True,
    )
    before = source.stat()
    source.write_text("ANSWER = 2\n")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert run(tmp_path, "import rule; print(rule.ANSWER)", stdout_equals="2").passed
