"""``agentbench rubric``: drafts, the rules that they are held to, and two reviewers made one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_agentbench.rubric_arms import Arm
    from pytest_agentbench.rubric_draft import Draft
    from pytest_agentbench.rubric_merge import Merge
    from pytest_agentbench.scenario.model import Scenario


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    rubric = commands.add_parser("rubric", help="draft, validate and calibrate rubrics")
    actions = rubric.add_subparsers(dest="action", required=True)
    draft = actions.add_parser("draft", help="have a model draft one from two finished runs")
    draft.add_argument("scenario", type=Path, metavar="SCENARIO", help="its file")
    arm = "RUN[:KEY] of the trial {} a skill"
    draft.add_argument("--with", dest="skilled", metavar="RUN", help=arm.format("with"))
    draft.add_argument("--without", required=True, metavar="RUN", help=arm.format("without"))
    draft.add_argument("--model", required=True, metavar="NAME", help="who drafts: a model profile")
    draft.add_argument("--seconds", type=float, default=300.0, help="for one answer (300)")
    draft.add_argument("-o", "--output", type=Path, metavar="FILE", help=_OUTPUT)
    draft.set_defaults(run=run_draft)
    check = actions.add_parser("validate", help="hold a draft to every rule")
    check.add_argument("rubric", type=Path, metavar="FILE")
    check.add_argument(
        "--scenario", type=Path, metavar="SCENARIO", help="whose answers may not leak"
    )
    check.set_defaults(run=run_validate)
    calibrate = actions.add_parser("calibrate", help="merge two reviewers' versions of a draft")
    calibrate.add_argument("a", type=Path, metavar="A")
    calibrate.add_argument("b", type=Path, metavar="B")
    calibrate.add_argument("--base", type=Path, required=True, metavar="DRAFT")
    calibrate.add_argument("--resolution", type=Path, metavar="FILE", help=_RESOLUTION)
    calibrate.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    calibrate.set_defaults(run=run_calibrate)


_OUTPUT = "the draft (ID.draft.rubric.yaml here)"
_RESOLUTION = "YAML: of each disputed id a, b, drop, or the criterion written out"


def run_draft(options: argparse.Namespace) -> int:
    from pytest_agentbench.grading.judge import JudgeError
    from pytest_agentbench.grading.judging.speaking import Refused
    from pytest_agentbench.options import SettingsError
    from pytest_agentbench.rubric_arms import ArmError
    from pytest_agentbench.scenario.load import load
    from pytest_agentbench.scenario.model import ScenarioError
    from pytest_agentbench.status import TrialFault

    try:
        scenario = load(options.scenario)
        skilled = _arm(options.skilled, scenario, skilled=True) if options.skilled else None
        without = _arm(options.without, scenario, skilled=False)
        draft, spent = _drafted(options, scenario, skilled, without)
    except (ScenarioError, ArmError, SettingsError, OSError) as error:
        print(f"agentbench rubric draft: {error}", file=sys.stderr)
        return 2
    except (JudgeError, Refused, TrialFault) as error:
        print(f"agentbench rubric draft: {options.model}: {error}", file=sys.stderr)
        return 1
    output = options.output or Path(f"{scenario.id}.draft.rubric.yaml")
    if draft.problems:
        output = output.with_name(f"{output.name}.rejected")
    if draft.text:
        output.write_text(draft.text, "utf-8")
    return _told(draft, output, spent)


def _told(draft: Draft, output: Path, spent: str) -> int:
    times = f"asked {draft.asked} time{'s' * (draft.asked != 1)}, {spent}"
    if not draft.problems:
        print(f"{output}: {_counts(output)}; {times}")
        return 0
    kept = f"; the last one is in {output}" if draft.text else ""
    print(f"no draft kept every rule ({times}){kept}:")
    for problem in draft.problems:
        print(f"  {problem}")
    return 1


def _counts(path: Path) -> str:
    from pytest_agentbench.scenario.rubric import CRITERION_TYPES
    from pytest_agentbench.scenario.rubric_file import load_rubric

    rubric = load_rubric(path)
    found = [each.criterion_type for each in rubric.criteria]
    counts = [f"{found.count(sort)} {sort}" for sort in CRITERION_TYPES]
    gate = rubric.gatekeeper.id if rubric.gatekeeper else "none"
    return f"{', '.join(counts)}; gatekeeper {gate}"


def _arm(text: str, scenario: Scenario, *, skilled: bool) -> Arm:
    from pytest_agentbench.rubric_arms import arm

    folder, _, key = (
        text.rpartition(":") if not Path(text).is_dir() and ":" in text else (text, "", "")
    )
    return arm(Path(folder), scenario.id, skilled=skilled, key=key)


def _drafted(
    options: argparse.Namespace, scenario: Scenario, skilled: Arm | None, without: Arm
) -> tuple[Draft, str]:
    from pytest_agentbench.gateway.client import gateway
    from pytest_agentbench.grading.judging.speaking import Patience, say
    from pytest_agentbench.grading.judging.wire import CHAT, WIRES, Prompt
    from pytest_agentbench.profiles import model_profile
    from pytest_agentbench.rubric_draft import Drafting
    from pytest_agentbench.tool_table import Table

    profile = model_profile(options.model, Table.nearest(Path.cwd()))
    model = str(profile.options.get("model", profile.name))
    drafting = Drafting(scenario=scenario, without=without, with_skill=skilled, model=model)
    wire = WIRES.get(str(profile.options.get("provider", "")), CHAT)
    patience = Patience(seconds=options.seconds)
    with (
        gateway() as host,
        host.open_judge(profile, scenario, places=1, seconds=options.seconds) as line,
    ):

        def ask(prompt: Prompt) -> str:
            return say(line.endpoint, wire, prompt, patience).text

        draft = drafting.draft(ask)
        usage = line.report().usage
    tokens = "unknown" if usage.total_tokens is None else f"{usage.total_tokens:,}"
    cost = "" if usage.cost_usd is None else f", ${usage.cost_usd:.4f}"
    return draft, f"{tokens} tokens{cost}"


def run_validate(options: argparse.Namespace) -> int:
    from pytest_agentbench.scenario.load import load
    from pytest_agentbench.scenario.model import ScenarioError
    from pytest_agentbench.scenario.rubric_contrast import draft_problems
    from pytest_agentbench.scenario.rubric_file import load_rubric

    try:
        scenario = load(options.scenario) if options.scenario else None
        problems = draft_problems(load_rubric(options.rubric), scenario)
    except (ScenarioError, OSError) as error:
        print(f"agentbench rubric validate: {error}", file=sys.stderr)
        return 2
    for problem in problems:
        print(problem)
    told = f"{len(problems)} rules broken" if problems else f"valid; {_counts(options.rubric)}"
    print(f"{options.rubric}: {told}")
    return 1 if problems else 0


def run_calibrate(options: argparse.Namespace) -> int:
    from pytest_agentbench.rubric_merge import MergeError, merge
    from pytest_agentbench.scenario.model import ScenarioError
    from pytest_agentbench.scenario.rubric_file import load_rubric
    from pytest_agentbench.scenario.yamlfile import parse

    def read(path: Path) -> Mapping[str, Any]:
        load_rubric(path)  # only what is a rubric can be merged
        value: Mapping[str, Any] = parse(path.read_bytes(), path).value
        return value

    try:
        base, a, b = (read(path) for path in (options.base, options.a, options.b))
        said = options.resolution
        resolution = parse(said.read_bytes(), said).value if said else {}
        found = merge(base["criteria"], a["criteria"], b["criteria"], resolution)
        _print_merge(found)
        if found.open:
            return 1
        _write(options, base, found)
        print(f"{options.output}: {_counts(options.output)}")
    except (ScenarioError, MergeError, OSError) as error:
        print(f"agentbench rubric calibrate: {error}", file=sys.stderr)
        return 2
    return 0


def _print_merge(found: Merge) -> None:
    counts = ", ".join(f"{count} {word}" for word, count in found.counts().items())
    print(f"{len(found.decisions)} criteria: {counts}; agreement {found.agreement:.2f}")
    for each in found.decisions:
        if not each.agreed:
            said = found.resolved.get(each.id, "open")
            print(f"  {each.id}: A {each.a}, B {each.b}: {said}")
    if found.open:
        print("say what holds of each in a file, and give it with --resolution:")
        for name in found.open:
            print(f"  {name}: a    # or b, drop, or the criterion written out")


def _write(options: argparse.Namespace, base: Mapping[str, Any], found: Merge) -> None:
    """Write the merged rubric with how it came about, once it is found to be one."""
    import yaml

    from pytest_agentbench.rubric_merge import merged
    from pytest_agentbench.scenario.rubric_file import load_rubric

    value = merged(base, found, reviewers=(options.a.name, options.b.name))
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100)
    beside = options.output.with_name(f"{options.output.name}.new")
    beside.write_text(text, "utf-8")
    try:
        load_rubric(beside)
        beside.replace(options.output)
    finally:
        beside.unlink(missing_ok=True)
