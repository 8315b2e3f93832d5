"""``agentbench show`` and ``agentbench shell``: one trial of a run, looked at."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_KEY = "the beginning of a trial's key, its id (scenario[runtime-mode-t1]) or its pytest id"


def add(commands: Any) -> None:
    """Add the subcommands."""
    show = commands.add_parser("show", help="print one trial: prompt, timeline, checks, usage")
    shell = commands.add_parser(
        "shell",
        help="open a shell in the kept workspace of a trial",
        usage="%(prog)s [-h] [--sandbox NAME] RUN KEY [-- ARGV ...]",
        epilog="ARGV is run instead of an interactive shell",
    )
    for parser in (show, shell):
        parser.add_argument("run_dir", type=Path, metavar="RUN", help="folder of a run")
        parser.add_argument("key", metavar="KEY", help=_KEY)
    show.add_argument("--json", action="store_true", help="print JSON")
    show.set_defaults(run=run_show)
    shell.add_argument("--sandbox", metavar="NAME", help="another sandbox than the trial's")
    shell.set_defaults(run=run_shell)


def cut(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The command line, and what ``shell`` is to run.

    argparse would take options of ours for its end, and those of the command for ours.
    """
    if words[:1] != ["shell"] or "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]


def run_show(options: argparse.Namespace) -> int:
    from pytest_agentbench.report.ledger import LedgerError
    from pytest_agentbench.report.plan import PlanError
    from pytest_agentbench.report.trial_text import render
    from pytest_agentbench.report.trial_view import NoSuchTrial, view

    try:
        found = view(options.run_dir, options.key)
    except (NoSuchTrial, PlanError, LedgerError) as error:
        print(f"agentbench show: {error}")
        return 2
    if options.json:
        import json

        print(json.dumps(found.to_json(), indent=2))
    else:
        for line in render(found):
            print(line)
    return 0


def run_shell(options: argparse.Namespace) -> int:
    from pytest_agentbench.report.ledger import LedgerError
    from pytest_agentbench.report.plan import PlanError
    from pytest_agentbench.report.trial_view import NoSuchTrial, view
    from pytest_agentbench.sandbox.registry import SandboxUnavailable
    from pytest_agentbench.shell import NoWorkspace, open_shell
    from pytest_agentbench.status import TrialFault

    try:
        found = view(options.run_dir, options.key)
        return open_shell(found, options.argv, sandbox=options.sandbox or "")
    except (
        *(NoSuchTrial, PlanError, LedgerError),
        *(NoWorkspace, SandboxUnavailable, TrialFault),
    ) as error:
        print(f"agentbench shell: {error}")
        return 2
