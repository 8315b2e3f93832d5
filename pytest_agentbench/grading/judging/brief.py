"""What judges decide on in one trial: a task, criteria or a rubric in prose, and material."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pytest_agentbench.grading.judging.material import Material
from pytest_agentbench.plain import plain
from pytest_agentbench.scenario.model import CheckSpec
from pytest_agentbench.scenario.rubric import Contrast, Criterion, Rubric, Rung


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """``criteria`` are all of the atomic rubric's, those with a check included.

    A hybrid has ``prose`` in their place, and the ``names`` of the parts that are to be scored.
    """

    scenario: str
    task: str
    criteria: tuple[Criterion, ...] = ()
    prose: str = ""
    names: tuple[str, ...] = ()
    material: Material

    @property
    def rubric(self) -> Rubric:
        """The criteria as a rubric, which knows no file."""
        return Rubric(criteria=self.criteria, path=Path(self.scenario))

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = plain(self)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Raises ``KeyError`` and ``TypeError``."""
        return cls(
            scenario=data["scenario"],
            task=data["task"],
            criteria=tuple(map(_criterion, data["criteria"])),
            prose=data["prose"],
            names=tuple(data["names"]),
            material=Material.from_json(data["material"]),
        )


def _criterion(data: Mapping[str, Any]) -> Criterion:
    check = data["check"]
    return Criterion(
        **{
            **data,
            "ladder": tuple(Rung(**rung) for rung in data["ladder"]),
            "positive_evidence": tuple(data["positive_evidence"]),
            "false_positives": tuple(data["false_positives"]),
            "contrast": Contrast(**data["contrast"]),
            "check": None if check is None else CheckSpec(**check),
        }
    )
