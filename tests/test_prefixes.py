"""What a prompt begins with says what kind of phase it is for."""

from __future__ import annotations

import pytest

from pytest_agentbench.prefixes import AUTHOR, REUSE, SUMMARISE, folder_of, kind_of


@pytest.mark.parametrize(
    ("prefix", "kind", "folder"),
    [
        (AUTHOR, "author", ".agents/skills"),
        (SUMMARISE, "summarise", ".agents/skills"),
        (REUSE, "reuse", ".agents/skills"),
        ("", "", ""),
    ],
)
def test_the_kind_is_known_from_the_prompt(prefix: str, kind: str, folder: str) -> None:
    told = prefix.format(skills=".agents/skills", evidence=".agentbench/first_run.json")
    assert (kind_of(told + "Add it up."), folder_of(told + "Add it up.")) == (kind, folder)
    assert "{" not in told


def test_a_task_that_speaks_of_skills_is_a_task() -> None:
    assert kind_of("Write [agentbench: nothing known] and use the skills that are there") == ""
