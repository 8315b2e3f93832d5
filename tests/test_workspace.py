"""The workspace: what goes in, what may be asked of it, and how it is emptied."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_agentbench.sandbox.subreaper import Subreaper
from pytest_agentbench.scenario.model import InputFile, Scenario
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.workspace import Workspace, clear, materialise, run_setup


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "ws").mkdir()
    return Workspace(tmp_path / "ws")


def test_inputs_are_written_with_their_folders_and_modes(
    workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "source.bin").write_bytes(b"\0\xff")
    materialise(
        (
            InputFile(dest="a/b/c.txt", content=b"text"),
            InputFile(dest="copy.bin", source=tmp_path / "source.bin"),
            InputFile(dest="run.sh", content=b"#!/bin/sh\n", executable=True),
        ),
        workspace.root,
    )
    assert workspace.read_text("a/b/c.txt") == "text"
    assert (workspace / "copy.bin").read_bytes() == b"\0\xff"
    modes = [(workspace / name).stat().st_mode & 0o777 for name in ("copy.bin", "run.sh")]
    assert modes == [0o644, 0o755]


def test_a_link_among_the_inputs_stays_a_link(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("c.txt")
    materialise(
        (
            InputFile(dest="a/link", source=tmp_path / "link"),
            InputFile(dest="a/c.txt", content=b"x"),
        ),
        workspace.root,
    )
    assert (workspace / "a/link").readlink() == Path("c.txt")
    assert workspace.read_text("a/link") == "x"


@pytest.mark.parametrize("dest", ["../x", "/x", "a/../../x"])
def test_an_input_cannot_leave_the_workspace(workspace: Workspace, dest: str) -> None:
    with pytest.raises(TrialFault) as caught:
        materialise((InputFile(dest=dest, content=b""),), workspace.root)
    assert caught.value.status is Status.HARNESS_ERROR
    assert str(caught.value) == f"cannot write the input {dest!r}: {dest!r} leaves the workspace"


def test_an_input_does_not_go_through_a_link(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (workspace / "d").symlink_to(tmp_path / "out")
    with pytest.raises(TrialFault, match="its folder is a link that leaves the workspace"):
        materialise((InputFile(dest="d/x", content=b""),), workspace.root)
    assert list((tmp_path / "out").iterdir()) == []


def test_it_is_a_path(workspace: Workspace) -> None:
    assert os.fspath(workspace) == str(workspace.root)
    assert workspace / "x" == workspace.root / "x"
    assert workspace.path("a/./b/../c") == workspace.root / "a/c"
    with pytest.raises(ValueError, match=r"'\.\./x' leaves the workspace"):
        workspace.path("../x")


def test_expectations_that_hold(workspace: Workspace) -> None:
    (workspace / "r.json").write_text('{"a": [1]}')
    file = workspace.expect_file("r.json").contains('"a"').equals('{"a": [1]}')
    assert file.json() == {"a": [1]}


def test_expectations_that_fail_say_what_is_there(workspace: Workspace) -> None:
    (workspace / "b.txt").write_text("hello")
    (workspace / "a.txt").write_text("x" * 600)
    file = workspace.expect_file("b.txt")
    messages = []
    for expect in (
        lambda: workspace.expect_file("c.txt"),
        lambda: file.contains("bye"),
        lambda: file.equals("bye"),
        file.json,
        lambda: workspace.expect_file("a.txt").contains("y"),
    ):
        with pytest.raises(AssertionError) as caught:
            expect()
        messages.append(str(caught.value))
    assert messages == [
        "there is no file 'c.txt' in the workspace; it has: a.txt, b.txt",
        "'b.txt' does not contain 'bye'; it is:\nhello",
        "'b.txt' is not 'bye'; it is:\nhello",
        "'b.txt' is not JSON (Expecting value: line 1 column 1 (char 0)):\nhello",
        "'a.txt' does not contain 'y'; it is:\n" + "x" * 500 + "… (600 characters)",
    ]


def test_nothing_but_a_file_of_the_workspace_is_read(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    (workspace / "link").symlink_to(tmp_path / "secret")
    (workspace / "folder").mkdir()
    os.mkfifo(workspace / "pipe")
    with (workspace / "big").open("wb") as file:
        file.truncate(17 << 20)
    messages = []
    for name in ("link", "folder", "pipe", "big"):
        with pytest.raises(AssertionError) as caught:
            workspace.expect_file(name)
        messages.append(str(caught.value))
    assert messages == [
        "'link' is a link that leaves the workspace",
        "'folder' is no readable file: not a regular file",
        "'pipe' is no readable file: not a regular file",
        "'big' is larger than 16 MiB",
    ]


def test_bytes_that_are_no_text_are_replaced(workspace: Workspace) -> None:
    (workspace / "x").write_bytes(b"a\xffb")
    assert workspace.read_text("x") == "a�b"


def test_reset_fills_an_empty_folder_again(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "ws", lambda root: (root / "a").touch())
    workspace.reset()
    (workspace / "b").touch()
    workspace.reset()
    assert [path.name for path in workspace.root.iterdir()] == ["a"]


def test_reset_undoes_whatever_an_agent_did_to_the_folder(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "ws")
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept").touch()
    workspace.root.symlink_to(other)
    workspace.reset()
    assert (workspace.root.is_symlink(), list(workspace.root.iterdir())) == (False, [])
    assert (other / "kept").exists()


def test_clear_removes_what_is_nested_too_deep_to_name(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "beside").mkdir()
    here = os.open(root, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("deeper-and-deeper", dir_fd=here)
        below = os.open("deeper-and-deeper", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("leaf", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    clear(root)
    assert list(tmp_path.iterdir()) == []


def test_clear_removes_folders_without_permissions(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b").chmod(0)
    (root / "a").chmod(0o500)
    clear(root)
    assert list(tmp_path.iterdir()) == []


def _scenario(tmp_path: Path, script: str) -> Scenario:
    path = tmp_path / "set_up.sh"
    path.write_text(script)
    return Scenario(id="demo", path=tmp_path / "demo.yaml", prompt="p", setup_script=path)


def test_a_setup_script_runs_in_the_workspace(workspace: Workspace, tmp_path: Path) -> None:
    scenario = _scenario(tmp_path, "pwd > where")
    run_setup(scenario, workspace.root, Subreaper(), {"PATH": os.environ["PATH"]})
    assert workspace.read_text("where") == f"{workspace.root}\n"


def test_a_setup_script_that_fails_is_the_harness_fault(
    workspace: Workspace, tmp_path: Path
) -> None:
    scenario = _scenario(tmp_path, "for i in 1 2 3 4 5 6 7; do echo line $i >&2; done; exit 3")
    with pytest.raises(TrialFault) as caught:
        run_setup(scenario, workspace.root, Subreaper(), {"PATH": os.environ["PATH"]})
    assert caught.value.status is Status.HARNESS_ERROR
    assert str(caught.value) == (
        "setup script set_up.sh of demo: exit 3\nline 3\nline 4\nline 5\nline 6\nline 7"
    )
