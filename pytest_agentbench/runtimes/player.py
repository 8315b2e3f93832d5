"""Plays the steps of a solution. Runs inside the sandbox: standard library alone.

Usage: player.py STEPS EVENTS. STEPS is JSON, a list of steps; EVENTS gets canonical events, one a
line. The exit code is 3 when a step needs something that is not there.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from pytest_agentbench.runtimes.hands import perform
else:  # run as a script, where no package is to be had
    sys.path.append(str(Path(__file__).parent))
    from hands import perform

#: What a step of each verb hands to the tool of that name.
ARGUMENTS = {
    "read": ("path",),
    "write": ("path", "content"),
    "edit": ("path", "old", "new"),
    "exec": ("argv",),
}
UNSUPPORTED = 3
#: What must be readable to run this.
SCRIPTS = tuple(
    Path(__file__).resolve().with_name(name) for name in ("player.py", "hands.py", "pipe.py")
)


def play(steps: list[dict[str, Any]], events: str) -> int:
    began = time.monotonic()
    with Path(events).open("a", encoding="utf-8") as file:

        def log(**event: Any) -> None:
            event["time"] = round(time.monotonic() - began, 4)
            file.write(json.dumps(event) + "\n")
            file.flush()

        for number, step in enumerate(steps, 1):
            verb = step["verb"]
            if verb == "say":
                log(kind="assistant_message", text=step["text"])
                continue
            if verb not in ARGUMENTS:
                print(f"step {number}: the oracle cannot {verb} {step['service']}", file=sys.stderr)
                return UNSUPPORTED
            args = {name: step[name] for name in ARGUMENTS[verb]}
            call = {"tool": verb, "call_id": f"step-{number}"}
            log(kind="tool_call", args=args, **call)
            status, text = perform(verb, args)
            log(kind="tool_result", status=status, text=text, **call)
    return 0


def main(argv: list[str]) -> int:
    return play(json.loads(Path(argv[1]).read_text("utf-8")), argv[2])


if __name__ == "__main__":
    sys.exit(main(sys.argv))
