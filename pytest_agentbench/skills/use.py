"""Whether an agent was shown the skills that it was given, looked into them, and ran what they brought."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable

from pytest_agentbench.skill import GivenSkill, Notice
from pytest_agentbench.trace.events import Event, EventKind, Tool, Trace

#: Shorter lines stand in other texts too.
_LEAST = 20


def seen(
    given: Iterable[GivenSkill],
    notices: Iterable[Notice],
    told: Collection[str] | None,
    trace: Trace,
) -> tuple[GivenSkill, ...]:
    """``given`` with what is known of their use.

    ``told`` are the names that the runtime told the model of by itself, None if nobody listened.
    """
    by_name = {notice.name: notice for notice in notices}
    known = bool(trace.calls) or trace.acted
    return tuple(
        dataclasses.replace(
            skill,
            shown=None if told is None else skill.name in told,
            opened=opened(by_name[skill.name], trace) if known else None,
            used=used(by_name[skill.name], trace) if known else None,
        )
        for skill in given
    )


def told(text: str, notices: Iterable[Notice]) -> tuple[str, ...]:
    """Names of the skills that ``text`` tells of: by name, with description or path beside it."""
    flat = " ".join(text.split())
    return tuple(
        notice.name
        for notice in notices
        if re.search(rf"(?<![\w-]){re.escape(notice.name)}(?![\w-])", flat)
        and ((notice.about and notice.about in flat) or notice.path in text)
    )


def opened(notice: Notice, trace: Trace) -> bool:
    """Whether the agent looked into ``SKILL.md``: by its name, or seeing what stands in it."""
    end = "/".join(notice.path.split("/")[-2:])
    for event in trace.events:
        if event.kind is EventKind.RESULT:
            if len(notice.mark) >= _LEAST and notice.mark in event.text:
                return True
        elif event.kind is EventKind.CALL:
            if event.tool == Tool.SKILL and notice.name in map(str, event.args.values()):
                return True
            if event.tool in (Tool.READ, Tool.EXEC) and end in _text(event):
                return True
    return False


def used(notice: Notice, trace: Trace) -> bool:
    """Whether the agent ran something that lies beside ``SKILL.md``."""
    folder = notice.path.split("/")[-2]
    beside = re.compile(rf"(?<![\w-]){re.escape(folder)}/(?!SKILL\.md)[\w.*]")
    return any(event.tool == Tool.EXEC and beside.search(_text(event)) for event in trace.calls)


def _text(event: Event) -> str:
    """The path or the command of a call."""
    args = event.args
    argv = args.get("argv")
    words = [str(word) for word in argv] if isinstance(argv, list | tuple) else []
    return " ".join([str(args.get("path", "")), str(args.get("command", "")), *words])
