"""What a scenario may require of a runtime: the one registry of capabilities."""

from __future__ import annotations

#: Name of each capability, and what a runtime that has it can do.
CAPABILITIES: dict[str, str] = {
    "network": "reach hosts beyond its model",
    "browser": "drive a web browser",
    "cron": "schedule work for later",
    "memory": "keep notes between sessions",
    "sessions": "list and inspect its own sessions",
    "messages": "send messages to people or channels",
    "directory": "look people and channels up",
    "agents": "start or address other agents",
    "skills": "load skills from its workspace",
    "gateway-services": "call services that its own gateway offers (mail, calendars, sheets, …)",
}

#: Capability that each surface of the published composite form needs; files and shell need none.
SURFACES: dict[str, str | None] = {
    "read": None,
    "write": None,
    "edit": None,
    "exec": None,
    "skills": "skills",
    "memory": "memory",
    "browser": "browser",
    "cron": "cron",
    "directory": "directory",
    "agents": "agents",
    "sessions": "sessions",
    "message": "messages",
    "gateway": "gateway-services",
    "calendar": "gateway-services",
    "gmail": "gateway-services",
    "contacts": "gateway-services",
    "feishu": "gateway-services",
    "task": "gateway-services",
    "bitable": "gateway-services",
    "wiki": "gateway-services",
    "sheet": "gateway-services",
    "im": "gateway-services",
}

#: A tool named with one of these and ``_`` implies the surface, where a file lists no surfaces.
INFERRED_SURFACES = (
    "calendar",
    "gmail",
    "contacts",
    "message",
    "directory",
    "memory",
    "browser",
    "feishu",
    "task",
    "bitable",
    "wiki",
    "sheet",
    "im",
)
