"""Which sandbox a run takes, and what it says of that."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_agentbench.sandbox.none import Plain
from pytest_agentbench.sandbox.registry import SandboxUnavailable, choose

ROOT = Path(__file__).parent.parent


def test_auto_is_the_strongest_that_works() -> None:
    choice = choose("auto")
    assert (choice.name, choice.reason) == ("bwrap", "auto; strongest that works")
    assert choice.make().name == "bwrap"


def test_one_that_is_asked_for_is_taken() -> None:
    choice = choose("subreaper")
    assert (choice.name, choice.reason) == ("subreaper", "asked for")
    assert choose("mine", {"mine": Plain}).make().name == "none"


def test_one_that_does_not_exist() -> None:
    with pytest.raises(SandboxUnavailable) as caught:
        choose("jail", {"mine": Plain})
    assert str(caught.value) == (
        "--sandbox: unknown sandbox 'jail'; available: auto, bwrap, unshare, subreaper, docker, none, mine"
    )


def chosen(tmp_path: Path, name: str, *programs: str) -> str:
    """What a process with no other programs on its PATH chooses, or why it cannot."""
    for program in programs:
        found = shutil.which(program)
        assert found
        (tmp_path / program).symlink_to(found)
    script = (
        "import sys; from pytest_agentbench.sandbox.registry import *\n"
        "try: choice = choose(sys.argv[1]); print(f'{choice.name} ({choice.reason})')\n"
        "except SandboxUnavailable as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, name],
        env={"PATH": str(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout.strip()


NO_BWRAP = "bwrap is not installed: apt-get install bubblewrap"
NO_UNSHARE = "setpriv is not installed: apt-get install util-linux"


def test_auto_says_what_a_stronger_one_lacks(tmp_path: Path) -> None:
    assert chosen(tmp_path, "auto", "setpriv", "unshare") == f"unshare (auto; {NO_BWRAP})"


def test_auto_goes_down_to_a_subreaper(tmp_path: Path) -> None:
    assert chosen(tmp_path, "auto") == f"subreaper (auto; {NO_BWRAP}; unshare: {NO_UNSHARE})"


@pytest.mark.parametrize(("name", "problem"), [("bwrap", NO_BWRAP), ("unshare", NO_UNSHARE)])
def test_one_that_does_not_work_is_no_other(tmp_path: Path, name: str, problem: str) -> None:
    assert chosen(tmp_path, name) == (
        f"--sandbox: {name} does not work here: {problem}; auto takes the strongest that works"
    )


def test_one_that_the_system_refuses_says_so(tmp_path: Path) -> None:
    refusing = tmp_path / "bwrap"
    refusing.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1"
    )
    refusing.chmod(0o755)
    assert chosen(tmp_path, "auto", "setpriv", "unshare") == (
        "unshare (auto; bwrap: No permissions to create new namespace)"
    )
