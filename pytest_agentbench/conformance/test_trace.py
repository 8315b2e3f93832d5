"""The canonical trace of a run with parallel reads, a failing command, a write and an edit."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_agentbench.conformance import tasks
from pytest_agentbench.conformance.conftest import Contract
from pytest_agentbench.conformance.rig import Rig
from pytest_agentbench.execution import Usage
from pytest_agentbench.grading.shell import command_line
from pytest_agentbench.trace.events import Event, EventKind, Tool, Trace

#: Groups of normalised arguments, of each of which a call has one.
_NEEDED: Mapping[str, tuple[tuple[str, ...], ...]] = {
    Tool.READ: (("path",),),
    Tool.WRITE: (("path",), ("content",)),
    Tool.EDIT: (("path", "paths"),),
    Tool.EXEC: (("argv", "command"),),
}


@pytest.fixture
def trace(contract: Contract, rig: Rig) -> Trace:
    """The trace of the first run."""
    return contract.done(rig.first).execution.trace


@pytest.mark.clause("trace.kinds")
def test_kinds(contract: Contract, rig: Rig, trace: Trace) -> None:
    kinds = {event.kind for event in trace.events}
    missing = ", ".join(kind for kind in EventKind if kind not in kinds)
    contract.holds(not missing, f"there is no {missing}")
    first = trace.events[0]
    good = first.kind is EventKind.USER and tasks.WORK.prompt in first.text
    contract.holds(good, f"the trace begins with {first.kind} {first.text[:100]!r}")
    strange = sorted({event.tool for event in trace.calls} - set(Tool))
    contract.holds(not strange, f"tools that the vocabulary does not have: {', '.join(strange)}")
    unknown = [call.native_name for call in trace.calls if call.tool == Tool.OTHER]
    contract.holds(len(unknown) < len(trace.calls), f"every tool is `other`: {', '.join(unknown)}")


@pytest.mark.clause("trace.arguments")
def test_arguments(contract: Contract, trace: Trace) -> None:
    for call in trace.calls:
        for group in _NEEDED.get(call.tool, ()):
            contract.holds(
                any(call.args.get(name) for name in group),
                f"a call of {_named(call)} has no `{'` or `'.join(group)}`; it has "
                f"{', '.join(call.args) or 'no arguments'}",
            )


@pytest.mark.clause("trace.ids")
def test_ids(contract: Contract, trace: Trace) -> None:
    calls, results = trace.calls, trace.results
    contract.holds(calls, "there is no call")
    nameless = [_named(call) for call in calls if not call.call_id]
    contract.holds(not nameless, f"without an id: {', '.join(nameless)}")
    ids = [call.call_id for call in calls]
    contract.holds(len(set(ids)) == len(ids), f"an id twice: {', '.join(ids)}")
    answered = [result.call_id for result in results]
    lonely = sorted(set(ids) ^ set(answered))
    contract.holds(not lonely, f"calls without a result, or results without: {', '.join(lonely)}")
    contract.holds(len(answered) == len(ids), f"{len(answered)} results of {len(ids)} calls")


@pytest.mark.clause("trace.results")
def test_results(contract: Contract, trace: Trace) -> None:
    said = "\n".join(result.text for result in trace.results)
    for word in ("alpha", "beta", tasks.COMPLAINT):
        contract.holds(word in said, f"no result has {word!r}, which a tool gave")


@pytest.mark.clause("trace.parallel")
def test_parallel(contract: Contract, rig: Rig, trace: Trace) -> None:
    together = [turn for turn in rig.first.heard.turns if len(turn) > 1]
    if not together:
        contract.idle("the runtime wants one call in a turn")
    for path, word in (("notes/a.txt", "alpha"), ("notes/b.txt", "beta")):
        calls = [call for call in trace.calls if path in _written(call)]
        contract.holds(calls, f"no call names {path}, which was read beside another file")
        texts = [result.text for result in trace.results if _answers(result, calls[0])]
        contract.holds(
            any(word in text for text in texts),
            f"the result of reading {path} is not what the file says",
        )


@pytest.mark.clause("trace.failed")
def test_failed(contract: Contract, trace: Trace) -> None:
    bad = [result for result in trace.results if tasks.COMPLAINT in result.text]
    contract.holds(bad, f"no result has {tasks.COMPLAINT!r}, which the failing command said")
    for result in bad:
        contract.holds(
            result.status is not None and result.status >= 400,
            f"the status of the command that ended with 3 is {result.status}",
        )
    ids = {call.call_id for call in trace.calls}
    for result in trace.results:
        # What the script did again, another way, had failed.
        again = result.call_id.endswith("try1") and f"{result.call_id[:-1]}2" in ids
        fine = again or result in bad or result.status is None or result.status < 400
        contract.holds(fine, f"{_named(result)} worked, and has status {result.status}")


@pytest.mark.clause("trace.times")
def test_times(contract: Contract, rig: Rig, trace: Trace) -> None:
    times = [event.time for event in trace.events if event.time is not None]
    shown = ", ".join(f"{time:.3f}" for time in times)
    contract.holds(times == sorted(times), f"they go {shown}")
    # Clocks of transcripts are coarse.
    late = rig.first.execution.seconds + 2
    contract.holds(all(0 <= time <= late for time in times), f"not within the run: {shown}")


@pytest.mark.clause("trace.native")
def test_native(contract: Contract, rig: Rig, trace: Trace) -> None:
    for call in trace.calls:
        contract.holds(call.native_name, f"a call of {call.tool} has no native name")
    kept = "\n".join(_written(call) for call in trace.calls)
    for asked in rig.first.heard.calls:
        for name, value in asked["args"].items():
            for text in _texts(value):
                contract.holds(
                    text in kept,
                    f"{name} of a call of {asked['name']}, {text[:100]!r}, is in neither `native` "
                    "nor `args`",
                )


@pytest.mark.clause("trace.unicode")
def test_unicode(contract: Contract, trace: Trace) -> None:
    contract.holds(
        any(tasks.WORDS in text for call in trace.calls for text in _texts(call.args)),
        f"no argument of a call has {tasks.WORDS!r}",
    )


@pytest.mark.clause("trace.calls")
def test_calls(contract: Contract, rig: Rig, trace: Trace) -> None:
    asked = [call["name"] for call in rig.first.heard.calls]
    told = [call.native_name or call.tool for call in trace.calls]
    contract.holds(asked, "the gateway saw no call of a tool")
    contract.holds(
        len(told) == rig.first.heard.asked,
        f"the gateway saw {rig.first.heard.asked} ({', '.join(asked)}), the trace has {len(told)} "
        f"({', '.join(told)})",
    )


@pytest.mark.clause("trace.tokens")
def test_tokens(contract: Contract, rig: Rig, trace: Trace) -> None:
    assert rig.first.reported is not None
    own, ours = rig.first.reported.usage, rig.first.execution.usage
    pairs = (
        ("tokens read", _read(own), _read(ours)),
        ("tokens written", own.output_tokens, ours.output_tokens),
        ("requests", own.requests, ours.requests),
    )
    for name, said, counted in pairs:
        contract.holds(
            said is None or said == counted, f"{name}: it says {said}, the gateway {counted}"
        )


def _named(event: Event) -> str:
    return f"{event.tool} ({event.native_name})" if event.native_name else event.tool


def _answers(result: Event, call: Event) -> bool:
    return result.call_id == call.call_id


def _written(call: Event) -> str:
    """All texts of a call, and its command as one line."""
    return "\n".join([*_texts(call.args), *_texts(call.native), command_line(call.args)])


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for each in value.values() for text in _texts(each)]
    if isinstance(value, list | tuple):
        return [text for each in value for text in _texts(each)]
    return []


def _read(usage: Usage) -> int | None:
    cached = dataclasses.replace(usage, output_tokens=None)
    return None if usage.input_tokens is None else cached.total_tokens
