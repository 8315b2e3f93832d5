"""``agentbench leaderboard`` and ``agentbench analyze``: any number of runs at once."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

AGGREGATIONS = ("latest", "best", "mean", "median")


def add(commands: Any) -> None:
    """Add the subcommands."""
    board = commands.add_parser("leaderboard", help="rank the rows of many runs, view by view")
    analyze = commands.add_parser(
        "analyze", help="what many runs say of views, formula and scenarios of the benchmark"
    )
    for parser in (board, analyze):
        parser.add_argument(
            "paths", nargs="+", type=Path, metavar="DIR", help="run folders, or folders of them"
        )
    board.add_argument(
        "--aggregation",
        choices=AGGREGATIONS,
        default=AGGREGATIONS[0],
        help="what stands for a row that several runs have (default: latest)",
    )
    board.add_argument("-k", type=int, metavar="K", help="of pass@k (default: what all rows have)")
    board.add_argument("--format", choices=("text", "csv", "json"), default="text")
    board.set_defaults(run=run_leaderboard)
    analyze.add_argument("--format", choices=("text", "json"), default="text")
    analyze.set_defaults(run=run_analyze)


def run_leaderboard(options: argparse.Namespace) -> int:
    import csv
    import shutil
    import sys

    from pytest_agentbench.report.analysis_set import read_set
    from pytest_agentbench.report.csv_report import cell
    from pytest_agentbench.report.leaderboard import leaderboard
    from pytest_agentbench.report.run import RunError
    from pytest_agentbench.report.set_text import csv_rows, leaderboard_text

    try:
        entries = read_set(options.paths)
    except RunError as error:
        print(f"agentbench leaderboard: {error}")
        return 2
    most = min((entry.trials for entry in entries), default=1)
    k = most if options.k is None else options.k
    if not 1 <= k <= most:
        print(f"agentbench leaderboard: -k: {k} is not between 1 and {most}, which all rows have")
        return 2
    standings = leaderboard(entries, aggregation=options.aggregation, k=k)
    if options.format == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerows(list(map(cell, row)) for row in csv_rows(standings))
    elif options.format == "json":
        _print_json(list(standings))
    else:
        width = shutil.get_terminal_size((100, 24)).columns
        said = options.aggregation
        print("\n".join(leaderboard_text(standings, aggregation=said, k=k, width=width)))
    return 0


def run_analyze(options: argparse.Namespace) -> int:
    import shutil

    from pytest_agentbench.report.analysis import analyses
    from pytest_agentbench.report.analysis_set import read_set
    from pytest_agentbench.report.run import RunError
    from pytest_agentbench.report.set_text import analyses_text

    try:
        found = analyses(read_set(options.paths))
    except RunError as error:
        print(f"agentbench analyze: {error}")
        return 2
    if options.format == "json":
        _print_json(
            [
                {
                    "policy": each.policy,
                    "rows": [entry.identity for entry in each.entries],
                    "scenarios": each.scenarios,
                    "views": each.views,
                    "weights": each.weights,
                    "ablations": each.ablations,
                    "variance": [
                        {"row": s.entry.identity.name, "between": s.between, "within": s.within}
                        for s in each.spreads
                    ],
                    "discrimination": each.powers,
                }
                for each in found
            ]
        )
    else:
        width = shutil.get_terminal_size((100, 24)).columns
        print("\n".join(analyses_text(found, width=width)))
    return 0


def _print_json(value: Any) -> None:
    import json

    from pytest_agentbench.plain import plain

    print(json.dumps(plain(value), indent=1, sort_keys=True, allow_nan=False))
