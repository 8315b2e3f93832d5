"""Fresh isolated state: two runs in a row share nothing."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import pytest

from pytest_agentbench.conformance import tasks
from pytest_agentbench.conformance.conftest import Contract
from pytest_agentbench.conformance.rig import Rig, Seen


@dataclass(frozen=True, slots=True)
class Two:
    """A run with a secret, which it was told, wrote down and said; and the run after it."""

    secret: str
    first: Seen
    second: Seen


@pytest.fixture(scope="module")
def two(rig: Rig) -> Two:
    """The same runtime twice, for the tests of this file."""
    secret = f"secret{secrets.token_hex(8)}"
    leave = (
        f'for d in "$HOME" "$TMPDIR" .; do echo {secret} > "$d/left-{secret}"; done; echo {secret}'
    )
    first = rig.run(
        tasks.task(
            "conformance-before",
            (tasks.shell(leave), tasks.say(f"The word is {secret}.")),
            prompt=f"Remember the word {secret}.",
        )
    )
    look = tasks.shell('ls -a "$HOME" "$TMPDIR" . ..')
    after = tasks.task("conformance-after", (look, tasks.say("I know of no word.")))
    return Two(secret, first, rig.run(after, needle=secret))


@pytest.mark.clause("state.files")
def test_files(contract: Contract, two: Two) -> None:
    contract.done(two.first)
    contract.done(two.second)
    contract.holds(
        f"left-{two.secret}" not in two.second.heard.results,
        "the second run lists a file that the first had left in HOME, TMPDIR or the workspace",
    )
    contract.holds(
        not two.second.holding,
        f"what the first run was told lies among the second's files: {', '.join(two.second.holding)}",
    )


@pytest.mark.clause("state.memory")
def test_memory(contract: Contract, two: Two) -> None:
    contract.done(two.first)
    said = [m["text"] for request in two.second.heard.requests for m in request["messages"]]
    # What a command lists is not what a runtime remembers.
    listed = two.second.heard.results
    told = [text for text in said if two.secret in text and text not in listed]
    contract.holds(not told, f"a request of the second run has a word of the first: {_cut(told)}")


def _cut(texts: list[str]) -> str:
    return repr(texts[0][:200]) if texts else ""
