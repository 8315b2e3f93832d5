"""Claude Code, run without a terminal: ``claude -p``."""

from __future__ import annotations

import dataclasses
import json

from pytest_agentbench.execution import Command, Completed, Execution, View
from pytest_agentbench.flag import Flag
from pytest_agentbench.runtimes.ending import concluded, printed
from pytest_agentbench.runtimes.installed import needed
from pytest_agentbench.runtimes.locate import Package
from pytest_agentbench.runtimes.packaged import Packaged, session
from pytest_agentbench.status import Status
from pytest_agentbench.trace.claude_code import parse
from pytest_agentbench.trace.transcript import Rows, flags_of, read_rows
from pytest_agentbench.trial import AgentRun

_ALIASES = ("FABLE", "OPUS", "SONNET", "HAIKU")
_QUIET = {"DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1"}


class ClaudeCode(Packaged):
    """Drives ``claude -p`` with a configuration of its own. Options: see docs/runtimes.md."""

    name = "claude-code"
    skills_folder = ".claude/skills"
    package = Package(
        runtime="claude-code",
        registry="npm",
        package="@anthropic-ai/claude-code",
        program="claude",
        tested="2.1.332",
    )
    capabilities = ("agents", "network", "skills")

    def prepare(self, run: AgentRun) -> None:
        configure(run)

    def command(self, run: AgentRun) -> Command:
        assert run.model is not None
        program = self.program
        # A search is the provider's to run: it would lead out of a sandbox without a network.
        searches = "network" in run.trial.scenario.requires
        # A line that begins with a slash would be a command to the program, and never reach
        # the model; one after an empty line does.
        slash = run.prompt.lstrip().startswith("/")
        return Command(
            argv=(
                *(str(program), "-p", "--output-format=json", f"--session-id={session(run)}"),
                *("--permission-mode=bypassPermissions", f"--model={run.model.name}"),
                *(() if searches else ("--disallowedTools=WebSearch",)),
                *self.args,
            ),
            cwd=run.workspace,
            env={**environment(run), **_QUIET, **self.env},
            stdin=("\n" * slash + run.prompt).encode("utf-8", "replace"),
            view=View(writable=(run.state,), readable=needed(program)),
        )

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        main, *agents = files(run, str(session(run)))
        found = parse(main.rows, [file.rows for file in agents])
        flags = flags_of((main, *agents))
        if found.ending is None and printed(done).get("subtype") == "error_max_turns":
            execution = concluded(run, found, done, (*flags, Flag.MAX_TURNS))
            return dataclasses.replace(execution, status=Status.COMPLETED, message="")
        return concluded(run, found, done, flags)


def configure(run: AgentRun) -> None:
    """Write the program's configuration for this run alone."""
    folder = run.state / "claude"
    folder.mkdir()
    # Before it fetches a page the program would ask its maker's server whether it may.
    settings = {"skipWebFetchPreflight": True}
    (folder / "settings.json").write_text(json.dumps(settings))


def files(run: AgentRun, session: str) -> list[Rows]:
    """The transcript of a session, empty where there is none, and those of its subagents."""
    folder = run.state / "claude" / "projects"
    main = [read_rows(path) for path in folder.glob(f"*/{session}.jsonl")][:1] or [Rows()]
    agents = sorted(folder.glob(f"*/{session}/subagents/*.jsonl"))
    return [*main, *(read_rows(path) for path in agents)]


def environment(run: AgentRun) -> dict[str, str]:
    """The harness tries again itself, and ends what hangs; other models than the run's are it."""
    assert run.model is not None
    patience = str(int(run.seconds * 1000) + 60_000)
    return {
        "CLAUDE_CONFIG_DIR": str(run.state / "claude"),
        "ANTHROPIC_BASE_URL": run.model.url,
        "ANTHROPIC_API_KEY": run.model.token,
        "ANTHROPIC_SMALL_FAST_MODEL": run.model.name,
        **{f"ANTHROPIC_DEFAULT_{alias}_MODEL": run.model.name for alias in _ALIASES},
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "API_TIMEOUT_MS": patience,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        # Without it the program refuses to run as root.
        "IS_SANDBOX": "1",
    }
