"""The tools that real runtimes offer, and what those do: names and schemas as they were seen.

Beside the tools that a script needs stand some that look like them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.gateway.chat import ToolOffer

_ABSOLUTE = "The absolute path to the file to modify"
_TEXT = {"type": "string"}
_EITHER = {"type": "string", "description": "File path; relative/absolute."}


def tool(
    name: str, /, *required: str, about: str = "", **parameters: str | Mapping[str, Any]
) -> ToolOffer:
    """An offer. A parameter is a schema, or the description of a text."""
    schemas = {
        key: {"type": "string", "description": value} if isinstance(value, str) else value
        for key, value in parameters.items()
    }
    return ToolOffer(name=name, description=about, parameters=schemas, required=tuple(required))


@dataclass(frozen=True)
class Surface:
    """A runtime's tools.

    ``does`` says for each tool that a script may use what it does and which parameters are what.
    ``states`` is how the runtime tells the model its folder. ``ids``: whether results carry the id
    of the call (``kept``, ``plain``: letters and digits alone, ``own``: ids of the runtime's).
    ``unread`` are tools that refuse files which were not read before; ``absolute`` says whether
    paths must be; ``marks`` whether the runtime says of each result that it is an error.
    """

    tools: tuple[ToolOffer, ...]
    does: Mapping[str, tuple[str, ...]]
    states: str = ""
    ids: str = "kept"
    unread: tuple[str, ...] = ()
    absolute: bool = False
    parallel: bool = True
    marks: bool = False


_NUMBER = {"type": "number"}
_INTEGER = {"type": "integer", "minimum": 1}
_FLAG = {"type": "boolean"}

MINIMAL = Surface(
    tools=(
        tool("read", "path", path=_TEXT),
        tool("write", "path", "content", path=_TEXT, content=_TEXT),
        tool("edit", "path", "old", "new", path=_TEXT, old=_TEXT, new=_TEXT),
        tool("exec", argv={"type": "array", "items": _TEXT}, command=_TEXT),
    ),
    does={
        "read": ("read", "path"),
        "write": ("write", "path", "content"),
        "edit": ("edit", "path", "old", "new"),
        "exec": ("shell", "argv", "command"),
    },
)

_CODEX = (
    tool(
        "exec_command",
        "cmd",
        cmd="Shell command to execute.",
        login=_FLAG,
        max_output_tokens=_NUMBER,
        sandbox_permissions={"type": "string", "enum": ["use_default", "require_escalated"]},
        shell="Shell binary to launch. Defaults to the user's default shell.",
        workdir="Working directory for the command. Defaults to the turn cwd.",
        yield_time_ms={
            "type": "number",
            "description": "Wait before yielding output. Defaults to 10000 ms; effective range is "
            "250-30000 ms.",
        },
    ),
    tool("write_stdin", "session_id", chars="Bytes to write to stdin.", session_id=_NUMBER),
    tool("view_image", "path", path="Local filesystem path to an image file."),
    tool("get_goal"),
    ToolOffer(name="web_search"),
)
_CWD = "<environment_context>\n  <cwd>{folder}</cwd>\n  <shell>bash</shell>\n</environment_context>"

CODEX = Surface(tools=_CODEX, does={"exec_command": ("shell", "cmd")}, states=_CWD)
CODEX_PATCH = Surface(
    tools=(*_CODEX, ToolOffer(name="apply_patch", freeform=True)),
    does={"exec_command": ("shell", "cmd"), "apply_patch": ("patch", "input")},
    states=_CWD,
)

CLAUDE = Surface(
    tools=(
        tool(
            "Agent",
            "description",
            "prompt",
            description="Launch a new agent to handle complex, multi-step tasks.",
            prompt="The task for the agent to perform",
        ),
        tool(
            "Bash",
            "command",
            command="The command to execute",
            timeout=_NUMBER,
            run_in_background=_FLAG,
        ),
        tool(
            "Edit",
            *("file_path", "old_string", "new_string"),
            file_path=_ABSOLUTE,
            old_string="The text to replace",
            new_string="The text to replace it with (must be different from old_string)",
            replace_all={"type": "boolean", "default": False},
        ),
        tool(
            "Read",
            "file_path",
            file_path="The absolute path to the file to read",
            offset=_INTEGER,
            limit=_INTEGER,
        ),
        tool("ToolSearch", "query", query=_TEXT, max_results={"type": "number", "default": 5}),
        tool("DeferredToolPlaceholder"),
        tool(
            "Write",
            *("file_path", "content"),
            file_path="The absolute path to the file to write (must be absolute, not relative)",
            content="The content to write to the file",
        ),
    ),
    does={
        "Read": ("read", "file_path"),
        "Write": ("write", "file_path", "content"),
        "Edit": ("edit", "file_path", "old_string", "new_string"),
        "Bash": ("shell", "command"),
    },
    states="# Environment\nYou have been invoked in the following environment: \n"
    " - Primary working directory: {folder}\n - Is a git repository: false\n",
    unread=("Write", "Edit"),
    absolute=True,
    marks=True,
)

NANOBOT = Surface(
    tools=(
        tool(
            "apply_patch",
            "edits",
            edits={
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": {"path": _TEXT, "action": _TEXT, "new_text": _TEXT},
                },
            },
        ),
        tool(
            "edit_file",
            *("path", "old_text", "new_text"),
            path="The file path to edit",
            old_text="The text to find and replace; copy it from read_file.",
            new_text="The replacement text; must differ from old_text for an existing file.",
            occurrence={"type": ["integer", "null"], "minimum": 1},
        ),
        tool(
            "exec",
            command="The shell command to execute",
            cmd="Compatibility alias for command",
            working_dir="Optional working directory for the command",
            yield_time_ms={
                "type": ["integer", "null"],
                "description": "Return after this many milliseconds if still running; omit to wait "
                "for exit.",
            },
            max_output_chars={"type": ["integer", "null"], "minimum": 1000, "maximum": 50000},
        ),
        tool("exec_session", "session_id", session_id="Session ID returned by exec."),
        tool("list_dir", "path", path="The directory path to list"),
        tool("message", "content", content="Message content for proactive delivery."),
        tool("read_file", "path", path="The file path to read", offset=_INTEGER),
        tool(
            "run_cli_app",
            "name",
            name="Installed CLI app registry name",
            args={"type": ["array", "null"], "items": _TEXT},
        ),
        tool(
            "write_file",
            *("path", "content"),
            path="The file path to write to",
            content="The content to write",
        ),
    ),
    does={
        "read_file": ("read", "path"),
        "write_file": ("write", "path", "content"),
        "edit_file": ("edit", "path", "old_text", "new_text"),
        "exec": ("shell", "command"),
    },
)

_OPENCLAW_EDITS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["oldText", "newText"],
        "properties": {"oldText": _TEXT, "newText": _TEXT},
        "additionalProperties": False,
    },
}
OPENCLAW = Surface(
    tools=(
        tool("apply_patch", "input", input="Patch content using the *** Begin Patch format."),
        tool("edit", "path", "edits", path=_EITHER, edits=_OPENCLAW_EDITS),
        tool(
            "exec",
            "command",
            title={"type": "string", "maxLength": 120},
            command="Shell command.",
            env={"type": "object"},
            yieldMs={
                "type": "number",
                "description": "Milliseconds before backgrounding; default 10000.",
            },
            background=_FLAG,
            host={"enum": ["auto", "sandbox", "gateway", "node"], "type": "string"},
        ),
        tool("ls", path="Directory; default cwd.", limit=_NUMBER),
        tool(
            "process",
            "action",
            action={"type": "string", "enum": ["list", "poll", "log", "write", "kill"]},
            text="Text to paste for paste",
        ),
        tool("read", "path", path=_EITHER, optional={"type": "boolean", "const": True}),
        tool("tool_call", "id", id="Tool search result id or tool name.", args={"type": "object"}),
        tool("write", "path", "content", path=_EITHER, content="File content."),
    ),
    does={
        "read": ("read", "path"),
        "write": ("write", "path", "content"),
        "edit": ("edits", "path", "edits"),
        "exec": ("shell", "command"),
    },
    states="## Workspace\nWorking directory: {folder}\nSingle global file workspace.",
    ids="plain",
)

OPENCODE = Surface(
    tools=(
        tool(
            "bash",
            "command",
            command="The command to execute",
            timeout={"type": "integer", "exclusiveMinimum": 0},
            workdir="The working directory to run the command in.",
        ),
        tool(
            "edit",
            *("filePath", "oldString", "newString"),
            filePath=_ABSOLUTE,
            oldString="The text to replace",
            newString="The text to replace it with (must be different from oldString)",
            replaceAll=_FLAG,
        ),
        tool("glob", "pattern", pattern=_TEXT, path=_TEXT),
        tool(
            "read",
            "filePath",
            filePath="The absolute path to the file or directory to read",
            offset={"type": "integer", "minimum": 0},
        ),
        tool("skill", "name", name=_TEXT),
        tool(
            "task",
            *("description", "prompt", "subagent_type"),
            prompt="The task for the agent to perform",
            subagent_type=_TEXT,
            command="The command that triggered this task",
        ),
        tool(
            "write",
            *("content", "filePath"),
            content="The content to write to the file",
            filePath="The absolute path to the file to write (must be absolute, not relative)",
        ),
    ),
    does={
        "read": ("read", "filePath"),
        "write": ("write", "filePath", "content"),
        "edit": ("edit", "filePath", "oldString", "newString"),
        "bash": ("shell", "command"),
    },
    states="<env>\n  Working directory: {folder}\n  Workspace root folder: /\n</env>",
    absolute=True,
)

GEMINI = Surface(
    tools=(
        tool("update_topic", "strategic_intent", title=_TEXT, strategic_intent=_TEXT),
        tool("list_directory", "dir_path", dir_path="The path to the directory to list"),
        tool(
            "read_file", "file_path", file_path="The path to the file to read.", end_line=_INTEGER
        ),
        tool("glob", "pattern", pattern=_TEXT, dir_path=_TEXT),
        tool(
            "replace",
            *("file_path", "instruction", "old_string", "new_string"),
            file_path="The path to the file to modify.",
            instruction="A clear, semantic instruction for the code change",
            old_string="The exact literal text to replace, preferably unescaped.",
            new_string="The exact literal text to replace `old_string` with.",
            allow_multiple=_FLAG,
        ),
        tool(
            "write_file",
            *("file_path", "content"),
            file_path="The path to the file to write to.",
            content="The content to write to the file.",
        ),
        tool(
            "run_shell_command",
            "command",
            command="Exact bash command to execute as `bash -c <command>`",
            dir_path="(OPTIONAL) The path of the directory to run the command in.",
            is_background=_FLAG,
            delay_ms={"type": "integer"},
        ),
        tool("read_background_output", "pid", pid={"type": "integer"}, lines=_INTEGER),
    ),
    does={
        "read_file": ("read", "file_path"),
        "write_file": ("write", "file_path", "content"),
        "replace": ("edit", "file_path", "old_string", "new_string"),
        "run_shell_command": ("shell", "command"),
    },
    states="<session_context>\n- **Workspace Directories:**\n  - {folder}\n</session_context>",
    ids="own",
    unread=("replace",),
)
GEMINI_OLD = Surface(
    tools=(
        tool("read_file", "absolute_path", absolute_path="The path to the file to read."),
        *(each for each in GEMINI.tools if each.name != "read_file"),
    ),
    does=GEMINI.does | {"read_file": ("read", "absolute_path")},
    states=GEMINI.states,
    ids="own",
)

MINI_SWE = Surface(
    tools=(tool("bash", "command", command="The bash command to execute"),),
    does={"bash": ("shell", "command")},
    states="Submit your changes and finish your work by issuing the following command: "
    "`echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT`.",
)

_RISK = {"type": "string", "enum": ["UNKNOWN", "LOW", "MEDIUM", "HIGH"]}
OPENHANDS = Surface(
    tools=(
        tool(
            "terminal",
            *("command", "security_risk"),
            command="The shell command to execute. Can be empty string to view additional logs.",
            is_input={"type": "boolean", "default": False},
            security_risk=_RISK,
            summary=_TEXT,
        ),
        tool(
            "file_editor",
            *("command", "path", "security_risk"),
            about="Custom editing tool.\n\nYour current working directory is: {folder}\n"
            "When exploring project structure, start with this directory.",
            command={
                "type": "string",
                "enum": ["view", "create", "str_replace", "insert", "undo_edit"],
            },
            path="Absolute path to file or directory.",
            file_text="Required parameter of `create` command.",
            old_str="Required parameter of `str_replace` command.",
            new_str="Optional parameter of `str_replace` command.",
            insert_line={"type": "integer", "minimum": 0},
            security_risk=_RISK,
        ),
        tool(
            "task_tracker",
            "security_risk",
            command={"type": "string", "enum": ["view", "plan"]},
            security_risk=_RISK,
        ),
        tool("finish", "message", message="Final message to send to the user."),
        tool("think", "thought", thought="The thought to log."),
    ),
    does={
        "terminal": ("shell", "command"),
        "file_editor": ("editor", "command", "path", "file_text", "old_str", "new_str"),
    },
    absolute=True,
)

ALONE = Surface(  # no tool for files, and one call a turn
    tools=(tool("run", "script", script=_TEXT), tool("shell_exec", "cmd", cmd=_TEXT)),
    does={"shell_exec": ("shell", "cmd")},
    parallel=False,
)

SURFACES: Mapping[str, Surface] = {
    "minimal": MINIMAL,
    "codex": CODEX,
    "codex with apply_patch": CODEX_PATCH,
    "claude-code": CLAUDE,
    "nanobot": NANOBOT,
    "openclaw": OPENCLAW,
    "opencode": OPENCODE,
    "gemini-cli": GEMINI,
    "gemini-cli, older": GEMINI_OLD,
    "mini-swe-agent": MINI_SWE,
    "openhands": OPENHANDS,
    "a shell alone": ALONE,
}
