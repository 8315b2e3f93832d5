"""``agentbench audit``: what of a run or a suite should not be published."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser("audit", help="look for secrets and names before publishing")
    parser.add_argument("path", type=Path, metavar="PATH", help="run folder, suite, or one file")
    parser.add_argument(
        "--allow",
        metavar="GLOB",
        action="append",
        default=[],
        help="paths below PATH whose findings may stay, for example 'fixtures/*'",
    )
    parser.set_defaults(run=run_audit)


def run_audit(options: argparse.Namespace) -> int:
    from pytest_agentbench.audit import audit
    from pytest_agentbench.redaction import Redactor

    try:
        done = audit(options.path, Redactor.here(), tuple(options.allow))
    except OSError as error:
        print(f"agentbench audit: {options.path}: {error.strerror}")
        return 2
    for finding in done.findings:
        print(finding)
    allowed = f", {done.allowed} allowed" if done.allowed else ""
    print(f"{done.files} files looked at, {len(done.findings)} findings{allowed}")
    if done.findings:
        print(
            "remove them, or allow synthetic ones with --allow GLOB; what a run keeps is free of "
            "the secrets that were in the environment of its pytest"
        )
    return 1 if done.findings else 0
