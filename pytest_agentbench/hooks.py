"""Hooks for third parties. They work from a ``conftest.py`` and from an installed plugin alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_agentbench.grading.judge import Judge
    from pytest_agentbench.modes import Mode
    from pytest_agentbench.report.scoreboard import Scoreboard
    from pytest_agentbench.runtimes.protocol import Runtime
    from pytest_agentbench.sandbox.protocol import Sandbox
    from pytest_agentbench.trial import RuntimeProfile


@pytest.hookspec
def pytest_agentbench_runtimes(  # type: ignore[empty-body]
    config: pytest.Config,
) -> Mapping[str, Callable[[RuntimeProfile], Runtime]]:
    """Adapters by name, for ``--runtime``. Each makes a ``Runtime`` from a profile."""


@pytest.hookspec
def pytest_agentbench_sandboxes(  # type: ignore[empty-body]
    config: pytest.Config,
) -> Mapping[str, Callable[[], Sandbox]]:
    """Sandboxes by name, for ``--sandbox``."""


@pytest.hookspec
def pytest_agentbench_modes(config: pytest.Config) -> tuple[Mode, ...]:  # type: ignore[empty-body]
    """Modes, for ``--mode``."""


@pytest.hookspec(firstresult=True)
def pytest_agentbench_judge(config: pytest.Config) -> Judge | None:
    """The judge of rubrics and hybrid grades; the first that is not None is used."""


@pytest.hookspec
def pytest_agentbench_report_section(config: pytest.Config, scoreboard: Scoreboard) -> str | None:
    """Text to print below the scoreboard."""
