from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_agentbench.scenario.model import InputFile
from pytest_agentbench.status import TrialFault
from tests.evaluating import check


def test_a_file_exists_whatever_its_size(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(200 << 20)
    (tmp_path / "empty").touch()
    (tmp_path / "link").symlink_to("empty")
    assert check("file_exists", tmp_path, path="large").passed
    assert check("file_exists", tmp_path, path="empty").passed
    assert check("file_exists", tmp_path, path="link").passed
    missing = check("file_exists", tmp_path, path="gone")
    assert (missing.passed, missing.detail) == (False, "gone does not exist")


def test_absent_means_that_nothing_is_there(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to("gone")
    assert check("file_absent", tmp_path, path="gone").passed
    assert check("file_absent", tmp_path, path="gone/deeper").passed
    assert check("file_absent", tmp_path, path="a").detail == "a exists"
    assert check("file_absent", tmp_path, path="folder").detail == (
        "folder is a directory, not a file"
    )
    assert check("file_absent", tmp_path, path="dangling").detail == (
        "dangling is a symbolic link to nothing"
    )


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[InputFile, ...]:
    source = tmp_path / "source.bin"
    source.write_bytes(b"\0\1" * 100)
    workspace = tmp_path / "workspace"
    (workspace / "data").mkdir(parents=True)
    (workspace / "data" / "b.bin").write_bytes(b"\0\1" * 100)
    (workspace / "a.txt").write_bytes(b"given\n")
    return (
        InputFile(dest="data/b.bin", source=source),
        InputFile(dest="a.txt", content=b"given\n"),
    )


def test_inputs_as_given_are_unchanged(tmp_path: Path, inputs: tuple[InputFile, ...]) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "new.txt").touch()
    os.utime(workspace / "a.txt", (0, 0))
    assert check("inputs_unchanged", workspace, inputs=inputs).passed
    assert check("inputs_unchanged", workspace).passed


def test_changed_inputs_are_named(tmp_path: Path, inputs: tuple[InputFile, ...]) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "a.txt").write_bytes(b"given")
    (workspace / "data" / "b.bin").unlink()
    changed = check("inputs_unchanged", workspace, inputs=inputs)
    assert (changed.earned, changed.detail) == (0.0, "changed: a.txt, data/b.bin")
    one = check("inputs_unchanged", workspace, inputs=inputs, paths=["data/b.bin"])
    assert one.detail == "changed: data/b.bin"


def test_a_link_to_the_same_bytes_is_a_change(
    tmp_path: Path, inputs: tuple[InputFile, ...]
) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "a.txt").rename(workspace / "moved.txt")
    (workspace / "a.txt").symlink_to("moved.txt")
    assert not check("inputs_unchanged", workspace, inputs=inputs, paths=["a.txt"]).passed


def test_a_longer_file_is_a_change(tmp_path: Path, inputs: tuple[InputFile, ...]) -> None:
    workspace = tmp_path / "workspace"
    with (workspace / "a.txt").open("ab") as file:
        file.write(b"more\n")
    assert not check("inputs_unchanged", workspace, inputs=inputs, paths=["a.txt"]).passed


def test_inputs_larger_than_what_checks_read_are_compared_too(tmp_path: Path) -> None:
    content = b"x" * (11 << 20)
    (tmp_path / "large").write_bytes(content)
    given = (InputFile(dest="large", content=content),)
    assert check("inputs_unchanged", tmp_path, inputs=given).passed


def test_a_path_that_is_no_input_is_a_checker_error(
    tmp_path: Path, inputs: tuple[InputFile, ...]
) -> None:
    with pytest.raises(TrialFault) as fault:
        check("inputs_unchanged", tmp_path / "workspace", inputs=inputs, paths=["b.txt"])
    assert str(fault.value) == (
        "check 'c' of type inputs_unchanged cannot be evaluated: ValueError: no input is named "
        '["b.txt"]; there are ["a.txt", "data/b.bin"]; mend its parameters in the scenario file'
    )
