"""Some of the hostile agents in each local sandbox; ``make hostile`` plays all, as every user."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hostile.agents import AGENTS
from tests.hostile.stage import outward
from tests.hostile.table import SANDBOXES, play
from tests.sandboxed import USERS

PROJECT = "scenario, checker, solution, ledger, home folder, another workspace, "
PROJECT += "project in an install folder"
#: What no isolation means.
OPEN = {
    "reads what is not its own": (f"read: {PROJECT}, environment of another process",),
    "writes into what is not its own": (f"changed: {PROJECT}",),
    "connects out": ("reached: a network address, an abstract socket, loopback",),
    "reaches another trial's gateway": ("reached: another trial's gateway",),
    "links out": (f"read: {PROJECT}",),
}
SURVIVE = ("daemon, and exits", "throws its environment away", "re-forks for ever")
MISSES = {
    "bwrap": {},
    "unshare": {},
    "subreaper": OPEN,
    "none": {
        **OPEN,
        **dict.fromkeys(SURVIVE, ("survivor",)),
        "fills the disk": ("no limit: workspace",),
    },
}
QUICK = (
    *("ignores TERM", *SURVIVE, "holds stdout open", "fills the disk", "FIFOs and sockets"),
    *OPEN,
)


@pytest.mark.parametrize(
    ("name", "who"), [(name, USERS[n % 2 - 1]) for n, name in enumerate(SANDBOXES)]
)
def test_what_each_sandbox_lets_an_agent_do(name: str, who: str) -> None:
    got = {cell.agent: cell.misses for cell in play(name, who, QUICK)}
    misses = {agent: MISSES[name].get(agent, ()) for agent in QUICK}
    if not outward():
        misses["connects out"] = tuple(
            miss.replace("a network address, ", "") for miss in misses["connects out"]
        )
    assert got == misses


def test_the_page_shows_the_whole_table() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "sandboxes.md").read_text("utf-8")
    table = page.partition("<!-- make hostile -->\n")[2].partition("<!-- end -->")[0]
    head, _, *rows = (line.split(" | ") for line in table.strip().splitlines())
    assert head == ["| agent", *(f"`{name}`" for name in SANDBOXES[:-1]), "`none` |"]
    assert [row[0].removeprefix("| ") for row in rows] == list(AGENTS)
    for column, name in enumerate(SANDBOXES, 1):
        for agent in QUICK:
            cell = next(row for row in rows if row[0] == f"| {agent}")[column].removesuffix(" |")
            assert cell == ("; ".join(MISSES[name].get(agent, ())) or "ok"), (agent, name)
