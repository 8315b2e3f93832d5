"""Traces in the forms that the graders of the two published harnesses read."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from pytest_agentbench.execution import Execution
from pytest_agentbench.trace.events import Event, EventKind, Tool

#: Where a native payload keeps the arguments of a call, by runtime.
_NATIVE_ARGS = ("args", "arguments", "input")
_SAME = (Tool.READ, Tool.WRITE, Tool.EDIT, Tool.EXEC)


def trace_dict(execution: Execution) -> dict[str, Any]:
    """``{"events", "metrics", "audit_state"}`` (ClawProBench). What is unknown counts 0 there."""
    trace, usage = execution.trace, execution.usage
    return {
        "events": [_event(event, seq) for seq, event in enumerate(trace.events)],
        "metrics": {
            "assistant_turns": trace.steps,
            "tool_calls": len(trace.calls),
            "input_tokens": usage.input_tokens or 0,
            "output_tokens": usage.output_tokens or 0,
            "cache_read_tokens": usage.cache_read_tokens or 0,
            "cache_write_tokens": usage.cache_write_tokens or 0,
            "total_tokens": usage.known_tokens,
            "cost_usd": usage.cost_usd or 0.0,
            "duration_seconds": execution.seconds,
            "wall_time_s": execution.seconds,
        },
        "audit_state": dict(trace.audit_state),
    }


def tool_calls(trace: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The events of a ``trace_dict`` that are tool calls."""
    return [event for event in trace["events"] if event["type"] == EventKind.CALL]


def transcript(execution: Execution) -> list[dict[str, Any]]:
    """The list of session events that graders of task files read (EvoClawBench).

    What an agent says and calls between two inputs is one assistant message.
    """
    entries: list[dict[str, Any]] = []
    for event in execution.trace.events:
        match event.kind:
            case EventKind.USER:
                entries.append(_message("user", {"type": "text", "text": event.text}))
            case EventKind.RESULT:
                entries.append(_message("toolResult", {"type": "text", "text": event.text}))
            case EventKind.ASSISTANT:
                _add(entries, {"type": "text", "text": event.text})
            case EventKind.CALL:
                call = {"type": "toolCall", "name": _name(event), "arguments": _args(event)}
                _add(entries, call)
    return entries


def _add(entries: list[dict[str, Any]], block: dict[str, Any]) -> None:
    if entries and entries[-1]["message"]["role"] == "assistant":
        entries[-1]["message"]["content"].append(block)
    else:
        entries.append(_message("assistant", block))


def _message(role: str, block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": [block]}}


def _event(event: Event, seq: int) -> dict[str, Any]:
    known: dict[str, Any] = {"type": str(event.kind), "seq": seq}
    if event.kind is EventKind.CALL:
        return known | {"tool": _name(event), "args": _args(event), "call_id": event.call_id}
    if event.kind is EventKind.RESULT:
        status = 200 if event.status is None else event.status
        told = {"tool": _name(event), "result": event.text, "status": status}
        return known | told | {"call_id": event.call_id}
    return known | {"text": event.text}


def _name(event: Event) -> str:
    """The published graders compare the names that one runtime gives its tools."""
    if event.tool in _SAME:
        return event.tool
    return event.native_name or str(event.args.get("service") or event.tool)


def _args(event: Event) -> dict[str, Any]:
    """The runtime's own arguments where the trace keeps them, as the published harness sees
    them; else the canonical ones under every name that published graders read."""
    for key in _NATIVE_ARGS:
        own = event.native.get(key)
        if isinstance(own, Mapping):
            file = {"path": own["file"], "file_path": own["file"]} if "file" in own else {}
            return file | dict(own)
    args = dict(event.args)
    if event.tool == Tool.OTHER and isinstance(args.get("args"), Mapping):
        args = dict(args["args"])
    path = args.get("path", args.get("file_path", args.get("file")))
    if path is not None:
        args = {"path": path, "file_path": path, "file": path} | args
    argv = args.get("argv")
    if isinstance(argv, list | tuple) and "command" not in args:
        args["command"] = shlex.join(map(str, argv))
    return args
