"""Gemini CLI, run without a terminal: ``gemini`` with the prompt on standard input."""

from __future__ import annotations

import dataclasses
import json

from pytest_agentbench.execution import Command, Completed, Execution, View
from pytest_agentbench.flag import Flag
from pytest_agentbench.runtimes.ending import concluded
from pytest_agentbench.runtimes.installed import needed
from pytest_agentbench.runtimes.locate import Package, node
from pytest_agentbench.runtimes.packaged import Packaged, session
from pytest_agentbench.status import Status
from pytest_agentbench.trace.gemini_cli import parse
from pytest_agentbench.trace.transcript import Rows, flags_of, read_rows, rows_in
from pytest_agentbench.trial import AgentRun

#: With what it ends after as many turns as its settings allow.
_TURNS = 53


class GeminiCli(Packaged):
    """Drives ``gemini`` with a home of its own. Options: see docs/runtimes.md."""

    name = "gemini-cli"
    skills_folder = ".gemini/skills"
    package = Package(
        runtime="gemini-cli",
        registry="npm",
        package="@google/gemini-cli",
        program="gemini",
        tested="0.61.0",
        node="20.0.0",
    )
    capabilities = ("agents", "network", "skills")

    def prepare(self, run: AgentRun) -> None:
        folder = run.state / "gemini" / ".gemini"
        folder.mkdir(parents=True)
        # Both are the provider's to run: they would lead out of a sandbox without a network.
        searches = "network" in run.trial.scenario.requires
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            # The harness tries again itself.
            "general": {"enableAutoUpdate": False, "maxAttempts": 2},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "tools": {"exclude": [] if searches else ["google_web_search", "web_fetch"]},
            # Else a mail address in a prompt would bring in every file with a name like it.
            "context": {"fileFiltering": {"enableRecursiveFileSearch": False}},
        }
        (folder / "settings.json").write_text(json.dumps(settings))

    def command(self, run: AgentRun) -> Command:
        assert run.model is not None
        program, interpreter = self.program, node(self.package.node)
        return Command(
            argv=(
                *(str(interpreter), str(program), f"--model={run.model.name}"),
                *("--approval-mode=yolo", "--output-format=stream-json"),
                f"--session-id={session(run)}",
                *self.args,
            ),
            cwd=run.workspace,
            env={
                "GEMINI_CLI_HOME": str(run.state / "gemini"),
                "GEMINI_API_KEY": run.model.token,
                "GOOGLE_GEMINI_BASE_URL": run.model.url,
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
                # The program would start itself once more, to have half of the memory.
                "GEMINI_CLI_NO_RELAUNCH": "true",
                **self.env,
            },
            # A line that begins with a slash would be a command to the program.
            stdin=("\n" * run.prompt.startswith("/") + run.prompt).encode("utf-8", "replace"),
            view=View(writable=(run.state,), readable=(*needed(interpreter), *needed(program))),
        )

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        folder, name = run.state / "gemini" / ".gemini" / "tmp", str(session(run))
        named = folder.glob(f"*/chats/session-*-{name[:8]}.jsonl")
        files = [file for path in named if _of(file := read_rows(path), name)][:1] or [Rows()]
        agents = [read_rows(path) for path in sorted(folder.glob("*/chats/*/*.jsonl"))]
        found = parse(
            files[0].rows,
            [file.rows for file in agents],
            stream=rows_in(done.stdout).rows,
            cut=done.stdout_bytes > len(done.stdout),
            exit_code=done.exit_code,
        )
        flags = flags_of((*files, *agents))
        if done.exit_code == _TURNS:
            execution = concluded(run, found, done, (*flags, Flag.MAX_TURNS))
            return dataclasses.replace(execution, status=Status.COMPLETED, message="")
        return concluded(run, found, done, flags)


def _of(file: Rows, session: str) -> bool:
    return bool(file.rows) and file.rows[0].get("sessionId") == session
