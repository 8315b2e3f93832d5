"""The built-in runtimes by the name of their adapter."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytest_agentbench.runtimes.command import CommandLine
from pytest_agentbench.runtimes.minimal import Minimal
from pytest_agentbench.runtimes.nop import Nop
from pytest_agentbench.runtimes.oracle import Oracle
from pytest_agentbench.runtimes.protocol import Runtime
from pytest_agentbench.trial import RuntimeProfile

#: Makes the runtime of a profile; raises ``ProfileError`` for options that it does not understand.
Adapter = Callable[[RuntimeProfile], Runtime]

ADAPTERS: Mapping[str, Adapter] = {
    "nop": Nop,
    "oracle": Oracle,
    "command": CommandLine,
    "minimal": Minimal,
}
