"""Partial-order process checks: what must have happened before anything of another kind."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from pytest_agentbench.grading.evidence import Evidence
from pytest_agentbench.grading.match import contains
from pytest_agentbench.grading.shell import command_line, files
from pytest_agentbench.grading.verdict import Evaluator, Verdict, text
from pytest_agentbench.trace.events import Event, EventKind, Tool, Trace

KEYS = frozenset(("tool", "path", "reads", "writes", "command", "text"))
_PATHS = ("path", "file_path", "file", "paths")


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
    the ``first``, since it did not happen; as ``then`` it counts, since it was tried.
    """
    first, then = patterns(params, "first"), patterns(params, "then")
    if unknown := sorted({key for pattern in first + then for key in pattern} - KEYS):
        raise ValueError(f"{text(unknown)} in a pattern; known are {text(sorted(KEYS))}")
    failed = _failed(evidence.trace)
    for i, event in enumerate(evidence.trace.events):
        if i not in failed and any(_matches(event, p, evidence) for p in first):
            return Verdict(1.0)
        if any(_matches(event, p, evidence) for p in then):
            return Verdict(0.0, f"came before {text(first)}", text(first), _shown(event))
    return Verdict(0.0, "did not happen", text(first))


def patterns(params: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The event patterns at ``first`` or ``then``."""
    given = params[key]
    return given if isinstance(given, list) else [given]


def _failed(trace: Trace) -> set[int]:
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
            if call is not None and event.status is not None and event.status >= 400:
                failed.add(call)
    return failed


def _matches(event: Event, pattern: Mapping[str, Any], evidence: Evidence) -> bool:
    if event.kind is EventKind.ASSISTANT:
        return set(pattern) == {"text"} and contains(event.text, pattern["text"])
    return event.kind is EventKind.CALL and all(
        _meets(event, key, wanted, evidence) for key, wanted in pattern.items()
    )


def _meets(call: Event, key: str, wanted: str, evidence: Evidence) -> bool:
    match key:
        case "tool":
            return wanted in (call.tool, call.native_name)
        case "path":
            return any(_glob(path, wanted, evidence) for path in _named(call))
        case "command":
            line = command_line(call.args)
            return call.tool == Tool.EXEC and re.search(wanted, line) is not None
        case "text":
            return contains(call.args, wanted)
        case "reads":
            return any(_reaches(path, wanted, evidence) for path in _read(call))
        case _:
            return any(_reaches(path, wanted, evidence) for path in _written(call))


def _named(call: Event) -> list[str]:
    """Paths among the arguments, under any of the names that runtimes give them."""
    values = [call.args[key] for key in _PATHS if key in call.args]
    return [
        str(path) for value in values for path in (value if isinstance(value, list) else [value])
    ]


def _read(call: Event) -> tuple[str, ...]:
    if call.tool == Tool.EXEC:
        return files(command_line(call.args)).reads
    if call.tool == Tool.SEARCH:
        query = str(call.args.get("query", ""))
        return (*_named(call), query, *re.split(r"[\s'\",;:()]+", query))
    return tuple(_named(call)) if call.tool == Tool.READ else ()


def _written(call: Event) -> tuple[str, ...]:
    if call.tool == Tool.EXEC:
        return tuple(w for w in files(command_line(call.args)).writes if w not in _SINKS)
    return tuple(_named(call)) if call.tool in (Tool.WRITE, Tool.EDIT) else ()


_WILD = re.compile(r"[*?[]")
_SINKS = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"))


def _reaches(name: str, glob: str, evidence: Evidence) -> bool:
    """Like ``_glob``; ``name`` may be a pattern of the shell's, or a bare file name after ``cd``.

    The latter only where the glob names one file: a scratch file is not one of ``out/*``.
    """
    if _glob(name, glob, evidence):
        return True
    plain, base = _relative(name, evidence), posixpath.basename(glob)
    if _WILD.search(plain) and plain.count("/") == glob.count("/") and fnmatchcase(glob, plain):
        return True
    return plain == base and not _WILD.search(base)


def _glob(path: str, glob: str, evidence: Evidence) -> bool:
    return fnmatchcase(_relative(path, evidence), posixpath.normpath(glob))


def _relative(path: str, evidence: Evidence) -> str:
    plain = posixpath.normpath(path.replace("\\", "/"))
    for root in (str(evidence.workspace), *evidence.roots):
        if plain.startswith(root.rstrip("/") + "/"):
            return plain[len(root.rstrip("/")) + 1 :]
    return plain


def _shown(event: Event) -> str:
    return event.text if event.kind is EventKind.ASSISTANT else f"{event.tool} {text(event.args)}"


EVALUATORS: dict[str, Evaluator] = {"happens_before": happens_before}
