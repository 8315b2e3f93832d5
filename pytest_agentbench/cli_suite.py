"""``agentbench freeze``, ``verify`` and ``suite``: suites that stay what they were."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_agentbench.scenario.selector import Frozen, Selector


def add(commands: Any) -> None:
    """Add the subcommands."""
    freeze = commands.add_parser("freeze", help="write a selector: scenarios, and what they are")
    freeze.add_argument("paths", nargs="+", type=Path, metavar="PATH", help=_PATHS)
    freeze.add_argument("--name", required=True, help="of the suite; a row says it")
    freeze.add_argument("-o", "--output", required=True, type=Path, metavar="FILE")
    freeze.set_defaults(run=run_freeze)
    verify = commands.add_parser("verify", help="see whether a suite is as it was frozen")
    verify.add_argument("selector", type=Path, metavar="FILE")
    verify.add_argument("paths", nargs="+", type=Path, metavar="PATH", help=_PATHS)
    verify.set_defaults(run=run_verify)
    suite = commands.add_parser("suite", help="change a frozen suite, with a reason on record")
    actions = suite.add_subparsers(dest="action", required=True)
    for action, does in (
        ("repair", "take a changed scenario for the frozen one"),
        ("retire", "take a scenario out"),
    ):
        parser = actions.add_parser(action, help=does)
        parser.add_argument("selector", type=Path, metavar="FILE")
        parser.add_argument("id", metavar="ID", help="of the scenario")
        parser.add_argument("--reason", required=True)
        parser.add_argument(
            "--runs", nargs="*", type=Path, default=[], metavar="DIR", help="whose rows it affects"
        )
        parser.set_defaults(run=run_suite)
        if action == "repair":
            parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help=_PATHS)


_PATHS = "scenario files, or folders of them"


def run_freeze(options: argparse.Namespace) -> int:
    from pytest_agentbench.scenario.selector import SelectorError, freeze, write_selector

    try:
        selector = freeze(options.name, _found(options.paths))
        write_selector(options.output, selector)
    except (SelectorError, OSError) as error:
        print(f"agentbench freeze: {error}")
        return 2
    print(f"{options.output}: {selector.name}, {len(selector.scenarios)} scenarios")
    return 0


def run_verify(options: argparse.Namespace) -> int:
    from pytest_agentbench.scenario.selector import SelectorError, check, read_selector

    try:
        selector = read_selector(options.selector)
        found = {each.id: each.parts for each in _found(options.paths)}
    except SelectorError as error:
        print(f"agentbench verify: {error}")
        return 2
    problems = check(selector, found)
    for problem in problems:
        print(problem)
    active = selector.active
    beside = len(set(found) - set(active))
    print(
        f"{selector.name}: {len(active)} scenarios, {len(problems)} not as they were frozen"
        + (f"; {beside} more are no part of it" if beside else "")
    )
    return 1 if problems else 0


def run_suite(options: argparse.Namespace) -> int:
    import time

    from pytest_agentbench.report.run import RunError
    from pytest_agentbench.scenario.selector import SelectorError, read_selector, write_selector

    day = time.strftime("%Y-%m-%d", time.gmtime())
    try:
        selector = read_selector(options.selector)
        selector.one(options.id)
        rows = _affected(selector, options.id, options.runs)
        said = {"reason": options.reason, "day": day, "rows": rows}
        if options.action == "retire":
            changed = selector.retired(options.id, **said)
        else:
            now = [each for each in _found(options.paths) if each.id == options.id]
            if not now:
                raise SelectorError(f"{options.id} is not among the scenarios of those paths")
            changed = selector.repaired(now[0], **said)
        write_selector(options.selector, changed)
    except (SelectorError, RunError, OSError) as error:
        print(f"agentbench suite {options.action}: {error}")
        return 2
    done = "repaired" if options.action == "repair" else "retired"
    print(f"{options.id}: {done}; {len(rows)} rows were made before")
    for row in rows:
        print(f"  {row}")
    return 0


def _found(paths: Sequence[Path]) -> Iterator[Frozen]:
    from pytest_agentbench.cli import scenario_files
    from pytest_agentbench.scenario.load import load
    from pytest_agentbench.scenario.lock import lock
    from pytest_agentbench.scenario.model import ScenarioError
    from pytest_agentbench.scenario.selector import PARTS, Frozen, SelectorError

    for path in scenario_files(paths):
        try:
            scenario = load(path)
            parts = lock(scenario)
        except (ScenarioError, OSError) as error:
            raise SelectorError(str(error)) from None
        root = next((p for p in paths if path.is_relative_to(p) and p.is_dir()), path.parent)
        yield Frozen(
            id=scenario.id,
            file=path.relative_to(root).as_posix(),
            parts={part: parts[part] for part in PARTS},
        )


def _affected(selector: Selector, id: str, runs: Sequence[Path]) -> list[str]:  # noqa: A002
    """Rows with a result of the scenario as it was frozen."""
    from pytest_agentbench.report.run import read_run

    parts = selector.one(id).parts
    rows = []
    for folder in runs:
        for record in read_run(folder).view.records.values():
            same = all(record.lock.get(part) == value for part, value in parts.items())
            if record.scenario.id == id and record.graded and same:
                who = " · ".join(filter(None, (record.runtime, record.model, record.mode)))
                rows.append(f"{folder.name}: {who}")
    return list(dict.fromkeys(rows))
