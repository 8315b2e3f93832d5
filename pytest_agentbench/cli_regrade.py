"""``agentbench regrade``: a finished run, graded again by other judges."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pytest_agentbench.text import escape

if TYPE_CHECKING:
    from pytest_agentbench.grading.decide import Judges
    from pytest_agentbench.jury import Jury
    from pytest_agentbench.report.regrade import Again, Regrade

#: Trials that moved and are named.
_NAMED = 20


def add(commands: Any) -> None:
    """Add the subcommand."""
    regrade = commands.add_parser(
        "regrade", help="grade a finished run by other judges, from what it kept"
    )
    regrade.add_argument("run_dir", type=Path, metavar="RUN", help="folder of a run")
    add_judges(regrade)
    regrade.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="the new run (RUN-by-NAME…)"
    )
    regrade.set_defaults(run=run)


def add_judges(parser: argparse.ArgumentParser) -> None:
    """Options that say who judges, as those of a run."""
    parser.add_argument(
        "--judge", action="append", required=True, metavar="NAME", help="a model (repeatable)"
    )
    parser.add_argument("--judge-vote", metavar="RULE", help="majority (default) or mean")
    parser.add_argument("--judge-concurrency", type=int, metavar="N", help="calls at once (4)")
    parser.add_argument("--judge-cache", metavar="DIR", help="where verdicts are kept")


def asked_jury(options: argparse.Namespace) -> Jury:
    """The jury that the options ask for. Raises ``SettingsError`` and ``ProfileError``."""
    from pytest_agentbench.gateway.registry import check_model
    from pytest_agentbench.jury import KEYS, jury
    from pytest_agentbench.profiles import model_profile
    from pytest_agentbench.tool_table import Table

    table = Table.nearest(Path.cwd())
    given = {key: getattr(options, key, None) for key in KEYS}
    said = table.said({key: value for key, value in given.items() if value is not None})
    found = jury(said, lambda name: model_profile(name, table, where=said.where("judge")))
    for profile in found.profiles:
        check_model(profile, key=True)
    return found


@contextlib.contextmanager
def sitting(jury: Jury, folder: Path | None) -> Iterator[Judges]:
    """Judges that can be asked; what they say is kept in ``folder``, if the jury has none."""
    from pytest_agentbench.gateway.client import gateway
    from pytest_agentbench.grading.decide import Judges
    from pytest_agentbench.grading.judging.assembly import assemble

    with gateway() as models:
        yield Judges(panel=assemble(jury, lambda: models, folder))


def run(options: argparse.Namespace) -> int:
    """Exit code 0, 1 if a trial got no verdict, 2 for wrong usage."""
    from pytest_agentbench.options import SettingsError
    from pytest_agentbench.report.regrade import regrade
    from pytest_agentbench.report.run import RunError
    from pytest_agentbench.trial import ProfileError

    try:
        jury = asked_jury(options)
        names = quote("-".join(profile.name for profile in jury.profiles), safe="@+ ")
        run_dir: Path = options.run_dir
        into = options.output or run_dir.with_name(f"{run_dir.resolve().name}-by-{names}")
        with sitting(jury, into) as judges:
            found = regrade(run_dir, judges, into)
    except (SettingsError, ProfileError, RunError) as error:
        print(f"agentbench regrade: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"agentbench regrade: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    for line in lines(found):
        print(line)
    return 1 if any(again.after.grade is None for again in found.trials) else 0


def lines(found: Regrade) -> Iterator[str]:
    """What came of it, for people."""
    moved = [again for again in found.trials if again.moved]
    undecided = sum(again.after.grade is None for again in found.trials)
    yield (
        f"{found.folder}: {len(found.trials)} trials graded again, {len(moved)} of them otherwise; "
        f"{undecided} without a verdict; {found.others} have no part that is a judge's"
    )
    yield from (f"  {_move(again)}" for again in moved[:_NAMED])
    if len(moved) > _NAMED:
        yield f"  … and {len(moved) - _NAMED} more"
    if found.without:
        yield (
            f"{len(found.without)} trials kept nothing to judge by (run before judging.json was), "
            f"among them {escape(found.without[0])}"
        )


def _move(again: Again) -> str:
    parts = []
    for record in (again.before, again.after):
        if record.grade is None:
            parts.append(str(record.status))
            continue
        rubric = record.grade.rubric
        strict = rubric.completion_strict if rubric else None
        told = f", completion strict {strict:g}" if strict is not None else ""
        parts.append(f"score {record.grade.score:.3f}{told}")
    return f"{escape(again.before.node_id)}: {' → '.join(parts)}"
