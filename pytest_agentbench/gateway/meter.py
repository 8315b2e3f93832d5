"""Counts what goes through the gateway in one run."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from pytest_agentbench.execution import Usage, total
from pytest_agentbench.gateway import failure, sse
from pytest_agentbench.gateway.backend import ModelCall
from pytest_agentbench.gateway.chat import ChatRequest, Dialect
from pytest_agentbench.gateway.refusal import refused
from pytest_agentbench.gateway.report import CallReport, LineReport
from pytest_agentbench.gateway.watch import Watch

#: Calls of a run that are kept one by one; the rest is counted.
KEPT = 1000
#: Bytes of an answer that is not streamed, beyond which its usage is not looked for.
_LOOKED_AT = 64 << 20
#: Bytes of an answer beyond which it is no model's: a thousand times what they say at most.
_TOO_LARGE = 16 << 20
_MESSAGE = 500
_DECODING = (
    *("temperature", "top_p", "top_k", "seed", "stop", "frequency_penalty", "presence_penalty"),
    *("max_tokens", "max_completion_tokens", "max_output_tokens", "parallel_tool_calls"),
    *("reasoning", "reasoning_effort", "thinking", "service_tier", "verbosity"),
    # Gemini's names, in generationConfig.
    *("topP", "topK", "maxOutputTokens", "stopSequences", "thinkingConfig"),
)


class Meter:
    """Of one run. Not for several threads. ``watch`` is looked for in the first request."""

    def __init__(self, watch: Watch | None = None) -> None:
        self._watch = watch
        self._began = time.monotonic()
        self._requests = 0
        self._usage: list[Usage | None] = []
        self._ended: list[CallReport] = []
        self._last: CallReport | None = None
        self._waited = 0.0
        self._refusals = 0
        self._open: dict[int, Gauge] = {}
        self._first: Mapping[str, Any] = {}

    def begin(self, call: ModelCall) -> Gauge:
        """Count a call, and follow its answer."""
        if not self._requests:
            self._first = first_request(call)
        if self._watch and "skills" not in self._first:
            self._look_for_skills(call, self._watch)
        self._requests += 1
        gauge = Gauge(call=call, began=time.monotonic(), number=self._requests)
        self._open[gauge.number] = gauge
        return gauge

    def _look_for_skills(self, call: ModelCall, watch: Watch) -> None:
        """In the first request with tools: before it, runtimes ask for titles and the like."""
        if call.request.tools:
            self._first = {**self._first, "skills": list(watch.found(call.request))}

    def end(self, gauge: Gauge) -> CallReport:
        """The answer is over, or the runtime has gone away."""
        self._open.pop(gauge.number)
        report = gauge.report(self._began)
        if report.status:
            self._last, self._waited = report, 0.0
        else:
            self._waited = report.seconds if report.first is None else 0.0
        if 200 <= report.status < 300:
            self._usage.append(report.usage)
            self._refusals = self._refusals + 1 if report.refused else 0
        if len(self._ended) < KEPT:
            self._ended.append(report)
        return report

    @property
    def usage(self) -> Usage:
        """Of all answers so far. A figure that one of them does not say is unknown in all."""
        answers = [answer or Usage() for answer in self._usage]
        said = total(answers) if answers else Usage()
        return dataclasses.replace(said, requests=self._requests)

    @property
    def requests(self) -> int:
        return self._requests

    def report(self) -> LineReport:
        now = time.monotonic()
        pending = [now - gauge.began for gauge in self._open.values() if gauge.first is None]
        # What is of no use already need not come to its end, which may take the run's whole time.
        broken = [gauge.report(self._began) for gauge in self._open.values() if gauge.cut]
        return LineReport(
            requests=self._requests,
            usage=self.usage,
            calls=tuple(self._ended),
            last=broken[-1] if broken else self._last,
            waiting=max([self._waited, *pending]),
            first_request=self._first,
            refusals=self._refusals,
        )


@dataclass(slots=True)
class Gauge:
    """Follows the answer to one call: pieces go through ``see`` as they are sent."""

    call: ModelCall
    began: float
    number: int
    status: int = 0
    first: float | None = None
    message: str = ""
    code: str = ""
    cut: bool = False
    streamed: bool = False
    _usage: Usage | None = None
    _answered_by: str = ""
    _refused: bool = False
    _size: int = 0
    _finished: bool = False
    _reader: sse.Reader = field(default_factory=sse.Reader)
    _whole: bytearray = field(default_factory=bytearray)

    def see(self, piece: bytes) -> None:
        if self.first is None and piece:
            self.first = time.monotonic()
        self._size += len(piece)
        if self._size > _TOO_LARGE:
            self.cut, self.message = True, f"it has more than {_TOO_LARGE >> 20} MiB"
        if self.streamed:
            for event in self._reader.feed(piece):
                self._look(event)
        elif len(self._whole) < _LOOKED_AT:
            self._whole += piece

    def failed(self, status: int, message: str, code: str = "") -> None:
        self.status, self.message, self.code = status, message[:_MESSAGE], code

    def complete(self) -> None:
        """No further piece will come; what is missing now is missing."""
        for event in self._reader.end() if self.streamed else ():
            self._look(event)
        if not 200 <= self.status < 300:
            return
        problem = ""
        if self._size > _TOO_LARGE:
            problem = f"it has {self._size >> 20} MiB"
        elif not self.streamed:
            problem = self._look_at_whole()
        elif self._reader.broken:
            problem = "an event of it is no JSON"
        elif not self._finished:
            problem = "it ended in the middle"
        if problem:
            self.cut, self.message = True, problem

    def report(self, run_began: float) -> CallReport:
        now, first = time.monotonic(), self.first
        return CallReport(
            dialect=self.call.dialect.name,
            model=self.call.request.model,
            started=round(self.began - run_began, 4),
            status=self.status,
            streamed=self.streamed,
            first=None if first is None else round(first - self.began, 4),
            seconds=round(now - self.began, 4),
            cut=self.cut,
            message=self.message,
            code=self.code,
            usage=self._usage,
            tools=tuple(tool.name for tool in self.call.request.tools),
            answered_by=self._answered_by,
            refused=self._refused,
        )

    def _look_at_whole(self) -> str:
        """Take what a whole answer says; what is wrong with it, if anything is."""
        if not self._whole:
            return "it is empty"
        try:
            data = json.loads(self._whole)
        except (ValueError, RecursionError):
            return "it is no JSON"
        # Gemini without server-sent events streams a list.
        for each in data if isinstance(data, list) else (data,):
            self._look(each)
        return ""

    def _look(self, data: Any) -> None:
        if not isinstance(data, Mapping):
            return
        if found := failure.found(data):
            self.failed(*found)
        self._finished = self._finished or failure.finished(data)
        self._refused = self._refused or refused(data)
        self._usage = merged(self._usage, self.call.dialect.usage(data))
        inner = data.get("response") or data.get("message") or data
        if isinstance(inner, Mapping):
            said = inner.get("model") or inner.get("modelVersion")
            self._answered_by = said if isinstance(said, str) else self._answered_by


def merged(before: Usage | None, said: Usage | None) -> Usage | None:
    """What is known after another word on the same answer: it replaces figure by figure."""
    if before is None or said is None:
        return before or said
    values = {
        f.name: before_value if (value := getattr(said, f.name)) is None else value
        for f in fields(Usage)
        for before_value in (getattr(before, f.name),)
    }
    return Usage(**values)


def first_request(call: ModelCall) -> dict[str, Any]:
    """What a runtime sends by itself: hashes of system prompt and tools, decoding settings."""
    request: ChatRequest = call.request
    dialect: Dialect = call.dialect
    system = "\n".join(message.text for message in request.of("system"))
    tools = [(t.name, t.description, dict(t.parameters)) for t in request.tools]
    body = json.loads(call.body)
    settings = body.get("generationConfig") if dialect.name == "gemini" else body
    decoding = settings if isinstance(settings, Mapping) else {}
    return {
        "dialect": dialect.name,
        "system_sha256": _sha256(system),
        "system_characters": len(system),
        "tools_sha256": _sha256(json.dumps(tools, sort_keys=True)),
        "tools": [tool.name for tool in request.tools],
        "decoding": {key: decoding[key] for key in _DECODING if key in decoding},
    }


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
