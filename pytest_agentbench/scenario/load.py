"""From a file to a scenario."""

from __future__ import annotations

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
                known = "a scenario is a .yaml, .yml or .md file"
                raise ScenarioError(path, known if path.exists() else "does not exist")
    except OSError as error:
        named = Path(str(error.filename)).name
        raise ScenarioError(path, f"cannot read {named!r}: {error.strerror}") from error
