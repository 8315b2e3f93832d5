"""A scripted model that knows only what it is told: it does literally what skills say.

It never sees the steps of a scenario. Asked to write a skill, it writes its lesson; asked to do a
task, it reads the skills of which the runtime told it and runs the commands in their ``sh`` fences,
one a line. Without them it knows nothing, and says so.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pytest_agentbench.gateway.chat import ChatReply, ChatRequest, ToolCall
from pytest_agentbench.gateway.policies import (
    ASIDE,
    Results,
    call,
    missing,
    results_of,
    said,
    submission,
)
from pytest_agentbench.gateway.shell_lines import line
from pytest_agentbench.gateway.toolbox import Native, Toolbox
from pytest_agentbench.prefixes import folder_of, kind_of
from pytest_agentbench.scenario.model import Step

LOOK = "find . -path '*/skills/*/SKILL.md' -type f | LC_ALL=C sort"
KNOWS_NOTHING = "I do not know how this is done."
DID_AS_TOLD = "I did what the skills say."
TAUGHT = "I wrote down what I know."
NOTHING_TO_TEACH = "I have nothing to teach."
#: What it adds to a skill that it was to leave alone.
OWN_WORDS = "A line of the apprentice's own."
#: Of all skills together.
COMMANDS = 40

_ID = re.compile(r"(?:teach|look|learn|work|edit)\d{4}try1")
_FOUND = re.compile(
    r"(?:^|[\s\"'])(?:\./)?((?:[^\s\"'/]+/)*skills/([^\s\"'/]+)/SKILL\.md)\b", re.MULTILINE
)
#: How tools number the lines of a file that they show.
_NUMBERED = re.compile(r"^[ \t]*\d+(?:[ \t]*[|→\t]|:(?=[ \n]))[ \t]?", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*```sh[ \t]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Apprentice:
    """``lesson`` has the files of a skill by their paths below the folder of skills.

    ``edits`` has it add a line to each skill that it uses.
    """

    lesson: Mapping[str, str] = field(default_factory=dict)
    edits: bool = False

    async def reply(self, request: ChatRequest) -> ChatReply:
        if not request.tools:
            return said(request, ASIDE)
        work = _Work(self, request)
        text, calls = work.turn(results_of(request, _ID, lambda known: work.turn(known)[1]))
        return said(request, text, calls=calls)


class _Work:
    """What an apprentice does in the conversation that a request shows."""

    def __init__(self, apprentice: Apprentice, request: ChatRequest) -> None:
        self.apprentice = apprentice
        self.request = request
        self.tools = Toolbox(request)
        self.prompt = "\n".join(message.text for message in request.of("user"))
        self.told = "\n".join((*(m.text for m in request.of("system")), self.prompt))

    def turn(self, results: Results) -> tuple[str, tuple[ToolCall, ...]]:
        """What is said and called once there are these results."""
        teaches = kind_of(self.prompt) in ("author", "summarise")
        did = ""
        for identity, native in self._teach() if teaches else self._work(results):
            if identity not in results:
                return "", (call(identity, native),)
            did = DID_AS_TOLD if identity.startswith("work") else did
        closing = did or KNOWS_NOTHING
        if teaches:
            closing = TAUGHT if self.apprentice.lesson else NOTHING_TO_TEACH
        return closing, submission(self.request, results)

    def _teach(self) -> Iterator[tuple[str, Native]]:
        folder = folder_of(self.prompt)
        for number, (path, content) in enumerate(self.apprentice.lesson.items(), 1):
            there = f"{folder}/{path}"
            native = self.tools.write(there, content)
            yield (
                f"teach{number:04}try1",
                native or self._shell(line(Step(verb="write", path=there, content=content))),
            )

    def _work(self, results: Results) -> Iterator[tuple[str, Native]]:
        """Calls one after the other. Whoever takes the next has the result of those before."""
        if "SKILL" not in self.told.upper():
            return
        yield "look0001try1", self._shell(LOOK)
        left = COMMANDS
        for number, path in enumerate(self._skills(results["look0001try1"].text), 1):
            learnt = f"learn{number:04}try1"
            yield learnt, self.tools.read(path) or self._shell(line(Step(verb="read", path=path)))
            for command in commands(results[learnt].text)[:left]:
                left -= 1
                yield f"work{COMMANDS - left:04}try1", self._shell(command)
            if self.apprentice.edits:
                own = f"printf '%s\\n' {shlex.quote(OWN_WORDS)} >> {shlex.quote(path)}"
                yield f"edit{number:04}try1", self._shell(own)

    def _skills(self, listed: str) -> list[str]:
        """The files of skills in the workspace that the runtime or the prompt told of."""
        folder = folder_of(self.prompt)
        return [
            path
            for path, name in dict.fromkeys(_FOUND.findall(shown(listed)))
            if (folder and path.startswith(f"{folder}/")) or tells_of(self.told, name)
        ]

    def _shell(self, command: str) -> Native:
        native = self.tools.shell(command, "As the skill says")
        if native is None:
            raise missing("exec", self.request)
        return native


def tells_of(text: str, name: str) -> bool:
    """Whether a runtime announces the skill ``name``: by its file, in a tag, or in a list."""
    bare = re.escape(name)
    forms = (
        rf"(?:^|[\s/`(\"]){bare}/SKILL\.md",
        rf"<name>\s*{bare}\s*</name>",
        rf"^\s*[-*] \W{{0,3}}{bare}\W{{0,3}}\s*[:—–-]\s",
    )
    return any(re.search(form, text, re.MULTILINE) for form in forms)


def commands(text: str) -> list[str]:
    """The lines of the ``sh`` fences in what a tool showed of a skill, without comments."""
    lines = (each.strip() for fence in _FENCE.findall(shown(text)) for each in fence.split("\n"))
    return [each for each in lines if each and not each.startswith("#")]


def shown(text: str) -> str:
    """A file or output as it is: some tools hand it over with numbered lines, or in JSON."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict):
        text = "\n".join(value for value in data.values() if isinstance(value, str))
    return _NUMBERED.sub("", text)
