"""What there is to choose from: what is built in, and what third parties offer through hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from pytest_agentbench import modes
from pytest_agentbench.runtimes.protocol import Runtime
from pytest_agentbench.runtimes.registry import ADAPTERS
from pytest_agentbench.sandbox.protocol import Sandbox
from pytest_agentbench.trial import RuntimeProfile

if TYPE_CHECKING:
    from pytest_agentbench.report.scoreboard import Scoreboard

_MEND = "mend the conftest.py or the plugin that has it"


def adapters(config: pytest.Config) -> Mapping[str, Callable[[RuntimeProfile], Runtime]]:
    """Raises ``pytest.UsageError``, as all here do, for what a hook must not give."""
    return {**ADAPTERS, **_makers(config, "pytest_agentbench_runtimes")}


def known_modes(config: pytest.Config) -> Mapping[str, modes.Mode]:
    found = dict(modes.MODES)
    for group in _given(config, "pytest_agentbench_modes", tuple | list):
        for mode in group:
            if not isinstance(mode, modes.Mode):
                raise _refused("pytest_agentbench_modes", f"offers {mode!r:.80}, which is no Mode")
            found[mode.name] = mode
    return found


def third_party_sandboxes(config: pytest.Config) -> Mapping[str, Callable[[], Sandbox]]:
    return _makers(config, "pytest_agentbench_sandboxes")


def sections(config: pytest.Config, scoreboard: Scoreboard) -> Iterator[str]:
    """What third parties have to say below a scoreboard; in place of what fails, why it does."""
    hook = "pytest_agentbench_report_section"
    try:
        found = config.hook.pytest_agentbench_report_section(config=config, scoreboard=scoreboard)
    except Exception as error:  # noqa: BLE001 - a stranger's code, after the run
        yield f"\na section is missing: the hook {hook} raised {type(error).__name__}: {error}"
        return
    for text in found:
        if isinstance(text, str):
            yield text
        else:
            yield f"\na section is missing: the hook {hook} returned {text!r:.80}, which is no text"


def _makers(config: pytest.Config, hook: str) -> dict[str, Callable[..., Any]]:
    # pluggy lists the latest registered first; the first one to name a thing should win last.
    parts = reversed(_given(config, hook, Mapping))
    found = {name: make for part in parts for name, make in part.items()}
    for name, make in found.items():
        if not callable(make):
            raise _refused(hook, f"offers {name!r} as {make!r:.80}, which cannot be called")
    return found


def _given(config: pytest.Config, hook: str, kind: Any) -> list[Any]:
    try:
        found: list[Any] = getattr(config.hook, hook)(config=config)
    except pytest.UsageError:
        raise
    except Exception as error:
        raise _refused(hook, f"raised {type(error).__name__}: {error}") from error
    for part in found:
        if not isinstance(part, kind):
            wanted = "a mapping of names" if kind is Mapping else "a tuple of Mode"
            raise _refused(hook, f"returned {part!r:.80}; it must return {wanted}")
    return found


def _refused(hook: str, problem: str) -> pytest.UsageError:
    return pytest.UsageError(f"the hook {hook} {problem}; {_MEND}")
