"""What there is to choose from: what is built in, and what third parties offer through hooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pytest_agentbench import modes
from pytest_agentbench.runtimes.protocol import Runtime
from pytest_agentbench.runtimes.registry import ADAPTERS
from pytest_agentbench.sandbox.protocol import Sandbox
from pytest_agentbench.trial import RuntimeProfile


def adapters(config: pytest.Config) -> Mapping[str, Callable[[RuntimeProfile], Runtime]]:
    return {**ADAPTERS, **_merged(config.hook.pytest_agentbench_runtimes(config=config))}


def known_modes(config: pytest.Config) -> Mapping[str, modes.Mode]:
    offered = config.hook.pytest_agentbench_modes(config=config)
    return {**modes.MODES, **{mode.name: mode for group in offered for mode in group}}


def third_party_sandboxes(config: pytest.Config) -> Mapping[str, Callable[[], Sandbox]]:
    return _merged(config.hook.pytest_agentbench_sandboxes(config=config))


def _merged(parts: list[Mapping[str, Any]]) -> dict[str, Any]:
    # pluggy lists the latest registered first; the first one to name a thing should win last.
    return {name: made for part in reversed(parts) for name, made in part.items()}
