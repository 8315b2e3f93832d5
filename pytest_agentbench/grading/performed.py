"""An execution of which a test written in Python can say in which order it must have gone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pytest_agentbench.execution import Execution
from pytest_agentbench.grading.evidence import Evidence
from pytest_agentbench.grading.order import Deed, deed, failed_calls, shown
from pytest_agentbench.grading.shell import command_line
from pytest_agentbench.text import escape
from pytest_agentbench.trace.events import EventKind, Tool

#: What the first word of a step may be, and what it looks at.
VERBS = {
    **dict.fromkeys(("read", "open", "see"), "reads"),
    **dict.fromkeys(("write", "edit", "make", "save", "change"), "writes"),
    **dict.fromkeys(("run", "exec", "call"), "command"),
    **dict.fromkeys(("say", "tell", "report"), "said"),
}
_WIDTH = 120

#: One step, or several that may come in any order.
Step = str | tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Performed(Execution):
    """What ``agent.run`` returns. ``workspace`` is where it was done."""

    workspace: Path

    @classmethod
    def of(cls, execution: Execution, workspace: Path) -> Self:
        known: dict[str, Any] = {
            name: getattr(execution, name) for name in Execution.__dataclass_fields__
        }
        return cls(**known, workspace=workspace)

    def expect_order(self, *steps: Step) -> Self:
        """See that each step was done, and not before the one that is listed before it.

        A step is a verb and words: ``"read policy"``, ``"write decision"``, ``"run pytest"``,
        ``"say done"``. It is done by the first call that worked and in whose files (or command, or
        message) all of the words occur, in whatever case; shell commands count for what they read and
        write. Of a tuple of steps all come before the next, in any order. Calls that build on each
        other give a partial order. Raises ``AssertionError``, and ``ValueError`` for a step that
        cannot be understood.
        """
        wanted = [(step,) if isinstance(step, str) else tuple(step) for step in steps]
        found = [{step: self._place(step) for step in group} for group in wanted]
        for group in found:
            for step, (done, _) in group.items():
                if done is None:
                    raise AssertionError(self._missing(step))
        for before, after in itertools.pairwise(found):
            last = max(before, key=lambda step: before[step][0] or 0)
            first = min(after, key=lambda step: after[step][1] or 0)
            done, tried = before[last][0], after[first][1]
            if done is not None and tried is not None and tried < done:
                raise AssertionError(self._wrong(last, done, first, tried))
        return self

    def _place(self, step: str) -> tuple[int | None, int | None]:
        """Where ``step`` was first done, and where it was first tried."""
        verb, _, rest = step.strip().partition(" ")
        words = rest.lower().split()
        if verb not in VERBS or not words:
            known = ", ".join(VERBS)
            raise ValueError(f"step {step!r} must be a verb and words; verbs: {known}")
        failed = failed_calls(self.trace)
        tried: int | None = None
        for index, each in enumerate(self._deeds()):
            if any(_holds(text.lower(), words) for text in _texts(each, VERBS[verb])):
                tried = index if tried is None else tried
                if index not in failed:
                    return index, tried
        return None, tried

    def _deeds(self) -> Iterator[Deed]:
        evidence = Evidence(workspace=self.workspace, trace=self.trace)
        return (deed(event, evidence) for event in self.trace.events)

    def _missing(self, step: str) -> str:
        calls = [index for index, e in enumerate(self.trace.events) if e.kind is EventKind.CALL]
        listed = "\n".join(f"            {self._event(index)}" for index in calls[:12])
        more = f"\n            … and {len(calls) - 12} more" if len(calls) > 12 else ""
        return (
            f"{step!r} was never done\n"
            f"  expected: a call that does it and works\n"
            f"  found:    {len(calls)} calls{':' if calls else ''}"
            + (f"\n{listed}{more}" * bool(calls))
        )

    def _wrong(self, before: str, done: int, after: str, tried: int) -> str:
        return (
            f"{after!r} came before {before!r}\n"
            f"  expected: {before!r}, then {after!r}\n"
            f"  found:    {self._event(tried)}\n"
            f"  before:   {self._event(done)}"
        )

    def _event(self, index: int) -> str:
        return f"event {index}: {escape(shown(self.trace.events[index]), _WIDTH)}"


def _holds(text: str, words: list[str]) -> bool:
    return all(word in text for word in words)


def _texts(each: Deed, what: str) -> tuple[str, ...]:
    event = each.event
    if what == "said":
        return (event.text,) if event.kind is EventKind.ASSISTANT else ()
    if event.kind is not EventKind.CALL:
        return ()
    if what == "command":
        return (command_line(event.args),) if event.tool == Tool.EXEC else (event.tool,)
    return each.reads if what == "reads" else each.writes
