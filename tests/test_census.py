"""Counting files of folders that somebody goes on filling."""

from __future__ import annotations

import os
import time
from pathlib import Path

from pytest_agentbench.sandbox.census import Census


def counted(*folders: Path) -> tuple[int, int]:
    """Bytes and entries after a whole pass."""
    census = Census(folders)
    census.count(60.0)
    return census.bytes, census.entries


def fill(path: Path, size: int = 100_000) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(os.urandom(size))
    return path


def test_what_lies_on_the_disk_is_counted(tmp_path: Path) -> None:
    fill(tmp_path / "a/one")
    fill(tmp_path / "b/two")
    size, entries = counted(tmp_path / "a", tmp_path / "b", tmp_path / "gone")
    assert 200_000 <= size < 230_000
    assert entries == 2


def test_nothing_is_counted_twice(tmp_path: Path) -> None:
    one = fill(tmp_path / "a/one")
    (tmp_path / "a/link").hardlink_to(one)
    (tmp_path / "a/out").symlink_to("/usr")
    size, entries = counted(tmp_path, tmp_path / "a")
    assert 100_000 <= size < 130_000
    assert entries == 3


def test_holes_take_no_place(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    assert counted(tmp_path)[0] < 100_000


def test_folders_below_names_too_long_for_the_system_are_counted(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(60):
        os.mkdir("x" * 200, dir_fd=here)
        inner = os.open("x" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    file = os.open("deep", os.O_CREAT | os.O_WRONLY, dir_fd=here)
    os.write(file, os.urandom(100_000))
    os.close(file)
    os.close(here)
    size, entries = counted(tmp_path)
    assert size >= 100_000
    assert entries == 61


def test_a_pass_goes_on_where_it_stopped(tmp_path: Path) -> None:
    for number in range(50):
        fill(tmp_path / f"f{number}", 10)
    census = Census((tmp_path,))
    for number in range(50):
        census.count(0.0)
        assert census.entries == number + 1
    census.count(0.0)
    time.sleep(0.1)
    fill(tmp_path / "more", 10)
    for _ in range(100):
        time.sleep(0.01)
        census.count(60.0)
    assert census.entries == 51
