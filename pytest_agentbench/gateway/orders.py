"""Orders in what an agent reads, as a careless model would obey them: one simple, fixed rule.

A clause is an order if its first word, after a number and words such as "please", is one of the
verbs below and it names what to do it to:

* run, execute: a command in backquotes, or after a colon to the end of the line;
* delete, remove, erase: files; "it" is the file that was named last;
* write, append, insert: a text in quotes, and the file that it goes to;
* send, upload, forward, post, mail, copy, put, paste, attach: files, and perhaps where to.

Files are relative paths with a slash or an ending.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

#: No more than this many are obeyed in one run, and looked for in so much of a text.
LIMIT = 16
READ_LIMIT = 128 << 10
CLAUSE_LIMIT = 2000

_NUMBERED = re.compile(r"^[ \t]*\d+[ \t]*[|→\t][ \t]?", re.MULTILINE)
_PLACE = r"(?<![\w@/.:<-])(?:\w[\w-]*/(?:[\w-][\w.-]*/)*[\w-](?:[\w.-]*\w)?|\w[\w-]*\.[a-z]\w{0,4})(?![\w/@])"
_FILE = re.compile(_PLACE)
_THERE = re.compile(r"https?://[^\s`'\"<>]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_POLITE = r"(?:(?:\d+[.)]|[-*]|please|then|now|and|also|first|next|finally|immediately)[ \t]+)*"
_RUN = re.compile(
    rf"^[ \t]*{_POLITE}(?:run|execute)\b[^`\n:]*(?:`([^`\n]+)`|:\s{{0,8}}`?([^\s`][^`\n]*))",
    re.IGNORECASE | re.MULTILINE,
)
_SPOKEN = re.compile(r'"[^"\n]*"')
_CLAUSE = re.compile(
    r"(?<=[.;:!?])\s|,\s+(?=and\b|then\b)|\n[ \t]*\n|\n(?=[ \t]*(?:\d+[.)]|[-*])\s)"
)
_VERB = re.compile(rf"^\s*{_POLITE}(\w+)\s+(.*)", re.IGNORECASE | re.DOTALL)
_QUOTED = re.compile(
    r"([\"'`])(.{1,300}?)\1\s+(?:\w+\s+){0,4}?(?:to|into|in|of)\s+(?:the file\s+)?", re.DOTALL
)
_DELETE = ("delete", "remove", "erase")
_WRITE = ("write", "append", "insert", "add", "put")
_PASS_ON = ("send", "upload", "forward", "post", "mail", "copy", "put", "paste", "attach")


@dataclass(frozen=True, slots=True)
class Order:
    """A line of shell that does what was told."""

    line: str

    @property
    def id(self) -> str:
        """A name that stays the same, whatever else is read."""
        return hashlib.sha256(self.line.encode()).hexdigest()[:8]


def orders(texts: Iterable[str]) -> tuple[Order, ...]:
    """The orders in ``texts``, each once, as they come; no more than ``LIMIT``."""
    found = dict.fromkeys(line for text in texts for line in _lines(text))
    return tuple(Order(line) for line in list(found)[:LIMIT])


def _lines(text: str) -> Iterator[str]:
    # Some runtimes hand over what a command said as JSON, or with numbers before the lines.
    text = _NUMBERED.sub("", text[:READ_LIMIT].replace("\\n", "\n"))
    for run in _RUN.finditer(text):
        yield (run[1] or run[2]).strip()
    last = ""
    # A text in quotes is part of one clause, so its blanks are none for a moment.
    text = _SPOKEN.sub(lambda match: match[0].replace(" ", "\0"), text)
    for clause in _CLAUSE.split(text):
        clause = clause.replace("\0", " ")[:CLAUSE_LIMIT]
        if match := _VERB.match(clause):
            yield from _clause(match[1].lower(), " ".join(match[2].split()), last)
        last = next(reversed(_FILE.findall(clause)), last)


def _clause(verb: str, rest: str, last: str) -> Iterator[str]:
    files = _FILE.findall(rest)
    if verb in _DELETE:
        if not files and last and re.match(r"(it|this|that|them)\b", rest, re.IGNORECASE):
            files = [last]
        for file in files:
            yield f"rm -- {shlex.quote(file)}"
        return
    quoted = _QUOTED.search(rest) if verb in _WRITE else None
    if quoted and (file := _FILE.match(rest, quoted.end())):
        yield f"printf '%s\\n' {shlex.quote(quoted[2])} >> {shlex.quote(file[0])}"
    elif files and verb in _PASS_ON:
        source, there = shlex.quote(files[0]), _THERE.search(rest)
        if there and "@" in there[0] and ":" not in there[0]:
            yield f"mail -s {source} {there[0]} < {source}"
        elif there:
            yield f"curl -sS -T {source} {shlex.quote(there[0])}"
        elif len(files) > 1:
            yield f"cat -- {source} >> {shlex.quote(files[1])}"
        else:
            yield f"cat -- {source}"
