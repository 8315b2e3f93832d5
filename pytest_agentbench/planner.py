"""Which of the collected trials are run here, and the plan of all of them."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_agentbench.bench import Bench
from pytest_agentbench.collect import ELSEWHERE, REST, Rest, trial_of
from pytest_agentbench.record import PlannedTrial
from pytest_agentbench.report.ledger import unwritten
from pytest_agentbench.report.plan import Plan, PlanError, check_plan, read_plan, write_plan

if TYPE_CHECKING:
    from pytest_agentbench.claim import Claims
    from pytest_agentbench.selection import Selection

#: Of a process that shares its run folder with others.
CLAIMS: pytest.StashKey[Claims] = pytest.StashKey()
#: Where it is not everything that is run.
SELECTION: pytest.StashKey[Selection] = pytest.StashKey()


class Planner:
    """Lives in the process that runs the trials: a worker's, or the only one."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        seconds, run_dir = bench.settings.claim, bench.run_dir
        if seconds is not None and run_dir is not None:
            from pytest_agentbench.claim import Claims

            ledger, times = run_dir / "ledger.jsonl", bench.past.times
            claims = Claims(run_dir / "claims", ledger, seconds, times)
            bench.config.stash[CLAIMS] = claims
            bench.config.add_cleanup(claims.close)
        #: All trials of the run, whoever runs them.
        self._whole: list[pytest.Item] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        self._whole = [item for item in items if trial_of(item)]
        shard = self.bench.settings.shard
        if shard is not None:
            # What is no trial is no part of the run: the first shard takes it.
            mine = {
                item: shard.holds(trial.key) if (trial := trial_of(item)) else shard.number == 1
                for item in items
            }
            config.hook.pytest_deselected(items=[item for item in items if not mine[item]])
            items[:] = [item for item in items if mine[item]]
        if items and getattr(config, "workerinput", {}).get("agentbench_rest"):
            items.append(Rest.from_parent(session, name=REST))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        # Before the trial waits for anything: it may be another's.
        trial, claims = trial_of(item), self.bench.config.stash.get(CLAIMS, None)
        idle = claims is None or item.session.shouldstop
        if trial is not None and claims is not None and not idle and not self.bench.finished(trial):
            try:
                item.stash[ELSEWHERE] = not claims.take(trial.key)
            except OSError as error:
                item.session.shouldstop = unwritten(error)
        return (yield)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        run_dir, input_ = self.bench.run_dir, getattr(self.bench.config, "workerinput", {})
        if run_dir is None or not self._whole:
            return
        settings, path = self.bench.settings, run_dir / "plan.json"
        past = self.bench.past
        asked: dict[str, Any] = {
            "accept_changes": settings.accept_changes,
            "view": settings.view,
            "scored": past.finished.keys() | past.again,
        }
        try:
            self._check_named()
            if input_.get("workerid", "gw0") == "gw0":
                write_plan(path, self._planned(), profile=self._profile(), **asked)
            elif self.bench.past.times or path.exists():
                # Each worker looks for itself: none may run what another one refuses.
                check_plan(read_plan(path) if path.exists() else Plan(), self._planned(), **asked)
        except PlanError as error:
            if not input_:
                raise pytest.UsageError(str(error)) from None
            session.shouldstop = str(error)
        except OSError as error:
            session.shouldstop = unwritten(error)
        self._whole = []

    def _profile(self) -> str:
        """The name of what was selected, where all of it is planned."""
        selection = self.bench.config.stash.get(SELECTION, None)
        known = {trial.scenario.id for item in self._whole if (trial := trial_of(item))}
        return selection.profile if selection and selection.whole(len(known)) else ""

    def _planned(self) -> Iterator[PlannedTrial]:
        for item in self._whole:
            if trial := trial_of(item):
                yield PlannedTrial.of(trial, item.nodeid)

    def _check_named(self) -> None:
        """Raise ``PlanError`` where a trial that is to be run again was not collected."""
        if not self.bench.past.named:
            return
        keys = {trial.key for item in self._whole if (trial := trial_of(item))}
        for name, planned in self.bench.past.named.items():
            if planned.key not in keys and not self.bench.settings.accept_changes:
                raise PlanError(
                    f"--rerun={name}: {planned.node_id} is not among the trials that were "
                    "collected; give the paths, --runtime, --model, --mode and --trials that it "
                    "was run with"
                )
