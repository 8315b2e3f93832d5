"""What the tests of adapters have in common: a made run, a made installation, and what was done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_agentbench.execution import ModelEndpoint
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.trace.events import Trace
from pytest_agentbench.trace.transcript import Transcript
from pytest_agentbench.trial import AgentRun, Phase, RuntimeProfile, Trial

DATA = Path(__file__).parent / "data" / "transcripts"


def profile(adapter: str, version: str = "", **options: Any) -> RuntimeProfile:
    return RuntimeProfile(name="mine", adapter=adapter, version=version, options=options)


def agent_run(
    folder: Path,
    adapter: str,
    prompt: str = "Do it.",
    *,
    run_id: str = "0123-baseline-1",
    model: str = "toy",
    **scenario: Any,
) -> AgentRun:
    """A run of 90 seconds whose folders, which are there, lie in ``folder``."""
    for name in ("home", "state", "tmp", "ws"):
        (folder / name).mkdir(exist_ok=True)
    phase = Phase(name="baseline", seconds=90.0)
    trial = Trial(
        scenario=Scenario(id="demo", path=Path("demo.yaml"), prompt=prompt, **scenario),
        runtime=profile(adapter),
        mode="baseline",
        index=1,
        phases=(phase,),
    )
    return AgentRun(
        id=run_id,
        trial=trial,
        phase=phase,
        prompt=prompt,
        workspace=folder / "ws",
        home=folder / "home",
        state=folder / "state",
        seconds=phase.seconds,
        model=ModelEndpoint(
            name=model, socket=folder / "s", token="t0ken", url="http://127.0.0.1:8080"
        ),
    )


def script(path: Path, text: str = "") -> Path:
    """A program at ``path``, which is a shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def calls(transcript: Transcript) -> list[tuple[str, dict[str, Any]]]:
    """The canonical tools and arguments of the calls."""
    trace = Trace(events=transcript.events)
    return [(call.tool, dict(call.args)) for call in trace.calls]
