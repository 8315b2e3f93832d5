"""The ``agentbench`` command: what is done with scenarios and runs outside of pytest."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_agentbench import (
    cli_agree,
    cli_audit,
    cli_calibrate,
    cli_compare,
    cli_conformance,
    cli_doctor,
    cli_import,
    cli_inventory,
    cli_merge,
    cli_regrade,
    cli_report,
    cli_rubric,
    cli_sets,
    cli_skills,
    cli_suite,
    cli_trial,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand; returns the exit code (0 good, 1 findings, 2 wrong usage)."""
    parser = argparse.ArgumentParser(prog="agentbench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    lint = commands.add_parser("lint", help="prove that scenarios measure something")
    lint.add_argument("paths", nargs="+", type=Path, help="scenario files or folders of them")
    lint.add_argument("-q", "--quiet", action="store_true", help="print findings only")
    image = commands.add_parser("image", help="build and list images of the Docker sandbox")
    images = image.add_subparsers(dest="action", required=True)
    build = images.add_parser("build", help="build an image; nothing is pulled")
    build.add_argument(
        "image", metavar="NAME|PATH", help="docker/NAME/Dockerfile, a Dockerfile, its folder; base"
    )
    build.add_argument(
        "--network", default="none", help="of the steps of a Dockerfile (default: none)"
    )
    images.add_parser("list", help="the images that were built here")
    cli_agree.add(commands)
    cli_audit.add(commands)
    cli_calibrate.add(commands)
    cli_compare.add(commands)
    cli_conformance.add(commands)
    cli_doctor.add(commands)
    cli_import.add(commands)
    cli_inventory.add(commands)
    cli_merge.add(commands)
    cli_regrade.add(commands)
    cli_report.add(commands)
    cli_rubric.add(commands)
    cli_sets.add(commands)
    cli_skills.add(commands)
    cli_suite.add(commands)
    cli_trial.add(commands)
    words, command = cli_trial.cut(sys.argv[1:] if argv is None else list(argv))
    options = parser.parse_args(words, argparse.Namespace(argv=command))
    if "run" in options:
        code: int = options.run(options)
        return code
    if options.command == "lint":
        return run_lint(options.paths, quiet=options.quiet)
    if options.command == "image":
        if options.action == "list":
            return run_image_list()
        return run_image_build(options.image, network=options.network)
    raise AssertionError(options.command)


def run_lint(paths: Sequence[Path], *, quiet: bool) -> int:
    from pytest_agentbench.grading.client import CheckerServer
    from pytest_agentbench.lint import Linter
    from pytest_agentbench.lint_skills import missing
    from pytest_agentbench.sandbox import registry
    from pytest_agentbench.scenario.load import load
    from pytest_agentbench.scenario.model import Scenario, ScenarioError
    from pytest_agentbench.scenario.rubric_file import strays

    if gone := [str(path) for path in paths if not path.exists()]:
        print(f"agentbench lint: {', '.join(gone)}: does not exist")
        return 2
    files = list(scenario_files(paths))
    if not files:
        print(f"agentbench lint: no scenario file under {', '.join(map(str, paths))}")
        return 2
    bad = 0
    loaded: dict[Path, Scenario | ScenarioError] = {}
    for path in files:
        try:
            loaded[path] = load(path)
        except ScenarioError as error:
            loaded[path] = error
    others = [each for each in loaded.values() if not isinstance(each, ScenarioError)]
    taken: dict[str, Path] = {}
    sandbox = registry.choose("auto", {}).make()
    with CheckerServer() as server:
        linter = Linter(server, sandbox)
        for path, scenario in loaded.items():
            if isinstance(scenario, ScenarioError):
                found = [f"load: {scenario}"]
            else:
                found = [f"{f.rule}: {f.text}" for f in linter.lint(scenario, others)]
                if any(path.is_relative_to(root) for root in paths if root.is_dir()):
                    # A file that is named alone may have its siblings anywhere.
                    found += [f"sibling: {text}" for text in missing(scenario, others)]
                if taken.setdefault(scenario.id, path) != path:
                    found.append(f"id: {scenario.id!r} is already that of {taken[scenario.id]}")
            bad += bool(found)
            if found or not quiet:
                print(f"{path}: {'ok' if not found else f'{len(found)} findings'}")
            for text in found:
                print(f"  {text}")
    sandbox.close()
    known = {(p.parent.absolute(), getattr(s, "id", p.stem)) for p, s in loaded.items()}
    for path in (stray for root in paths if root.is_dir() for stray in strays(root, known)):
        bad += 1
        print(
            f"{path}: 1 findings\n  rubric: no scenario beside it has the id that it is named for"
        )
    print(f"{len(files)} scenarios linted, {bad} with findings")
    return 1 if bad else 0


def run_image_build(name: str, *, network: str) -> int:
    from pytest_agentbench.sandbox.image import ImageError, build, find
    from pytest_agentbench.sandbox.registry import SandboxUnavailable

    try:
        image = build(find(name, Path()), network=network)
    except (ImageError, SandboxUnavailable) as error:
        print(f"agentbench image build: {error}")
        return 2
    print(f"{image.reference}  {image.size / 1e6:.0f} MB  {image.id}")
    return 0


def run_image_list() -> int:
    from pytest_agentbench.sandbox.image import images
    from pytest_agentbench.sandbox.registry import SandboxUnavailable

    try:
        found = images()
    except SandboxUnavailable as error:
        print(f"agentbench image list: {error}")
        return 2
    for image in found:
        print(f"{image.reference}  {image.size / 1e6:.0f} MB  {image.created[:19]}  {image.id}")
    if not found:
        print("no image was built on this engine; try: agentbench image build base")
    return 0


def scenario_files(paths: Sequence[Path]) -> Iterator[Path]:
    """Files named, and in folders those that look like scenarios, sorted."""
    from pytest_agentbench.scenario.source import is_scenario

    for path in paths:
        if path.is_dir():
            yield from filter(is_scenario, sorted(path.rglob("*")))
        else:
            yield path


if __name__ == "__main__":
    sys.exit(main())
