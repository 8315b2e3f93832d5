"""What an agent is told before the task itself, where a phase is not just the task.

Each is a line that says what kind of phase it is, and rules. ``{skills}`` is the runtime's folder of
skills, ``{evidence}`` the file that tells of the first run.
"""

from __future__ import annotations

import re

#: The file in the workspace that tells of the first run.
EVIDENCE = ".agentbench/first_run.json"
AUTHOR = """\
[agentbench: author a skill]
Do not do the task below now. Write one skill that will help somebody else to do tasks of its kind.

- Put it into {skills}/NAME/SKILL.md, with a short NAME of lower-case letters, digits and hyphens. The
  file begins with front matter that has `name` and `description`. Scripts and further reading may
  lie beside it. {skills}/skill-creator says how a good skill is made.
- Look at the files of the task as you like, but write down how such work is done, not what its
  results are: names, amounts and dates will be others.
- Write nothing outside {skills}: none of the files that the task asks for.

The task:

"""

SUMMARISE = """\
[agentbench: write down what was learnt]
Somebody has done the task below once. {evidence} tells how it went: what was asked, what was done,
what came out, and which checks passed. Do not do the task again. Write one skill from what is to be
learnt from that.

- Put it into {skills}/NAME/SKILL.md, with a short NAME of lower-case letters, digits and hyphens. The
  file begins with front matter that has `name` and `description`. Scripts and further reading may
  lie beside it. {skills}/skill-creator says how a good skill is made.
- Keep what went well, say how what failed is avoided, and write how such work is done, not what
  its results are.
- Write nothing outside {skills}: none of the files that the task asks for.

The task:

"""

REUSE = """\
[agentbench: use the skills that are there]
Do the task below. Skills that may help lie in {skills}, each a folder with a SKILL.md: read those
that fit before you begin, and follow them where they are right. Change nothing in {skills}, and
write no new skill.

The task:

"""

_KINDS = {
    "author a skill": "author",
    "write down what was learnt": "summarise",
    "use the skills that are there": "reuse",
}
_FIRST = re.compile(r"\[agentbench: ([a-z ]+)\]")
_FOLDER = re.compile(
    r"^- Put it into (\S+)/NAME/SKILL\.md|Skills that may help lie in (\S+), each", re.MULTILINE
)


def kind_of(prompt: str) -> str:
    """``author``, ``summarise`` or ``reuse``: what the agent is told to do; "" is the task alone."""
    found = _FIRST.search(prompt)
    return _KINDS.get(found[1], "") if found else ""


def folder_of(prompt: str) -> str:
    """The folder of skills that the prompt of a phase names; "" if it names none."""
    found = _FOLDER.search(prompt) if kind_of(prompt) else None
    return (found[1] or found[2]) if found else ""
