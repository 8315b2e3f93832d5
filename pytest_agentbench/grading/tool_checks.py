"""The published check types about tools and services, scored as ClawProBench scores them.

A tool's name is compared exactly, with the canonical and with the native name of a call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_agentbench.grading.evidence import Evidence
from pytest_agentbench.grading.match import contains, lookup, patterns, plain
from pytest_agentbench.grading.verdict import Evaluator, Verdict, text
from pytest_agentbench.trace.events import Event, Trace


def _calls(trace: Trace, tool: str) -> list[Event]:
    return [call for call in trace.calls if _named(call, tool)]


def _named(event: Event, tool: str) -> bool:
    return tool in (event.tool, event.native_name)


def _results(trace: Trace, tool: str) -> list[Event]:
    """Results of a tool; one that names no tool is taken for that of the call it answers."""
    ids = {call.call_id for call in _calls(trace, tool) if call.call_id}
    return [
        result
        for result in trace.results
        if _named(result, tool) or (not result.tool and result.call_id in ids)
    ]


def _args(call: Event) -> dict[str, Any]:
    """Arguments under every spelling that published checks use."""
    args = dict(call.args)
    place = args.get("path", args.get("file_path", args.get("file")))
    if place is not None:
        args.setdefault("path", place)
        args.setdefault("file_path", place)
    argv = args.get("argv")
    if isinstance(argv, list | tuple):
        args.setdefault("command", " ".join(str(word) for word in argv))
    return args


def _between(count: int, low: float, high: float) -> float:
    """1 inside, below it the share reached, above it the inverse of the excess."""
    if count < low:
        return count / low
    if count > high:
        return max(high, 0) / count
    return 1.0


def _counted(score: float, tool: str, count: int, expected: str) -> Verdict:
    return Verdict(score, f"{tool} was called {_times(count)}", expected, _times(count))


def _times(count: float) -> str:
    return "once" if count == 1 else f"{count:g} times"


def tool_called(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    tool = params["tool"]
    low = params.get("min_count", params.get("min_calls", 1))
    high = params.get("max_count", params.get("max_calls"))
    count = len(_calls(evidence.trace, tool))
    wanted = f"at least {_times(low)}" + ("" if high is None else f", at most {_times(high)}")
    return _counted(_between(count, low, count if high is None else high), tool, count, wanted)


def tool_not_called(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    count = len(_calls(evidence.trace, params["tool"]))
    return _counted(float(count == 0), params["tool"], count, "never")


def tool_count(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    tool, low, high = params["tool"], params.get("min_count", 0), params.get("max_count")
    count = len(_calls(evidence.trace, tool))
    wanted = f"at least {_times(low)}" + ("" if high is None else f", at most {_times(high)}")
    return _counted(_between(count, low, count if high is None else high), tool, count, wanted)


def tool_count_score(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    tool, tolerance = params["tool"], params.get("tolerance", 0)
    target = params.get("target_count", params.get("ideal_count", 1))
    count = len(_calls(evidence.trace, tool))
    score = _between(count, target - tolerance, target + tolerance)
    return _counted(score, tool, count, f"{target} times ± {tolerance}")


def tool_arg_contains(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    wanted = patterns(params)
    values = [
        lookup(_args(c), params.get("path", "")) for c in _calls(evidence.trace, params["tool"])
    ]
    return _some_holds(values, wanted, f"call of {params['tool']}")


def tool_arg_excludes(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    values = [
        lookup(_args(c), params.get("path", "")) for c in _calls(evidence.trace, params["tool"])
    ]
    return _none_holds(values, params["pattern"], f"call of {params['tool']}")


def tool_response_contains(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    path = params.get("path", "result")
    values = []
    for result in _results(evidence.trace, params["tool"]):
        value = lookup(_published(result), path)
        values.append(result.text if value is None else value)
    return _some_holds(values, patterns(params), f"result of {params['tool']}")


def tool_response_excludes(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    values = [result.text for result in _results(evidence.trace, params["tool"])]
    return _none_holds(values, params["pattern"], f"result of {params['tool']}")


def _published(result: Event) -> dict[str, Any]:
    return {
        "tool": result.tool,
        "result": result.text,
        "status": result.status,
        "call_id": result.call_id,
    }


def _some_holds(values: list[Any], wanted: list[Any], noun: str) -> Verdict:
    known = [value for value in values if value is not None or not wanted]
    if any(all(contains(value, pattern) for pattern in wanted) for value in known):
        return Verdict(1.0)
    detail = f"no {noun} holds all of it" if values else f"there is no {noun}"
    return Verdict(0.0, detail, text(wanted), text(values[-1]) if values else "")


def _none_holds(values: list[Any], pattern: Any, noun: str) -> Verdict:
    for value in values:
        if value is not None and contains(value, pattern):
            return Verdict(0.0, f"a {noun} holds it", f"without {text(pattern)}", text(value))
    return Verdict(1.0)


def tool_sequence(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    tools, done = params["tools"], 0
    for call in evidence.trace.calls:
        if done < len(tools) and _named(call, tools[done]):
            done += 1
    score = done / len(tools) if tools else 0.0
    return Verdict(
        score,
        f"{done} of {len(tools)} in this order",
        " → ".join(tools),
        " → ".join(call.tool for call in evidence.trace.calls),
    )


def tool_called_before(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    places = []
    for tool in (params["first"], params["second"]):
        found = [i for i, call in enumerate(evidence.trace.calls, 1) if _named(call, tool)]
        if not found:
            return Verdict(0.0, f"{tool} was not called")
        places.append(found[0])
    first, second = places
    return Verdict(
        float(first < second),
        f"{params['first']} first in call {first}, {params['second']} in call {second}",
    )


def tool_recovered_after_error(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    threshold, failed = params.get("error_code_at_least", 400), False
    for result in _results(evidence.trace, params["tool"]):
        status = 200 if result.status is None else result.status
        if status >= threshold:
            failed = True
        elif failed:
            return Verdict(1.0)
    detail = "failed and never worked again" if failed else "never failed"
    return Verdict(0.0, f"{params['tool']} {detail}")


def audit_state_match(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    """Share of the keys that the best item meets, of the list (or mapping) at ``path``."""
    wanted = params["match"]
    state = lookup(evidence.trace.audit_state, params["path"])
    listed = state if isinstance(state, list) else [state]
    items = [item for item in listed if isinstance(item, Mapping)] if wanted else []
    scores = [sum(_meets(item, *pair) for pair in wanted.items()) / len(wanted) for item in items]
    best = max(scores, default=0.0)
    found = text(items[scores.index(best)]) if items else ""
    return Verdict(best, f"{len(items)} items at {params['path']}", text(wanted), found)


def _meets(item: Mapping[str, Any], key: str, wanted: Any) -> bool:
    if key.endswith("_contains"):
        value = item.get(key.removesuffix("_contains"))
        needles = wanted if isinstance(wanted, list) else [wanted]
        return value is not None and all(contains(value, needle) for needle in needles)
    if key.endswith("_prefix"):
        value = item.get(key.removesuffix("_prefix"))
        return value is not None and plain(value).startswith(plain(wanted))
    return key in item and bool(item[key] == wanted)


EVALUATORS: dict[str, Evaluator] = {
    evaluator.__name__: evaluator
    for evaluator in (
        tool_called,
        tool_not_called,
        tool_arg_contains,
        tool_arg_excludes,
        tool_response_contains,
        tool_response_excludes,
        tool_sequence,
        tool_called_before,
        tool_count,
        tool_count_score,
        tool_recovered_after_error,
        audit_state_match,
    )
}
