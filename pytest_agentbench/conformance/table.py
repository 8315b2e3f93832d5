"""Clauses, faults and results as tables of markdown: docs/conformance.md and docs/runtimes.md are made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pytest_agentbench.conformance.clauses import CLAUSES
from pytest_agentbench.conformance.faults import ENDINGS, FAULTS, Provoked
from pytest_agentbench.conformance.result import Result, ResultError, read

BEGIN, END = "<!-- results: made by `make conformance` -->", "<!-- end of results -->"
_SHOWN = {"passed": "yes", "failed": "**no**", "not applicable": "–", "not run": "not run"}


def clauses() -> str:
    """Every clause that is no fault or ending."""
    rows = (
        (f"`{clause.id}`", clause.says, clause.look)
        for clause in CLAUSES.values()
        if not clause.id.startswith(("fault.", "ending.")) or clause.id == "fault.none"
    )
    return _table(("clause", "the adapter's part", "where to look"), rows)


def faults() -> str:
    return _provoked("fault", FAULTS)


def endings() -> str:
    return _provoked("ending", ENDINGS)


def results(found: Sequence[Result]) -> str:
    """What holds for each runtime, and what came of each fault."""
    rows = (
        (
            f"`{result.runtime}`",
            result.version,
            f"{result.passed} of {result.clauses}",
            _ids(result.failed),
            _ids(v.clause for v in result.verdicts if v.outcome == "not applicable"),
            result.sandbox,
        )
        for result in found
    )
    heads = ("runtime", "version", "clauses hold", "broken", "do not apply", "sandbox")
    names = tuple(f"`{result.runtime}`" for result in found)
    shown = [_outcomes(result) for result in found]
    provoked = (
        (f"`{id_}`", f"`{each.status}`", *(outcomes.get(id_, "not run") for outcomes in shown))
        for kind, group in (("fault", FAULTS), ("ending", ENDINGS))
        for each in group
        for id_ in (f"{kind}.{each.id}",)
    )
    return f"{_table(heads, rows)}\n{_table(('provoked', 'must end as', *names), provoked)}"


def gathered(paths: Iterable[Path]) -> list[Result]:
    """The results in files and folders, by name of their runtime. Raises ``ResultError``."""
    files = [
        f for path in paths for f in (sorted(path.glob("*.json")) if path.is_dir() else [path])
    ]
    return sorted(map(read, files), key=lambda result: (result.runtime, result.version))


def put(page: str, text: str) -> str:
    """``page`` with ``text`` between its marks. Raises ``ResultError`` for a page without."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ResultError(f"the page has no place for results: put in {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{text}\n{END}{after}"


def _provoked(kind: str, group: Iterable[Provoked]) -> str:
    rows = ((f"`{kind}.{each.id}`", each.how, f"`{each.status}`", each.why) for each in group)
    return _table(("id", "what is provoked", "ends as", "since"), rows)


def _outcomes(result: Result) -> Mapping[str, str]:
    return {verdict.clause: _SHOWN[verdict.outcome] for verdict in result.verdicts}


def _ids(ids: Iterable[str]) -> str:
    return ", ".join(f"`{id_}`" for id_ in ids) or "–"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines
    )
