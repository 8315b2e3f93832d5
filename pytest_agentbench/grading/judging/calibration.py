"""How often a judge is right about labelled deliverables, and whether that is often enough."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from pytest_agentbench.execution import Execution
from pytest_agentbench.files import temporary
from pytest_agentbench.grading.client import CheckerServer
from pytest_agentbench.grading.judging.brief import Brief
from pytest_agentbench.grading.judging.looking import look
from pytest_agentbench.grading.judging.material import digest
from pytest_agentbench.grading.judging.model_judge import ModelJudge
from pytest_agentbench.grading.judging.panel import Panel
from pytest_agentbench.plain import plain
from pytest_agentbench.scenario.labelled import Case, Labelled
from pytest_agentbench.scoring.agreement import Agreement, agreement
from pytest_agentbench.status import Status
from pytest_agentbench.workspace import materialise

#: The share of labels that a judge must be right on, to be of use for a gate.
FLOOR = 0.8
FOLDER = "calibration"
_WORDS = {True: "met", False: "not_met", None: "not_applicable"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One criterion of one case. ``judged`` is "" where the judge gave no verdict.

    ``label`` is "" where the labellers do not agree: then nobody can be wrong.
    """

    scenario: str
    case: str
    sort: str
    criterion: str
    category: str
    label: str
    judged: str
    reason: str

    @property
    def counts(self) -> bool:
        return bool(self.label)

    @property
    def right(self) -> bool:
        return self.counts and self.label == self.judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """``right`` of ``labels``."""

    right: int = 0
    labels: int = 0

    @property
    def value(self) -> float | None:
        return self.right / self.labels if self.labels else None

    def __str__(self) -> str:
        return (
            f"{self.right / self.labels:.0%} ({self.right}/{self.labels})" if self.labels else "?"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What one judge made of all cases. ``identity`` is that of the judge, ``labels`` a hash of them."""

    judge: str
    model: str
    identity: str
    labels: str
    floor: float = FLOOR
    findings: tuple[Finding, ...] = ()
    labellers: Agreement = field(default_factory=lambda: Agreement(items=0, raters=0))

    @property
    def share(self) -> Share:
        return _share(self.findings)

    @property
    def unanswered(self) -> int:
        return sum(not each.judged for each in self.findings)

    @property
    def balanced(self) -> float | None:
        """The mean of the shares over each label: what a judge that always says the same cannot
        have."""
        values = [share.value for label, share in self.by("label").items() if label]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known else None

    @property
    def enough(self) -> bool:
        """Whether the judge is right as often as the floor asks, over labels and balanced."""
        value, balanced = self.share.value, self.balanced
        return value is not None and balanced is not None and min(value, balanced) >= self.floor

    def by(self, name: str) -> dict[str, Share]:
        """Shares by a field of the findings, such as ``criterion``, ``category`` or ``sort``."""
        values = dict.fromkeys(getattr(each, name) for each in self.findings)
        return {
            value: _share(each for each in self.findings if getattr(each, name) == value)
            for value in values
        }

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = plain(self)
        share = self.share
        return {"schema": 1, "right": share.right, "counted": share.labels, **data}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Raises ``KeyError`` and ``TypeError``."""
        known = {name: data[name] for name in ("judge", "model", "identity", "labels", "floor")}
        return cls(
            **known,
            findings=tuple(Finding(**each) for each in data["findings"]),
            labellers=Agreement(**data["labellers"]),
        )


def calibrate(
    panel: Panel,
    files: Iterable[Labelled],
    floor: float = FLOOR,
    tell: Callable[[str], None] = print,
) -> Iterator[Calibration]:
    """Have each judge of ``panel`` by itself judge all cases. Raises ``TrialFault``."""
    given = list(files)
    with CheckerServer() as server:
        briefs = [(each, case, _brief(each, case, server)) for each in given for case in each.cases]
    hashed = digest([plain(case) for _, case, _ in briefs])
    people = agreement([said for each in given for said in _said(each)])
    for judge in panel.judges:
        tell(f"{judge.name}: {len(briefs)} deliverables")
        alone = replace(panel, judges=(judge,))
        findings = [
            finding
            for labelled, case, brief in briefs
            for finding in _findings(alone, labelled, case, brief)
        ]
        yield Calibration(
            judge=judge.name,
            model=judge.model,
            identity=judge.identity,
            labels=hashed,
            floor=floor,
            findings=tuple(findings),
            labellers=people,
        )


def place(folder: Path, judge: str) -> Path:
    """The file of a judge's calibration, whatever it is called."""
    return folder / f"{quote(judge, safe='@+ ')}.json"


def read_calibration(folder: Path, judge: str) -> Calibration | None:
    """What was found of a judge; None where nothing is, or nothing that can be read."""
    try:
        return Calibration.from_json(json.loads(place(folder, judge).read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def standing(judge: ModelJudge, folder: Path) -> tuple[str, bool]:
    """What is known of a judge, in words, and whether that keeps it from a gate."""
    found = read_calibration(folder, judge.name)
    how = f"agentbench calibrate --judge={judge.name}"
    if found is None:
        return f"judge {judge.name} is not calibrated: {how}", False
    if found.identity != judge.identity:
        return f"judge {judge.name} is not what was calibrated: again, {how}", False
    told = f"judge {judge.name} is right on {found.share} of labels"
    if found.balanced is not None:
        told += f", balanced {found.balanced:.0%}"
    return f"{told} (floor {found.floor:.0%})", not found.enough


def _findings(panel: Panel, labelled: Labelled, case: Case, brief: Brief) -> Iterator[Finding]:
    verdicts = {verdict.id: verdict for verdict in panel.decide(brief).verdicts}
    for criterion in labelled.criteria:
        label, verdict = case.labels[criterion.id], verdicts.get(criterion.id)
        yield Finding(
            scenario=labelled.scenario.id,
            case=case.name,
            sort=case.sort,
            criterion=criterion.id,
            category=criterion.category,
            label=_WORDS[label.met] if label.agreed else "",
            judged=_WORDS[verdict.met] if verdict else "",
            reason=label.reason,
        )


def _brief(labelled: Labelled, case: Case, server: CheckerServer) -> Brief:
    """What a judge sees of the case: made as that of a trial is."""
    scenario = labelled.scenario
    done = Execution(status=Status.COMPLETED, trace=case.trace)
    with temporary("case-", server.scratch) as folder:
        root = folder / "workspace"
        root.mkdir()
        materialise(scenario.inputs, root)
        for name, text in case.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        material = look(server, scenario, done, root)
    return Brief(
        scenario=scenario.id, task=scenario.prompt, criteria=labelled.criteria, material=material
    )


def _said(labelled: Labelled) -> Iterator[dict[str, str]]:
    for case in labelled.cases:
        for label in case.labels.values():
            yield {name: _WORDS[met] for name, met in label.said.items()}


def _share(findings: Iterable[Finding]) -> Share:
    counted = [each for each in findings if each.counts]
    return Share(right=sum(each.right for each in counted), labels=len(counted))
