"""Whether records of a runtime were made under the same circumstances, and where they differ."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_agentbench.record import Record
from pytest_agentbench.text import escape

#: Of what was observed, what should be the same on all hosts of a run.
_OBSERVED = (
    "plugin",
    "pytest",
    "python",
    "adapter",
    "runtime_version",
    "runtime_digest",
    "host",
    "run",
    "exposure",
)
#: Characters of a value, and values of a fact, that are told.
_WIDTH, _TOLD = 60, 4


def differences(records: Iterable[Record]) -> tuple[str, ...]:
    """One line of text for each fact of each runtime that is not the same in all its records."""
    facts: dict[tuple[str, str], Counter[str]] = {}
    for record in records:
        if record.sandbox:  # it ran at all
            for name, value in _facts(record):
                facts.setdefault((record.runtime, name), Counter())[value] += 1
    return tuple(
        f"{escape(runtime)}: {name} is not the same in all trials: {_told(values)}"
        for (runtime, name), values in sorted(facts.items())
        if len(values) > 1
    )


def _facts(record: Record) -> Iterator[tuple[str, str]]:
    yield "sandbox", record.sandbox
    yield from _flat("enforced", record.enforced)
    for name in _OBSERVED:
        yield from _flat(name, record.observed.get(name))


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key in sorted(value):
            yield from _flat(f"{name}.{key}", value[key])
    else:
        yield name, value if isinstance(value, str) else json.dumps(value, default=str)


def _told(values: Counter[str]) -> str:
    shown = [f"{escape(value, _WIDTH) or 'empty'} ({values[value]})" for value in sorted(values)]
    more = [f"and {len(shown) - _TOLD} more values"] if len(shown) > _TOLD else []
    return ", ".join([*shown[:_TOLD], *more])
