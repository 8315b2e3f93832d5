"""``agentbench skills``: what agents authored, and what speaks against a skill."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_agentbench.text import escape

if TYPE_CHECKING:
    from pytest_agentbench.skills.library import Library

_WIDTH = 160


def add(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser("skills", help="list, show, disable and check skills")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listed = actions.add_parser("list", help="what a library holds, and where it comes from")
    listed.add_argument("library", type=Path, help="folder of a library, or of a run")
    listed.set_defaults(run=_list)
    for name, run, told in (
        ("show", _show, "one skill whole"),
        ("disable", _disable, "let no agent be given a skill"),
        ("enable", _enable, "let agents be given it again"),
    ):
        one = actions.add_parser(name, help=told)
        one.add_argument("library", type=Path, help="folder of a library, or of a run")
        one.add_argument("skill", help="its id, or the beginning of it")
        if name == "disable":
            one.add_argument("--reason", required=True, help="kept beside the skill")
        one.set_defaults(run=run)
    check = actions.add_parser("check", help="form, size, secrets and dangerous commands")
    check.add_argument("skill", type=Path, help="folder with SKILL.md")
    check.set_defaults(run=_check)


def _list(options: argparse.Namespace) -> int:
    from pytest_agentbench.report.table import table
    from pytest_agentbench.skills.library import LibraryError

    try:
        entries = _library(options.library).entries()
    except LibraryError as error:
        return _refuse(error)
    if not entries:
        return _refuse(
            f"{options.library} holds no skills; runs with --mode=preskill or --mode=postskill "
            "make them"
        )
    rows = [
        (
            f"{entry.id}  {escape(entry.skill.name, 64)}",
            (
                *map(escape, (entry.scenario, entry.runtime, entry.model or "–", entry.mode)),
                "–" if entry.score is None else f"{entry.score:.3f}",
                escape(entry.disabled, 40) or "no",
            ),
        )
        for entry in entries
    ]
    heads = ("scenario", "runtime", "model", "mode", "score", "disabled")
    print("\n".join(table("skill", heads, rows, _WIDTH)))
    return 0


def _show(options: argparse.Namespace) -> int:
    from pytest_agentbench.skills.contents import files
    from pytest_agentbench.skills.library import LibraryError
    from pytest_agentbench.skills.safety import findings

    try:
        entry = _library(options.library).entry(options.skill)
    except LibraryError as error:
        return _refuse(error)
    when = datetime.fromtimestamp(entry.created, UTC).strftime("%Y-%m-%d %H:%M UTC")
    facts = {
        "skill": f"{entry.skill.name}, {entry.skill.files} files, {entry.skill.bytes:,} bytes",
        "sha256": entry.skill.sha256,
        "authored": f"{when} on {entry.scenario}[{entry.mode}], phase {entry.phase}, "
        f"trial {entry.index}",
        "by": f"{entry.runtime} {entry.runtime_version} with {entry.model or 'no model'}",
        "trial": entry.key,
        "score": "none" if entry.score is None else f"{entry.score:.3f}",
        "disabled": entry.disabled or "no",
        "deviations": "; ".join(entry.skill.deviations) or "none",
        "findings": "; ".join(findings(entry.folder)) or "none",
    }
    for name, text in facts.items():
        print(f"{name:11} {escape(text, 2000)}")
    for name in files(entry.folder):
        print(f"\n--- {escape(name)}")
        text = (entry.folder / name).read_bytes().decode("utf-8", "replace")
        print("\n".join(escape(line, 500) for line in text.splitlines()))
    return 0


def _disable(options: argparse.Namespace) -> int:
    return _set(options, options.reason)


def _enable(options: argparse.Namespace) -> int:
    return _set(options, "")


def _set(options: argparse.Namespace, reason: str) -> int:
    from pytest_agentbench.skills.library import LibraryError

    try:
        entry = _library(options.library).disable(options.skill, reason)
    except LibraryError as error:
        return _refuse(error)
    except OSError as error:
        return _refuse(f"{options.library} cannot be written to: {error.strerror}")
    print(f"{entry.id} is {'disabled' if reason else 'enabled'}")
    return 0


def _check(options: argparse.Namespace) -> int:
    from pytest_agentbench.skills.form import SKILL, deviations, read_skill
    from pytest_agentbench.skills.safety import findings

    file = options.skill / SKILL
    if not file.is_file():
        return _refuse(f"{options.skill} has no {SKILL}; give the folder of a skill")
    found = findings(options.skill)
    for told in found:
        print(f"finding: {told}")
    for told in deviations(read_skill(file.read_bytes()), options.skill.resolve().name):
        print(f"deviation: {told}")
    if not found:
        print(f"{options.skill.name}: nothing speaks against it")
    return 1 if found else 0


def _library(folder: Path) -> Library:
    """That of a run, where a run's folder is given. Raises ``LibraryError`` where there is none."""
    from pytest_agentbench.skills.library import Library, LibraryError

    if not folder.is_dir():
        raise LibraryError(f"{folder} {'is no folder' if folder.exists() else 'does not exist'}")
    return Library(folder / "skills" if (folder / "plan.json").is_file() else folder)


def _refuse(problem: object) -> int:
    print(f"agentbench skills: {problem}")
    return 2
