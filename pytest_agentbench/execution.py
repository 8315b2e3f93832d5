"""What runs and what came of it: commands, completed processes, executions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench.skill import GivenSkill, Mutation
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a command may use of the machine; None leaves it to the sandbox.

    Memory, file and workspace sizes in MiB; ``cpus`` is a number of cores, ``cpu_seconds``
    processor time; ``processes`` counts threads too.
    """

    memory_mb: int | None = None
    processes: int | None = None
    cpus: float | None = None
    cpu_seconds: int | None = None
    file_mb: int | None = None
    workspace_mb: int | None = None
    open_files: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a command may see and reach, for sandboxes that can hide the rest.

    ``writable`` and ``readable`` are folders or files at their own paths; nothing else of the
    caller's is there. ``network`` is ``none``, ``gateway`` (only the socket ``s`` in the folder
    ``gateway``) or ``open``.
    """

    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    network: str = "none"
    gateway: Path | None = None
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A process to start: never a shell line.

    ``env`` is the whole environment of the process, beside AGENTBENCH_OWNER, which says whose it
    is. ``timeout`` is in seconds; ``output_limit``
    is the number of bytes kept of each stream, the rest is read and discarded.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    stdin: bytes = b""
    timeout: float = 60.0
    output_limit: int = 1 << 20
    view: View = View()


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """How a process ended, after its whole tree is dead.

    ``exit_code`` is None when it never started, and -N when signal N ended it. ``survivors``
    counts processes of the tree that had to be killed after the leader had ended.
    ``exceeded`` says which limits it ran into, in words; ``enforced`` what the sandbox really
    enforced (docs/sandboxes.md lists the keys). Times are in seconds.
    """

    exit_code: int | None = None
    timed_out: bool = False
    seconds: float = 0.0
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    survivors: int = 0
    exceeded: tuple[str, ...] = ()
    enforced: Mapping[str, Any] = field(default_factory=dict)


#: More tokens, requests or dollars than a run can take.
_BEYOND = 10**12


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and cost of an execution. None is *unknown*, which is never the same as 0."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    requests: int | None = None
    cost_usd: float | None = None

    @property
    def known_tokens(self) -> int:
        """Input, output and both kinds of cached tokens, as far as they are known."""
        cached = (self.cache_read_tokens or 0) + (self.cache_write_tokens or 0)
        return (self.input_tokens or 0) + (self.output_tokens or 0) + cached

    @property
    def total_tokens(self) -> int | None:
        """All of them; None where input or output is unknown.

        Of a cache nobody speaks who has none.
        """
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.known_tokens

    @property
    def believable(self) -> Usage:
        """Without figures that no run can have, and with whole tokens: whoever writes a transcript
        may write anything."""
        values = {name: getattr(self, name) for name in Usage.__dataclass_fields__}
        known = {name: value for name, value in values.items() if _believable(value)}
        return Usage(**{n: v if n == "cost_usd" else int(v) for n, v in known.items()})


#: Which figures nobody mentions where they are none.
_UNSAID = ("cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


def total(parts: Sequence[Usage]) -> Usage:
    """All of them together; of no part at all, nothing.

    What one of them does not say is unknown in the sum; but cached and reasoning tokens that only
    others mention are none of a part whose tokens are known.
    """

    def add(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        if name in _UNSAID and any(value is not None for value in values):
            values = [
                0 if value is None and part.total_tokens is not None else value
                for part, value in zip(parts, values, strict=True)
            ]
        if None in values:
            return None
        return math.fsum(values) if name == "cost_usd" else sum(values)

    return Usage(**{name: add(name) for name in Usage.__dataclass_fields__})


def _believable(value: float | None) -> bool:
    return value is not None and 0 <= value <= _BEYOND and math.isfinite(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLimit:
    """A limit that ended something: which layer set it, what it was, what had elapsed (s)."""

    layer: str
    limit: float
    elapsed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try at an execution that did not count."""

    status: Status
    message: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """What one phase gave."""

    status: Status
    message: str = ""
    trace: Trace = field(default_factory=Trace)
    usage: Usage = field(default_factory=Usage)
    completed: Completed = field(default_factory=Completed)
    started: float = 0.0
    seconds: float = 0.0
    time_limit: TimeLimit | None = None
    attempts: tuple[Attempt, ...] = ()
    #: What the sandbox enforced, by name (see ``Completed.enforced``); empty if nothing ran.
    enforced: Mapping[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    #: What was seen of the run beside what it did, as JSON: goes into records, never into keys.
    observed: Mapping[str, Any] = field(default_factory=dict)
    #: Skills that lay there, and what the agent did to them; None where it was free to.
    given: tuple[GivenSkill, ...] = ()
    mutation: Mutation | None = None
    #: The model calls that went through the gateway, as JSON (``gateway.report.CallReport``).
    model_calls: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEndpoint:
    """Where a runtime reaches its model: HTTP over the Unix socket ``socket``, or at ``url``.

    ``token`` attributes requests to the run. It is no provider key and dies with the run.
    """

    name: str
    socket: Path
    token: str
    url: str = ""
    #: A scripted model plays steps; reports say so.
    scripted: bool = False
