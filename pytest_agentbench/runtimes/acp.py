"""Any agent that speaks the Agent Client Protocol over its standard streams."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import shutil
import sys
from pathlib import Path

from pytest_agentbench.execution import Command, Completed, Execution, View
from pytest_agentbench.flag import Flag
from pytest_agentbench.runtimes import options
from pytest_agentbench.runtimes.ending import concluded
from pytest_agentbench.runtimes.installed import needed
from pytest_agentbench.runtimes.locate import runtimes_folder, version_of
from pytest_agentbench.runtimes.protocol import RuntimeInfo, RuntimeUnavailable
from pytest_agentbench.status import Status
from pytest_agentbench.trace.acp import parse, stop_reason
from pytest_agentbench.trace.transcript import read_rows
from pytest_agentbench.trial import AgentRun, RuntimeProfile

PLACEHOLDERS = ("url", "token", "model", "home", "state", "workspace")
OPTIONS = (
    *("argv", "env", "files", "auth", "mode", "offers"),
    *("install", "readable", "capabilities", "skills_folder"),
)
OFFERS = ("fs", "terminal")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_SCRIPTS = ("acp_client.py", "acp_hands.py", "pipe.py")


class Acp:
    """Drives the agent ``argv`` through ``acp_client.py``. Options: see docs/runtimes.md."""

    name = "acp"

    def __init__(self, profile: RuntimeProfile) -> None:
        """Raises ``ProfileError``."""
        profile.only(OPTIONS)
        self.profile = profile
        self.argv = options.texts(profile, "argv")
        if not self.argv:
            raise profile.refuse("argv is needed: the agent and its arguments")
        self.env, self.files = options.table(profile, "env"), options.table(profile, "files")
        self.skills_folder = options.text(profile, "skills_folder")
        for name in (*self.files, self.skills_folder):
            if Path(name).is_absolute() or ".." in Path(name).parts:
                raise profile.refuse(
                    f"{name!r} leads out of where it belongs; allowed: relative paths without '..'"
                )
        for text in (*self.argv, *self.env.values(), *self.files.values()):
            for name in _PLACEHOLDER.findall(text):
                if name not in PLACEHOLDERS:
                    known = ", ".join(f"{{{known}}}" for known in PLACEHOLDERS)
                    raise profile.refuse(f"there is no placeholder {{{name}}}; allowed: {known}")
        self.auth, self.mode, self.install = (
            options.text(profile, n) for n in ("auth", "mode", "install")
        )
        self.offers = options.texts(profile, "offers")
        for offer in self.offers:
            if offer not in OFFERS:
                raise profile.refuse(f"offers has {offer!r}; allowed: {', '.join(OFFERS)}")
        self.readable = options.texts(profile, "readable")
        self.capabilities = options.texts(profile, "capabilities")

    @property
    def program(self) -> Path:
        """The agent, of the folder of runtimes or on PATH. Raises ``RuntimeUnavailable``."""
        pattern = f"*@{self.profile.version or '*'}"
        found = sorted(runtimes_folder().glob(pattern), reverse=True)
        folders = [str(each / inside) for each in found for inside in ("node_modules/.bin", "bin")]
        searched = os.pathsep.join((*folders, os.environ.get("PATH", os.defpath)))
        program = shutil.which(self.argv[0], path=searched)
        if program is None:
            advice = f"Install it with:\n    {self.install}" if self.install else "Install it."
            raise RuntimeUnavailable(f"{self.argv[0]} is not on PATH. {advice}")
        # Links on the way to it need not be there in a sandbox that shows the installation; but a
        # link may itself be what makes a Python that of a virtual environment.
        path = Path(program).absolute()
        return path.parent.resolve() / path.name

    def probe(self) -> RuntimeInfo:
        program = self.program
        with program.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return RuntimeInfo(
            version=self.profile.version or version_of(program),
            digest=digest,
            capabilities=self.capabilities,
            endpoint=True,
        )

    def prepare(self, run: AgentRun) -> None:
        config = {
            "argv": [str(self.program), *(_fill(text, run) for text in self.argv[1:])],
            "workspace": str(run.workspace),
            "prompt": run.prompt,
            "auth": self.auth,
            "mode": self.mode,
            "offers": self.offers,
            "log": str(_log(run)),
        }
        (run.state / "acp.json").write_text(json.dumps(config))
        for name, text in self.files.items():
            path = run.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_fill(text, run), "utf-8")

    def command(self, run: AgentRun) -> Command:
        readable = (Path(name).expanduser().absolute() for name in self.readable)
        scripts = [Path(__file__).resolve().with_name(name) for name in _SCRIPTS]
        return Command(
            argv=(sys.executable, "-I", "-S", str(scripts[0]), str(run.state / "acp.json")),
            cwd=run.workspace,
            env={name: _fill(text, run) for name, text in self.env.items()},
            view=View(writable=(run.state,), readable=(*scripts, *needed(self.program), *readable)),
        )

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        log = read_rows(_log(run))
        found = parse(log.rows)
        execution = concluded(run, found, done, log.flags)
        turns = stop_reason(log.rows) == "max_turn_requests"
        if not turns or execution.status is not Status.COMPLETED:
            return execution
        return dataclasses.replace(execution, flags=(*execution.flags, Flag.MAX_TURNS))


def _log(run: AgentRun) -> Path:
    return run.state / "acp.jsonl"


def _fill(text: str, run: AgentRun) -> str:
    assert run.model is not None
    values = {
        "url": run.model.url,
        "token": run.model.token,
        "model": run.model.name,
        "home": str(run.home),
        "state": str(run.state),
        "workspace": str(run.workspace),
    }
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)
