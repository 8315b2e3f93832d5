from __future__ import annotations

import os
import resource
import socket
from pathlib import Path

import pytest

from pytest_agentbench.grading.evidence import Evidence, Missing, Unreadable
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trace.events import Trace


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("the answer")
    return folder


def evidence_of(workspace: Path, limit: int = 10 << 20) -> Evidence:
    return Evidence(workspace=workspace, trace=Trace(), limit=limit)


def reason(workspace: Path, path: str = "out.json") -> str:
    with pytest.raises(Unreadable) as refused:
        evidence_of(workspace).read_json(path)
    return str(refused.value)


def test_a_file_in_a_folder_is_read(workspace: Path) -> None:
    (workspace / "a" / "b").mkdir(parents=True)
    (workspace / "a" / "b" / "c.txt").write_bytes(b"x\xff")
    assert evidence_of(workspace).read("a/b/c.txt") == b"x\xff"
    assert evidence_of(workspace).read("./a/b/../b/c.txt") == b"x\xff"


@pytest.mark.parametrize("target", ["real.json", "./sub/../real.json", "sub/back.json"])
def test_links_that_stay_inside_are_followed(workspace: Path, target: str) -> None:
    (workspace / "real.json").write_text("[1]")
    (workspace / "sub").mkdir()
    (workspace / "sub" / "back.json").symlink_to("../real.json")
    (workspace / "out.json").symlink_to(target)
    assert evidence_of(workspace).read_json("out.json") == [1]


@pytest.mark.parametrize(
    "target",
    ["/etc/passwd", "../secret.txt", "sub/../../secret.txt", "here/../secret.txt", "up/secret.txt"],
)
def test_links_that_leave_are_not(workspace: Path, target: str) -> None:
    (workspace / "sub").mkdir()
    (workspace / "here").symlink_to(".")
    (workspace / "up").symlink_to("..")
    (workspace / "out.json").symlink_to(target)
    assert reason(workspace) == "out.json leads out of the workspace"


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/passwd", "sub/../../secret.txt"])
def test_paths_that_leave_are_refused(workspace: Path, path: str) -> None:
    (workspace / "sub").mkdir()
    assert reason(workspace, path) == f"{path} leads out of the workspace"


def test_a_linked_folder_that_leaves_is_not_entered(workspace: Path, tmp_path: Path) -> None:
    (workspace / "out").symlink_to(tmp_path)
    assert reason(workspace, "out/secret.txt") == "out/secret.txt leads out of the workspace"


def test_each_kind_of_thing_that_is_no_file_is_named(workspace: Path) -> None:
    (workspace / "folder").mkdir()
    os.mkfifo(workspace / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(workspace / "socket"))
    (workspace / "loop").symlink_to("loop")
    (workspace / "nothing").symlink_to("gone")
    (workspace / "plain").write_text("")
    assert reason(workspace, "folder") == "folder is a directory, not a file"
    assert reason(workspace, ".") == ". is a directory, not a file"
    assert reason(workspace, "pipe") == "pipe is a FIFO, not a file"
    assert reason(workspace, "socket") == "socket is a socket, not a file"
    assert reason(workspace, "loop") == "loop is a loop of symbolic links"
    assert reason(workspace, "nothing") == "nothing is a symbolic link to nothing"
    assert reason(workspace, "absent") == "absent does not exist"
    assert reason(workspace, "plain/x") == "plain/x does not exist"
    assert reason(workspace, "n" * 300) == f"{'n' * 300} has too long a name"


def test_missing_is_told_from_unreadable(workspace: Path) -> None:
    (workspace / "nothing").symlink_to("gone")
    (workspace / "inner").symlink_to(".")
    with pytest.raises(Missing):
        evidence_of(workspace).read("inner/absent")
    with pytest.raises(Unreadable) as refused:
        evidence_of(workspace).read("nothing")
    assert not isinstance(refused.value, Missing)


def test_a_link_through_many_folders_uses_few_descriptors(workspace: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    deep = Path(*["d"] * 300)
    (workspace / deep).mkdir(parents=True)
    (workspace / deep / "x").write_text("7")
    (workspace / "out.json").symlink_to(deep / "x")
    used = len(list(Path("/proc/self/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 50, hard))
    try:
        assert evidence_of(workspace).read_json("out.json") == 7
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_large_sparse_file_is_not_read(workspace: Path) -> None:
    with (workspace / "out.json").open("wb") as file:
        file.truncate(200 << 20)
    assert reason(workspace) == "out.json is 209,715,200 bytes; checks read at most 10,485,760"


def test_the_limit_itself_is_allowed(workspace: Path) -> None:
    (workspace / "a").write_bytes(b"12345")
    assert evidence_of(workspace, limit=5).read("a") == b"12345"
    with pytest.raises(Unreadable, match="a is 5 bytes; checks read at most 4"):
        evidence_of(workspace, limit=4).read("a")


def test_a_workspace_that_the_agent_removed_or_replaced(workspace: Path, tmp_path: Path) -> None:
    workspace.rmdir()
    assert reason(workspace) == "the workspace does not exist"
    workspace.symlink_to(tmp_path)
    assert reason(workspace, "secret.txt") == "the workspace does not exist"


def test_trouble_of_the_system_is_a_fault_of_the_harness(workspace: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(TrialFault) as fault:
            evidence_of(workspace).read("a")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert fault.value.status is Status.HARNESS_ERROR
    assert str(fault.value) == "cannot read the workspace: Too many open files"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"a": ', "out.json is not JSON at line 1, column 7: Expecting value"),
        (b"", "out.json is not JSON at line 1, column 1: Expecting value"),
        (b"[1,\n2] x", "out.json is not JSON at line 2, column 4: Extra data"),
        (b'{"a": "\xff"}', "out.json is not UTF-8 at byte 7"),
        (b"NaN", "out.json is not JSON: NaN is not a JSON number"),
        (b'{"a": [-Infinity]}', "out.json is not JSON: -Infinity is not a JSON number"),
        (b"1e999", "out.json is not JSON: a number beyond the range of a double"),
        (b"9" * 301, "out.json is not JSON: a number of 301 digits"),
        (b"9" * 5000, "out.json is not JSON: a number of 5,000 digits"),
        (b"[" * 100_000, "out.json is nested more than 100 levels deep"),
        (b"[" * 101 + b"]" * 101, "out.json is nested more than 100 levels deep"),
        (b'{"a":' * 500 + b"1" + b"}" * 500, "out.json is nested more than 100 levels deep"),
    ],
)
def test_json_that_is_refused_says_where(workspace: Path, content: bytes, expected: str) -> None:
    (workspace / "out.json").write_bytes(content)
    assert reason(workspace) == expected


@pytest.mark.parametrize(
    "text", ["[" * 100 + "]" * 100, "\ufeff[1]", "9" * 300, "-1.5e300", '"\\ud800"']
)
def test_json_at_the_edge_is_read(workspace: Path, text: str) -> None:
    (workspace / "out.json").write_text(text, "utf-8")
    evidence_of(workspace).read_json("out.json")


def test_what_may_not_be_read(workspace: Path) -> None:
    (workspace / "out.json").write_text("[1]")
    (workspace / "out.json").chmod(0)
    if os.geteuid() == 0:
        assert evidence_of(workspace).read_json("out.json") == [1]
    else:
        assert reason(workspace) == "out.json may not be read"
