"""Scenario files become pytest items: one a trial."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_agentbench.pace import LONGEST
from pytest_agentbench.scenario.model import Scenario, ScenarioError
from pytest_agentbench.scenario.source import SUFFIXES, is_scenario
from pytest_agentbench.status import TrialFault
from pytest_agentbench.trial import Trial

if TYPE_CHECKING:
    from pytest_agentbench.bench import Bench
    from pytest_agentbench.draft import Draft
    from pytest_agentbench.execution import Execution

BENCH = pytest.StashKey["Bench"]()
TRIAL = pytest.StashKey[Trial | None]()
#: Whether another invocation runs the item's trial, or has run it.
ELSEWHERE = pytest.StashKey[bool]()
#: Name of the ``Rest`` item.
REST = "rest"
_SEED = re.compile(rb"^workspace_seed_dir:\s*[\"']?([^\"'#\r\n]*[^\"'#\s])", re.MULTILINE)
#: Seconds that pytest-timeout leaves a trial beyond what the harness itself allows it.
_GRACE = 60.0
#: Seconds of a trial's grading: setup and teardown scripts, checkers, their second runs.
_GRADING = 600.0


class TrialFailed(Exception):
    """A graded trial below its threshold. The message is the report."""


def grade_trial(trial: Trial, execution: Execution, record: Draft) -> None:
    """Grade what setup ran. Its parameters are fixtures that a ``conftest.py`` may override."""
    grade = record.grade_execution(execution)
    if not grade.passed:
        raise TrialFailed(record.failure_text())


class TrialItem(pytest.Function):
    """One trial as a test."""

    def __init__(self, *, trial: Trial, **kw: Any) -> None:
        # No originalname: newer pytest builds the node id from it, without the brackets.
        super().__init__(name=trial.id, callobj=grade_trial, **kw)
        self.trial = trial
        judging = bench_of(self.config).settings.jury.patience
        self.add_marker(pytest.mark.timeout(backstop(trial) + judging))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, TrialFailed | TrialFault):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


class ScenarioFile(pytest.Module):
    """A scenario file: a ``Module`` so that fixtures of every scope work, of no Python object."""

    obj = None

    def collect(self) -> Iterator[TrialItem]:
        bench = bench_of(self.config)
        if not bench.settings.runtimes:
            raise self.CollectError(
                f"{self.path.name}: no runtime was asked for; give --runtime=NAME "
                f"(built in: {', '.join(bench.adapters)})"
            )
        try:
            scenario = bench.load(self.path)
        except ScenarioError as error:
            raise self.CollectError(str(error)) from None
        for mark in marks(scenario):
            bench.know_mark(mark)
            self.add_marker(mark)  # items have the marks of what they are in
        # Trials of a file use the same fixtures: pytest would look them up for each anew, in half
        # of the time and a third of the memory that a trial takes.
        fixtures = None
        for trial in bench.trials(scenario):
            item = TrialItem.from_parent(self, trial=trial, fixtureinfo=fixtures)
            fixtures = getattr(item, "_fixtureinfo", None)
            yield item


class Rest(pytest.Item):
    """Nothing to do yet: what a worker holds after its trial until the next one is due.

    A worker of xdist starts an item only when it knows the one that follows, so without this
    the next trial would wait behind a long one while other workers idle.
    """

    def runtest(self) -> None:
        """Never called: ``Bench.pytest_runtest_protocol`` answers for this item."""

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.config.rootpath, None, self.name


class Collector:
    """Turns scenario files into ``ScenarioFile`` nodes, and Python tests into trials."""

    def __init__(self) -> None:
        self._inputs: dict[Path, frozenset[Path]] = {}

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Inputs of scenarios are no tests, whatever their files are called."""
        if not collection_path.is_dir():
            return None
        parent = collection_path.parent
        if parent not in self._inputs:
            self._inputs[parent] = input_folders(parent)
        return True if collection_path in self._inputs[parent] else None

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
        if parent.session.isinitpath(file_path):  # told by name: tried, whatever is in it
            ours = file_path.suffix in SUFFIXES
        else:
            ours = bool(bench_of(parent.config).settings.runtimes) and is_scenario(file_path)
        return ScenarioFile.from_parent(parent, path=file_path) if ours else None

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        bench = bench_of(metafunc.config)
        if "trial" in metafunc.fixturenames and bench.settings.runtimes:
            trials = list(bench.trials(python_scenario(metafunc)))
            metafunc.parametrize("trial", trials, ids=[t.label for t in trials], indirect=True)


def input_folders(folder: Path) -> frozenset[Path]:
    """Folders that scenario files in ``folder`` take inputs from: of their name, or named."""
    found: set[Path] = set()
    for path in filter(is_scenario, folder.iterdir()):
        named = [name.decode("utf-8", "replace") for name in _SEED.findall(path.read_bytes())]
        found.update(folder / name.strip("/") for name in (path.stem, *named))
    return frozenset(found)


def bench_of(config: pytest.Config) -> Bench:
    """The run's ``Bench`` in this process."""
    return config.stash[BENCH]


def trial_of(item: pytest.Item) -> Trial | None:
    """The trial that an item runs; None for other tests."""
    if isinstance(item, TrialItem):
        return item.trial
    if TRIAL not in item.stash:
        callspec: Any = getattr(item, "callspec", None)
        found: Any = getattr(callspec, "params", {}).get("trial")
        mine = isinstance(found, Trial)
        item.stash[TRIAL] = _variant(found, callspec.id) if callspec and mine else None
    return item.stash[TRIAL]


def _variant(trial: Trial, id: str) -> Trial:  # noqa: A002
    """The trial of an item that is parametrised with more than trials: a scenario of its own.

    ``id`` is that of all parameters together.
    """
    label = trial.label.encode("unicode_escape").decode("ascii")  # as pytest has it in ids
    others = f"-{id}-".replace(f"-{label}-", "-", 1).strip("-")
    if not others:
        return trial
    scenario = dataclasses.replace(trial.scenario, id=f"{trial.scenario.id}[{others}]")
    return dataclasses.replace(trial, scenario=scenario)


def python_scenario(metafunc: pytest.Metafunc) -> Scenario:
    """The scenario that a Python test is: facts from its ``agentbench`` mark.

    Its id is the path of its file without the suffix, and its name, all with dots between; where
    it is parametrised, ``trial_of`` adds that. Its only check is the test itself.
    """
    from pytest_agentbench.scenario.python_form import build  # of Python tests alone

    definition = metafunc.definition
    facts: dict[str, Any] = {}
    for mark in definition.iter_markers("agentbench"):
        if mark.args:
            raise pytest.Collector.CollectError(
                f"{definition.nodeid}: mark agentbench: give facts by name, as in "
                'agentbench(dimension="planning")'
            )
        facts = {**mark.kwargs, **facts}
    file, _, name = definition.nodeid.partition("::")
    try:
        return build(
            ".".join((*Path(file).with_suffix("").parts, *name.split("::"))),
            definition.path,
            facts,
            prompt=(metafunc.function.__doc__ or "").strip(),
            asks_judges="rubric" in metafunc.fixturenames,
        )
    except ScenarioError as error:
        raise pytest.Collector.CollectError(
            f"{definition.nodeid}: mark agentbench: {error.problem}"
        ) from None


def marks(scenario: Scenario) -> tuple[str, ...]:
    """Names by which ``-m`` and ``-k`` select its trials, in order, each once."""
    names = (*scenario.tags, scenario.dimension, scenario.difficulty, scenario.family)
    return tuple(dict.fromkeys(name for name in names if name))


def backstop(trial: Trial) -> float:
    """Seconds after which pytest-timeout ends a trial that the harness failed to end itself."""
    agent = sum(phase.seconds for phase in trial.phases)
    back_off = 2.0**trial.max_attempts + LONGEST * (trial.max_attempts - 1)
    return (agent + _GRACE) * trial.max_attempts + back_off + _GRADING
