"""``agentbench inventory``: what scenarios there are."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_agentbench.scenario.inventory import Entry

_WIDTH = 120


def add(commands: Any) -> None:
    """Add the subcommand."""
    inventory = commands.add_parser("inventory", help="list scenarios, and what each consists of")
    inventory.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="scenario files or folders of them"
    )
    inventory.add_argument("--json", action="store_true", help="print JSON")
    inventory.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0, 1 where a file does not load, 2 where there is none."""
    from pytest_agentbench.cli import scenario_files
    from pytest_agentbench.scenario.inventory import counts, entry
    from pytest_agentbench.scenario.load import load
    from pytest_agentbench.scenario.model import ScenarioError

    entries, problems = [], []
    for path in scenario_files(options.paths):
        try:
            entries.append(entry(load(path), path))
        except ScenarioError as error:
            line = f":{error.line}" if error.line else ""
            problems.append(f"{path}{line}: {error.problem}")
    for problem in problems:
        print(f"agentbench inventory: {problem}", file=sys.stderr)
    if not entries:
        if not problems:
            where = ", ".join(map(str, options.paths))
            print(f"agentbench inventory: no scenario file under {where}", file=sys.stderr)
        return 2
    if options.json:
        import json

        from pytest_agentbench.plain import plain

        found = {"scenarios": plain(entries), "counts": counts(entries)}
        print(json.dumps(found, indent=2))
    else:
        print("\n".join(lines(entries)))
    return 1 if problems else 0


def lines(entries: Sequence[Entry]) -> Iterator[str]:
    """The inventory for people."""
    from pytest_agentbench.report.figures import many, wrap
    from pytest_agentbench.report.table import table
    from pytest_agentbench.scenario.inventory import counts
    from pytest_agentbench.text import escape

    heads = ("dimension", "difficulty", "policy", "checks", "probes", "skills", "criteria")
    rows = [
        (
            escape(each.id),
            (
                *(each.dimension or "–", each.difficulty, each.policy),
                "code" if each.code else str(each.checks),
                *(str(count or "–") for count in (each.probes, each.skills, each.criteria)),
            ),
        )
        for each in entries
    ]
    yield from table("scenario", heads, rows, _WIDTH)
    yield ""
    yield many(len(entries), "scenario")
    for kind, found in counts(entries).items():
        told = ", ".join(f"{escape(name) or 'none'} {count}" for name, count in found.items())
        yield from wrap(f"by {kind}: {told or 'none'}", _WIDTH)
