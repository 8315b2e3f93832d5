"""The tasks of the suite: what the scripted model does on the runtime."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_agentbench.scenario.model import CheckSpec, InputFile, Scenario, Step

#: Letters beyond ASCII, in a text and in the name of a file.
WORDS = "naïve – 東京 ✓"
CONTENT = f"{WORDS}\n\"double\" 'single' $HOME `tick` \\n {{}} 100 %\nlast line\n"
ANSWER = f"Finished: {WORDS}"
OUT = "out/größe.txt"
#: The file that an agent makes when its program is to be ended.
READY = "ready-for-the-end"
#: What the failing command says.
COMPLAINT = "no such luck"

_FILES = {
    "notes/a.txt": "the first note says alpha\n",
    "notes/b.txt": "the second note says beta\n",
    "draft.txt": "colour: grey\nsize: 3\n",
}
INPUTS = tuple(InputFile(dest=name, content=text.encode()) for name, text in _FILES.items())


def task(
    name: str,
    steps: Iterable[Step],
    *,
    prompt: str = "Do the work that your script says.",
    checks: tuple[CheckSpec, ...] = (),
    inputs: tuple[InputFile, ...] = INPUTS,
) -> Scenario:
    """A scenario that is played from ``steps``."""
    return Scenario(
        id=name,
        path=Path(f"{name}.yaml"),
        prompt=prompt,
        policy="mean",
        inputs=inputs,
        checks=checks,
        solution=tuple(steps),
    )


def say(text: str) -> Step:
    return Step(verb="say", text=text)


def read(path: str) -> Step:
    return Step(verb="read", path=path)


def shell(line: str) -> Step:
    return Step(verb="exec", argv=("sh", "-c", line))


def check(kind: str, **params: object) -> CheckSpec:
    """A check with a name of its own among those of a task."""
    return CheckSpec(id="-".join([kind, *map(str, params.values())]), type=kind, params=params)


_FAILING = shell(f"echo {COMPLAINT} >&2; exit 3")
_DEEDS = (
    read("notes/a.txt"),
    read("notes/b.txt"),
    _FAILING,
    Step(verb="write", path=OUT, content=CONTENT),
    Step(verb="edit", path="draft.txt", old="grey", new="gray"),
    shell("wc -l < draft.txt > out/count.txt"),
)

#: Reads side by side, a command that fails, a write, an edit, a command, an answer.
WORK = task(
    "conformance-work",
    (*_DEEDS, say(ANSWER)),
    checks=(
        check("file_contains", path=OUT, pattern=WORDS),
        check("file_contains", path="draft.txt", pattern="colour: gray"),
        check("file_contains", path="out/count.txt", pattern="2"),
        check("response_contains", pattern=WORDS),
        check("happens_before", first={"reads": "notes/a.txt"}, then={"writes": OUT}),
    ),
)

#: Says where it is and what it sees, reads a file, and writes none.
LOOK = task(
    "conformance-look",
    (
        # In words that every runtime runs: some refuse a command within another, or mind quotes.
        shell("echo this-is; pwd -P; env; echo that-was-all"),
        read("notes/a.txt"),
        say("Seen."),
    ),
)

#: Works on until its program is ended from beside it.
STRUCK = task(
    "conformance-struck",
    (read("notes/a.txt"), shell(f"touch {READY}; sleep 20"), say("Nobody hears this.")),
)

PROMPTS = {
    "non_ascii": f"Say hello to Zoë, 東京 and 😀; {WORDS}.",
    "quotes": "Say \"it's\" and 'so' and `date` and $HOME and \\n and %s and {x} and <b>&amp;</b>.",
    "newlines": "First line.\n\n  second line, indented\n\tthird, with a tab\n- fourth\nLast line.",
    "dash": "--help is what this prompt begins with; say hello.",
    "slash": "/help is what this prompt begins with; say hello.",
    "long": " ".join(f"Sentence {n} of a long prompt." for n in range(1, 680)),
}
