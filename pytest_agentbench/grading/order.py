"""Partial-order process checks: what must have happened before anything of another kind."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from pytest_agentbench.grading.evidence import Evidence
from pytest_agentbench.grading.match import contains
from pytest_agentbench.grading.shell import command_line, files
from pytest_agentbench.grading.verdict import Evaluator, Verdict, text
from pytest_agentbench.scenario.checktypes import EVENT_KEYS
from pytest_agentbench.trace.events import Event, EventKind, Tool, Trace

_PATHS = ("path", "file_path", "file", "paths")
_WILD = re.compile(r"[*?[]")
_SINKS = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"))


def happens_before(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    """Something matches ``first``, and nothing that matches ``then`` comes before it.

    Both are an event pattern, or a list of which one must match. A pattern is a mapping, and
    an event matches it when it meets each of its keys:

    ``tool``     the call's canonical (or native) name
    ``path``     glob on the call's path, relative to the workspace
    ``reads``    glob on a file that the call reads by whatever route: a ``read`` of it, a
                 ``search`` that names it, or an ``exec`` whose command names it other than
                 to write it (``echo``, ``ls`` and their like read nothing)
    ``writes``   glob on a file that the call may write: ``write`` or ``edit`` of it, or an
                 ``exec`` that redirects to it or names it to ``tee``, ``mv``, ``cp``, ``rm``,
                 ``sed -i``, ``dd of=``, ``curl -o``, ``open(…, "w")`` and their like
    ``command``  regular expression on the command line of an ``exec``
    ``text``     text in a call's arguments or in what the agent said, case-blind

    In globs ``*`` crosses folders. Where ``reads`` or ``writes`` names one file, its bare name
    in a command counts in whatever folder. A call whose result failed (status 400 and above) cannot be
    the ``first``, since it did not happen; as ``then`` it counts, since it was tried. An ``exec``
    of several commands always counts.
    """
    first, then = patterns(params, "first"), patterns(params, "then")
    if unknown := sorted({key for pattern in first + then for key in pattern} - set(EVENT_KEYS)):
        raise ValueError(f"{text(unknown)} in a pattern; known are {text(sorted(EVENT_KEYS))}")
    failed = failed_calls(evidence.trace)
    for i, event in enumerate(evidence.trace.events):
        done = deed(event, evidence)
        if i not in failed and any(_matches(done, pattern) for pattern in first):
            return Verdict(1.0)
        if any(_matches(done, pattern) for pattern in then):
            return Verdict(0.0, f"came before {text(first)}", text(first), shown(event))
    return Verdict(0.0, "did not happen", text(first))


@dataclass(frozen=True, slots=True)
class Deed:
    """An event, and the files that it names, reads and may write, relative to the workspace."""

    event: Event
    names: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


def deed(event: Event, evidence: Evidence) -> Deed:
    """What ``event`` does to files."""
    if event.kind is not EventKind.CALL:
        return Deed(event)
    names = reads = writes = _named(event)
    match event.tool:
        case Tool.READ:
            writes = []
        case Tool.WRITE | Tool.EDIT:
            reads = []
        case Tool.SEARCH:
            query = str(event.args.get("query", ""))
            reads, writes = [*names, query, *re.split(r"[\s'\",;:()]+", query)], []
        case Tool.EXEC:
            found = files(command_line(event.args))
            reads, writes = [*found.reads], [w for w in found.writes if w not in _SINKS]
        case _:
            reads = writes = []
    relative = ([_relative(path, evidence) for path in paths] for paths in (names, reads, writes))
    return Deed(event, *map(tuple, relative))


def patterns(params: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The event patterns at ``first`` or ``then``."""
    given = params[key]
    return given if isinstance(given, list) else [given]


def failed_calls(trace: Trace) -> set[int]:
    """Indices of calls whose result says that they failed.

    Results answer calls by their id; without one, the call just before.
    """
    failed, by_id = set(), {}
    last: int | None = None
    for i, event in enumerate(trace.events):
        if event.kind is EventKind.CALL:
            by_id[event.call_id] = last = i
        elif event.kind is EventKind.RESULT:
            call = by_id.get(event.call_id) if event.call_id else last
            bad = event.status is not None and event.status >= 400
            if call is not None and bad and not _several(trace.events[call]):
                failed.add(call)
    return failed


def _several(call: Event) -> bool:
    """Whether a call runs more than one command: then its status tells of the last one only."""
    return call.tool == Tool.EXEC and re.search(r"[;&|\n]", command_line(call.args)) is not None


def _matches(deed: Deed, pattern: Mapping[str, Any]) -> bool:
    event = deed.event
    if event.kind is EventKind.ASSISTANT:
        return set(pattern) == {"text"} and contains(event.text, pattern["text"])
    return event.kind is EventKind.CALL and all(
        _meets(deed, key, wanted) for key, wanted in pattern.items()
    )


def _meets(deed: Deed, key: str, wanted: str) -> bool:
    call = deed.event
    match key:
        case "tool":
            return wanted in (call.tool, call.native_name)
        case "command":
            line = command_line(call.args)
            return call.tool == Tool.EXEC and re.search(wanted, line) is not None
        case "text":
            return contains(call.args, wanted)
        case "path":
            return any(fnmatchcase(name, posixpath.normpath(wanted)) for name in deed.names)
        case "reads":
            return any(_reaches(name, posixpath.normpath(wanted)) for name in deed.reads)
        case _:
            return any(_reaches(name, posixpath.normpath(wanted)) for name in deed.writes)


def _reaches(name: str, glob: str) -> bool:
    """Whether ``name`` is meant by ``glob``.

    A name may be a pattern of the shell's. A bare one stands for a file in any folder, but only
    where the glob names one file: a scratch file is not one of ``out/*``.
    """
    base = posixpath.basename(glob)
    return (
        fnmatchcase(name, glob)
        or (name == base and not _WILD.search(base))
        or (
            _WILD.search(name) is not None
            and name.count("/") == glob.count("/")
            and fnmatchcase(glob, name)
        )
    )


def _named(call: Event) -> list[str]:
    """Paths among the arguments, under any of the names that runtimes give them."""
    values = [call.args[key] for key in _PATHS if key in call.args]
    return [
        str(path) for value in values for path in (value if isinstance(value, list) else [value])
    ]


def _relative(path: str, evidence: Evidence) -> str:
    plain = posixpath.normpath(path.replace("\\", "/"))
    for root in (str(evidence.workspace), *evidence.roots):
        if plain.startswith(root.rstrip("/") + "/"):
            return plain[len(root.rstrip("/")) + 1 :]
    return plain


def shown(event: Event) -> str:
    """One event in words."""
    return event.text if event.kind is EventKind.ASSISTANT else f"{event.tool} {text(event.args)}"


EVALUATORS: dict[str, Evaluator] = {"happens_before": happens_before}
