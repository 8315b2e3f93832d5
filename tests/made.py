"""A trial and a model's profile, made for tests of the gateway."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_agentbench.scenario.model import Scenario, Step
from pytest_agentbench.trial import ModelProfile, Phase, RuntimeProfile, Trial

STEPS = (
    Step(verb="say", text="First the notes."),
    Step(verb="read", path="notes.txt"),
    Step(verb="exec", argv=("sort", "a b.txt")),
    Step(verb="write", path="out.txt", content="done"),
    Step(verb="say", text="Written."),
)


def trial(index: int = 1, **scenario: Any) -> Trial:
    fields = {"id": "demo", "prompt": "Do it.", "solution": STEPS, **scenario}
    return Trial(
        scenario=Scenario(path=Path("demo.yaml"), **fields),
        runtime=RuntimeProfile(name="minimal", adapter="minimal"),
        mode="baseline",
        index=index,
        phases=(Phase(name="baseline", seconds=10),),
    )


def profile(backend: str = "scripted", **options: Any) -> ModelProfile:
    return ModelProfile(name="toy", backend=backend, options=options)
