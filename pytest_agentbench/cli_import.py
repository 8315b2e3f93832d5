"""``agentbench import``: results of the published harnesses, as a run of ours."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "import", help="read result files of ClawProBench and EvoClawBench into a run folder"
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIR")
    parser.set_defaults(run=run_import)


def run_import(options: argparse.Namespace) -> int:
    from pytest_agentbench.importing.reading import ImportProblem
    from pytest_agentbench.importing.source import TRAJECTORIES, read_results, write_run
    from pytest_agentbench.report.ledger import LedgerError
    from pytest_agentbench.report.plan import PlanError

    try:
        files = [path for path in options.files if not path.name.endswith(TRAJECTORIES)]
        found = [(path, read_results(path)) for path in files or options.files]
        for path, records in found:
            new = write_run(options.output, records)
            print(f"{path.name}: {len(records)} results, {new} new")
        for path in sorted(set(options.files) - {path for path, _ in found}):
            print(f"{path.name}: passed over, it holds trajectories and no results")
    except (ImportProblem, PlanError, LedgerError, OSError) as error:
        print(f"agentbench import: {error}")
        return 2
    print(f"agentbench report {options.output}, leaderboard and analyze take it like any run")
    return 0
