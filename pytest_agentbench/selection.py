"""Which scenarios are run: those of a profile, or of a frozen selector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from pytest_agentbench.collect import trial_of
from pytest_agentbench.options import SettingsError, unknown
from pytest_agentbench.scenario.selector import Selector, SelectorError, check, read_selector
from pytest_agentbench.settings import Settings
from pytest_agentbench.tool_table import Table
from pytest_agentbench.trial import Trial

#: Profiles of the published composite suite: the tags that its files come with, and how many have
#: them in the suite as it was published.
PROFILES: Mapping[str, tuple[tuple[str, ...], int]] = MappingProxyType(
    {
        "core": (("benchmark-intelligence", "benchmark-core", "benchmark-active"), 26),
        "intelligence": (("benchmark-intelligence", "benchmark-active"), 95),
        "coverage": (("benchmark-coverage", "benchmark-active"), 7),
        "native": (("benchmark-active", "signal-openclaw_native"), 36),
        "full": (("benchmark-active",), 102),
    }
)


def selection_of(settings: Settings, table: Table, config: pytest.Config) -> Selection | None:
    """What was asked for; None for everything. Raises ``SettingsError``."""
    if settings.profile and settings.selector:
        raise SettingsError("--profile and --selector are two ways to say what is run; give one")
    if settings.selector:
        path = Path(config.invocation_params.dir, settings.selector)
        where = settings.said.where("selector")
        try:
            selector = read_selector(path)
        except SelectorError as error:
            raise SettingsError(f"{where}: {error}") from None
        if not selector.active:
            every = ", ".join(each.id for each in selector.scenarios)
            raise SettingsError(
                f"{where}: {settings.selector}: every scenario of {selector.name} is retired "
                f"({every}), so there is nothing to run"
            )
        return Selection(selector=selector)
    if not settings.profile:
        return None
    name, own = settings.profile, table.profiles
    if name not in own:
        if name not in PROFILES:
            raise SettingsError(
                unknown(settings.said.where("profile"), name, sorted({**PROFILES, **own}))
            )
        tags, size = PROFILES[name]
        return Selection(profile=name, tags=tags, size=size)
    said = own[name].get("tags") if isinstance(own[name], dict) else None
    if not isinstance(said, list) or not said or not all(isinstance(tag, str) for tag in said):
        raise SettingsError(
            f"[tool.agentbench.profiles.{name}] needs tags, a list of the tags that its scenarios have"
        )
    return Selection(profile=name, tags=tuple(said))


class Selection:
    """Leaves out what is not selected; what is must be there, and as it was frozen."""

    def __init__(
        self,
        *,
        profile: str = "",
        tags: tuple[str, ...] = (),
        size: int = 0,
        selector: Selector | None = None,
    ) -> None:
        self.profile = selector.name if selector else profile
        self._tags = frozenset(tags)
        self._size = len(selector.active) if selector else size
        self._selector = selector

    def whole(self, scenarios: int) -> bool:
        """Whether so many of its scenarios are all of them; never, where nobody knows."""
        return scenarios == self._size

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        trials = {item: trial for item in items if (trial := trial_of(item))}
        try:
            if self._selector is not None:
                # Before anything is deselected: -k may leave out what the selector has.
                self._check(self._selector, trials.values())
            elif trials and not any(map(self._holds, trials.values())):
                raise SelectorError(self._untagged(trials.values()))
        except SelectorError as error:
            if not hasattr(config, "workerinput"):
                raise pytest.UsageError(str(error)) from None
            session.shouldstop = str(error)
            items.clear()
            return
        chosen = [item for item in items if item not in trials or self._holds(trials[item])]
        left_out = set(items) - set(chosen)
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = chosen

    def _holds(self, trial: Trial) -> bool:
        if self._selector is not None:
            return trial.scenario.id in self._selector.active
        return self._tags <= set(trial.scenario.tags)

    def _untagged(self, trials: Iterable[Trial]) -> str:
        """That no scenario has the tags of the profile, and which tags there are."""
        there = {tag for trial in trials for tag in trial.scenario.tags}
        return (
            f"--profile {self.profile}: no scenario that was collected has all of its tags "
            f"({', '.join(sorted(self._tags))}); tags there: {', '.join(sorted(there)) or 'none'}"
        )

    def _check(self, selector: Selector, trials: Iterable[Trial]) -> None:
        found = {trial.scenario.id: trial.lock for trial in trials}
        if problems := check(selector, found):
            listed = "\n  ".join(problems)
            raise SelectorError(
                f"the suite is not {selector.name} as it was frozen:\n  {listed}\n"
                "collect all of it, and bring back what was changed; a change that is meant is "
                "recorded by agentbench suite repair, one that goes by agentbench suite retire"
            )
