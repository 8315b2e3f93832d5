"""A scenario that is a Python test: its facts are those of its ``agentbench`` mark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_agentbench.scenario.build import MAX_TIMEOUT, family, requires
from pytest_agentbench.scenario.model import ASKS_JUDGES, DIFFICULTIES, DIMENSIONS, Scenario
from pytest_agentbench.scenario.table import Table
from pytest_agentbench.scenario.yamlfile import Document

FACTS = (
    "name",
    "dimension",
    "difficulty",
    "weight",
    "family",
    "requires",
    "timeout_seconds",
)


def build(
    identifier: str, path: Path, facts: Mapping[str, Any], *, prompt: str, asks_judges: bool
) -> Scenario:
    """The scenario. Raises ``ScenarioError`` for the first fact that a file could not have."""
    value = {key: list(fact) if isinstance(fact, tuple) else fact for key, fact in facts.items()}
    table = Table(Document(path=path, value=value), value)
    table.only(FACTS)
    mark, written = family(table)
    return Scenario(
        id=identifier,
        path=path,
        prompt=prompt,
        name=table.text("name"),
        dimension=table.choice("dimension", "", tuple(DIMENSIONS)),
        difficulty=table.choice("difficulty", "medium", tuple(DIFFICULTIES)),
        weight=table.number("weight", 1.0, above=0, high=1000),
        family=mark,
        requires=requires(table),
        timeout_seconds=table.number("timeout_seconds", 180.0, above=0, high=MAX_TIMEOUT),
        policy="mean",
        pass_threshold=1.0,
        extra=written | ({ASKS_JUDGES: True} if asks_judges else {}),
    )
