"""The backends by name: what may stand behind a model profile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from pytest_agentbench.gateway.chat import Backend
from pytest_agentbench.gateway.scripted import ScriptedModel
from pytest_agentbench.scenario.model import Step
from pytest_agentbench.trial import ModelProfile, Trial


class Model(Protocol):
    """A configured model, the same for all trials."""

    def backend(self, trial: Trial, steps: tuple[Step, ...]) -> Backend:
        """What answers the requests of one run of ``trial``."""


BACKENDS: Mapping[str, Callable[[ModelProfile], Model]] = {"scripted": ScriptedModel.of}


def make_model(profile: ModelProfile) -> Model:
    """The model of a profile. Raises ``ProfileError`` saying what is wrong with the profile."""
    if profile.backend not in BACKENDS:
        raise profile.refuse(
            f"backend {profile.backend!r} comes with the "
            f"gateway; this version has: {', '.join(BACKENDS)}"
        )
    return BACKENDS[profile.backend](profile)
