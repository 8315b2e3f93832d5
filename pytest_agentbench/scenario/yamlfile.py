"""YAML read so that what was written is what is meant.

Only ``null``, ``true``, ``false`` and decimal numbers are read as anything but text; whatever
else YAML 1.1 would convert (``no``, ``12:30``, ``0x1F``, dates, …) stays the text that was
written. What cannot be kept as written is refused with its line.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from yaml import events

from pytest_agentbench.scenario.model import ScenarioError
from pytest_agentbench.scenario.source import decode

MAX_DEPTH = 50
#: Values in a file once its aliases are expanded.
MAX_NODES = 100_000

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The value of a YAML text, and the 1-based line of each key and list item in it."""

    path: Path
    value: Any
    lines: Mapping[KeyPath, int] = field(default_factory=dict)

    def line(self, keys: KeyPath = ()) -> int | None:
        """Line of ``keys``, else of the nearest thing around it that has one."""
        while keys:
            if keys in self.lines:
                return self.lines[keys]
            keys = keys[:-1]
        return self.lines.get(())


def parse(data: bytes, path: Path) -> Document:
    """Read a whole file, a mapping at its top. Raises ``ScenarioError`` with the line."""
    document = parse_text(decode(data, path), path)
    if not isinstance(document.value, dict):
        raise ScenarioError(
            path,
            f"the file must hold a mapping of keys to values, not {kind(document.value)}",
            line=document.line(),
        )
    return document


def parse_text(text: str, path: Path, *, above: int = 0) -> Document:
    """Read YAML that begins after ``above`` lines of the file."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    stream: Generator[Any, None, None] = yaml.parse(text, Loader=loader)  # type: ignore[assignment]
    builder = _Builder(stream, path, above)
    try:
        with contextlib.closing(stream):
            return Document(path=path, value=builder.document(), lines=builder.lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = mark.line if mark else 0
        rows = text.split("\n")
        row = rows[at] if at < len(rows) else ""
        if "\t" in row[: len(row) - len(row.lstrip())]:
            problem = "a tab in the indentation; use spaces"
        else:
            problem = f"not valid YAML: {_REWORDED.get(str(error.problem), error.problem)}"
            if error.context and error.context_mark:
                begin = error.context_mark.line + 1 + above
                problem += f" {error.context} that begins in line {begin}"
        raise ScenarioError(path, problem, line=at + 1 + above) from None
    except yaml.YAMLError as error:
        raise ScenarioError(path, f"not valid YAML: {error}") from None


_REWORDED = {
    "mapping values are not allowed in this context": (
        "a second colon in plain text; quote the text or write it below a `|`"
    ),
}


def short(text: str) -> str:
    """Text of a file's as messages show it: at most 40 characters, none of them unprintable."""
    cut = text if len(text) <= 40 else text[:37] + "..."
    return cut if cut.isprintable() else repr(cut)[1:-1]


def kind(value: object) -> str:
    """A value in the words of an error message."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {value}"
        case str():
            return f"'{short(value)}'"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case _:  # of a Python test: no file holds one
            return f"a value of type {type(value).__name__}"


_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)?\.[0-9]+")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_MAX_DIGITS = 400
_TAG = "tag:yaml.org,2002:"
_SCALAR_TAGS = {"str": str, "int": int, "float": float, "bool": bool, "null": type(None)}


def scalar(text: str) -> Any:
    """The value of a plain scalar. Raises ``ValueError`` for one that cannot be kept."""
    if text in _NULL:
        return None
    if text == "true":
        return True
    if text == "false":
        return False
    if text[0] in "-+.0123456789":
        if len(text) > _MAX_DIGITS and text.strip("-+.0123456789") == "":
            raise ValueError(f"a number of {len(text)} characters; quote it if it is text")
        if _INT.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text):
            return float(text)
        if _NOT_FINITE.fullmatch(text):
            raise ValueError(f"{text} is not a finite number; quote it if it is text")
    return text


@dataclass(frozen=True, slots=True)
class _Anchor:
    value: Any
    nodes: int
    depth: int


class _Builder:
    """Builds values from parser events. The loaders of PyYAML would convert on their own."""

    def __init__(self, stream: Iterator[Any], path: Path, above: int) -> None:
        self.stream = stream
        self.path = path
        self.above = above
        self.lines: dict[KeyPath, int] = {}
        self.anchors: dict[str, _Anchor | None] = {}
        self.nodes = 0

    def document(self) -> Any:
        next(self.stream)
        if isinstance(next(self.stream), events.StreamEndEvent):
            raise ScenarioError(self.path, "no value is written here", line=self.above + 1)
        first = next(self.stream)
        self.lines[()] = first.start_mark.line + 1 + self.above
        value, _ = self.node(first, (), 1)
        next(self.stream)
        after = next(self.stream)
        if not isinstance(after, events.StreamEndEvent):
            raise self.refuse(after, "a second document begins here; a file holds one")
        return value

    def node(self, event: Any, keys: KeyPath, depth: int) -> tuple[Any, int]:
        """The value that begins at ``event``, and how deep it goes below here."""
        if depth > MAX_DEPTH:
            raise self.refuse(event, f"nested more than {MAX_DEPTH} levels deep")
        self.nodes += 1
        if isinstance(event, events.AliasEvent):
            return self.alias(event, depth)
        before, below = self.nodes, 0
        if event.anchor:
            self.anchors[event.anchor] = None
        if isinstance(event, events.ScalarEvent):
            value = self.scalar(event)
        elif isinstance(event, events.MappingStartEvent):
            value, below = self.mapping(event, keys, depth)
        else:
            value, below = self.sequence(event, keys, depth)
        if self.nodes > MAX_NODES:
            raise self.refuse(event, f"more than {MAX_NODES} values")
        if event.anchor:
            self.anchors[event.anchor] = _Anchor(value, self.nodes - before + 1, below)
        return value, below

    def alias(self, event: Any, depth: int) -> tuple[Any, int]:
        if event.anchor not in self.anchors:
            raise self.refuse(
                event, f"*{short(event.anchor)} repeats nothing that stands before it"
            )
        anchor = self.anchors[event.anchor]
        if anchor is None:
            raise self.refuse(event, f"*{short(event.anchor)} stands inside what it repeats")
        self.nodes += anchor.nodes - 1
        if self.nodes > MAX_NODES:
            raise self.refuse(event, f"more than {MAX_NODES} values once aliases are expanded")
        if depth + anchor.depth > MAX_DEPTH:
            raise self.refuse(event, f"nested more than {MAX_DEPTH} levels deep")
        return anchor.value, anchor.depth

    def mapping(self, event: Any, keys: KeyPath, depth: int) -> tuple[dict[str, Any], int]:
        self.check_tag(event, "map")
        value: dict[str, Any] = {}
        below = 0
        while not isinstance(first := next(self.stream), events.MappingEndEvent):
            key = self.key(first)
            line = first.start_mark.line + 1 + self.above
            if key in value:
                earlier = self.lines[*keys, key]
                raise self.refuse(
                    first, f"the key `{short(key)}` is given twice, first in line {earlier}"
                )
            here = (*keys, key)
            self.lines[here] = line
            value[key], under = self.node(next(self.stream), here, depth + 1)
            below = max(below, under + 1)
        return value, below

    def key(self, event: Any) -> str:
        if not isinstance(event, events.ScalarEvent):
            raise self.refuse(event, "a key must be text, not a list, a mapping or an alias")
        if event.implicit[0] and event.value == "<<":
            raise self.refuse(event, "merge keys (<<) are not supported; write the keys out")
        key = self.scalar(event)
        if not isinstance(key, str):
            raise self.refuse(event, f"a key must be text, not {kind(key)}; quote it")
        return key

    def sequence(self, event: Any, keys: KeyPath, depth: int) -> tuple[list[Any], int]:
        self.check_tag(event, "seq")
        value: list[Any] = []
        below = 0
        while not isinstance(first := next(self.stream), events.SequenceEndEvent):
            here = (*keys, len(value))
            self.lines[here] = first.start_mark.line + 1 + self.above
            item, under = self.node(first, here, depth + 1)
            value.append(item)
            below = max(below, under + 1)
        return value, below

    def scalar(self, event: Any) -> Any:
        if event.implicit[1] and not event.implicit[0]:
            return event.value
        try:
            value = scalar(event.value)
        except ValueError as error:
            raise self.refuse(event, str(error)) from None
        if event.implicit[0] or event.tag is None:
            return value
        expected = _SCALAR_TAGS.get(event.tag.removeprefix(_TAG))
        if expected is str:
            return event.value
        if expected is None or type(value) is not expected:
            raise self.refuse_tag(event)
        return value

    def check_tag(self, event: Any, name: str) -> None:
        if event.tag not in (None, _TAG + name):
            raise self.refuse_tag(event)

    def refuse_tag(self, event: Any) -> ScenarioError:
        tag = short(event.tag.replace(_TAG, "!!"))
        return self.refuse(event, f"the tag {tag} does not fit here; write plain or quoted text")

    def refuse(self, event: Any, problem: str) -> ScenarioError:
        return ScenarioError(self.path, problem, line=event.start_mark.line + 1 + self.above)
