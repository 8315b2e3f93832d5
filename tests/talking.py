"""A conversation with a scripted model in which its calls are really performed."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jsonschema

from pytest_agentbench.gateway.chat import (
    ChatReply,
    ChatRequest,
    Message,
    Policy,
    ToolCall,
    ToolOffer,
)
from tests.offers import Surface


def ask(policy: Policy, request: ChatRequest) -> ChatReply:
    return asyncio.run(policy.reply(request))


@dataclass
class Talk:
    """A runtime with some tools that works in ``folder`` until the model makes no more calls."""

    surface: Surface
    folder: Path
    read: set[str] = field(default_factory=set)
    #: The names and arguments of all calls, and what was said.
    calls: list[ToolCall] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    #: How many calls each turn had.
    widths: list[int] = field(default_factory=list)
    #: How many characters of what a command says are shown.
    most: int = 50_000
    #: What the model is shown of the conversation.
    shown: Callable[[tuple[Message, ...]], tuple[Message, ...]] = lambda messages: messages
    #: What it is asked to do, and what the runtime tells it beside its folder.
    prompt: str = "Do it."
    told: str = ""

    def run(self, policy: Policy, *, turns: int = 200) -> Talk:
        messages: tuple[Message, ...] = (
            Message(
                role="system",
                text=self.surface.states.replace("{folder}", str(self.folder)) + self.told,
            ),
            Message(role="user", text=self.prompt),
        )
        for _ in range(turns):
            request = ChatRequest(
                model="toy",
                messages=self.shown(messages),
                tools=tuple(map(self._offer, self.surface.tools)),
                parallel=self.surface.parallel,
            )
            reply = ask(policy, request)
            assert reply == ask(policy, request)  # it keeps nothing in mind
            if reply.text:
                self.said.append(reply.text)
            if not reply.calls:
                return self
            self.widths.append(len(reply.calls))
            calls = tuple(map(self._renamed, reply.calls))
            messages += (Message(role="assistant", text=reply.text, calls=calls),)
            for call in calls:
                self.calls.append(call)
                text, failed = self._perform(call)
                mark = failed if self.surface.marks else None
                messages += (Message(role="tool", call_id=call.id, text=text, failed=mark),)
                if "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT" in text:
                    return self
        raise AssertionError(f"no end after {turns} turns")

    @property
    def used(self) -> list[str]:
        return [call.name for call in self.calls]

    def _offer(self, offer: ToolOffer) -> ToolOffer:
        text = offer.description.replace("{folder}", str(self.folder))
        return replace(offer, description=text)

    def _renamed(self, call: ToolCall) -> ToolCall:
        match self.surface.ids:
            case "own":
                return replace(call, id=f"{call.name}_{len(self.calls)}_0")
            case "plain":
                return replace(call, id=re.sub(r"[^A-Za-z0-9]", "", call.id))
        return call

    def _perform(self, call: ToolCall) -> tuple[str, bool]:
        kind, *names = self.surface.does[call.name]
        self._check(call)
        args = dict(call.args)
        if kind == "editor":
            known = {"view": "read", "create": "create", "str_replace": "edit"}
            kind = known[args.pop(names.pop(0))]
        if kind == "shell":
            what = next(args[name] for name in names if name in args)
            return self._run(what if isinstance(what, list) else ["bash", "-c", what])
        if kind == "patch":
            return self._patch(args[names[0]])
        path, *texts = (args[name] for name in names if name in args)
        if self.surface.absolute and not path.startswith("/"):
            return f"Error: {path} is not an absolute path", True
        try:
            return self._file(call.name, kind, path, texts)
        except OSError as error:
            return f"Error: {error.strerror}: {path}", True

    def _file(self, tool: str, kind: str, path: str, texts: list[Any]) -> tuple[str, bool]:
        file = self.folder / path
        if tool in self.surface.unread and file.exists() and str(file) not in self.read:
            return "File has not been read yet. Read it first before writing to it.", True
        if kind == "create" and file.exists():
            return f"File already exists at: {path}. Cannot overwrite it with `create`.", True
        match kind:
            case "read":
                self.read.add(str(file))
                return file.read_bytes().decode("utf-8", "replace"), False
            case "write" | "create":
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(texts[0].encode())
                return f"Successfully wrote {path}. It now has no errors:\n{texts[0]}", False
        old, new = (texts[0][0]["oldText"], texts[0][0]["newText"]) if kind == "edits" else texts
        data = file.read_bytes()
        if data.count(old.encode()) != 1:
            return f"String to replace was not found once in {path}.", True
        file.write_bytes(data.replace(old.encode(), new.encode()))
        return f"The file {path} has been updated.", False

    def _patch(self, patch: str) -> tuple[str, bool]:
        match = re.fullmatch(
            r"\*\*\* Begin Patch\n\*\*\* Add File: (.+?)\n((?:\+.*\n)+)\*\*\* End Patch\n", patch
        )
        assert match, patch
        lines = re.findall(r"^\+(.*\n)", match[2], re.MULTILINE)
        return self._file("", "write", match[1], ["".join(lines)])

    def _run(self, argv: list[str]) -> tuple[str, bool]:
        done = subprocess.run(
            argv, cwd=self.folder, capture_output=True, text=True, errors="replace", check=False
        )
        shown = done.stdout
        if len(shown) > self.most:
            half = self.most // 2
            shown = f"{shown[:half]}\n... output truncated ...\n{shown[-half:]}"
        text = f"exit code {done.returncode}\n{shown}{done.stderr}"
        if self.surface.does.keys() == {"bash"}:  # mini-swe-agent
            text = json.dumps({"returncode": done.returncode, "output": shown})
        return text, done.returncode != 0

    def _check(self, call: ToolCall) -> None:
        """See that the call is what the tool's schema allows."""
        offer = next(each for each in self.surface.tools if each.name == call.name)
        if not offer.freeform:
            schema: Mapping[str, Any] = {
                "type": "object",
                "properties": dict(offer.parameters),
                "required": list(offer.required),
                "additionalProperties": False,
            }
            jsonschema.validate(dict(call.args), schema)
        assert re.fullmatch("[A-Za-z0-9]+", call.id) or self.surface.ids == "own"
