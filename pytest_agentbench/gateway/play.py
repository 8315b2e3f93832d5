"""Plays steps through the tools of whatever runtime asks.

All that is known of the play is in the request: each call has an id that says which step it is and
which attempt, and results carry that id. Where a runtime makes ids of its own, the play so far is
gone through once more, result by result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_agentbench.gateway.chat import ChatReply, ChatRequest, Message, ToolCall
from pytest_agentbench.gateway.orders import orders
from pytest_agentbench.gateway.policies import (
    ASIDE,
    Results,
    call,
    missing,
    results_of,
    said,
    submission,
)
from pytest_agentbench.gateway.shell_lines import MORE, line, page
from pytest_agentbench.gateway.toolbox import Native, Toolbox
from pytest_agentbench.scenario.model import Step

#: Calls in one turn.
WIDTH = 4
CLOSING = "All done."
_ID = re.compile(r"(step|page|order|finish)([0-9a-f]{4,8})try(\d)")
#: How runtimes say that they left out a part of what a command said, and how far one looks then.
_CUT = re.compile(r"truncated|output_head|omitted|elided", re.IGNORECASE)
_PAGES = 9
#: How a tool says that it wrote or edited, and how that it did not; what comes first counts.
_OUTCOME = re.compile(
    r"(\b(?:success\w*|succeeded|written|wrote|edited|updated|created|applied|replaced|ok|done)\b)"
    r"|\b(?:errors?|failed|failure|exception|traceback|denied|invalid|cannot|missing|must|no|not|"
    r"unable|blocked|rejected)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Turn:
    """Steps, by their places among those that are calls, and what is said before them."""

    said: str
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """Plays ``steps``. A ``careless`` one obeys the orders in what it reads before it goes on."""

    steps: tuple[Step, ...]
    careless: bool = False

    async def reply(self, request: ChatRequest) -> ChatReply:
        if not request.tools:
            return said(request, ASIDE)
        scene = _Scene(self, request)
        text, calls = scene.turn(results_of(request, _ID, lambda known: scene.turn(known)[1]))
        return said(request, text, calls=calls)


class _Scene:
    """A play, and a request of a runtime that it is played in."""

    def __init__(self, play: Play, request: ChatRequest) -> None:
        self.request = request
        self.careless = play.careless
        self.tools = Toolbox(request)
        self.acts = tuple(step for step in play.steps if step.verb != "say")
        self.turns, self.closing = _turns(play.steps, WIDTH if request.parallel else 1)

    def turn(self, results: Results) -> tuple[str, tuple[ToolCall, ...]]:
        """What is said and called once there are these results."""
        if self.careless and (call := self._obey(results)):
            return "", (call,)
        last = max(map(_place, results), default=-1)
        for turn in self.turns:
            # A conversation that grew long may have lost its beginning, so what comes before the
            # latest result is done.
            if turn.places[-1] < last:
                continue
            if calls := tuple(self._calls(turn, results)):
                begun = any(_id(place, 1) in results for place in turn.places)
                return "" if begun else turn.said, calls
        return self.closing, submission(self.request, results)

    def _calls(self, turn: _Turn, results: Results) -> Iterator[ToolCall]:
        for place in turn.places:
            step, first = self.acts[place], results.get(_id(place, 1))
            if _id(place, 2) in results:
                continue
            if first is None:
                yield call(_id(place, 1), self._first(step))
            elif (
                step.verb in ("write", "edit")
                and self._tool(step)
                and failed(first)
                and (native := self._line(step, again=True))
            ):
                yield call(_id(place, 2), native)

    def _first(self, step: Step) -> Native:
        native = self._tool(step) or self._line(step)
        if native is None:
            raise missing(step.verb, self.request)
        return native

    def _tool(self, step: Step) -> Native | None:
        """The call of the tool that is there for such steps."""
        match step.verb:
            case "read":
                return self.tools.read(step.path)
            case "write":
                return self.tools.write(step.path, step.content)
            case "edit":
                # Some tools take the end of the line along where a text is replaced by nothing.
                risky = not step.new and not step.old.endswith("\n") and self._line(step)
                return None if risky else self.tools.edit(step.path, step.old, step.new)
            case "exec":
                return self.tools.run(step.argv)
            case _:
                return self.tools.service(step.service, step.args)

    def _line(self, step: Step, *, again: bool = False) -> Native | None:
        if step.verb not in ("read", "write", "edit"):
            return None
        return self.tools.shell(line(step, again=again), f"{step.verb.capitalize()} {step.path}")

    def _obey(self, results: Results) -> ToolCall | None:
        for order in orders(message.text for message in results.values()):
            identity = f"order{order.id}try1"
            if identity not in results and (native := self.tools.shell(order.line, "As told")):
                return call(identity, native)
        for place, step in enumerate(self.acts):
            shown = results.get(_id(place, 1))
            cut = step.verb == "exec" and shown and _CUT.search(shown.text)
            if cut and (again := self._page(place, step, results)):
                return again
        return None

    def _page(self, place: int, step: Step, results: Results) -> ToolCall | None:
        """The next page of what a command said, where only its beginning and end were shown."""
        for number in range(_PAGES):
            identity = f"page{place + 1:04}try{number + 1}"
            if identity not in results:
                text = page(step.argv, number)
                native = self.tools.shell(text, "Look again") if text else None
                return call(identity, native) if native else None
            if MORE not in results[identity].text:
                break
        return None


def failed(result: Message) -> bool:
    """Whether a write or an edit did not work, by its mark or by how its text begins."""
    if result.failed is not None:
        return result.failed
    begin = re.sub(r"\S*/\S*", "", result.text[:300])  # names of files say nothing
    outcome = _OUTCOME.search(begin)
    return outcome is not None and outcome[1] is None


def _turns(steps: tuple[Step, ...], width: int) -> tuple[list[_Turn], str]:
    """The turns of a play, reads side by side up to ``width``, and its closing words."""
    turns: list[_Turn] = []
    words: list[str] = []
    reads: list[int] = []  # the places in the last turn, as long as a read may join them
    place = 0
    for step in steps:
        if step.verb == "say":
            words.append(step.text)
            reads = []
            continue
        if step.verb == "read" and 0 < len(reads) < width:
            reads.append(place)
            turns[-1] = _Turn(turns[-1].said, tuple(reads))
        else:
            turns.append(_Turn("\n".join(words), (place,)))
            words = []
            reads = [place] if step.verb == "read" else []
        place += 1
    return turns, "\n".join(words) or CLOSING


def _id(place: int, attempt: int) -> str:
    return f"step{place + 1:04}try{attempt}"


def _place(identity: str) -> int:
    return int(identity[4:8]) - 1 if identity.startswith("step") else -1
