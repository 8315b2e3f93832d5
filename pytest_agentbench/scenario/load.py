"""From a file to a scenario."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_agentbench.scenario.model import Scenario, ScenarioError
from pytest_agentbench.scenario.source import read
from pytest_agentbench.scenario.yaml_form import load_yaml


def load(path: Path) -> Scenario:
    """The scenario in ``path``. Raises ``ScenarioError`` and nothing else."""
    path = path.absolute()  # checkers are opened by a process with another working folder
    try:
        match path.suffix:
            case ".yaml" | ".yml":
                return load_yaml(read(path), path)
            case ".md":
                from pytest_agentbench.scenario.markdown_form import load_markdown

                return load_markdown(read(path), path)
            case _:
                raise ScenarioError(path, "a scenario is a .yaml, .yml or .md file")
    except OSError as error:
        named = Path(str(error.filename)).name
        raise ScenarioError(path, f"cannot read {named!r}: {error.strerror}") from error


def looks_like(path: Path, head: bytes) -> bool:
    """Whether a file that begins with ``head`` means to be a scenario. Nothing is parsed.

    YAML does if it has the keys ``prompt`` and ``dimension`` or ``agentbench`` at its top,
    markdown if it is named ``task_*.md``, begins with front matter and has ``## Prompt``.
    """
    if path.suffix in (".yaml", ".yml"):
        return bool(_PROMPT_KEY.search(head) and _OWN_KEY.search(head))
    named = path.suffix == ".md" and path.name.startswith("task_")
    return bool(named and _FRONT.match(head) and _PROMPT_HEADING.search(head))


_PROMPT_KEY = re.compile(rb"""(?m)^(?:\xef\xbb\xbf)?["']?prompt["']?\s*:""")
_OWN_KEY = re.compile(rb"""(?m)^(?:\xef\xbb\xbf)?["']?(?:dimension|agentbench)["']?\s*:""")
_FRONT = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n")
_PROMPT_HEADING = re.compile(rb"(?m)^## +Prompt\s*$")
