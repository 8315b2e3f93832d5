"""``agentbench calibrate``: how often a judge is right about labelled deliverables."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_agentbench.cli_regrade import add_judges, asked_jury, sitting
from pytest_agentbench.text import escape

if TYPE_CHECKING:
    from pytest_agentbench.grading.judging.calibration import Calibration

#: Mistakes that are told one by one.
_NAMED = 20


def add(commands: Any) -> None:
    """Add the subcommand."""
    calibrate = commands.add_parser("calibrate", help="try judges on labelled deliverables")
    calibrate.add_argument(
        "paths",
        nargs="*",
        type=Path,
        default=[Path("scenarios")],
        metavar="PATH",
        help="files ID.calibration.yaml, or folders of them (default: scenarios)",
    )
    add_judges(calibrate)
    calibrate.add_argument(
        "--floor", type=float, metavar="SHARE", help="least share of right verdicts (0.8)"
    )
    calibrate.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="where results go (calibration)"
    )
    calibrate.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0, 1 for a judge below the floor, 2 for wrong usage."""
    from pytest_agentbench.grading.judging.calibration import FLOOR, FOLDER, calibrate, place
    from pytest_agentbench.options import SettingsError
    from pytest_agentbench.scenario.labelled import ENDING, labelled
    from pytest_agentbench.scenario.model import ScenarioError
    from pytest_agentbench.scoring.agreement import NotInstalled
    from pytest_agentbench.status import TrialFault
    from pytest_agentbench.trial import ProfileError

    floor = FLOOR if options.floor is None else options.floor
    into: Path = options.output or Path(FOLDER)
    good = True
    try:
        if not 0 <= floor <= 1:
            raise SettingsError(f"--floor must be a share from 0 to 1, not {floor:g}")
        files = list(_files(options.paths, ENDING))
        if not files:
            where = ", ".join(map(str, options.paths))
            raise SettingsError(f"no file *{ENDING} under {where}")
        jury = asked_jury(options)
        with sitting(jury, None) as judges:
            assert judges.panel is not None
            for found in calibrate(judges.panel, map(labelled, files), floor, lambda text: None):
                into.mkdir(parents=True, exist_ok=True)
                target = place(into, found.judge)
                target.write_text(json.dumps(found.to_json(), indent=1) + "\n", "utf-8")
                print("\n".join(lines(found)))
                print(f"kept in {target}")
                good &= found.enough
    except (SettingsError, ProfileError, ScenarioError, TrialFault, NotInstalled) as error:
        print(f"agentbench calibrate: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"agentbench calibrate: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    return 0 if good else 1


def lines(found: Calibration) -> Iterator[str]:
    """The result for people."""
    from pytest_agentbench.report.concord_text import agreed

    verdict = "good enough for a gate" if found.enough else "below the floor: no gate goes by it"
    yield (
        f"{escape(found.judge)}: right on {found.share}, balanced {_percent(found.balanced)}, {verdict} "
        f"(floor {found.floor:.0%}); {found.unanswered} without a verdict"
    )
    for name, title in (
        ("label", "label"),
        ("sort", "deliverable"),
        ("category", "category"),
        ("criterion", "criterion"),
    ):
        yield f"  by {title}"
        shares = found.by(name)
        width = max(map(len, shares), default=0)
        yield from (
            f"    {value:<{width}}  {share}" for value, share in shares.items() if share.labels
        )
    yield f"  labellers: {agreed(found.labellers)}"
    wrong = [each for each in found.findings if each.counts and not each.right]
    for each in wrong[:_NAMED]:
        yield (
            f"  ✗ {each.scenario}/{each.case} {each.criterion}: {each.judged or 'no verdict'}, "
            f"labelled {each.label}: {escape(each.reason, 200)}"
        )
    if len(wrong) > _NAMED:
        yield f"  … and {len(wrong) - _NAMED} more"


def _percent(value: float | None) -> str:
    return "?" if value is None else f"{value:.0%}"


def _files(paths: Sequence[Path], ending: str) -> Iterator[Path]:
    for path in paths:
        yield from sorted(path.rglob(f"*{ending}")) if path.is_dir() else (path,)
