"""Which files a command line names, and whether to read or to write them.

A heuristic: nothing is expanded, no script file is opened. It errs towards *named*: a command
that mentions a file is taken to read it, unless what it does there is known to write.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

#: Characters looked at: of a whole command line, of its shell text, of a script inside it.
_LINE, _SHELL, _SCRIPT = 2_000_000, 20_000, 200_000
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh"))
_INTERPRETER = re.compile(r"(?:python|pypy|node|perl|ruby|bash|sh|zsh|dash)[0-9.]*")
#: Commands that open none of the files among their arguments.
_OPENS_NONE = frozenset(
    [
        "echo",
        "printf",
        ":",
        "true",
        "false",
        "export",
        "cd",
        "ls",
        "stat",
        "test",
        "[",
        "[[",
        "du",
        "tree",
        "chmod",
        "chown",
        "pwd",
        "basename",
        "dirname",
        "realpath",
        "readlink",
    ]
)
#: Commands all of whose file arguments are written (or gone) afterwards.
_CHANGES = frozenset(("tee", "touch", "truncate", "rm", "unlink", "shred", "mv"))
#: Commands that write their last argument.
_COPIES = frozenset(("cp", "install", "ln", "rsync", "scp"))
_WRAPPERS = frozenset(("sudo", "env", "command", "exec", "nohup", "time", "xargs", "timeout", "!"))
_KEYWORDS = frozenset(("if", "then", "else", "elif", "do", "while", "until", "{", "}"))

_HEREDOC = re.compile(r"(?<!<)<<-?[ \t]*(?P<quote>['\"]?)(?P<end>[A-Za-z_]\w*)(?P=quote)")
_TOKEN = re.compile(
    r"(?P<comment>(?<![^\s;|&()])#[^\n]*)"
    r"|(?P<out>&>>?|[0-9]*>>?\|?)(?!&)|(?P<skip>[0-9]*[<>]&[0-9-]*|<<<?)|(?P<in>[0-9]*<)"
    r"|(?P<end>[;|&()\n]+)"
    r"|(?P<word>(?:'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.|[^\s;|&()<>'\"\\]|['\"\\])+)",
    re.DOTALL,
)
_QUOTES = re.compile(r"'([^']*)'|\"((?:\\.|[^\"\\])*)\"|\\(.)", re.DOTALL)
#: Words of program text that may be names of files; the shell's wildcards mean nothing there.
_MENTION = re.compile(r"[^\s'\"`,;:=()<>|&{}\[\]*?$]+")
_LITERAL = re.compile(r"\[([*?])\]")
_VARIABLE = re.compile(r"\$\{?\w+\}?")
_SUBSTITUTION = re.compile(r"\$\(|`")
#: Writing calls of scripting languages; the file's name is a literal.
_SCRIPT_WRITES = (
    re.compile(r"open\(\s*[rbfu]?['\"]([^'\"\n]+)['\"]\s*,\s*(?:mode\s*=\s*)?['\"][rbt]*[wax+]"),
    re.compile(
        r"Path\(\s*[rbfu]?['\"]([^'\"\n]+)['\"]\s*\)\s*"
        r"\.(?:write_|open\(\s*['\"][rbt]*[wax+]|unlink|touch|rename|replace)"
    ),
    re.compile(r"(?:writeFile|appendFile)(?:Sync)?\(\s*['\"]([^'\"\n]+)['\"]"),
    re.compile(r"(?:to_csv|to_json|to_excel|savefig)\(\s*[rbfu]?['\"]([^'\"\n]+)['\"]"),
)


@dataclass(frozen=True, slots=True)
class Files:
    """Names of files as the command line spells them, in order."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Simple:
    """One simple command: its words, and the files that it is redirected from and to."""

    words: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)


def command_line(args: Mapping[str, Any]) -> str:
    """The shell text of a call of ``exec``: the script of ``sh -c``, else ``command`` or argv."""
    argv = args.get("argv")
    if isinstance(argv, list | tuple) and argv:
        words = [str(word) for word in argv]
        script = _shell_script(words[0].rpartition("/")[2], words[1:])
        return " ".join(_quoted(word) for word in words) if script is None else script
    return str(args.get("command") or "")


def files(line: str, folder: str = "") -> Files:
    """Files that a shell command line reads and writes in ``folder``, as far as its text tells.

    Names after ``cd FOLDER`` are those of files in there.
    """
    reads: list[str] = []
    writes: list[str] = []
    shell, scripts = _heredocs(line[:_LINE].replace("\\\n", " "))
    for command in _commands(shell[:_SHELL]):
        program, args = _program(command.words)
        if program == "cd":
            known = len(args) == 1 and not re.match(r"[-~$]", args[0])
            folder = posixpath.join(folder, args[0]) if known else ""
        if (inner := _shell_script(program, args)) is not None:
            # Quotes have made its wildcards literal, which a shell of its own expands after all.
            found = files(_LITERAL.sub(r"\1", inner), folder)
            reads += found.reads
            writes += found.writes
            continue
        if _INTERPRETER.fullmatch(program):
            scripts += [code for flag, code in pairwise(args) if flag in ("-c", "-e")]
        written = [*command.targets, *_written(program, args)]
        named = [*command.sources]
        for arg in args:
            if program not in _OPENS_NONE or _SUBSTITUTION.search(arg):
                # Of docs/$f the folder is known, and $f may be any file in it.
                name = _VARIABLE.sub("*", arg) if "/" in arg else arg
                named += [w for w in (name, *_MENTION.findall(arg)) if w not in written]
        writes += [posixpath.join(folder, name) for name in written]
        reads += [posixpath.join(folder, name) for name in named]
    for script in scripts:
        script = script[:_SCRIPT]
        opened = [name for pattern in _SCRIPT_WRITES for name in pattern.findall(script)]
        targets = dict.fromkeys(posixpath.join(folder, name) for name in opened)
        named = [posixpath.join(folder, word) for word in _MENTION.findall(script)]
        writes += targets
        reads = [name for name in reads + named if name not in targets]
    return Files(tuple(dict.fromkeys(reads)), tuple(dict.fromkeys(writes)))


def _shell_script(program: str, args: list[str]) -> str | None:
    """The script of ``sh -c``, with whatever other flags."""
    if program in _SHELLS:
        for flag, script in pairwise(args):
            if re.fullmatch(r"-[a-z]*c", flag):
                return script
    return None


def _heredocs(text: str) -> tuple[str, list[str]]:
    """The text without its here-documents, and those of them that an interpreter is fed."""
    shell: list[str] = []
    scripts: list[str] = []
    lines = text.split("\n")
    last = {line.strip(): i for i, line in enumerate(lines)}
    start = 0
    for i, line in enumerate(lines):
        if i < start:
            continue
        shell.append(line)
        start = i + 1
        for heredoc in _HEREDOC.finditer(line):
            if last.get(heredoc["end"], 0) < start:
                continue  # no here-document but a shift, or one without an end
            body: list[str] = []
            while lines[start].strip() != heredoc["end"]:
                body.append(lines[start])
                start += 1
            start += 1
            words = line[: heredoc.start()].split()
            if any(_INTERPRETER.fullmatch(word.rpartition("/")[2]) for word in words):
                scripts.append("\n".join(body))
    return "\n".join(shell), scripts


def _written(program: str, args: list[str]) -> Iterator[str]:
    named = [arg for arg in args if not arg.startswith("-")]
    if program in _CHANGES:
        yield from named
    elif program in _COPIES:
        yield from named[-1:]
    elif program in ("sed", "perl") and any(re.match(r"-[a-zA-Z]*i|--in-place", a) for a in args):
        yield from named
    elif program == "dd":
        yield from (arg.removeprefix("of=") for arg in args if arg.startswith("of="))
    elif program in ("curl", "wget", "sort", "gcc", "cc", "pandoc"):
        for flag, value in pairwise(args):
            if flag in ("-o", "-O", "--output", "--output-document"):
                yield value
    elif program == "git" and args[:1] in (["checkout"], ["restore"], ["rm"], ["mv"]):
        yield from named[1:]


def _program(words: list[str]) -> tuple[str, list[str]]:
    """Name and arguments, past assignments, keywords and wrappers such as ``sudo``."""
    for i, word in enumerate(words):
        name = word.rpartition("/")[2]
        skipped = name in _WRAPPERS or name in _KEYWORDS or re.match(r"\w+=|-|[0-9]", word)
        if not skipped:
            return name, words[i + 1 :]
    return "", []


def _commands(line: str) -> Iterator[_Simple]:
    command, into = _Simple(), ""
    for token in _TOKEN.finditer(line):
        kind = token.lastgroup or ""
        if kind == "word":
            word = _QUOTES.sub(_unquote, token.group())
            {"out": command.targets, "in": command.sources}.get(into, command.words).append(word)
        elif kind == "end":
            yield command
            command = _Simple()
        into = kind if kind in ("out", "in") else ""
    yield command


def _unquote(match: re.Match[str]) -> str:
    """What the quotes hold, its wildcards made literal."""
    return re.sub(r"[*?]", r"[\g<0>]", match[1] or match[2] or match[3] or "")


def _quoted(word: str) -> str:
    if re.fullmatch(r"[\w@%+=:,./-]+", word):
        return word
    return "'" + word.replace("'", "'\\''") + "'"
