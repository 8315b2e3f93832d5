"""What a run was asked to do: command line, then ``[tool.agentbench]``, then defaults."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench import jury
from pytest_agentbench.asked import Asked
from pytest_agentbench.options import Said, SettingsError, names, one_of, positive, unknown, whole
from pytest_agentbench.profiles import budgets, model_profile, runtime_profile, tape_of
from pytest_agentbench.rules import Gate, gate
from pytest_agentbench.shard import Shard, shard
from pytest_agentbench.spending import Budgets
from pytest_agentbench.tool_table import DEFAULT_KEYS, Table
from pytest_agentbench.trial import ModelProfile, RuntimeProfile
from pytest_agentbench.views import EXPOSURES, VIEWS

#: Whose workspaces are kept.
KEEP = ("none", "failed", "all")
PROGRESS = ("auto", "live", "plain", "off")
SCORINGS = ("default", "published")
#: The mode in which agents are given what was authored on siblings.
TRANSFER = "transfer"
SKILL_MUTATIONS = ("record", "fail")
SKILL_CHECKS = ("record", "refuse")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The matrix of a run and its limits, final before anything is collected."""

    #: Each runtime with each model that it is run with; None for no model of its own choice.
    pairs: tuple[tuple[RuntimeProfile, ModelProfile | None], ...] = ()
    modes: tuple[str, ...] = ("baseline",)
    trials: int = 1
    sandbox: str = "auto"
    gate: Gate = field(default_factory=Gate)
    timeout_multiplier: float = 1.0
    #: The least seconds of any time limit; 0 for those that the scenarios have.
    timeout_floor: float = 0.0
    max_attempts: int = 2
    #: Seconds that one Python checker may take.
    checker_seconds: float = 60.0
    keep_workspace: str = "none"
    budgets: Budgets = field(default_factory=Budgets)
    dry_run: bool = False
    #: What is run although it has a score: ``infra``, ``failed``, and the beginnings of keys.
    rerun: tuple[str, ...] = ()
    accept_changes: bool = False
    #: The primary view, "" where nobody declared one.
    view: str = ""
    #: One of ``EXPOSURES``, "" where nobody declared one.
    exposure: str = ""
    progress: str = "auto"
    #: ``published`` for the formulas of the published harnesses, defects and all.
    scoring: str = "default"
    #: A profile by name, and the tags of its scenarios; a file with a frozen selector.
    profile: str = ""
    selector: str = ""
    #: What becomes of a trial whose agent changed skills, or made one that has findings.
    skill_mutation: str = "record"
    skill_check: str = "record"
    #: A folder of skills that agents authored; "" for the run folder's own, of which none is given.
    skill_library: str = ""
    shard: Shard | None = None
    #: Seconds without a sign of life after which others take an invocation's trials; None alone.
    claim: float | None = None
    jury: jury.Jury = field(default_factory=jury.Jury)
    #: The folder in which runs are kept, and what is found out about runtimes and judges.
    project: Path = Path()
    #: For messages about a value: where it stands.
    said: Said = field(default_factory=Said)

    @property
    def runtimes(self) -> tuple[RuntimeProfile, ...]:
        return tuple({profile.name: profile for profile, _ in self.pairs}.values())

    @property
    def models(self) -> tuple[ModelProfile, ...]:
        return tuple({model.name: model for _, model in self.pairs if model}.values())


def resolve(
    asked: Asked, table: Table, *, adapters: Iterable[str], modes: Iterable[str]
) -> Settings:
    """Put command line, table and defaults together; raises ``SettingsError``.

    ``adapters`` and ``modes`` are the names that exist, built in or from third parties.
    """
    given = {key: getattr(asked, key, None) for key in DEFAULT_KEYS}
    said = table.said({key: value for key, value in given.items() if value not in (None, (), [])})
    where = said.where
    mode_names = names(said.get("mode", ["baseline"]), where("mode"))
    if asked.transfer and TRANSFER not in mode_names:
        mode_names = (*mode_names, TRANSFER)
    known_modes = sorted(modes)
    for mode in mode_names:
        if mode not in known_modes:
            raise SettingsError(unknown(where("mode"), mode, known_modes))
    claim_seconds = positive(said.get("claim_seconds", 60.0), where("claim_seconds"))
    models = names(said.get("model", []), where("model"))
    known_adapters = sorted(adapters)
    tape = tape_of(asked)
    pairs: list[tuple[RuntimeProfile, ModelProfile | None]] = []
    for name in names(said.get("runtime", []), where("runtime")):
        profile = runtime_profile(name, table, known_adapters, where=where("runtime"))
        own = (profile.model,) if profile.model else ()
        at = where("model") if models else f"{table.where(f'runtimes.{name}')}: model"
        pairs.extend(
            (profile, model_profile(model, table, tape, where=at)) for model in models or own
        )
        if not models and not own:
            pairs.append((profile, None))
    if tape and not any(model for _, model in pairs):
        option = "--replay" if tape.replays else "--record"
        raise SettingsError(f"{option} is about model calls, and there is no --model")
    judges = jury.jury(
        said, lambda name: model_profile(name, table, tape, where=where("judge")), tape
    )
    return Settings(
        pairs=tuple(pairs),
        modes=mode_names,
        trials=whole(said.get("trials", 1), where("trials"), 1, 10_000),
        sandbox=str(said.get("sandbox", "auto")),
        gate=gate(said, table.gate, table.rules, table.path),
        timeout_multiplier=positive(
            said.get("timeout_multiplier", 1.0), where("timeout_multiplier")
        ),
        timeout_floor=positive(floor, where("timeout_floor"))
        if (floor := said.get("timeout_floor"))
        else 0.0,
        max_attempts=whole(said.get("max_attempts", 2), where("max_attempts"), 1, 20),
        checker_seconds=positive(said.get("checker_seconds", 60.0), where("checker_seconds")),
        keep_workspace=one_of(said.get("keep_workspace", "none"), where("keep_workspace"), KEEP),
        budgets=budgets(table, [model for _, model in pairs], judges.profiles),
        dry_run=asked.dry_run,
        rerun=names(list(asked.rerun), "--rerun"),
        accept_changes=asked.accept_changes,
        view=one_of(said.get("view", ""), where("view"), VIEWS),
        exposure=one_of(said.get("exposure", ""), where("exposure"), EXPOSURES),
        progress=one_of(said.get("progress", "auto"), where("progress"), PROGRESS),
        profile=str(said.get("profile", "")),
        selector=str(said.get("selector", "")),
        scoring=one_of(said.get("scoring", "default"), where("scoring"), SCORINGS),
        skill_mutation=one_of(
            said.get("skill_mutation", "record"), where("skill_mutation"), SKILL_MUTATIONS
        ),
        skill_check=one_of(said.get("skill_check", "record"), where("skill_check"), SKILL_CHECKS),
        skill_library=_library(said.get("skill_library"), mode_names),
        shard=shard(asked.shard) if asked.shard is not None else None,
        claim=claim_seconds if asked.claim else None,
        jury=judges,
        project=table.folder,
        said=said,
    )


def _library(said: Any, modes: Sequence[str]) -> str:
    if said is None or said == "":
        if TRANSFER in modes:
            raise SettingsError(
                f"mode {TRANSFER} needs --skill-library=DIR: a library that runs of --mode=preskill "
                "or --mode=postskill have filled, for example reports/RUN/skills"
            )
        return ""
    return str(Path(str(said)).absolute())
