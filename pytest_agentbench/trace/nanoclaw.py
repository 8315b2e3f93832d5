"""The transcript of NanoClaw's agent-runner: that of the Claude Code which it drives."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_agentbench.status import Status
from pytest_agentbench.trace import claude_code
from pytest_agentbench.trace.events import Event, EventKind, Tool
from pytest_agentbench.trace.surface import Native, Surface
from pytest_agentbench.trace.transcript import Transcript

#: Arguments that the vocabulary has no word for, where checks may look for a text in them.
_SAME = {
    name: name for name in ("text", "to", "title", "question", "prompt", "name", "instructions")
}
_PREFIX = "mcp__nanoclaw__"
_OWN = {
    "send_message": Native(tool=Tool.MESSAGE, names=_SAME),
    "send_file": Native(tool=Tool.MESSAGE, names={**_SAME, "path": "path"}),
    "send_card": Native(tool=Tool.MESSAGE, names=_SAME),
    "edit_message": Native(tool=Tool.MESSAGE, names=_SAME),
    "add_reaction": Native(tool=Tool.MESSAGE, names=_SAME),
    "ask_user_question": Native(tool=Tool.MESSAGE, names=_SAME),
    "schedule_task": Native(tool=Tool.SCHEDULE, names=_SAME),
    "list_tasks": Native(tool=Tool.SCHEDULE),
    "update_task": Native(tool=Tool.SCHEDULE, names=_SAME),
    "cancel_task": Native(tool=Tool.SCHEDULE, names=_SAME),
    "pause_task": Native(tool=Tool.SCHEDULE, names=_SAME),
    "resume_task": Native(tool=Tool.SCHEDULE, names=_SAME),
    "create_agent": Native(tool=Tool.DELEGATE, names=_SAME),
}
#: Claude Code's tools, and those of a server that the runner adds to them.
SURFACE = Surface(
    runtime="nanoclaw",
    version=1,
    tools={
        **claude_code.SURFACE.tools,
        **{f"{_PREFIX}{name}": native for name, native in _OWN.items()},
    },
)
#: The runner delivers what stands between such marks to whom it is for.
_ADDRESS = re.compile(
    r"<message\s+to=\"[^\"]*\"\s*>\s*|\s*</message>|<internal>.*?</internal>", re.DOTALL
)


def parse(
    rows: Sequence[Mapping[str, Any]], subagents: Iterable[Sequence[Mapping[str, Any]]] = ()
) -> Transcript:
    """What the rows of a session tell, and those of its subagents. Times count from its first."""
    found = claude_code.parse(rows, subagents)
    events = tuple(own for event in found.events for own in _own(event))
    ending = found.ending
    if ending is not None and ending.status is Status.AGENT_ERROR and _declined(rows):
        ending = dataclasses.replace(ending, status=Status.REFUSAL)
    return dataclasses.replace(found, events=events, ending=ending)


def _declined(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the model's last answer is a refusal, after which a text of the program's stands."""
    messages = [row.get("message") for row in rows if row.get("type") == "assistant"]
    answers = [m for m in messages if isinstance(m, dict) and m.get("model") != "<synthetic>"]
    return bool(answers) and answers[-1].get("stop_reason") == "refusal"


def _own(event: Event) -> Iterator[Event]:
    """The event as NanoClaw has it: nothing of what was said to nobody."""
    native = _OWN.get(event.native_name.removeprefix(_PREFIX))
    if event.kind is EventKind.ASSISTANT:
        if text := _ADDRESS.sub("", event.text):
            yield dataclasses.replace(event, text=text)
    elif native is None or not event.native_name.startswith(_PREFIX):
        yield event
    elif event.kind is EventKind.CALL:
        call = SURFACE.call(event.native_name, event.native, call_id=event.call_id, time=event.time)
        if call.native_name == f"{_PREFIX}send_message":
            text = str(call.args.get("text") or "")
            yield Event(kind=EventKind.ASSISTANT, text=text, time=event.time)
        yield call
    else:
        yield dataclasses.replace(event, tool=native.tool)
