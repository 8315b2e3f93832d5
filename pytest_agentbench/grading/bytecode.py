"""Python that checks, compiled once a worker instead of in every child that runs it."""

from __future__ import annotations

import marshal
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from pytest_agentbench.scenario.imports import files, imported


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A source as bytecode, none if it cannot be compiled, and the names of what it imports."""

    bytecode: bytes
    imports: tuple[str, ...]


@dataclass(slots=True)
class Compiler:
    """Remembers what it compiled, by the source or by the file as it was."""

    _known: dict[object, _Compiled] = field(default_factory=dict)

    def compiled(self, name: str, source: str, folders: Sequence[Path]) -> dict[str, bytes]:
        """Bytecode by file: of ``source``, or else of the file ``name``, and of what that imports
        from ``folders``. What cannot be compiled is left out: to say why is up to who runs it."""
        found: dict[str, bytes] = {}
        pending = [name]
        while pending:
            file = pending.pop()
            try:
                made = self._compile(file, source if file == name else "")
            except OSError:
                continue
            if made.bytecode:
                found[file] = made.bytecode
            for module in made.imports:
                pending += [
                    each for each in files(module, Path(file), folders) if each not in found
                ]
        return found

    def _compile(self, file: str, source: str) -> _Compiled:
        key: object = (file, source)
        if not source:
            status = os.stat(file)  # noqa: PTH116
            key = (file, status.st_mtime_ns, status.st_size)
        if key not in self._known:
            self._known[key] = _compile(file, source.encode() or Path(file).read_bytes())
        return self._known[key]


def _compile(file: str, source: bytes) -> _Compiled:
    try:
        with warnings.catch_warnings(action="ignore"):
            code = compile(source, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _Compiled(b"", ())
    return _Compiled(marshal.dumps(code), imported(source))


@dataclass(frozen=True, slots=True)
class Importer:
    """A finder of modules for ``sys.meta_path``: finds them as Python does, and takes their code from
    ``bytecode``, which goes by file."""

    bytecode: Mapping[str, bytes]

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        return spec and self.equipped(spec)

    def equipped(self, spec: ModuleSpec) -> ModuleSpec:
        """``spec``, such that its module is not compiled anew."""
        if spec.origin is not None and spec.origin in self.bytecode:
            spec.loader = _Loader(spec.name, spec.origin, self.bytecode[spec.origin])
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, name: str, file: str, bytecode: bytes) -> None:
        super().__init__(name, file)
        self._bytecode = bytecode

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = marshal.loads(self._bytecode)
        return code
