"""OpenHands' command line, run without a terminal: ``openhands --headless``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_agentbench.execution import Command, Completed, Execution, View
from pytest_agentbench.flag import Flag
from pytest_agentbench.runtimes.ending import concluded
from pytest_agentbench.runtimes.installed import needed
from pytest_agentbench.runtimes.locate import Package
from pytest_agentbench.runtimes.packaged import Packaged, session
from pytest_agentbench.trace.document import read_document, read_documents
from pytest_agentbench.trace.openhands import parse, reached_limit
from pytest_agentbench.trace.transcript import Rows, flags_of
from pytest_agentbench.trial import AgentRun


class OpenHands(Packaged):
    """Drives ``openhands`` with a state folder of its own. Options: see docs/runtimes.md."""

    name = "openhands"
    skills_folder = ".agents/skills"
    package = Package(
        runtime="openhands",
        registry="pip",
        package="openhands",
        program="openhands",
        tested="1.16.0",
        python="3.12",
    )
    capabilities = ("agents", "network", "skills")

    def prepare(self, run: AgentRun) -> None:
        folder = run.state / "openhands"
        folder.mkdir()
        (folder / "agent_settings.json").write_text(json.dumps(_settings(run)), "utf-8")
        # It would fetch the skills that its makers publish: a file in their place stops it.
        skills = run.home / ".openhands" / "cache" / "skills"
        skills.mkdir(parents=True)
        (skills / "public-skills").touch()

    def command(self, run: AgentRun) -> Command:
        program = self.program
        task = run.prompt.encode("utf-8", "replace").decode()
        argv = (str(program), "--headless", "--json", f"--resume={session(run)}")
        return Command(
            argv=(*argv, *self.args, f"--task={task}"),
            cwd=run.workspace,
            env={**_environment(run), **self.env},
            view=View(writable=(run.state,), readable=needed(program)),
        )

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        folder = run.state / "conversations" / session(run).hex
        state, main = read_document(folder / "base_state.json"), _events(folder)
        agents = [_events(each) for each in sorted(folder.glob("subagents/*"))]
        found = parse(main.rows, state.data, [file.rows for file in agents])
        at_limit = (Flag.MAX_TURNS,) * reached_limit(main.rows)
        flags = (*state.flags, *flags_of((main, *agents)), *at_limit)
        return concluded(run, found, done, flags)


def _settings(run: AgentRun) -> dict[str, Any]:
    """The agent that its command line starts by default, with the run's model."""
    assert run.model is not None
    model = {
        "model": f"openai/{run.model.name}",
        "base_url": f"{run.model.url}/v1",
        "api_key": run.model.token,
        # The harness tries again itself, and ends what hangs. A failed request is sent three times
        # below what is counted here.
        "num_retries": 1,
        "timeout": int(run.seconds) + 60,
    }
    condenser = {
        "kind": "LLMSummarizingCondenser",
        "llm": {**model, "usage_id": "condenser"},
        "max_size": 80,
        "keep_first": 4,
    }
    return {
        "kind": "Agent",
        "llm": {**model, "usage_id": "agent"},
        "system_prompt_kwargs": {"cli_mode": True},
        "condenser": condenser,
    }


def _events(conversation: Path) -> Rows:
    return read_documents((conversation / "events").glob("event-*.json"))


def _environment(run: AgentRun) -> dict[str, str]:
    return {
        "OPENHANDS_PERSISTENCE_DIR": str(run.state / "openhands"),
        "OPENHANDS_CONVERSATIONS_DIR": str(run.state / "conversations"),
        "OPENHANDS_WORK_DIR": str(run.workspace),
        "OPENHANDS_SUPPRESS_BANNER": "1",
        # Its shell lives in a server whose socket all runs of a user would share.
        "TMUX_TMPDIR": str(run.home.parent / "tmp"),
        # Else it asks a server for the prices of models.
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
