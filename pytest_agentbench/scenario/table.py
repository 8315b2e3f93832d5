"""A mapping in a scenario file, read key by key with errors that say where and what else."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.scenario.model import ScenarioError
from pytest_agentbench.scenario.yamlfile import Document, KeyPath, kind, short


@dataclass(frozen=True, slots=True)
class Table:
    """The mapping at ``at`` in a document. A key that is absent or null takes its default.

    Every method raises ``ScenarioError`` with the line of the key that is wrong.
    """

    document: Document
    value: dict[str, Any]
    at: KeyPath = ()

    @classmethod
    def of(cls, document: Document, value: Any, at: KeyPath) -> Table:
        if not isinstance(value, dict):
            raise refuse(document, at, f"must be a mapping, not {kind(value)}")
        return cls(document, value, at)

    def __contains__(self, key: str) -> bool:
        return self.value.get(key) is not None

    def refuse(self, key: str, problem: str) -> ScenarioError:
        return refuse(self.document, (*self.at, key), problem)

    def only(self, allowed: Iterable[str], *, empty: bool = False) -> None:
        """Refuse keys other than ``allowed``, and keys without a value unless ``empty``."""
        names = tuple(allowed)
        for key, value in self.value.items():
            if key not in names:
                raise self.refuse(key, f"is not a known key{hint(key, names)}")
            if value is None and not empty:
                raise self.refuse(key, "has no value; give it one or remove the key")

    def need(self, key: str) -> Any:
        if key not in self:
            place = f"`{spell(self.at)}` needs" if self.at else "the scenario needs"
            line = self.document.line(self.at)
            raise ScenarioError(self.document.path, f"{place} the key `{key}`", line=line)
        return self.value[key]

    def text(self, key: str, default: str = "") -> str:
        value = self.value.get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            quote = "" if isinstance(value, dict | list) else "; quote it"
            raise self.refuse(key, f"must be text, not {kind(value)}{quote}")
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        value = self.value.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.refuse(key, f"must be true or false, not {kind(value)}")
        return value

    def choice(self, key: str, default: str, options: Collection[str]) -> str:
        value = self.value.get(key)
        if value is None:
            return default
        if value not in options:
            close = hint(value, tuple(options)) if isinstance(value, str) else choices(options)
            raise self.refuse(key, f"cannot be {kind(value)}{close}")
        return str(value)

    def number(
        self, key: str, default: float, *, above: float | None = None, low: float = 0, high: float
    ) -> float:
        """A number between ``low`` and ``high``; greater than ``above`` where that is given."""
        value = self.value.get(key)
        if value is None:
            return default
        bounds = f"above {above:g} and at most" if above is not None else f"between {low:g} and"
        known = isinstance(value, int | float) and not isinstance(value, bool)
        if not (known and low <= value <= high and (above is None or value > above)):
            shown = value if known else kind(value)
            raise self.refuse(key, f"must be a number {bounds} {high:g}, not {shown}")
        return float(value)

    def whole(self, key: str, default: int, *, low: int, high: int) -> int:
        value = self.value.get(key)
        if value is None:
            return default
        known = isinstance(value, int) and not isinstance(value, bool)
        if not (known and low <= value <= high):
            shown = value if known or isinstance(value, float) else kind(value)
            raise self.refuse(key, f"must be a whole number from {low} to {high}, not {shown}")
        return int(value)

    def items(self, key: str) -> list[Any]:
        value = self.value.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.refuse(key, f"must be a list, not {kind(value)}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        items = self.items(key)
        for index, item in enumerate(items):
            if not isinstance(item, str):
                quote = "" if isinstance(item, dict | list) else "; quote it"
                at = (*self.at, key, index)
                raise refuse(self.document, at, f"must be text, not {kind(item)}{quote}")
        return tuple(items)

    def table(self, key: str) -> Table:
        """The mapping at ``key``, empty when there is none."""
        at = (*self.at, key)
        return Table.of(self.document, self.value[key] if key in self else {}, at)

    def tables(self, key: str) -> Iterator[Table]:
        """The mappings listed at ``key``."""
        for index, item in enumerate(self.items(key)):
            yield Table.of(self.document, item, (*self.at, key, index))


def refuse(document: Document, at: KeyPath, problem: str) -> ScenarioError:
    return ScenarioError(document.path, f"`{spell(at)}` {problem}", line=document.line(at))


def unknown(document: Document, at: KeyPath, word: str, options: tuple[str, ...]) -> ScenarioError:
    return refuse(document, at, f"cannot be {kind(word)}{hint(word, options)}")


def spell(at: KeyPath) -> str:
    """A place as people write it: ``checks[0].points``."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{short(part)}" for part in at]
    return "".join(parts).removeprefix(".")


def choices(options: Iterable[str]) -> str:
    return f"; allowed: {', '.join(options)}"


def hint(word: str, options: tuple[str, ...]) -> str:
    """What may be meant instead of ``word``, and all that is allowed."""
    import difflib  # only when something is refused

    close = difflib.get_close_matches(word[:80], options, n=1)
    return (
        f"; did you mean `{close[0]}`? Allowed: {', '.join(options)}" if close else choices(options)
    )


def finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
