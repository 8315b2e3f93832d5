"""What a scripted model can do with the tools that a request offers, whoever's they are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.gateway.chat import ChatRequest, ToolOffer

#: A tool's name and the arguments of a call.
Native = tuple[str, Mapping[str, Any]]

# Names without case, underscores and hyphens; the first that is offered is taken.
_READERS = ("read", "readfile", "view", "viewfile", "openfile", "readtextfile", "fsread")
_WRITERS = ("write", "writefile", "createfile", "create", "savefile", "fswrite", "writetextfile")
_EDITORS = ("edit", "editfile", "replace", "strreplace", "searchreplace", "replaceinfile")
_SHELLS = (
    *("exec", "bash", "shell", "terminal", "execcommand", "runshellcommand", "shellcommand"),
    *("executebash", "runcommand", "executecommand", "runterminalcmd", "localshell"),
)
_PATCHERS = ("applypatch",)
_PATHS = ("path", "filepath", "absolutepath", "filename", "file", "targetfile")
_CONTENTS = ("content", "contents", "filetext", "filecontent", "text")
_OLDS = ("old", "oldstring", "oldtext", "oldstr", "search")
_NEWS = ("new", "newstring", "newtext", "newstr", "replace", "replacement")
_LINES = ("command", "cmd", "commandline", "script")
_PATCHES = ("input", "patch")
_FOLDERS = tuple(
    # Not the end of a tag, as in "this working directory.</description>".
    re.compile(rf"{before}[`'\"]?(?<!<)(/[^\n`'\"<>()]*)", re.IGNORECASE)
    for before in (
        r"<cwd>\s{0,8}",
        r"\bworking directory\W{0,3}(?:is)?\W{0,3}?",
        r"\bworkspace directories\W{0,8}\n\s{0,8}-\s{0,8}",
        r"\b(?:workspace|(?:working|current) folder|project root)(?: is)?(?: at)?\s?[:=]?\s{0,8}",
    )
)
_ABSOLUTE = re.compile("absolute", re.IGNORECASE)
_EITHER = re.compile("absolute or|or absolute|relative path|relative/", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Calls that do what a step wants; each is None where no tool of that kind is offered."""

    request: ChatRequest

    def read(self, path: str) -> Native | None:
        why = f"Read {path}"
        if found := self._find(_READERS, _PATHS):
            offer, (name,) = found
            return _call(offer, {name: self._place(offer, name, path)}, why)
        return self._command("view", path, {}, why)

    def write(self, path: str, content: str) -> Native | None:
        why = f"Write {path}"
        if found := self._find(_WRITERS, _PATHS, _CONTENTS):
            offer, (name, text) = found
            return _call(offer, {name: self._place(offer, name, path), text: content}, why)
        if call := self._command("create", path, {_CONTENTS: content}, why):
            return call
        return self._patch(path, content, why)

    def edit(self, path: str, old: str, new: str) -> Native | None:
        why = f"Edit {path}"
        if found := self._find(_EDITORS, _PATHS, _OLDS, _NEWS):
            offer, (name, before, after) = found
            args = {name: self._place(offer, name, path), before: old, after: new}
            return _call(offer, args, why)
        for offer in self._named(_EDITORS):
            place, edits = _parameter(offer.parameters, _PATHS), offer.parameters.get("edits")
            item = edits.get("items") if isinstance(edits, Mapping) else None
            inner = item.get("properties") if isinstance(item, Mapping) else None
            if place and isinstance(inner, Mapping):
                keys = _parameter(inner, _OLDS), _parameter(inner, _NEWS)
                if keys[0] and keys[1]:
                    one = {keys[0]: old, keys[1]: new}
                    return _call(
                        offer, {place: self._place(offer, place, path), "edits": [one]}, why
                    )
        return self._command("str_replace", path, {_OLDS: old, _NEWS: new}, why)

    def run(self, argv: Sequence[str]) -> Native | None:
        """A call that runs a program."""
        offer = self._shell()
        if offer is None:
            return None
        why = f"Run {argv[0]}"
        if "argv" in offer.parameters:
            return _call(offer, {"argv": list(argv)}, why)
        name = _parameter(offer.parameters, _LINES) or ""
        whole = list(argv) if _kind(offer.parameters[name]) == "array" else shlex.join(argv)
        return _call(offer, {name: whole}, why)

    def shell(self, line: str, why: str) -> Native | None:
        """A call that has a shell do what ``line`` says."""
        offer = self._shell()
        if offer is None:
            return None
        name = _parameter(offer.parameters, _LINES) or "argv"
        whole = ["bash", "-c", line] if _kind(offer.parameters[name]) == "array" else line
        return _call(offer, {name: whole}, why)

    def service(self, service: str, args: Mapping[str, Any]) -> Native | None:
        offered = any(offer.name == "call" for offer in self.request.tools)
        return ("call", {"service": service, "args": dict(args)}) if offered else None

    def _named(self, names: Sequence[str]) -> Iterator[ToolOffer]:
        for name in names:
            yield from (each for each in self.request.tools if _bare(each.name) == name)

    def _find(
        self, names: Sequence[str], *needed: Sequence[str]
    ) -> tuple[ToolOffer, list[str]] | None:
        """The first tool of one of these names that has a parameter of each kind."""
        for offer in self._named(names):
            found = [_parameter(offer.parameters, kind) for kind in needed]
            if all(found):
                return offer, [name for name in found if name]
        return None

    def _command(
        self, command: str, path: str, more: Mapping[tuple[str, ...], str], why: str
    ) -> Native | None:
        """A call of a tool that has one command for each thing to do to a file."""
        for offer in self.request.tools:
            place = _parameter(offer.parameters, _PATHS)
            known = offer.parameters.get("command")
            if place and isinstance(known, Mapping) and command in known.get("enum", ()):
                args = {"command": command, place: self._place(offer, place, path)}
                for names, text in more.items():
                    args[_parameter(offer.parameters, names) or names[0]] = text
                return _call(offer, args, why)
        return None

    def _patch(self, path: str, content: str, why: str) -> Native | None:
        """A patch that adds the file; such a patch knows whole lines alone."""
        if not content.endswith("\n"):
            return None
        lines = "".join(f"+{line}\n" for line in content[:-1].split("\n"))
        patch = f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"
        for offer in self._named(_PATCHERS):
            if offer.freeform:
                return offer.name, {"input": patch}
            if name := _parameter(offer.parameters, _PATCHES):
                return _call(offer, {name: patch}, why)
        return None

    def _shell(self) -> ToolOffer | None:
        for offer in self._named(_SHELLS):
            if "argv" in offer.parameters or _line(offer):
                return offer
        words = re.compile("bash|shell|terminal|exec")
        return next(
            (o for o in self.request.tools if words.search(_bare(o.name)) and _line(o)), None
        )

    def _place(self, offer: ToolOffer, name: str, path: str) -> str:
        """The path as the tool wants it."""
        schema = offer.parameters[name]
        said = str(schema.get("description", "")) if isinstance(schema, Mapping) else ""
        if not _ABSOLUTE.search(f"{name} {said}") or _EITHER.search(said):
            return path
        asked = (m.text for m in self.request.messages if m.role in ("system", "user"))
        folder = next(filter(None, map(folder_in, (offer.description, *asked))), "")
        return f"{folder}/{path}" if folder else path


def folder_in(text: str) -> str:
    """The folder that a text of a runtime's says the work is done in; empty where it does not."""
    found = (pattern.search(text) for pattern in _FOLDERS)
    return next((match[1].rstrip(" .,;").rstrip("/") for match in found if match), "")


def _bare(name: str) -> str:
    """A name without case, signs, and what stands before it: ``mcp__acp__Read`` is ``read``."""
    return re.sub(r"[^a-z0-9]", "", re.split(r"__|[./:]", name)[-1].lower())


def _parameter(parameters: Mapping[str, Any], names: Sequence[str]) -> str | None:
    bare = {_bare(name): name for name in reversed(list(parameters))}
    return next((bare[name] for name in names if name in bare), None)


def _line(offer: ToolOffer) -> bool:
    """Whether the tool takes any command line, and not one of a few commands."""
    name = _parameter(offer.parameters, _LINES)
    schema = offer.parameters[name] if name else None
    return isinstance(schema, Mapping) and "enum" not in schema


def _kind(schema: Any) -> str:
    """The type of a JSON schema; of several the first that is not null."""
    if not isinstance(schema, Mapping):
        return ""
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list):
            return next((kind for each in schema[key] if (kind := _kind(each)) != "null"), "")
    kind = schema.get("type", "object" if "properties" in schema else "")
    if isinstance(kind, list):
        return next((str(each) for each in kind if each != "null"), "")
    return str(kind)


def _call(offer: ToolOffer, args: dict[str, Any], why: str) -> Native:
    """A call with ``args`` and all else that the tool requires, or that a slow command needs."""
    for name in offer.required:
        if name not in args:
            args[name] = _value(offer.parameters.get(name), why)
    for name, schema in offer.parameters.items():
        said = str(schema.get("description", "")) if isinstance(schema, Mapping) else ""
        # A command that is put into the background would be taken for done.
        if _bare(name) in ("yieldtimems", "yieldms") and "default" in said.lower():
            args[name] = 30000
        elif _bare(name) == "maxoutputchars":
            args[name] = schema.get("maximum", 50000)
    return offer.name, args


def _value(schema: Any, why: str) -> Any:
    """Something that fits a schema; ``why`` where it may be any text."""
    if not isinstance(schema, Mapping):
        return why
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    for key in ("anyOf", "oneOf"):
        if schema.get(key):
            return _value(next((s for s in schema[key] if _kind(s) != "null"), None), why)
    match _kind(schema):
        case "boolean":
            return False
        case "integer" | "number":
            most = min(1, schema.get("maximum", 1))
            return max(most, schema.get("minimum", most))
        case "array":
            return [_value(schema.get("items"), why)] if schema.get("minItems") else []
        case "object":
            inner = schema.get("properties", {})
            return {name: _value(inner.get(name), why) for name in schema.get("required", ())}
        case _:
            return why[: schema.get("maxLength", len(why))]
