"""Hostile agents in every sandbox, as root and as an ordinary user: what each got away with.

    python -m tests.hostile.table [--sandbox NAME]... [--agent NAME]...

Prints a table in Markdown. The exit code is 1 when a sandbox that promises all misses something.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_agentbench.sandbox.registry import SandboxUnavailable, choose
from tests.hostile.agents import AGENTS
from tests.hostile.stage import Cell
from tests.sandboxed import USERS, Sandboxed, sandboxed

SANDBOXES = ("bwrap", "unshare", "subreaper", "none")
#: Those that let an agent get away with nothing.
STRONG = ("bwrap", "unshare", "docker")
HERE = Path(__file__).parent
#: How often an agent is played again whose verdict alone was late, as on a busy machine.
AGAIN = 2


def play(sandbox: str, who: str, names: Sequence[str]) -> Iterator[Cell]:
    """A cell for each agent."""
    with sandboxed(sandbox, who) as box:
        if box.package == box.root / "package":
            copy = box.package / "tests" / "hostile"
            shutil.copytree(HERE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        stage: subprocess.Popen[str] | None = None
        for name in names:
            for _ in range(AGAIN + 1):
                if stage is None:
                    stage = start(box)
                cell = answer(stage, name)
                if cell is None:
                    stage = None
                    cell = Cell(agent=name, misses=("killed the harness",))
                if cell.misses != ("verdict too late",):
                    break
            yield cell
        # Of a stage that was killed, the next one ends what is left.
        (stage or start(box)).communicate()


def start(box: Sandboxed) -> subprocess.Popen[str]:
    source = "import sys; from pathlib import Path; from tests.hostile.stage import main; "
    source += f"main({box.name!r}, Path({str(box.root)!r}))"
    env = {**box.environment, "MARK": "x"}
    if "DOCKER_HOST" in os.environ:
        env["DOCKER_HOST"] = os.environ["DOCKER_HOST"]
    stage = subprocess.Popen(
        box.start(source),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=env,
        cwd="/",
        text=True,
    )
    assert stage.stdout is not None
    if stage.stdout.readline() != "up\n":
        stage.communicate()
        raise SystemExit(f"the stage did not start in {box.name} as {box.who}")
    return stage


def answer(stage: subprocess.Popen[str], name: str) -> Cell | None:
    """None when the stage is no more."""
    assert stage.stdin is not None
    assert stage.stdout is not None
    print(name, file=stage.stdin, flush=True)
    line = stage.stdout.readline()
    if not line:
        stage.communicate()
        return None
    found = json.loads(line)
    return Cell(**found | {"misses": tuple(found["misses"])})


def shown(cells: Sequence[Cell]) -> str:
    """The cells of one agent in one sandbox, for each user."""
    texts = ["; ".join(cell.misses) or "ok" for cell in cells]
    if len(set(texts)) == 1:
        return texts[0]
    return ". ".join(f"{who}: {text}" for who, text in zip(USERS, texts, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sandbox", action="append", default=[])
    parser.add_argument("--agent", action="append", default=[], choices=tuple(AGENTS))
    asked = parser.parse_args()
    names = asked.agent or list(AGENTS)
    sandboxes = asked.sandbox or [*SANDBOXES, *docker()]
    broken: list[str] = []
    rows: dict[str, list[str]] = {name: [] for name in names}
    for sandbox in sandboxes:
        users = USERS if sandbox != "docker" else USERS[:1]
        columns = []
        for who in users:
            columns.append([])
            for cell in play(sandbox, who, names):
                word = "; ".join(cell.misses) or "ok"
                line = f"{sandbox}, {who}: {cell.agent}: {cell.verdict}, {cell.seconds} s: {word}"
                print(line, file=sys.stderr, flush=True)
                columns[-1].append(cell)
                if cell.misses and sandbox in STRONG:
                    broken.append(f"{sandbox} as {who}: {cell.agent}: {word}")
        for cells in zip(*columns, strict=True):
            rows[cells[0].agent].append(shown(cells))
    print("| agent |", " | ".join(f"`{sandbox}`" for sandbox in sandboxes), "|")
    print("|---|" + "---|" * len(sandboxes))
    for name, cells in rows.items():
        print(f"| {name} |", " | ".join(cells), "|")
    for line in broken:
        print(f"MISSED by {line}", file=sys.stderr)
    return bool(broken)


def docker() -> list[str]:
    """Docker where there is an engine for it."""
    try:
        choose("docker")
    except SandboxUnavailable:
        return []
    return ["docker"]


if __name__ == "__main__":
    sys.exit(main())
