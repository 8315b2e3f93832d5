"""Where a scenario's rubric is: in its file, or in one beside it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_agentbench.scenario import paths
from pytest_agentbench.scenario.model import CheckSpec, ScenarioError
from pytest_agentbench.scenario.rubric import Rubric
from pytest_agentbench.scenario.source import read
from pytest_agentbench.scenario.table import Table
from pytest_agentbench.scenario.yamlfile import kind, parse

# The forms are imported where a rubric is read: most scenarios have none.

#: What follows a scenario's id in the name of its rubric; JSON is read as the YAML that it is.
ENDINGS = (".rubric.yaml", ".rubric.yml", ".rubric.json")


def atomic_rubric(
    table: Table, places: paths.Places, identifier: str, specs: tuple[CheckSpec, ...]
) -> Rubric | None:
    """The criteria of the scenario in ``table``, if it has any. Raises ``ScenarioError``.

    They stand at its key ``rubric``, or in a file beside it that is named after its id;
    ``specs`` are the scenario's own checks, which criteria may name.
    """
    known = {spec.id: spec for spec in specs}
    file = _beside(table.document.path, identifier)
    written = table.value.get("rubric")
    if isinstance(written, dict) and "criteria" in written:
        if file is not None:
            raise table.refuse("rubric", f"and {file.name} beside it are two rubrics; keep one")
        from pytest_agentbench.scenario import rubric_form

        return rubric_form.rubric(table.table("rubric"), places, known)
    return load_rubric(file, known, places) if file is not None else None


def strays(folder: Path, known: Collection[tuple[Path, str]]) -> Iterator[Path]:
    """Rubric files below ``folder`` that belong to no scenario; ``known`` are folders and ids."""
    for path in sorted(folder.rglob("*.rubric.*")):
        ending = next((each for each in ENDINGS if path.name.endswith(each)), None)
        if ending and (path.parent.absolute(), path.name.removesuffix(ending)) not in known:
            yield path


def _beside(path: Path, identifier: str) -> Path | None:
    files = [path.with_name(identifier + ending) for ending in ENDINGS]
    found = [file for file in files if file.is_file()]
    if len(found) > 1:
        names = " and ".join(file.name for file in found)
        raise ScenarioError(path, f"has the rubrics {names} beside it; keep one of them")
    return found[0] if found else None


def load_rubric(
    path: Path, known: Mapping[str, CheckSpec] | None = None, places: paths.Places | None = None
) -> Rubric:
    """The rubric in a file of either form. Raises ``ScenarioError`` and ``OSError``.

    ``known`` are the checks of its scenario, None without one: then criteria may name any.
    """
    from pytest_agentbench.scenario import rubric_form, rubric_v2

    data = read(path)
    if not data.strip():
        raise ScenarioError(path, "the file is empty; a rubric needs criteria")
    document = parse(data, path)
    table = Table(document, document.value)
    if "schema_version" in table.value:
        version = table.value["schema_version"]
        if version != rubric_v2.VERSION:
            problem = f"must be {rubric_v2.VERSION}, the form that this version reads"
            raise table.refuse("schema_version", f"{problem}, not {kind(version)}")
        return rubric_v2.rubric(table)
    version = table.value.get("rubric")
    if isinstance(version, bool) or version != rubric_form.VERSION:
        raise ScenarioError(
            path,
            f"a rubric file needs `rubric: {rubric_form.VERSION}`, the form that this version "
            f"reads, or `schema_version: {rubric_v2.VERSION}`",
            line=document.line(("rubric",)),
        )
    return rubric_form.rubric(table, places or paths.beside(path), known)


def identity(criterion: Mapping[str, Any]) -> str:
    """The id of a criterion as it is written, in either form."""
    return str(criterion.get("criterion_id") or criterion.get("id") or "")
