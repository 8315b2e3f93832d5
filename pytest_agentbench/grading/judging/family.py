"""Families of models: a judge may favour what is written by one of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pytest_agentbench.scenario.model import Scenario

_FAMILIES: tuple[tuple[str, str], ...] = (
    ("claude", r"claude|anthropic"),
    ("gpt", r"\bgpt|\bo[1345](?:-|$)|chatgpt|openai"),
    ("gemini", r"gemini|gemma"),
    ("qwen", r"qwen|qwq"),
    ("llama", r"llama"),
    ("mistral", r"mi[sx]tral|ministral|codestral|devstral|magistral"),
    ("deepseek", r"deepseek"),
    ("glm", r"\bglm"),
    ("kimi", r"kimi|moonshot"),
    ("grok", r"grok"),
    ("minimax", r"minimax"),
    ("command", r"command-[ar]|cohere"),
    ("phi", r"\bphi-"),
    ("nova", r"\bnova-"),
)


def family(model: str) -> str:
    """The family of a model by its provider's name for it; "" for one that is not known."""
    name = model.lower()
    return next((family for family, form in _FAMILIES if re.search(form, name)), "")


def makers(scenario: Scenario) -> dict[str, str]:
    """Families of who drafted the scenario's rubric and who generated the task, where known."""
    facts = scenario.atomic_rubric.facts if scenario.atomic_rubric else {}
    made = facts.get("generation_provenance")
    said = {
        "drafter": made.get("generator_model") if isinstance(made, Mapping) else None,
        "generator": scenario.extra.get("generator_model"),
    }
    return {name: found for name, model in said.items() if (found := family(str(model or "")))}


def shared(judges: Iterable[str], tested: Iterable[str]) -> tuple[tuple[str, str, str], ...]:
    """Judge, tested model and family for each pair of one family, in order."""
    models = list(tested)
    return tuple(
        (judge, model, found)
        for judge in judges
        for model in models
        if (found := family(judge)) and found == family(model)
    )
