"""Looks for skills in what a runtime tells a model of its own accord."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pytest_agentbench.gateway.chat import ChatRequest
from pytest_agentbench.skill import Notice
from pytest_agentbench.skills.use import told


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """The skills of a run, and the ``prompt`` that the runtime was given, which is not its own."""

    skills: tuple[Notice, ...]
    prompt: str

    def found(self, request: ChatRequest) -> tuple[str, ...]:
        """Names of the skills that the request tells of, the prompt left out."""
        texts = [message.text.replace(self.prompt, "") for message in request.messages]
        texts += [f"{tool.name}: {tool.description}" for tool in request.tools]
        texts += [json.dumps(dict(tool.parameters), ensure_ascii=False) for tool in request.tools]
        return told("\n".join(texts), self.skills)

    def to_json(self) -> dict[str, Any]:
        return {
            "skills": [dataclasses.asdict(skill) for skill in self.skills],
            "prompt": self.prompt,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(skills=tuple(Notice(**skill) for skill in data["skills"]), prompt=data["prompt"])
