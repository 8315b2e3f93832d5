"""What a scripted model may do other than playing steps."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.execution import Usage
from pytest_agentbench.gateway.chat import BackendError, ChatReply, ChatRequest, Message, ToolCall
from pytest_agentbench.gateway.toolbox import Native, Toolbox

#: For requests without tools: of a title, a summary, a sign of life.
ASIDE = "A task for a scripted model."
#: What mini-swe-agent waits for; its texts say so.
_SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
_FINISH = "finish0001try1"

#: Results by the id of the call, in the order in which they came.
Results = Mapping[str, Message]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """Declines whatever is asked."""

    text: str = "I will not do that."

    async def reply(self, request: ChatRequest) -> ChatReply:
        return said(request, refusal=self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """Answers with an HTTP error."""

    status: int

    async def reply(self, request: ChatRequest) -> ChatReply:
        raise BackendError(self.status, f"the scripted model answers {self.status}, as told")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """Never answers."""

    async def reply(self, request: ChatRequest) -> ChatReply:
        import asyncio

        await asyncio.get_running_loop().create_future()
        raise AssertionError("nobody completes that future")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Lists the folder for ever, each time with another line, since some runtimes stop repetition."""

    async def reply(self, request: ChatRequest) -> ChatReply:
        if not request.tools:
            return said(request, ASIDE)
        number = len(request.of("tool")) + 1
        tools = Toolbox(request)
        native = tools.shell(f"echo {number}; ls -a", "List the folder") or tools.read(".")
        if native is None:
            raise missing("exec", request)
        return said(request, calls=(call(f"loop{number:06}try1", native),))


def call(identity: str, native: Native) -> ToolCall:
    """``native`` with an id, which keeps to letters and digits: some runtimes drop the rest."""
    return ToolCall(id=identity, name=native[0], args=native[1])


def missing(verb: str, request: ChatRequest) -> BackendError:
    """The error for a request that offers nothing with which a step could be done."""
    names = ", ".join(tool.name for tool in request.tools) or "none"
    return BackendError(501, f"the script needs a tool {verb!r}; offered: {names}")


def results_of(
    request: ChatRequest,
    identity: re.Pattern[str],
    turn: Callable[[Results], tuple[ToolCall, ...]],
) -> Results:
    """The results of a script's calls, whose ids ``identity`` matches.

    Where the runtime made ids of its own, what was called is gone through once more: ``turn`` says
    what is called once there are certain results.
    """
    found: dict[str, Message] = {}
    answers = request.of("tool")
    for message in answers:
        if match := identity.search(message.call_id):
            found[match[0]] = message
    if found:
        return found
    waiting: list[str] = []
    for message in answers:
        waiting = waiting or [call.id for call in turn(found)]
        if not waiting:
            break
        found[waiting.pop(0)] = message
    return found


def submission(request: ChatRequest, results: Results) -> tuple[ToolCall, ...]:
    """The command that a runtime waits for at the end, if it does and there was none."""
    asked = (message.text for message in request.messages if message.role in ("system", "user"))
    if _FINISH in results or not any(_SUBMIT in text for text in asked):
        return ()
    native = Toolbox(request).shell(_SUBMIT, "Submit")
    return (call(_FINISH, native),) if native else ()


def said(
    request: ChatRequest, text: str = "", *, calls: tuple[ToolCall, ...] = (), refusal: str = ""
) -> ChatReply:
    """A reply, with the tokens that it and the whole conversation before it count for."""
    asked = len(json.dumps([_plain(message) for message in request.messages]))
    out = len(text + refusal) + sum(len(json.dumps(call.args)) for call in calls)
    usage = Usage(input_tokens=_tokens(asked), output_tokens=_tokens(out))
    return ChatReply(text=text, calls=calls, refusal=refusal, usage=usage)


def _plain(message: Message) -> Mapping[str, Any]:
    calls = [{"id": c.id, "name": c.name, "args": dict(c.args)} for c in message.calls]
    data = {"role": message.role, "content": message.text, "calls": calls, "id": message.call_id}
    return {key: value for key, value in data.items() if value or key == "content"}


def _tokens(characters: int) -> int:
    """A rough measure, four characters a token: the same for the same text, and no more."""
    return max(1, -(-characters // 4))
