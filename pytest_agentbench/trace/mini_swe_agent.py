"""The transcript of mini-swe-agent: one JSON object, written anew after each step.

An answer that the runtime cannot use is in it too, within the message that tells the model so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.execution import Usage
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import Event, EventKind, Tool
from pytest_agentbench.trace.surface import Native, Surface, result
from pytest_agentbench.trace.transcript import Ending, Transcript

SURFACE = Surface(
    runtime="mini-swe-agent",
    version=1,
    tools={"bash": Native(tool=Tool.EXEC, names={"command": "command"})},
)

Row = Mapping[str, Any]
#: How a run ends that came to a limit of its configuration.
_LIMIT = "LimitsExceeded"
_SUBMITTED = "Submitted"
_UNUSABLE = "RepeatedFormatError"
#: What is said of calls after the one that ended the run, and of that one.
_NOT_DONE = "action was not executed"
_STATUSES = {
    _SUBMITTED: Status.COMPLETED,
    _LIMIT: Status.COMPLETED,
    "TimeExceeded": Status.AGENT_TIMEOUT,
    "ContextWindowExceededError": Status.CONTEXT_EXHAUSTED,
    "ContentPolicyViolationError": Status.REFUSAL,
    "APIConnectionError": Status.PROVIDER_ERROR,
    "APIError": Status.PROVIDER_ERROR,
    # That nobody answered, too.
    "InternalServerError": Status.PROVIDER_ERROR,
    "Timeout": Status.PROVIDER_ERROR,
}
#: The names under which litellm, which asks the model, raises an answer's HTTP status.
_HTTP = {
    "BadRequestError": 400,
    "AuthenticationError": 401,
    "PermissionDeniedError": 403,
    "NotFoundError": 404,
    "UnprocessableEntityError": 422,
    "RateLimitError": 429,
    "BadGatewayError": 502,
    "ServiceUnavailableError": 503,
}


def parse(data: Row, start: float | None = None) -> Transcript:
    """What a trajectory tells. Times count from ``start`` (Unix time): it has none of its own."""
    given = data.get("messages")
    messages = [m for m in given if isinstance(m, dict)] if isinstance(given, list) else []
    reader = _Reader(start)
    for message in messages:
        reader.read(message)
    return Transcript(events=tuple(reader.events), usage=_usage(messages), ending=_ending(messages))


def reached_limit(data: Row) -> bool:
    """Whether the run ended at a limit of its configuration, of steps or of cost."""
    return _dict(data.get("info")).get("exit_status") == _LIMIT


@dataclass(slots=True)
class _Reader:
    """Walks the messages once."""

    start: float | None
    events: list[Event] = field(default_factory=list)
    calls: dict[str, Event] = field(default_factory=dict)

    def read(self, message: Row) -> None:
        extra = _dict(message.get("extra"))
        time = self._time(extra.get("timestamp"))
        match message.get("role"):
            case "assistant":
                self._answer(message, time)
            case "tool":
                self._result(message, extra, time)
            case "user" if answer := _answer(extra):
                for call in self._answer(answer, time):
                    text = str(message.get("content") or "")
                    self.events.append(result(call, text, failed=True, time=time))
            case "exit" if extra.get("exit_status") == _SUBMITTED:
                self._submitted(str(extra.get("submission") or ""))

    def _answer(self, message: Row, time: float | None) -> list[Event]:
        if text := message.get("content") or _refusal(message):
            self.events.append(Event(kind=EventKind.ASSISTANT, text=str(text), time=time))
        asked = message.get("tool_calls")
        calls = [
            SURFACE.chat_call(each, time=time)
            for each in (asked if isinstance(asked, list) else ())
        ]
        self.events += calls
        self.calls |= {call.call_id: call for call in calls}
        return calls

    def _result(self, message: Row, extra: Row, time: float | None) -> None:
        call = self.calls.get(str(message.get("tool_call_id")))
        if call is None:
            return
        said = (extra.get("raw_output"), extra.get("exception_info"))
        text = "\n".join(str(part) for part in said if part)
        answer = result(call, text, failed=extra.get("returncode") != 0, time=time)
        self.events.append(dataclasses.replace(answer, native=dict(extra)))

    def _submitted(self, text: str) -> None:
        """The call that ended the run worked, whatever stands in the place of its result."""
        for place, event in enumerate(self.events):
            if event.native.get("exception_info") == _NOT_DONE:
                self.events[place] = dataclasses.replace(event, status=200, text=text)
                break
        if text:
            last = self.events[-1].time if self.events else None
            self.events.append(Event(kind=EventKind.ASSISTANT, text=text, time=last))

    def _time(self, timestamp: object) -> float | None:
        if self.start is None or not isinstance(timestamp, (int, float)):
            return None
        return max(0.0, round(timestamp - self.start, 3))


def _answer(extra: Row) -> Row:
    """The model's message in a response that was kept whole."""
    choices = _dict(extra.get("response")).get("choices")
    return _dict(_dict(choices[0]).get("message")) if isinstance(choices, list) and choices else {}


def _refusal(message: Row) -> object:
    more = _dict(message.get("provider_specific_fields"))
    return message.get("refusal") or more.get("refusal")


def _usage(messages: Iterable[Row]) -> Usage:
    """Sums over the answers. The runtime counts cached tokens among the input."""
    answers = [
        _dict(response.get("usage"))
        for message in messages
        if (response := _dict(_dict(message.get("extra")).get("response")))
    ]
    if not answers:
        return Usage()
    read = sum(_counts(answers, "prompt_tokens_details", "cached_tokens"))
    thought = list(_counts(answers, "completion_tokens_details", "reasoning_tokens"))
    return Usage(
        input_tokens=max(0, sum(_counts(answers, "", "prompt_tokens")) - read),
        output_tokens=sum(_counts(answers, "", "completion_tokens")),
        cache_read_tokens=read,
        reasoning_tokens=sum(thought) if thought else None,
        requests=len(answers),
    )


def _counts(answers: Iterable[Row], part: str, name: str) -> Iterator[int]:
    for usage in answers:
        value = (_dict(usage.get(part)) if part else usage).get(name)
        if type(value) is int:
            yield value


def _ending(messages: list[dict[str, Any]]) -> Ending | None:
    """Told by the last message; None if it is not that of an end."""
    last = messages[-1] if messages else {}
    if last.get("role") != "exit":
        return None
    extra = _dict(last.get("extra"))
    kind = str(extra.get("exit_status") or "")
    message = str(extra.get("exception_str") or "")[:2000]
    if kind == _UNUSABLE:
        answers = (_answer(_dict(m.get("extra"))) for m in reversed(messages))
        if refused := _refusal(next(filter(None, answers), {})):
            return Ending(status=Status.REFUSAL, message=str(refused)[:2000])
        message = "its model called no tool, or none that there is, several times in a row"
    if kind in (_SUBMITTED, _LIMIT):
        message = ""
    status = _STATUSES.get(kind, Status.AGENT_ERROR)
    return Ending(status=status, message=message, http=_HTTP.get(kind))


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
