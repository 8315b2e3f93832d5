"""What the suite found of one runtime: the file ``conformance.json``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

from pytest_agentbench.files import read_regular

SCHEMA_VERSION = "1.0"
_LIMIT = 4 << 20

Outcome = Literal["passed", "failed", "not applicable", "not run"]


class ResultError(Exception):
    """A file that holds no result; the message is for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of one clause; ``detail`` says why it failed or does not apply."""

    clause: str
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Verdicts on every clause that the suite has, in its order.

    ``plugin`` is the version of this package, ``sandbox`` what the runtime ran in.
    """

    runtime: str
    adapter: str
    version: str
    digest: str
    plugin: str
    sandbox: str
    verdicts: tuple[Verdict, ...] = ()

    @property
    def passed(self) -> int:
        return self._count("passed")

    @property
    def clauses(self) -> int:
        """All clauses that apply, run or not."""
        return len(self.verdicts) - self._count("not applicable")

    @property
    def failed(self) -> tuple[str, ...]:
        return tuple(v.clause for v in self.verdicts if v.outcome == "failed")

    @property
    def file_name(self) -> str:
        return file_name(self.adapter, self.version)

    def _count(self, outcome: Outcome) -> int:
        return sum(verdict.outcome == outcome for verdict in self.verdicts)

    def binds(self, adapter: str, version: str, digest: str) -> bool:
        """Whether it is about that very program, driven by that adapter."""
        return (self.adapter, self.version, self.digest) == (adapter, version, digest)

    def to_json(self) -> dict[str, Any]:
        totals = {"passed": self.passed, "clauses": self.clauses}
        data = asdict(self)
        data["verdicts"] = [asdict(verdict) for verdict in self.verdicts]
        return {"schema": SCHEMA_VERSION, **totals, **data}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Raises ``KeyError``, ``TypeError`` and ``ValueError`` for what is no result."""
        version = str(data["schema"])
        if version.partition(".")[0] != SCHEMA_VERSION.partition(".")[0]:
            raise ValueError(f"its schema is {version}; this version reads {SCHEMA_VERSION}")
        names = ("runtime", "adapter", "version", "digest", "plugin", "sandbox")
        verdicts = (
            Verdict(clause=v["clause"], outcome=v["outcome"], detail=v["detail"])
            for v in data["verdicts"]
        )
        return cls(**{name: str(data[name]) for name in names}, verdicts=tuple(verdicts))


def file_name(adapter: str, version: str) -> str:
    """``ADAPTER@VERSION.json``."""
    return re.sub(r"[^\w.@+-]", "_", f"{adapter}@{version}") + ".json"


def read(path: Path) -> Result:
    """The result in a file. Raises ``ResultError``."""
    try:
        return Result.from_json(json.loads(read_regular(path, _LIMIT)))
    except OSError as error:
        raise ResultError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ResultError(
            f"{path} is no result of pytest_agentbench.conformance: {type(error).__name__}: {error}"
        ) from None


def write(path: Path, result: Result) -> None:
    """Raises ``OSError``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result.to_json(), indent=2, ensure_ascii=False)
    path.write_text(f"{text}\n", "utf-8", "backslashreplace")
