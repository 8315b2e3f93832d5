"""The scripted model as a backend: its plan is made where trials run, and played in the gateway."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_agentbench.gateway.backend import Backend
from pytest_agentbench.gateway.scripted import ScriptedModel, ScriptPlan
from pytest_agentbench.gateway.speaker import Speaker
from pytest_agentbench.scenario.model import Step
from pytest_agentbench.trial import ModelProfile, Trial

if TYPE_CHECKING:
    from pytest_agentbench.gateway.host import Host


@dataclass(frozen=True, slots=True)
class Scripted:
    scripted: ScriptedModel
    needs: tuple[str, ...] = ()

    def spec(self, trial: Trial, steps: tuple[Step, ...]) -> Mapping[str, Any]:
        return self.scripted.plan(trial, steps).to_json()


def model(profile: ModelProfile) -> Scripted:
    return Scripted(ScriptedModel.of(profile))


def backend(spec: Mapping[str, Any], host: Host) -> Backend:
    return Speaker(ScriptPlan.from_json(spec).policy())
