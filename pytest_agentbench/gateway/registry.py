"""The backends by name: what may stand behind a model profile."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pytest_agentbench.gateway import witness
from pytest_agentbench.gateway.backend import Backend
from pytest_agentbench.gateway.fault import Fault, Faults
from pytest_agentbench.scenario.model import Step
from pytest_agentbench.trial import ModelProfile, Trial

if TYPE_CHECKING:
    from pytest_agentbench.gateway.host import Host


class Model(Protocol):
    """A configured model, the same for all trials. Lives where trials run."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the environment variables that the gateway must have."""

    def spec(self, trial: Trial, steps: tuple[Step, ...]) -> Mapping[str, Any]:
        """What the gateway needs to answer one run of ``trial``: plain JSON, without secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of backend: both sides of it, imported when used."""

    module: str

    def model(self, profile: ModelProfile) -> Model:
        made: Callable[[ModelProfile], Model] = import_module(self.module).model
        return made(profile)

    def backend(self, spec: Mapping[str, Any], host: Host) -> Backend:
        made: Callable[[Mapping[str, Any], Host], Backend] = import_module(self.module).backend
        return made(spec, host)


#: Each module has ``model(profile)``, which raises ``ProfileError``, and ``backend(spec, host)``.
BACKENDS: Mapping[str, Kind] = {
    "scripted": Kind(module=f"{__package__}.scripted_backend"),
    "upstream": Kind(module=f"{__package__}.upstream"),
}


@dataclass(frozen=True, slots=True)
class _Faulted:
    """A model whose profile may ask for failures, and for a file of its requests."""

    model: Model
    faults: Faults
    witness: str

    @property
    def needs(self) -> tuple[str, ...]:
        return self.model.needs

    def spec(self, trial: Trial, steps: tuple[Step, ...]) -> Mapping[str, Any]:
        spec, fault = self.model.spec(trial, steps), self.faults.of(trial)
        if fault:
            spec = {**spec, "fault": fault.to_json()}
        return {**spec, "witness": self.witness} if self.witness else spec


def make_model(profile: ModelProfile) -> Model:
    """The model of a profile. Raises ``ProfileError`` saying what is wrong with the profile."""
    if profile.backend not in BACKENDS:
        raise profile.refuse(
            f"backend {profile.backend!r} is not known; there are: {', '.join(BACKENDS)}"
        )
    plain, faults = Faults.split(profile)
    plain, path = witness.split(plain)
    return _Faulted(BACKENDS[profile.backend].model(plain), faults, path)


def check_model(profile: ModelProfile, *, key: bool) -> None:
    """Refuse options that the backend does not know, and with ``key`` a key that is not there.

    Raises ``ProfileError``. What is recorded needs no key.
    """
    missing = missing_keys(profile)
    if missing and key and not profile.replayed:
        raise profile.refuse(
            f"the environment variable {missing[0]} is not set; set it to the provider's key where "
            "pytest is started, or name another with key_env"
        )


def missing_keys(profile: ModelProfile) -> tuple[str, ...]:
    """Environment variables that the model needs and that are not set. Raises ``ProfileError``."""
    needs = make_model(profile).needs
    return tuple(name for name in needs if not os.environ.get(name, "").strip())


def make_backend(name: str, spec: Mapping[str, Any], host: Host) -> Backend:
    """What answers a run, from what ``Model.spec`` said. Runs in the gateway's process."""
    own = {key: value for key, value in spec.items() if key not in ("fault", "witness")}
    backend = BACKENDS[name].backend(own, host)
    if "fault" in spec:
        from pytest_agentbench.gateway.faulty import Faulty

        backend = Faulty(backend, Fault.from_json(spec["fault"]))
    return witness.Witness(backend, Path(spec["witness"])) if "witness" in spec else backend
