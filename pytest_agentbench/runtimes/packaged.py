"""What adapters of runtimes that come as a package have in common."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import ClassVar

from pytest_agentbench.runtimes import options
from pytest_agentbench.runtimes.locate import Package, locate
from pytest_agentbench.runtimes.protocol import RuntimeInfo
from pytest_agentbench.trial import AgentRun, RuntimeProfile


class Packaged:
    """An installed runtime that reaches its model through the gateway.

    Its options are ``path`` (the program), ``args`` (further arguments) and ``env`` (further
    variables, over the adapter's own), beside ``more`` of the adapter's.
    """

    package: ClassVar[Package]
    capabilities: ClassVar[tuple[str, ...]] = ()
    more: ClassVar[tuple[str, ...]] = ()

    def __init__(self, profile: RuntimeProfile) -> None:
        """Raises ``ProfileError``."""
        profile.only(("path", "args", "env", *self.more))
        options.text(profile, "path")
        self.args = options.texts(profile, "args")
        self.env = options.table(profile, "env")
        self.profile = profile

    @property
    def program(self) -> Path:
        """The file that the command stands for. Raises ``RuntimeUnavailable``."""
        # Links on the way to it need not be there in a sandbox that shows the installation.
        return locate(self.profile, self.package).program.resolve()

    def probe(self) -> RuntimeInfo:
        found = locate(self.profile, self.package)
        return RuntimeInfo(
            version=found.version,
            digest=found.digest,
            capabilities=self.capabilities,
            endpoint=True,
        )


def session(run: AgentRun) -> uuid.UUID:
    """The id that names a session or its transcript: the run's alone, and the harness's choice."""
    return uuid.uuid5(uuid.NAMESPACE_URL, f"agentbench:{run.id}")
