"""Records the calls of lines on cassettes, and plays them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_agentbench.gateway.backend import Backend
from pytest_agentbench.gateway.cassette import Cassette
from pytest_agentbench.gateway.recording import Recording
from pytest_agentbench.gateway.replay import Replay


class Deck:
    """Of one process. What a trial's attempts and phases ask goes on one after the other."""

    def __init__(self) -> None:
        self._recorded: set[Path] = set()
        self._asked: dict[Path, Counter[str]] = {}

    def put(self, tape: Mapping[str, Any], token: str, make: Callable[[], Backend]) -> Backend:
        """What answers a line with a ``tape``; ``make`` makes what is to be recorded.

        Raises ``CassetteError``.
        """
        path = Path(tape["path"])
        if tape["replays"]:
            asked = self._asked.setdefault(path, Counter())
            return Replay(Cassette.load(path), asked, token)
        backend = make()
        said = {"name": backend.name, **getattr(backend, "facts", {})}
        facts = {"trial": tape["trial"], "backend": said, "scripted": backend.scripted}
        # The first time in this run it replaces what an earlier one recorded.
        begun = path in self._recorded and path.exists()
        cassette = Cassette.load(path) if begun else Cassette(path, facts, [])
        self._recorded.add(path)
        return Recording(backend, cassette, token)

    @staticmethod
    def keep(backend: Backend) -> None:
        """Write what a line has recorded so far. Raises ``OSError``."""
        if isinstance(backend, Recording):
            backend.cassette.save()
