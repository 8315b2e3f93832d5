"""``agentbench merge``: what several hosts have run of one plan, put into one folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """Add the subcommand."""
    merge = commands.add_parser("merge", help="put the folders of shards or hosts into one run")
    merge.add_argument("out", type=Path, metavar="OUT", help="the run that they become")
    merge.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="folders of runs")
    merge.set_defaults(run=run_merge)


def run_merge(options: argparse.Namespace) -> int:
    from pytest_agentbench.report.ledger import unwritten
    from pytest_agentbench.report.merge import MergeError, merge
    from pytest_agentbench.report.run import RunError

    try:
        merged = merge(options.out, options.runs)
    except (MergeError, RunError) as error:
        print(f"agentbench merge: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"agentbench merge: {unwritten(error)}", file=sys.stderr)
        return 2
    for warning in merged.warnings:
        print(f"warning: {warning}")
    plan, records = merged.run.plan, merged.run.view.records
    graded = sum(trial.key in records and records[trial.key].graded for trial in plan.trials)
    print(f"{options.out}: {len(plan.trials)} trials planned, {graded} of them with a score")
    return 0
