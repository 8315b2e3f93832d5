"""What adapters of runtimes that come as a package have in common."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from pytest_agentbench.runtimes.locate import Package, locate
from pytest_agentbench.runtimes.protocol import RuntimeInfo
from pytest_agentbench.trial import RuntimeProfile


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
        path = profile.options.get("path", "")
        if not isinstance(path, str):
            raise profile.refuse(f"path must be a text, not {path!r}")
        args = profile.options.get("args", [])
        if not isinstance(args, (list, tuple)) or not all(isinstance(arg, str) for arg in args):
            raise profile.refuse(f"args must be a list of texts, not {args!r}")
        env = profile.options.get("env", {})
        if not isinstance(env, Mapping) or not all(isinstance(v, str) for v in env.values()):
            raise profile.refuse(f"env must be a table of texts, not {env!r}")
        self.profile = profile
        self.args: tuple[str, ...] = tuple(args)
        self.env: Mapping[str, str] = env

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
