"""Any command line program as an agent, from a template of its arguments."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from pytest_agentbench.execution import Command, Completed, Execution, View
from pytest_agentbench.runtimes.installed import needed
from pytest_agentbench.runtimes.options import texts
from pytest_agentbench.runtimes.protocol import RuntimeInfo, RuntimeUnavailable
from pytest_agentbench.status import Status
from pytest_agentbench.trace.canonical import read_events
from pytest_agentbench.trace.events import Event, EventKind, Trace, prompted
from pytest_agentbench.trial import AgentRun, RuntimeProfile

PLACEHOLDERS = (
    *("prompt", "prompt_file", "workspace", "home", "state", "trace_file"),
    *("model", "url", "token"),
)
OPTIONS = (
    *("argv", "stdin", "env", "pass_env", "install", "calls_model", "capabilities"),
    *("readable", "network"),
)
NETWORKS = ("none", "open")
_PLACEHOLDER = re.compile(r"\{([A-Za-z_]+)\}")


class CommandLine:
    """Runs ``argv`` of the profile with its placeholders filled in. See docs/runtimes.md."""

    name = "command"

    def __init__(self, profile: RuntimeProfile) -> None:
        profile.only(OPTIONS)
        options = profile.options
        self.argv = texts(profile, "argv")
        if not self.argv:
            raise profile.refuse("argv is needed: the program and its arguments")
        self.stdin = options.get("stdin", "none")
        if self.stdin not in ("none", "prompt"):
            raise profile.refuse(f"stdin is {self.stdin!r}; allowed: none, prompt")
        self.readable = texts(profile, "readable")
        self.network = options.get("network", "none")
        if self.network not in NETWORKS:
            raise profile.refuse(f"network is {self.network!r}; allowed: {', '.join(NETWORKS)}")
        env = options.get("env", {})
        if not isinstance(env, Mapping) or not all(isinstance(v, str) for v in env.values()):
            raise profile.refuse("env must be a table of texts")
        self.env: Mapping[str, str] = env
        self.pass_env = texts(profile, "pass_env")
        self.capabilities = texts(profile, "capabilities")
        self.install = str(options.get("install", ""))
        #: Whether it reaches its model through the harness.
        self.endpoint = self._asks_for("url", "token")
        if self.endpoint and self.network == "open":
            raise profile.refuse(
                "{url} and {token} are the way to a model that is a program's only network; drop "
                'them, or network = "open"'
            )
        # Without a transcript nothing can show a model call, so its absence shows nothing.
        shows = self._asks_for("trace_file") or self.endpoint
        self.calls_model = options.get("calls_model", shows)
        if not isinstance(self.calls_model, bool):
            raise profile.refuse("calls_model must be true or false")
        self.version = profile.version
        self.model = profile.model or ""
        for text in self._templates():
            for name in _PLACEHOLDER.findall(text):
                if name not in PLACEHOLDERS:
                    known = ", ".join(f"{{{known}}}" for known in PLACEHOLDERS)
                    raise profile.refuse(f"there is no placeholder {{{name}}}; allowed: {known}")

    @property
    def without_model(self) -> str:
        """Why a model would make no difference to it; "" if it would."""
        if self.endpoint or self._asks_for("model"):
            return ""
        return (
            "argv and env have neither {url} and {token}, which lead to it, nor {model}, its name"
        )

    def probe(self) -> RuntimeInfo:
        if shutil.which(self.argv[0]) is None:
            advice = f"install it with: {self.install}" if self.install else "install it"
            raise RuntimeUnavailable(f"{self.argv[0]} is not on PATH; {advice}")
        for name in self.pass_env:
            if name not in os.environ:
                raise RuntimeUnavailable(f"{name}, which pass_env names, is not set; export it")
        for name in self.readable:
            if not Path(name).expanduser().exists():
                raise RuntimeUnavailable(f"{name}, which readable names, is not there")
        return RuntimeInfo(
            version=self.version,
            capabilities=self.capabilities,
            calls_model=self.calls_model,
            endpoint=self.endpoint,
        )

    def prepare(self, run: AgentRun) -> None:
        if self._asks_for("prompt_file"):
            (run.state / "prompt.txt").write_text(run.prompt, "utf-8")

    def command(self, run: AgentRun) -> Command:
        values = {
            "prompt": run.prompt,
            "prompt_file": str(run.state / "prompt.txt"),
            "workspace": str(run.workspace),
            "home": str(run.home),
            "state": str(run.state),
            "trace_file": str(run.state / "trace.jsonl"),
            "model": run.trial.model_name or self.model,
            "url": run.model.url if run.model else "",
            "token": run.model.token if run.model else "",
        }

        def fill(text: str) -> str:
            return _PLACEHOLDER.sub(lambda match: values[match[1]], text)

        # A relative path means the caller's folder, not one that the agent could put there.
        program = Path(shutil.which(self.argv[0]) or self.argv[0]).absolute()
        readable = (Path(name).expanduser().absolute() for name in self.readable)
        # Whoever may write there may write a trace, so only who is asked to.
        states = self._asks_for("state", "trace_file")
        read = self._asks_for("prompt_file") and not states
        prompt_file = (Path(values["prompt_file"]),) if read else ()
        return Command(
            argv=(str(program), *(fill(text) for text in self.argv[1:])),
            cwd=run.workspace,
            env={
                **{name: os.environ[name] for name in self.pass_env},
                **{name: fill(text) for name, text in self.env.items()},
            },
            stdin=run.prompt.encode() if self.stdin == "prompt" else b"",
            view=View(
                writable=(run.state,) if states else (),
                readable=(*needed(program), *readable, *prompt_file),
                network=self.network,
            ),
        )

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        reading = read_events(run.state / "trace.jsonl")
        events = reading.events
        said = done.stdout.decode("utf-8", "replace")
        if not events and said.strip():
            events = (Event(kind=EventKind.ASSISTANT, text=said),)
        told = any(event.kind is EventKind.USER for event in events)
        failed = done.exit_code != 0
        complaint = done.stderr.decode("utf-8", "replace").strip()[-2000:]
        return Execution(
            status=Status.AGENT_ERROR if failed else Status.COMPLETED,
            message=f"exit code {done.exit_code}: {complaint}" if failed else "",
            trace=Trace(events=events) if told else prompted(run.prompt, events),
            flags=reading.flags,
        )

    def _asks_for(self, *names: str) -> bool:
        """Whether any of these placeholders is used."""
        return any(f"{{{name}}}" in text for text in self._templates() for name in names)

    def _templates(self) -> tuple[str, ...]:
        return (*self.argv, *self.env.values())
