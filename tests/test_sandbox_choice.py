"""Which sandbox a run takes, and what it says of that."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.sandbox.none import Plain
from pytest_agentbench.sandbox.registry import SandboxUnavailable, choose


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
        "unknown sandbox 'jail'; available: auto, bwrap, unshare, subreaper, docker, none, mine"
    )
