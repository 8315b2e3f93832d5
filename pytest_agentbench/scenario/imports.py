"""What the Python of a checker imports of its own: files beside it and in its checkout."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_IMPORT = re.compile(rb"(?m)^[ \t]*(?:from|import)[ \t]+([\w.]+)")


def checkout(checker: Path) -> tuple[Path, ...]:
    """The root of a published checkout, whose checkers import its packages."""
    for folder in checker.parents:
        if folder.name == "custom_checks":
            return (folder.parent,)
    return ()


def imported(source: bytes) -> tuple[str, ...]:
    """The modules that ``source`` names in imports, each once."""
    return tuple(dict.fromkeys(name.decode() for name in _IMPORT.findall(source)))


def files(module: str, by: Path, folders: Sequence[Path]) -> Iterator[str]:
    """The files that an import of ``module`` in the file ``by`` may run, as far as they are below
    ``folders``. One that begins with dots is looked for from the folder of ``by``."""
    name = module.lstrip(".")
    up = len(module) - len(name)
    for folder in folders if not up else by.parents[up - 1 : up]:
        place = str(folder)
        for package in filter(None, name.split(".")):
            place = f"{place}/{package}"
            yield from filter(os.path.isfile, (f"{place}/__init__.py",))
        yield from filter(os.path.isfile, (f"{place}.py",))


def reached(checker: Path) -> dict[Path, bytes]:
    """The file ``checker`` and all that it imports, with what is in them. Raises ``OSError``."""
    folders = (checker.parent, *checkout(checker))
    found: dict[Path, bytes] = {}
    pending = [checker]
    while pending:
        file = pending.pop()
        if file not in found:
            found[file] = file.read_bytes()
            modules = imported(found[file])
            pending += [Path(each) for module in modules for each in files(module, file, folders)]
    return found
