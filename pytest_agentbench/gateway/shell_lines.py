"""Steps as lines for a shell, where no other tool does them."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Sequence

from pytest_agentbench.scenario.model import Step

#: Ends a page that is not the last, which has so many bytes, of which some were in the one before.
MORE = "[there is more]"
PAGE, OVERLAP = 5000, 500
_LOOKS = ("cat", "head", "tail", "grep", "ls", "find")
#: Bytes, so that neither the locale nor an end of line changes anything.
_EDIT = (
    "import os, sys; path, old, new = map(os.fsencode, sys.argv[1:4]); "
    'data = open(path, "rb").read(); '
    "found = data.count(old); "
    "again = sys.argv[4:] and old in new and new in data; "
    'found == 1 or again or sys.exit(f"error: the old text must occur once in {sys.argv[1]}; '
    'it occurs {found} times"); '
    'again or open(path, "wb").write(data.replace(old, new))'
)


def line(step: Step, *, again: bool = False) -> str:
    """A line of POSIX shell that does what a read, write or edit step says.

    An edit fails where its old text is not found exactly once. ``again`` is for one that was tried
    before, in case it was done after all.
    """
    path = shlex.quote(step.path)
    match step.verb:
        case "read":
            return f"cat -- {path}"
        case "write":
            folder = posixpath.dirname(step.path)
            before = f"mkdir -p -- {shlex.quote(folder)} && " if folder else ""
            return f"{before}{_into(path, step.content)}"
        case "edit":
            args = [step.path, step.old, step.new, *(["again"] if again else [])]
            return shlex.join(["python3", "-c", _EDIT, *args])
        case _:
            raise ValueError(f"{step.verb} is no step for a file")


def page(argv: Sequence[str], number: int) -> str | None:
    """A line that shows a part of what a program says, from 0; None for one that may do more."""
    script = argv[2] if argv[:2] == ("bash", "-c") and len(argv) == 3 else ""
    first = (script.split() or list(argv))[0]
    if first not in _LOOKS or set(script) & set(">;&`$"):
        return None
    before = number * (PAGE - OVERLAP)
    return (
        f"{shlex.join(argv)} | {{ head -c {before} > /dev/null; head -c {PAGE}; "
        f"[ $(wc -c) -eq 0 ] || echo '{MORE}'; }}"
    )


def _into(path: str, content: str) -> str:
    if not content.endswith("\n"):  # which a heredoc always does
        return f"printf %s {shlex.quote(content)} > {path}"
    mark = "EOF"
    while mark in content:
        mark += "_"
    return f"cat > {path} <<'{mark}'\n{content}{mark}\n"
