"""From a dead workspace and a trace to material. Runs in a child of the checker server."""

from __future__ import annotations

import base64
import json
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from pytest_agentbench.grading.call import Showing
from pytest_agentbench.grading.evidence import Evidence, Unreadable
from pytest_agentbench.grading.judging import addressed, documents
from pytest_agentbench.grading.judging.material import Attempt, Budget, Material, Piece, Role, cut
from pytest_agentbench.grading.snapshot import Entry, entries
from pytest_agentbench.trace.events import Event, EventKind, Trace

_IMAGES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
#: Characters of a file that are looked through: more would take the child's whole time.
_LOOKED = 8 << 20


@dataclass(slots=True)
class _Show:
    """Pieces in the making; ``left`` is what remains of the budget for files."""

    budget: Budget
    left: int
    attempts: list[Attempt] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    images: int = 0

    def clean(self, text: str, where: str, *, mine: bool = True) -> str:
        """``text`` as a judge may see it; what of it speaks to a judge is remembered if it is
        the agent's own (``mine``)."""
        found = addressed.passages(text[:_LOOKED])
        if mine:
            self.attempts += [
                Attempt(where=where, what=kind) for kind in dict.fromkeys(p.kind for p in found)
            ]
        return addressed.visible(addressed.withhold(text, found) if found else text)

    def piece(self, name: str, role: Role, text: str, limit: int, *, mine: bool = True) -> Piece:
        cleaned = self.clean(text, name, mine=mine)
        shown = cut(cleaned, limit)
        return Piece(name=name, role=role, text=shown, characters=len(cleaned))


def show(asked: Showing) -> Material:
    """The material of a trial. Raises ``TrialFault`` for the harness's own trouble."""
    evidence = Evidence(workspace=asked.workspace, trace=asked.trace, inputs=asked.inputs)
    making = _Show(budget=asked.budget, left=asked.budget.all_characters)
    files = list(_files(evidence, making, opens=asked.opens_documents))
    answer = asked.trace.response
    pieces = [
        *(
            [
                making.piece(
                    "final answer", "answer", _last(asked.trace), making.budget.file_characters
                )
            ]
            if answer
            else []
        ),
        _listing(evidence, making),
        *files,
        *([_trace(asked.trace, making)] if asked.trace.acted else []),
    ]
    return Material(
        pieces=tuple(pieces),
        attempts=tuple(dict.fromkeys(making.attempts)),
        unread=tuple(making.unread),
    )


def _last(trace: Trace) -> str:
    return next(
        (e.text for e in reversed(trace.events) if e.kind is EventKind.ASSISTANT and e.text), ""
    )


def _files(evidence: Evidence, making: _Show, *, opens: bool) -> Iterator[Piece]:
    """The agent's files, and after them the inputs that it left as they were."""
    inputs = {entry.dest: entry for entry in evidence.inputs}
    later: list[tuple[Entry, bytes]] = []
    number = 0
    for entry in entries(evidence.workspace):
        if not stat.S_ISREG(entry.mode):
            continue
        name = making.clean(_name(entry.path), "the name of a file")
        if number == making.budget.files:
            yield Piece(name="more files", role="made", text="⟦… more files are not shown …⟧")
            break
        try:
            content = evidence.read(entry.path)
        except Unreadable as reason:
            number += 1
            yield Piece(
                name=name, role="made", text=f"⟦not shown: {addressed.visible(str(reason))}⟧"
            )
            continue
        original = inputs.get(entry.path)
        if original is not None and original.read() == content:
            later.append((entry, content))
            continue
        number += 1
        yield _file(making, name, entry, content, "changed" if original else "made", opens=opens)
    for entry, content in later[: max(0, making.budget.files - number)]:
        yield _file(making, _name(entry.path), entry, content, "input", opens=opens)


def _file(
    making: _Show, name: str, entry: Entry, content: bytes, role: Role, *, opens: bool
) -> Piece:
    mine = role != "input"
    suffix = PurePosixPath(entry.path).suffix.lower()
    media = next((kind for head, kind in _IMAGES.items() if content.startswith(head)), "")
    if media:
        return _image(making, name, role, content, media)
    try:
        if suffix in documents.READERS:
            if not opens:
                raise documents.NotRead("could not be opened within the limits of time and memory")
            document = documents.read(suffix, content)
            for where, hidden in document.hidden.items():
                making.clean(hidden, f"{name} ({where})", mine=mine)
            text = document.text
        else:
            text = content.decode("utf-8")
    except UnicodeDecodeError:
        return Piece(
            name=name, role=role, text=f"⟦not shown: {len(content):,} bytes that are no text⟧"
        )
    except documents.NotRead as reason:
        if reason.ours and mine:
            making.unread.append(f"{name}: {reason}")
        return Piece(name=name, role=role, text=f"⟦not shown: {addressed.visible(str(reason))}⟧")
    limit = min(making.budget.file_characters, making.left)
    piece = making.piece(name, role, text, limit, mine=mine)
    making.left -= min(limit, piece.characters)
    return piece


def _image(making: _Show, name: str, role: Role, content: bytes, media: str) -> Piece:
    making.images += 1
    if making.images > making.budget.images or len(content) > making.budget.image_bytes:
        text = f"⟦not shown: an image of {len(content):,} bytes, beyond the budget⟧"
        return Piece(name=name, role=role, text=text)
    return Piece(name=name, role=role, image=base64.b64encode(content).decode(), media=media)


def _listing(evidence: Evidence, making: _Show) -> Piece:
    inputs = {entry.dest for entry in evidence.inputs}
    lines = []
    for entry in entries(evidence.workspace):
        if stat.S_ISREG(entry.mode):
            name = addressed.visible(_name(entry.path))
            name = addressed.withhold(name, addressed.passages(name))
            lines.append(
                f"{name}  {entry.size:,} bytes{'  (an input)' if entry.path in inputs else ''}"
            )
    gone = sorted(inputs - {entry.path for entry in entries(evidence.workspace)})
    lines += [f"{name}  (an input, deleted)" for name in gone]
    if len(lines) > making.budget.listed:
        more = len(lines) - making.budget.listed
        lines = [*lines[: making.budget.listed], f"⟦… {more:,} more files are not listed …⟧"]
    text = "\n".join(lines) or "(the workspace is empty)"
    return Piece(name="list of files", role="listing", text=text, characters=len(text))


def _trace(trace: Trace, making: _Show) -> Piece:
    lines = [
        f"{number}. {_event(event, making)}"
        for number, event in enumerate(trace.events)
        if event.kind is not EventKind.USER
    ]
    text = "\n".join(lines)
    shown = cut(text, making.budget.trace_characters)
    return Piece(name="what the agent did", role="trace", text=shown, characters=len(text))


def _event(event: Event, making: _Show) -> str:
    limit = making.budget.event_characters
    if event.kind is EventKind.CALL:
        args = dict(event.args) or dict(event.native)
        said = json.dumps(args, ensure_ascii=False, default=str).encode("utf-8", "replace").decode()
        return f"calls {event.tool}: {cut(making.clean(said, 'the trace'), limit)}"
    # What a tool returned was written by others: withheld, and not held against the agent.
    mine = event.kind is EventKind.ASSISTANT
    text = cut(making.clean(event.text, "the trace", mine=mine), limit)
    if mine:
        return f"says: {text}"
    status = f" ({event.status})" if event.status is not None else ""
    return f"gets{status}: {text}"


def _name(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
