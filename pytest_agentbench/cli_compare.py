"""``agentbench compare``: two runs, row by row and paired by scenario."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_agentbench.report.verdict import Verdict
    from pytest_agentbench.rules import Rules

FORMATS = ("text", "json", "md")


def add(commands: Any) -> None:
    """Add the subcommand."""
    compare = commands.add_parser(
        "compare", help="compare two runs: what changed, and whether that can be chance"
    )
    run = "folder of the {} run, or a file in it"
    compare.add_argument("before", type=Path, metavar="A", help=run.format("earlier"))
    compare.add_argument("after", type=Path, metavar="B", help=run.format("later"))
    compare.add_argument(
        "--rules",
        type=Path,
        metavar="FILE",
        help="a pyproject.toml whose [tool.agentbench.gate] applies; options go before it",
    )
    number: dict[str, Any] = {"type": float, "metavar": "X"}
    compare.add_argument(
        "--allowed-drop", **number, help="drop of the score in [0, 1] that is no regression (0)"
    )
    compare.add_argument(
        "--detect-drop",
        **number,
        help="drop that should be detected, or ruled out (the allowed one and 0.05)",
    )
    compare.add_argument(
        "--level", **number, help="share of comparisons without a change that may alarm (0.05)"
    )
    compare.add_argument(
        "--inconclusive",
        metavar="WHAT",
        help="exit code where nothing can be told: pass (0, the default), fail (1) or 10",
    )
    compare.add_argument("--format", choices=FORMATS, default="text", help="text is the default")
    compare.set_defaults(run=run_compare)


def run_compare(options: argparse.Namespace) -> int:
    """Exit code 0, 1 for a regression, 10 where asked for, 2 for runs that cannot be read."""
    from pytest_agentbench.options import SettingsError
    from pytest_agentbench.report.baseline import read_baseline
    from pytest_agentbench.report.run import RunError
    from pytest_agentbench.report.verdict import judge, utc_day

    try:
        rules = _rules(options)
        before, after = read_baseline(options.before), read_baseline(options.after)
    except (RunError, SettingsError) as error:
        print(f"agentbench compare: {error}")
        return 2
    verdict = judge(before, after, rules, today=utc_day())
    print(_shown(verdict, options.format), end="")
    return verdict.exit_code


def _rules(options: argparse.Namespace) -> Rules:
    import dataclasses

    from pytest_agentbench import rules
    from pytest_agentbench.options import SettingsError
    from pytest_agentbench.tool_table import Table

    if options.rules and not options.rules.is_file():
        raise SettingsError(f"--rules: {options.rules} is no file; give a pyproject.toml")
    table = Table.read(options.rules) if options.rules else Table()
    found = table.rules
    given: dict[str, Any] = {}
    for name in ("allowed_drop", "detect_drop"):
        if getattr(options, name) is not None:
            option = "--" + name.replace("_", "-")
            given[name] = rules.share(getattr(options, name), option)
    if options.level is not None:
        given["level"] = rules.level(options.level, "--level")
    if options.inconclusive is not None:
        given["inconclusive"] = rules.inconclusive(options.inconclusive, "--inconclusive")
    detect = "detect_drop" in given or "detect_drop" in table.gate
    return rules.with_drops(dataclasses.replace(found, **given), detect=detect)


def _shown(verdict: Verdict, form: str) -> str:
    if form == "json":
        import json

        from pytest_agentbench.report.comparison_json import build

        return json.dumps(build(verdict), indent=2, sort_keys=True, allow_nan=False) + "\n"
    if form == "md":
        from pytest_agentbench.report.comparison_md import markdown

        return markdown(verdict)
    import shutil

    from pytest_agentbench.report.comparison_text import render

    width = max(60, min(140, shutil.get_terminal_size((100, 24)).columns))
    return "\n".join(render(verdict, width=width)) + "\n"
