from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.grade import CheckResult
from pytest_agentbench.grading.copy import copy_workspace
from pytest_agentbench.grading.evidence import Unreadable
from pytest_agentbench.sandbox.local import Local
from pytest_agentbench.status import Status, TrialFault
from tests.evaluating import check


def run(workspace: Path, script: str, **params: Any) -> CheckResult:
    argv = [sys.executable, "-c", script]
    return check("command", workspace, sandbox=Local(), argv=argv, **params)


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


def test_a_copy_takes_files_and_inner_links_alone(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "a" / "b").mkdir(parents=True)
    (source / "a" / "b" / "run.sh").write_text("#!/bin/sh\n")
    (source / "a" / "b" / "run.sh").chmod(0o4755)
    os.mkfifo(source / "pipe")
    (source / "here").symlink_to(".")
    (source / "a" / "up").symlink_to("../a/b/run.sh")
    for name, out in {"abs": "/etc/passwd", "out": "../x", "via": "here/../../x"}.items():
        (source / name).symlink_to(out)
    (source / "a" / "far").symlink_to("../../x")
    copy_workspace(source, target)
    found = sorted(str(path.relative_to(target)) for path in target.rglob("*"))
    assert found == ["a", "a/b", "a/b/run.sh", "a/up", "here"]
    assert (target / "a" / "b" / "run.sh").stat().st_mode & 0o7777 == 0o755
    assert (target / "a" / "up").read_text() == "#!/bin/sh\n"


def test_a_copy_has_limits(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    with (source / "large").open("wb") as file:
        file.truncate(300 << 20)
    with pytest.raises(Unreadable) as refused:
        copy_workspace(source, tmp_path / "target")
    assert str(refused.value) == (
        "the workspace is too large to be copied for a command: at most 268,435,456 bytes in "
        "20,000 entries are"
    )
    (source / "large").unlink()
    source.joinpath(*["d"] * 70).mkdir(parents=True)
    with pytest.raises(Unreadable, match="the workspace has folders more than 64 deep"):
        copy_workspace(source, tmp_path / "other")
