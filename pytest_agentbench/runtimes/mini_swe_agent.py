"""mini-swe-agent, run without a terminal: ``mini``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_agentbench.execution import Command, Completed, Execution, View
from pytest_agentbench.flag import Flag
from pytest_agentbench.runtimes.ending import concluded
from pytest_agentbench.runtimes.installed import needed
from pytest_agentbench.runtimes.locate import Package
from pytest_agentbench.runtimes.packaged import Packaged
from pytest_agentbench.trace.document import read_document
from pytest_agentbench.trace.mini_swe_agent import parse, reached_limit
from pytest_agentbench.trial import AgentRun


class MiniSweAgent(Packaged):
    """Drives ``mini`` with a configuration of its own. Options: see docs/runtimes.md."""

    name = "mini-swe-agent"
    package = Package(
        runtime="mini-swe-agent",
        registry="pip",
        package="mini-swe-agent",
        program="mini",
        tested="2.4.6",
    )
    capabilities = ("network",)

    def prepare(self, run: AgentRun) -> None:
        import yaml

        _config(run).write_text(yaml.safe_dump(_settings(run)), "ascii")

    def command(self, run: AgentRun) -> Command:
        assert run.model is not None
        program = self.program
        return Command(
            # What the run sets comes after its own configuration, and before the profile's.
            argv=(
                *(str(program), f"--output={_trajectory(run)}"),
                *("-c", _default(program), "-c", str(_config(run))),
                *self.args,
            ),
            cwd=run.workspace,
            env={**_environment(run), **self.env},
            view=View(writable=(run.state,), readable=needed(program)),
        )

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        file = read_document(_trajectory(run))
        found = parse(file.data, start=_begun(run))
        at_limit = (Flag.MAX_TURNS,) * reached_limit(file.data)
        return concluded(run, found, done, file.flags + at_limit)


def _settings(run: AgentRun) -> dict[str, Any]:
    assert run.model is not None
    # The harness tries again itself, and ends what hangs.
    patience = {"timeout": run.seconds + 60, "max_retries": 0}
    return {
        "run": {"task": run.prompt.encode("utf-8", "replace").decode()},
        "agent": {"mode": "yolo", "confirm_exit": False, "cost_limit": 0},
        # Commands do not see the model's key.
        "environment": {"env": {"OPENAI_API_KEY": ""}},
        "model": {
            "model_name": f"openai/{run.model.name}",
            "model_kwargs": {"api_base": f"{run.model.url}/v1", **patience},
            "cost_tracking": "ignore_errors",
        },
    }


def _environment(run: AgentRun) -> dict[str, str]:
    assert run.model is not None
    return {
        "OPENAI_API_KEY": run.model.token,
        "MSWEA_GLOBAL_CONFIG_DIR": str(run.state / "global"),
        "MSWEA_CONFIGURED": "true",
        "MSWEA_SILENT_STARTUP": "1",
        "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "2",
        # Else it asks a server for the prices of models.
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "NO_COLOR": "1",
    }


def _default(program: Path) -> str:
    """The configuration that comes with it; a bare name is looked for in the workspace first."""
    place = "lib/python*/site-packages/minisweagent/config/mini.yaml"
    return str(next(program.parent.parent.glob(place), "mini.yaml"))


def _begun(run: AgentRun) -> float | None:
    """When the run began, in Unix time: its configuration was written just before."""
    try:
        return _config(run).stat(follow_symlinks=False).st_mtime
    except OSError:
        return None


def _config(run: AgentRun) -> Path:
    return run.state / "run.yaml"


def _trajectory(run: AgentRun) -> Path:
    return run.state / "trajectory.json"
