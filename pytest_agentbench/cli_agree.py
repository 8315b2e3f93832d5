"""``agentbench agree``: how far judges agree on the same trials."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """Add the subcommand."""
    agree = commands.add_parser(
        "agree", help="say how far judges agree: of one run, or of a run and its regrades"
    )
    agree.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="folders of runs")
    agree.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from pytest_agentbench.report.concord import concord
    from pytest_agentbench.report.concord_text import render
    from pytest_agentbench.report.run import RunError
    from pytest_agentbench.scoring.agreement import NotInstalled

    try:
        for line in render(concord(options.runs)):
            print(line)
    except (RunError, NotInstalled) as error:
        print(f"agentbench agree: {error}", file=sys.stderr)
        return 2
    return 0
