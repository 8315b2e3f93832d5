"""``agentbench conformance``: which runtimes there are to test, and what the suite found of them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """Add the subcommand."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "conformance", help="what the suite pytest_agentbench.conformance found of runtimes"
    )
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("installed", help="print the adapters whose runtimes are installed here")
    table = actions.add_parser("table", help="print results as tables of markdown")
    table.add_argument("paths", nargs="+", type=Path, help="results, or folders of them")
    table.add_argument("--into", type=Path, metavar="PAGE", help="write them into a page instead")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0, or 2 for wrong usage."""
    if options.action == "installed":
        for name in installed():
            print(name)
        return 0
    from pytest_agentbench.conformance import table
    from pytest_agentbench.conformance.result import ResultError

    try:
        text = table.results(table.gathered(options.paths))
        if options.into is None:
            print(text)
        else:
            page = options.into.read_text("utf-8")
            options.into.write_text(table.put(page, text), "utf-8")
    except ResultError as error:
        print(f"agentbench conformance: {error}")
        return 2
    except OSError as error:
        print(f"agentbench conformance: cannot use {options.into}: {error.strerror}")
        return 2
    return 0


def installed() -> Iterator[str]:
    """Adapters of runtimes that come as a package, are here, and reach their model through us."""
    from pytest_agentbench.runtimes.protocol import RuntimeUnavailable
    from pytest_agentbench.runtimes.registry import ADAPTERS
    from pytest_agentbench.trial import ProfileError, RuntimeProfile

    for name, make in ADAPTERS.items():
        try:
            runtime = make(RuntimeProfile(name=name, adapter=name))
            if hasattr(runtime, "package") and runtime.probe().endpoint:
                yield name
        except (ProfileError, RuntimeUnavailable):
            continue
