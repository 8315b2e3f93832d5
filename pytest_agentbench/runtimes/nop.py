"""The runtime that does nothing, and must score nothing."""

from __future__ import annotations

from pytest_agentbench.execution import Command, Completed, Execution
from pytest_agentbench.runtimes.protocol import RuntimeInfo, own_version, refuse_options
from pytest_agentbench.status import Status
from pytest_agentbench.trial import AgentRun, RuntimeProfile


class Nop:
    name = "nop"

    def __init__(self, profile: RuntimeProfile) -> None:
        refuse_options(profile)
        self.version = own_version(profile)

    def probe(self) -> RuntimeInfo:
        return RuntimeInfo(version=self.version, calls_model=False, process=False)

    def prepare(self, run: AgentRun) -> None:
        pass

    def command(self, run: AgentRun) -> Command | None:
        return None

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        return Execution(status=Status.COMPLETED)
