"""``agentbench doctor``."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_agentbench.doctor import Doctor
    from pytest_agentbench.sandbox.registry import Choice
    from pytest_agentbench.tool_table import Table
    from pytest_agentbench.trial import RuntimeProfile


def add(commands: Any) -> None:
    """Add the subcommand."""
    doctor = commands.add_parser("doctor", help="say which runtimes can be used here")
    doctor.add_argument(
        "names",
        nargs="*",
        metavar="RUNTIME",
        help="profiles, adapters, or adapter@version (default: all there are)",
    )
    doctor.add_argument(
        "--try",
        dest="tries",
        action=argparse.BooleanOptionalAction,
        help="have each do one scripted trial (default: those that are named)",
    )
    doctor.add_argument("--sandbox", metavar="NAME", help="where the trial runs (default: auto)")
    doctor.add_argument("--json", action="store_true", help="print JSON")
    doctor.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0 if all that is asked for can be used, 1 if not, 2 for wrong usage."""
    from pytest_agentbench.options import SettingsError
    from pytest_agentbench.runtimes.registry import ADAPTERS
    from pytest_agentbench.sandbox.registry import SandboxUnavailable, choose
    from pytest_agentbench.tool_table import Table

    try:
        table = Table.nearest(Path.cwd())
        profiles = _profiles(options.names, table)
        said = table.said({"sandbox": options.sandbox} if options.sandbox else {})
        sandbox = str(said.get("sandbox", "auto"))
        choice = choose(sandbox, {}, (Path.cwd(), Path.home()), where=said.where("sandbox"))
    except (SettingsError, SandboxUnavailable) as error:
        print(f"agentbench doctor: {error}")
        return 2
    tries = bool(options.names) if options.tries is None else options.tries
    with _doctor(choice, tries=tries) as doctor:
        findings = [doctor.examine(profile, ADAPTERS[profile.adapter]) for profile in profiles]
    if options.json:
        import json

        from pytest_agentbench.plain import plain

        found = [
            {**plain(finding), "usable": finding.usable, "tried": _tried(finding.tried)}
            for finding in findings
        ]
        chosen = {"name": choice.name, "reason": choice.reason}
        print(json.dumps({"sandbox": chosen, "runtimes": found}, indent=2))
    else:
        from pytest_agentbench.doctor_text import render

        for line in render(findings, f"{choice.name} ({choice.reason})"):
            print(line)
    # Nobody asked for an adapter that merely exists.
    asked = [each for each in findings if options.names or each.name in table.runtimes]
    return 0 if all(finding.usable for finding in asked) else 1


def _profiles(names: Sequence[str], table: Table) -> list[RuntimeProfile]:
    from pytest_agentbench.profiles import runtime_profile
    from pytest_agentbench.runtimes.registry import ADAPTERS

    asked = names or [*ADAPTERS, *(name for name in table.runtimes if name not in ADAPTERS)]
    return [runtime_profile(name, table, sorted(ADAPTERS), where="runtime") for name in asked]


@contextlib.contextmanager
def _doctor(choice: Choice, *, tries: bool) -> Iterator[Doctor]:
    from pytest_agentbench.doctor import Doctor, Trials

    if not tries:
        yield Doctor()
        return
    from pytest_agentbench.gateway.client import gateway
    from pytest_agentbench.grading.client import CheckerServer

    with CheckerServer() as server, gateway() as models:
        sandbox = choice.make()
        try:
            yield Doctor(Trials(sandbox, server, models))
        finally:
            sandbox.close()


def _tried(tried: Any) -> Any:
    from pytest_agentbench.plain import plain

    return None if tried is None else {**plain(tried), "same_usage": tried.same_usage}
