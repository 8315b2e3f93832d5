"""Begins a run: settings, its folder, and what is registered with pytest."""

from __future__ import annotations

import contextlib
import os
from dataclasses import fields
from pathlib import Path

import pytest

from pytest_agentbench import slots
from pytest_agentbench.asked import Asked
from pytest_agentbench.bench import Bench
from pytest_agentbench.collect import BENCH, Collector
from pytest_agentbench.interrupt import end_on_term
from pytest_agentbench.offers import adapters, known_modes
from pytest_agentbench.options import SettingsError
from pytest_agentbench.report.ledger import LedgerError
from pytest_agentbench.sandbox import leftovers
from pytest_agentbench.sandbox.registry import SandboxUnavailable
from pytest_agentbench.settings import Settings, resolve
from pytest_agentbench.status import TrialFault
from pytest_agentbench.tool_table import Table
from pytest_agentbench.trial import ProfileError

#: Options of pytest that show what there is and run no test.
_SHOWING = ("collectonly", "setuponly", "setupplan", "showfixtures", "show_fixtures_per_test")


def start(config: pytest.Config, table_path: Path | None) -> None:
    """Register everything that the plugin does in this process. Raises ``UsageError``."""
    from pytest_agentbench import fixtures
    from pytest_agentbench.planner import SELECTION, Planner
    from pytest_agentbench.recorder import Recorder
    from pytest_agentbench.turns import Turns

    option = config.option
    asked = Asked(**{f.name: getattr(option, f"agentbench_{f.name}") for f in fields(Asked)})
    try:
        table = _table(config, table_path)
        settings = resolve(asked, table, adapters=adapters(config), modes=known_modes(config))
        folder = run_dir(config, settings)
        controls = folder is not None and not hasattr(config, "workerinput")
        if folder is not None and controls:
            check_folder(folder)
            check_baseline(folder, settings)
        # First of all: the sandboxes remove what is theirs when they are chosen.
        reaped = str(leftovers.reap()) if controls else ""
        bench = Bench(config, settings, folder, reaped)
        bench.check_profiles()
        selection = None
        if settings.profile or settings.selector:
            from pytest_agentbench.selection import selection_of

            selection = selection_of(settings, table, config)
        if folder is not None:
            check_slots(bench)
            check_judges(bench)
        if controls:
            check_models(bench)
    except (SettingsError, ProfileError, SandboxUnavailable, LedgerError) as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[BENCH] = bench
    config.add_cleanup(bench.close)
    if settings.runtimes:
        config.add_cleanup(end_on_term())
    config.addinivalue_line(
        "markers",
        "agentbench(dimension=, difficulty=, weight=, family=): facts of a scenario that is "
        "written as a Python test",
    )
    config.addinivalue_line("markers", "clause(id): of the contract, in the conformance suite")
    if not config.pluginmanager.has_plugin("timeout"):
        config.addinivalue_line("markers", "timeout(seconds): of pytest-timeout, which is off")
    register = config.pluginmanager.register
    register(Collector(), "agentbench-collector")
    register(fixtures, "agentbench-fixtures")
    register(Recorder(bench), "agentbench-recorder")
    register(Turns(bench), "agentbench-turns")
    if selection is not None:
        config.stash[SELECTION] = selection
        register(selection, "agentbench-selection")
    register(Planner(bench), "agentbench-planner")  # last: its wrapper is around that of the turns
    if not hasattr(config, "workerinput"):
        from pytest_agentbench.report.terminal import Reporter

        register(Reporter(bench), "agentbench-reporter")
        if bench.run_dir is not None:
            from pytest_agentbench.report.live import Live

            if (kind := Live.kind(settings.progress, option.verbose)) != "off":
                register(Live(bench, kind), "agentbench-live")
            from pytest_agentbench.report.conformance import Conformance

            asked = option.agentbench_conformance_report
            own = bench.run_dir / "conformance.json"
            place = Path(config.invocation_params.dir, asked) if asked else own
            register(Conformance(place), "agentbench-conformance")


def _table(config: pytest.Config, path: Path | None) -> Table:
    # Suites of others bring a root of their own, and no profiles.
    return Table.read(path) if path else Table.nearest(config.invocation_params.dir)


def run_dir(config: pytest.Config, settings: Settings) -> Path | None:
    """The run's folder, made when the first record is written; None when nothing will run."""
    if hasattr(config, "workerinput"):
        given = config.workerinput["agentbench_run_dir"]
        return Path(given) if given else None
    if settings.dry_run or not settings.runtimes or any(map(config.getoption, _SHOWING)):
        return None
    if config.option.agentbench_run_dir:
        return Path(config.invocation_params.dir, config.option.agentbench_run_dir)
    import time

    stamp = time.strftime("%Y%m%d-%H%M%S")
    return settings.project / "reports" / f"{stamp}-{os.getpid()}"


def check_folder(folder: Path) -> None:
    """Raise ``SettingsError`` unless a run can be kept in ``folder``, which may be missing."""
    from pytest_agentbench.report.plan import PlanError, read_plan

    there = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    if not there.is_dir():
        raise SettingsError(f"--run-dir: {there.name!r} is not a folder; choose another")
    if not os.access(there, os.W_OK | os.X_OK):
        raise SettingsError(f"--run-dir: cannot write to the folder {there.name!r}; choose another")
    try:
        if (folder / "plan.json").exists():
            read_plan(folder / "plan.json")
    except PlanError as error:
        raise SettingsError(str(error)) from error


def check_baseline(folder: Path, settings: Settings) -> None:
    """Raise ``SettingsError`` for a baseline that cannot be read, before anything is paid for."""
    from pytest_agentbench.report.baseline import read_baseline
    from pytest_agentbench.report.run import RunError

    baseline = settings.gate.baseline
    if baseline is None:
        return
    try:
        before = read_baseline(baseline)
    except RunError as error:
        raise SettingsError(f"{settings.gate.where}: {error}; or none, or trials") from error
    if before.folder.resolve() == folder.resolve():
        where = settings.gate.where
        raise SettingsError(f"{where}: the baseline is the folder of this run; choose another")


def check_models(bench: Bench) -> None:
    """Refuse a runtime that needs a model and is given none, and a model that nothing would ask.

    Raises ``SettingsError`` and ``ProfileError``.
    """
    for profile, model in bench.settings.pairs:
        if model is not None:
            if reason := getattr(bench.adapter(profile), "without_model", ""):
                raise profile.refuse(f"the model {model.name} would change nothing: {reason}")
        elif _wants_trials(bench):
            with contextlib.suppress(TrialFault):  # told of with its first trial
                _, info = bench.runtime(profile)
                if info.endpoint:
                    raise SettingsError(
                        f"--runtime={profile.name} needs a model: give --model=NAME, or model = "
                        f'"NAME" in [tool.agentbench.runtimes.{profile.name}]'
                    )


def _wants_trials(bench: Bench) -> bool:
    # A default runtime is there for tests too that are no trials, and the contract's suite has a
    # model of its own.
    suite = "pytest_agentbench.conformance"
    args = bench.config.args
    return "runtime" in bench.settings.said.asked and not any(arg.startswith(suite) for arg in args)


def check_slots(bench: Bench) -> None:
    """Raise ``SettingsError`` where a ``max_concurrent`` cannot be kept."""
    capped = [profile.name for profile in bench.settings.runtimes if bench.cap(profile)]
    if not capped:
        return
    try:
        slots.prepare()
    except OSError as error:
        raise SettingsError(
            f"max_concurrent of {', '.join(capped)} cannot be kept: {slots.folder()}: "
            f"{error.strerror}; set HOME to a folder that can be written to"
        ) from error


def check_judges(bench: Bench) -> None:
    """Raise ``SettingsError`` where a gate would go by a judge that is known to be wrong too often."""
    panel = bench.judges.panel if bench.settings.jury else None
    if panel is None or bench.settings.gate.name == "none":
        return
    from pytest_agentbench.grading.judging.calibration import FOLDER, standing

    for judge in panel.judges:
        told, refused = standing(judge, bench.settings.project / FOLDER)
        if refused:
            raise SettingsError(
                f"--judge: {told}, and no gate goes by it; choose another judge, or --gate=none"
            )
