"""When a trial may start: after the provider's pause, with a place, and if nothing stops it."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from pytest_agentbench import slots
from pytest_agentbench.bench import Bench
from pytest_agentbench.collect import ELSEWHERE, trial_of
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trial import Trial

#: Seconds that a trial waited before it began, by what for; those above 0.
WAITED = pytest.StashKey[dict[str, float]]()
_FAULT = pytest.StashKey[TrialFault | None]()


class Turns:
    """Lives in the process that runs the trials."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        # Around pytest-timeout's wrapper: whoever waits for a turn uses up nobody's time.
        trial = trial_of(item)
        idle = trial is None or item.session.shouldstop or self.bench.finished(trial)
        elsewhere = item.stash.get(ELSEWHERE, False)
        if trial is None or idle or elsewhere or self._stopped(trial):
            return (yield)
        with self._turn(item, trial):
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        trial = trial_of(item)
        elsewhere = item.stash.get(ELSEWHERE, False)
        if trial is None or elsewhere or self.bench.finished(trial):
            return
        if fault := item.stash.get(_FAULT, None):
            raise fault
        if reason := self._stopped(trial):
            raise TrialFault(Status.NOT_STARTED, reason)

    @contextlib.contextmanager
    def _turn(self, item: pytest.Item, trial: Trial) -> Iterator[None]:
        pace, cap = self.bench.pace(trial), self.bench.cap(trial.runtime)
        waited = {"provider": pace.wait() if pace else 0.0}
        item.stash[_FAULT] = None
        with contextlib.ExitStack() as held:
            if cap is not None:
                try:
                    waited["place"] = held.enter_context(slots.place(cap))
                except OSError as error:
                    # Not here: whatever this hook raises ends the session.
                    item.stash[_FAULT] = no_place(cap, error)
            if pace:
                waited["provider"] += pace.wait()
            item.stash[WAITED] = {
                name: round(seconds, 3) for name, seconds in waited.items() if seconds
            }
            yield

    def _stopped(self, trial: Trial) -> str:
        return self.bench.stops.reason(trial.runtime.name, trial.model_name)


def no_place(cap: slots.Cap, error: OSError) -> TrialFault:
    """The fault of a trial that cannot count itself among those that run."""
    return TrialFault(
        Status.HARNESS_ERROR,
        f"max_concurrent of {cap.name} cannot be kept: {slots.folder()}: {error.strerror}",
    )
