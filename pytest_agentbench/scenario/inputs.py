"""The files that a workspace starts with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_agentbench.scenario import paths
from pytest_agentbench.scenario.model import InputFile
from pytest_agentbench.scenario.table import Table, refuse
from pytest_agentbench.scenario.yamlfile import Document, KeyPath, kind


def inputs(table: Table, places: paths.Places, *, keep_path: bool) -> tuple[InputFile, ...]:
    """``workspace_seed_dir`` and ``workspace_files``, sorted by destination.

    A file given as text alone goes to the path as written where ``keep_path`` is set, as task
    markdown has it; else to what follows ``fixtures/`` in it, or its name, as YAML has it.
    """
    found: dict[str, InputFile] = {}
    for at, file in _declared(table, places, keep_path):
        if file.dest in found:
            raise refuse(table.document, at, f"puts a second file at {kind(file.dest)}")
        found[file.dest] = file
    for dest in found:
        for above in _folders(dest):
            if above in found:
                at = ("workspace_files",)
                raise refuse(table.document, at, f"make {kind(above)} both a file and a folder")
    return tuple(found[dest] for dest in sorted(found))


def _declared(
    table: Table, places: paths.Places, keep_path: bool
) -> Iterator[tuple[KeyPath, InputFile]]:
    if "workspace_seed_dir" in table:
        at: KeyPath = ("workspace_seed_dir",)
        source = find(table.document, at, table.text("workspace_seed_dir"), places)
        if not source.is_dir():
            raise refuse(table.document, at, f"must be a folder; {kind(source.name)} is a file")
        for file in _copies(table.document, at, source, ""):
            yield at, file
    for index, item in enumerate(table.items("workspace_files")):
        at = ("workspace_files", index)
        if isinstance(item, str):
            source = find(table.document, at, item, places)
            dest = item if keep_path else item.rpartition("fixtures/")[2]
            if not keep_path and "fixtures/" not in item:
                dest = source.name
        else:
            entry = Table.of(table.document, item, at)
            if "content" in entry:
                yield at, _inline(entry)
                continue
            source, dest = _copy(entry, places)
        for file in _copies(table.document, at, source, _dest(table.document, at, dest)):
            yield at, file


def _inline(entry: Table) -> InputFile:
    entry.only(("path", "content", "executable"))
    entry.need("path")
    return InputFile(
        dest=_dest(entry.document, (*entry.at, "path"), entry.text("path")),
        content=entry.text("content").encode(),
        executable=entry.flag("executable"),
    )


def _copy(entry: Table, places: paths.Places) -> tuple[Path, str]:
    entry.only(("source", "src", "dest", "dst", "path", "content"))
    if not ("source" in entry or "src" in entry):
        raise refuse(entry.document, entry.at, "needs `content` or `source`")
    key = "src" if "src" in entry else "source"
    text = entry.text(key)
    goal = next((name for name in ("dest", "dst", "path") if name in entry), key)
    return find(entry.document, (*entry.at, key), text, places), entry.text(goal)


def _copies(document: Document, at: KeyPath, source: Path, dest: str) -> Iterator[InputFile]:
    """The file at ``source``, or all files of the folder there."""
    try:
        if source.is_dir():
            for name, path, executable in paths.walk(source):
                goal = f"{dest}/{name}" if dest else name
                yield InputFile(dest=goal, source=path, executable=executable)
        else:
            executable = paths.executable(source)
            yield InputFile(dest=dest, source=source, executable=executable)
    except (ValueError, OSError) as error:
        raise refuse(document, at, str(error)) from None


def find(document: Document, at: KeyPath, text: str, places: paths.Places) -> Path:
    """The file that ``text``, the value at ``at``, names."""
    try:
        return places.find(text)
    except ValueError as error:
        raise refuse(document, at, str(error)) from None


def _dest(document: Document, at: KeyPath, text: str) -> str:
    try:
        return paths.relative(text)
    except ValueError as error:
        raise refuse(document, at, str(error)) from None


def _folders(dest: str) -> Iterator[str]:
    while "/" in dest:
        dest = dest.rpartition("/")[0]
        yield dest
