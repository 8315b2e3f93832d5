"""The two forms of OpenClaw: how a turn is asked for, and where its sessions are afterwards."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pytest_agentbench.execution import Completed
from pytest_agentbench.runtimes.ending import printed
from pytest_agentbench.runtimes.packaged import session
from pytest_agentbench.trace.openclaw_store import read_store
from pytest_agentbench.trace.transcript import flags_of, read_rows
from pytest_agentbench.trial import AgentRun

#: Year and month of the first release with the newer form.
_FIRST = (2026, 9)
_PROVIDER = "agentbench"
#: Tokens of one answer.
_MAX_TOKENS = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """The entries of the session that was asked for, and those of its subagents."""

    main: tuple[Mapping[str, Any], ...] = ()
    others: tuple[tuple[Mapping[str, Any], ...], ...] = ()
    flags: tuple[str, ...] = ()


class Form(Protocol):
    @property
    def node(self) -> str:
        """The lowest version of Node.js that it runs on."""

    def arguments(self, run: AgentRun) -> tuple[str, ...]:
        """What follows ``openclaw agent``."""

    def sessions(self, run: AgentRun, done: Completed) -> Sessions: ...


def form(version: str) -> Form:
    """The form of that version; the newer one where it is unknown."""
    found = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    return Turn() if found and found < _FIRST else Exec()


def state(run: AgentRun) -> Path:
    """OpenClaw's own state folder."""
    return run.state / "openclaw"


def config(run: AgentRun) -> Path:
    return run.state / "openclaw.json"


def prompt(run: AgentRun) -> Path:
    return run.state / "prompt.txt"


def configuration(run: AgentRun, window: int) -> dict[str, Any]:
    """OpenClaw's configuration: one provider, which is the run's model, and no other."""
    assert run.model is not None
    model = {
        "id": run.model.name,
        "name": run.model.name,
        "reasoning": False,
        "input": ["text"],
        "contextWindow": window,
        "maxTokens": _MAX_TOKENS,
        "cost": dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0),
    }
    provider = {
        "baseUrl": f"{run.model.url}/v1",
        "apiKey": run.model.token,
        "api": "openai-completions",
        "models": [model],
    }
    agent = {
        "model": {"primary": f"{_PROVIDER}/{run.model.name}"},
        "workspace": str(run.workspace),
        "skipBootstrap": True,
    }
    return {
        "models": {"mode": "replace", "providers": {_PROVIDER: provider}},
        "agents": {"defaults": agent},
    }


class Exec:
    """``agent exec``, with all sessions of an agent in one database."""

    node = "24.16"

    def arguments(self, run: AgentRun) -> tuple[str, ...]:
        return (
            *("exec", f"--config={config(run)}", f"--state-dir={state(run)}"),
            *(f"--cwd={run.workspace}", f"--message-file={prompt(run)}"),
        )

    def sessions(self, run: AgentRun, done: Completed) -> Sessions:
        """The session is the one that the program said it had, or the first, if it was killed."""
        store = read_store(state(run) / "agents" / "main" / "agent" / "openclaw-agent.sqlite")
        found = dict(store.sessions)
        name = printed(done).get("sessionId")
        if name not in found:
            name = next(iter(found), "")
        main = found.pop(name, ())
        return Sessions(main=main, others=tuple(found.values()), flags=store.flags)


class Turn:
    """``agent --local`` of 2026.5, with a file of JSON lines for each session."""

    node = "22.14"

    def arguments(self, run: AgentRun) -> tuple[str, ...]:
        return (
            *("--local", "--agent=main", f"--session-id={session(run)}"),
            f"--message={run.prompt}",
        )

    def sessions(self, run: AgentRun, done: Completed) -> Sessions:
        folder, name = state(run) / "agents" / "main" / "sessions", f"{session(run)}.jsonl"
        main = read_rows(folder / name)
        paths = (path for path in sorted(folder.glob("*.jsonl")) if path.name != name)
        others = [read_rows(path) for path in paths if not path.match("*.trajectory.jsonl")]
        return Sessions(
            main=main.rows,
            others=tuple(file.rows for file in others),
            flags=flags_of((main, *others)),
        )
