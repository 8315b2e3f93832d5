"""The record: the line of the ledger in which a trial ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.execution import Attempt, TimeLimit, Usage, total
from pytest_agentbench.grade import Grade
from pytest_agentbench.phase_record import PhaseFacts
from pytest_agentbench.plain import plain
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.status import Status
from pytest_agentbench.trial import Trial

#: Raised when a field changes its meaning or goes; readers refuse a higher major.
SCHEMA_VERSION = "1.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFacts:
    """What reports need to know of a scenario without its file."""

    id: str
    name: str = ""
    dimension: str = ""
    difficulty: str = "medium"
    weight: float = 1.0
    family: str = ""
    tags: tuple[str, ...] = ()
    policy: str = "composite"
    threshold: float = 0.6
    form: str = "native"
    official: bool = True

    @classmethod
    def of(cls, scenario: Scenario) -> ScenarioFacts:
        values = {name: getattr(scenario, name) for name in cls.__dataclass_fields__}
        values["name"] = scenario.name or scenario.id
        values["form"] = scenario.form.value
        return cls(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTrial:
    """One trial that is to be run: what reports know of it before it has a record.

    ``lock`` is what was declared before the run, ``limit`` the seconds that its agents have in all.
    """

    key: str
    node_id: str
    scenario: ScenarioFacts
    runtime: str
    adapter: str
    model: str
    mode: str
    index: int
    scripted: bool = False
    replayed: bool = False
    lock: Mapping[str, str] = field(default_factory=dict)
    limit: float = 0.0

    @classmethod
    def of(cls, trial: Trial, node_id: str) -> PlannedTrial:
        return PlannedTrial(
            key=trial.key,
            node_id=node_id,
            scenario=ScenarioFacts.of(trial.scenario),
            runtime=trial.runtime.name,
            adapter=trial.runtime.adapter,
            model=trial.model_name,
            mode=trial.mode,
            index=trial.index,
            scripted=trial.model is not None and trial.model.backend == "scripted",
            replayed=trial.model is not None and trial.model.replayed,
            lock=trial.lock,
            limit=sum(phase.seconds for phase in trial.phases),
        )

    @property
    def identity(self) -> tuple[str, str, str, str, int]:
        """What stays when the lock, and so the key, changes."""
        return (self.scenario.id, self.runtime, self.model, self.mode, self.index)

    @property
    def counts(self) -> bool:
        """Whether figures count it: the harness of the published suites counts every scenario."""
        return self.scenario.official or self.lock.get("scoring") == "published"

    def end(self, status: Status, **values: Any) -> Record:
        """The record that this trial ends in; ``values`` are further fields of it."""
        planned = {name: getattr(self, name) for name in PlannedTrial.__dataclass_fields__}
        return Record(**(planned | values), status=status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(PlannedTrial):
    """One trial, ended. Everything in it is plain JSON once through ``to_json``.

    ``seconds`` is the graded execution's; ``started`` and ``ended`` are Unix times.
    ``observed`` is what was seen in the run.
    """

    status: Status
    message: str = ""
    grade: Grade | None = None
    steps: int = 0
    tool_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    started: float = 0.0
    ended: float = 0.0
    seconds: float = 0.0
    phases: tuple[PhaseFacts, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    time_limit: TimeLimit | None = None
    sandbox: str = ""
    enforced: Mapping[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    observed: Mapping[str, Any] = field(default_factory=dict)
    #: From the ``closed`` line: what outlived the trial, and whether teardown ended at all.
    closed: bool = False
    survivors: tuple[str, ...] = ()

    @property
    def graded(self) -> bool:
        return self.status.policy.graded and self.grade is not None

    @property
    def passed(self) -> bool:
        return self.grade is not None and self.graded and self.grade.passed

    @property
    def spent(self) -> Usage:
        """What the agent used in all phases; ``usage`` is that of the graded one."""
        return total([phase.usage for phase in self.phases]) if self.phases else self.usage

    def to_json(self) -> dict[str, Any]:
        """The ``graded`` line. ``from_json`` of it gives an equal record, ``closed`` apart."""
        data = plain(self)
        data["phases"] = [phase.to_json() for phase in self.phases]
        del data["closed"], data["survivors"]
        return {"schema": SCHEMA_VERSION, "event": "graded", **data}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Record:
        """Raises ``ValueError`` for another schema and for what is no record, ``KeyError`` without a schema.

        Fields that a later minor version added are ignored, at every depth.
        """
        version = str(data["schema"])
        if version.partition(".")[0] != SCHEMA_VERSION.partition(".")[0]:
            raise ValueError(f"record schema {version}; this version reads {SCHEMA_VERSION}")
        from pytest_agentbench.decoder import decoded  # not of every session

        return decoded(cls, data)


def summary(record: Record) -> dict[str, Any]:
    """What travels with pytest's own reports: plain JSON, small. Tokens and cost of all phases."""
    grade, spent = record.grade, record.spent
    return {
        "key": record.key,
        "scenario": record.scenario.id,
        "runtime": record.runtime,
        "model": record.model,
        "mode": record.mode,
        "trial": record.index,
        "status": record.status.value,
        "score": grade.score if grade else None,
        "passed": record.passed if record.graded else None,
        "strict": grade.strict if grade else None,
        "tokens": spent.total_tokens,
        "cost_usd": spent.cost_usd,
    }


def properties(record: Record) -> list[tuple[str, object]]:
    """JUnit properties, through pytest's ``user_properties``: what is known."""
    known = {name: value for name, value in summary(record).items() if value is not None}
    return [(f"agentbench.{name}", value) for name, value in known.items()]


def closed_line(key: str, survivors: tuple[str, ...]) -> dict[str, Any]:
    """The line that follows ``graded`` once teardown has ended."""
    return {"schema": SCHEMA_VERSION, "event": "closed", "key": key, "survivors": list(survivors)}
