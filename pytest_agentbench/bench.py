"""What one pytest process knows of a run: settings, adapters, grader, ledger."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_agentbench import __version__, modes, place
from pytest_agentbench.conformance.binding import bound, named_result
from pytest_agentbench.offers import adapters, known_modes, third_party_sandboxes
from pytest_agentbench.options import SettingsError
from pytest_agentbench.pace import Pace
from pytest_agentbench.provenance import circumstances
from pytest_agentbench.record import Record
from pytest_agentbench.report.ledger import Ledger
from pytest_agentbench.report.past import past
from pytest_agentbench.runtimes.protocol import Runtime, RuntimeInfo, RuntimeUnavailable
from pytest_agentbench.sandbox import leftovers
from pytest_agentbench.sandbox import registry as sandboxes
from pytest_agentbench.sandbox.protocol import Sandbox
from pytest_agentbench.scenario.model import Scenario, ScenarioError
from pytest_agentbench.settings import Settings
from pytest_agentbench.shelf import Shelf
from pytest_agentbench.slots import Cap
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.stops import Stops
from pytest_agentbench.trial import RuntimeProfile, Trial, condition

if TYPE_CHECKING:
    from pytest_agentbench.gateway.client import Gateway
    from pytest_agentbench.grading.client import CheckerServer
    from pytest_agentbench.grading.decide import Judges
    from pytest_agentbench.grading.grader import Grader


class Bench:
    """Shared by the items of one process; holds nothing that a trial could change."""

    def __init__(
        self,
        config: pytest.Config,
        settings: Settings,
        run_dir: Path | None,
        reaped: str = "",
    ) -> None:
        self.config = config
        #: What dead runs had left, in words, for the header.
        self.reaped = reaped
        self.settings = settings
        self.run_dir = run_dir
        self.adapters = adapters(config)
        self.modes = known_modes(config)
        self.sandbox_choice = sandboxes.choose(
            settings.sandbox,
            third_party_sandboxes(config),
            hidden(config, settings, run_dir),
            where=settings.said.where("sandbox"),
        )
        self.ledger = Ledger(run_dir / "ledger.jsonl") if run_dir else None
        self.past = past(run_dir, settings.rerun)
        self.shelf = Shelf(settings, run_dir)
        self._scenarios: dict[str, Path] = {}
        self._marks: set[str] = set()
        self._adapters: dict[str, Runtime] = {}
        self._runtimes: dict[str, tuple[Runtime, RuntimeInfo] | TrialFault] = {}
        self._server: CheckerServer | None = None
        self._gateway: Gateway | None = None
        self._open = contextlib.ExitStack()

    def check_profiles(self) -> None:
        """Refuse options that an adapter or a model does not know, and modes that cannot be run.

        Raises ``ProfileError`` and ``SettingsError``.
        """
        for name in self.settings.modes:
            if problem := self.modes[name].problem:
                raise SettingsError(f"--mode={name}: {problem}")
        for profile in self.settings.runtimes:
            self.adapter(profile)
            named_result(profile, self.settings.project)
        jury = self.settings.jury.profiles
        if self.settings.models or jury:
            from pytest_agentbench.gateway.registry import check_model

            for model in (*self.settings.models, *jury):
                # Looking at what there is needs no key.
                check_model(model, key=self.run_dir is not None)

    def load(self, path: Path) -> Scenario:
        """The scenario of a file; raises ``ScenarioError``, also for an id that is taken."""
        # Not at the top: the controller of xdist collects nothing, and needs no parser.
        from pytest_agentbench.scenario.load import load

        scenario = load(path)
        taken = self._scenarios.setdefault(scenario.id, path)
        if taken != path:
            raise ScenarioError(
                path,
                f"id {scenario.id!r} is already that of {place.told(taken)}; ids must be unique",
                line=scenario.lines.get("id"),
            )
        return scenario

    def trials(self, scenario: Scenario) -> Iterator[Trial]:
        """Runtimes × models × modes × indexes, in the order in which they were asked for."""
        settings = self.settings
        from pytest_agentbench.scenario.lock import lock

        declared = lock(scenario) | {
            "timeout_multiplier": repr(settings.timeout_multiplier),
            "checker_seconds": repr(settings.checker_seconds),
        }
        if settings.timeout_floor:
            declared["timeout_floor"] = repr(settings.timeout_floor)
        if settings.scoring != "default":
            declared["scoring"] = settings.scoring
        if settings.skill_mutation == "fail":
            declared["skill_mutation"] = "fail"
        if settings.skill_check == "refuse":
            declared["skill_check"] = "refuse"
        if settings.jury and (panel := self.judges.panel) and panel.wanted(scenario):
            declared["judge"] = panel.identity
        if settings.budgets.trial:
            declared["budget"] = str(settings.budgets.trial)
        for profile, model in settings.pairs:
            declared |= {"runtime": profile.lock, "model": model.lock if model else ""}
            for mode in settings.modes:
                limits = (settings.timeout_multiplier, settings.timeout_floor)
                known = self.modes[mode]
                siblings = self.shelf.siblings(known, scenario, profile, model)
                phases = modes.phases(known, scenario, *limits, siblings)
                more = {"mode": told} if (told := modes.declared(phases, scenario)) else {}
                for index in range(1, settings.trials + 1):
                    yield Trial(
                        scenario=scenario,
                        runtime=profile,
                        model=model,
                        mode=mode,
                        index=index,
                        phases=phases,
                        lock={**declared, **more},
                        max_attempts=settings.max_attempts,
                        timeout_multiplier=settings.timeout_multiplier,
                    )

    def know_mark(self, name: str) -> None:
        """Register a mark, so that ``--strict-markers`` passes."""
        if name not in self._marks:
            self._marks.add(name)
            self.config.addinivalue_line("markers", f"{name}: scenarios with this tag")

    def finished(self, trial: Trial) -> Record | None:
        """The graded record of an earlier run in the same folder."""
        return self.past.finished.get(trial.key) if self.past.finished else None

    def adapter(self, profile: RuntimeProfile) -> Runtime:
        """The adapter of a profile, made once a process. Raises ``ProfileError``."""
        if profile.name not in self._adapters:
            self._adapters[profile.name] = self.adapters[profile.adapter](profile)
        return self._adapters[profile.name]

    def cap(self, profile: RuntimeProfile) -> Cap | None:
        """How many trials may run at once: as the profile says, else as its adapter does."""
        if profile.max_concurrent is not None:
            return Cap(name=profile.name, most=profile.max_concurrent)
        most = getattr(self.adapter(profile), "max_concurrent", None)
        return None if most is None else Cap(name=profile.adapter, most=most)

    def caps(self) -> Mapping[str, Cap]:
        """The caps that there are, by what the ids of their trials have in common."""
        return {
            condition(profile, model, mode): cap
            for profile, model in self.settings.pairs
            if (cap := self.cap(profile)) is not None
            for mode in self.settings.modes
        }

    def pace(self, trial: Trial) -> Pace | None:
        """The pace of the trial's model; None without one."""
        return Pace(self.shared, trial.model_name) if trial.model else None

    @property
    def stops(self) -> Stops:
        """What this run has stopped."""
        return Stops(self.shared)

    @functools.cached_property
    def shared(self) -> Path:
        """A folder of this invocation alone, which its workers share."""
        given = getattr(self.config, "workerinput", {}).get("agentbench_shared", "")
        if given and Path(given).is_dir():
            return Path(given)
        return self._open.enter_context(leftovers.temporary("run-"))

    def runtime(self, profile: RuntimeProfile) -> tuple[Runtime, RuntimeInfo]:
        """The adapter and what its probe found, once a process; raises ``TrialFault``."""
        if profile.name not in self._runtimes:
            self._runtimes[profile.name] = self._probe(profile)
        found = self._runtimes[profile.name]
        if isinstance(found, TrialFault):
            raise TrialFault(found.status, str(found))
        return found

    def observed(self, profile: RuntimeProfile) -> dict[str, Any]:
        """Versions that a trial ran with; they stand in its record and never in its key."""
        found = self._runtimes.get(profile.name)
        info = found[1] if isinstance(found, tuple) else RuntimeInfo()
        conformance = bound(profile, info, self.settings.project)
        adapter = found[0] if isinstance(found, tuple) else None
        workers = int(getattr(self.config, "workerinput", {}).get("workercount", 1))
        return {
            **circumstances(self.settings, adapter, workers),
            "plugin": __version__,
            "pytest": pytest.__version__,
            "python": platform.python_version(),
            "runtime_version": info.version,
            "runtime_digest": info.digest,
            **({"conformance": conformance} if conformance else {}),
        }

    def make_sandbox(self) -> Sandbox:
        return self.sandbox_choice.make()

    @property
    def gateway(self) -> Gateway | None:
        """The host's way to models: the controller's, or one of our own where that is elsewhere.

        None where no model is asked for.
        """
        if self._gateway is None and (self.settings.models or self.settings.jury):
            from pytest_agentbench.gateway.client import Gateway, gateway

            given = getattr(self.config, "workerinput", {}).get("agentbench_gateway", "")
            if given and Path(given).parent.is_dir():
                self._gateway = Gateway(Path(given), self.settings.budgets)
            else:
                self._gateway = self._open.enter_context(gateway(self.settings.budgets))
        return self._gateway

    def grader(self, sandbox: Sandbox) -> Grader:
        from pytest_agentbench.grading.client import CheckerServer
        from pytest_agentbench.grading.grader import Grader

        if self._server is None:
            self._server = CheckerServer(limit=self.settings.checker_seconds)
        published = self.settings.scoring == "published"
        return Grader(self._server, sandbox, self.judges, published)

    @functools.cached_property
    def judges(self) -> Judges:
        """Those that ``--judge`` names, and the one of the hook."""
        from pytest_agentbench.grading.decide import Judges

        found = self.config.hook.pytest_agentbench_judge(config=self.config)
        panel = None
        if self.settings.jury:
            from pytest_agentbench.grading.judging.assembly import assemble

            panel = assemble(self.settings.jury, self._needed_gateway, self.run_dir)
        return Judges(panel=panel, judge=found, max_asked=self.settings.max_attempts)

    def _needed_gateway(self) -> Gateway:
        assert self.gateway is not None
        return self.gateway

    def close(self) -> None:
        self._open.close()
        if self._server is not None:
            self._server.close()

    def _probe(self, profile: RuntimeProfile) -> tuple[Runtime, RuntimeInfo] | TrialFault:
        try:
            adapter = self.adapter(profile)
            return adapter, adapter.probe()
        except RuntimeUnavailable as error:
            return TrialFault(Status.RUNTIME_MISSING, f"runtime {profile.name}: {error}")
        except TrialFault as error:
            return error
        except Exception as error:  # noqa: BLE001 (an adapter's bug is no agent's failure)
            return TrialFault(
                Status.HARNESS_ERROR,
                f"runtime {profile.name}: its adapter {profile.adapter!r} raised "
                f"{type(error).__name__}: {error}",
            )


def hidden(config: pytest.Config, settings: Settings, run_dir: Path | None) -> tuple[Path, ...]:
    """What no command may see, even where it lies in a part of the system that all see."""
    ours = (config.rootpath, settings.project, run_dir, os.environ.get("HOME"))
    return tuple(Path(p) for p in ours if p)
