"""Fixtures of the suite. Loaded where its tests run, never in the controller of xdist."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import pytest

from pytest_agentbench.collect import BENCH, bench_of
from pytest_agentbench.conformance.clauses import CLAUSES, Clause
from pytest_agentbench.conformance.rig import Rig, Seen
from pytest_agentbench.gateway.client import Gateway
from pytest_agentbench.gateway.client import gateway as started
from pytest_agentbench.report.conformance import PROPERTY
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trial import RuntimeProfile

_NO_ENDPOINT = (
    "the runtime {name} does not reach its model through the gateway (RuntimeInfo.endpoint is "
    "false), so nobody can see what it asks: this contract is for those that do"
)
_FACTS = pytest.StashKey[dict[str, Any]]()


@dataclass(frozen=True, slots=True)
class Contract:
    """The clause that a test is about. The methods raise with a text that says it all."""

    clause: Clause
    runtime: str

    def broken(self, seen: str) -> NoReturn:
        """The clause does not hold; ``seen`` says how that shows."""
        pytest.fail(
            f"{self.runtime} breaks the clause {self.clause.id} ({self.clause.layer}):\n"
            f"  contract: {self.clause.says}\n"
            f"  seen:     {seen}\n"
            f"  look at:  {self.clause.look}",
            pytrace=False,
        )

    def holds(self, good: object, seen: str) -> None:
        """The clause holds as far as ``good``."""
        if not good:
            self.broken(seen)

    def idle(self, reason: str) -> NoReturn:
        """The clause does not apply to the runtime."""
        pytest.skip(reason)

    def done(self, seen: Seen) -> Seen:
        """The run, which must have ended well to show anything."""
        if seen.execution.status is not Status.COMPLETED:
            self.broken(f"a run that was to show it ended as {seen.ending}")
        return seen


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "profile" not in metafunc.fixturenames:
        return
    bench = metafunc.config.stash.get(BENCH, None)
    profiles = bench.settings.runtimes if bench else ()
    if not profiles:
        pytest.fail("the suite needs a runtime: give --runtime=NAME", pytrace=False)
    names = [profile.name for profile in profiles]
    metafunc.parametrize("profile", profiles, ids=names, indirect=True, scope="session")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    mark = item.get_closest_marker("clause")
    callspec: Any = getattr(item, "callspec", None)
    if mark is None or callspec is None:
        return
    profile: RuntimeProfile = callspec.params["profile"]
    item.stash[_FACTS] = {
        "clause": mark.args[0],
        "runtime": profile.name,
        "adapter": profile.adapter,
    }
    others = [pair for pair in item.user_properties if pair[0] != PROPERTY]
    item.user_properties[:] = [*others, (PROPERTY, item.stash[_FACTS])]
    if problem := _problem(item.config, profile):
        item.stash[_FACTS]["problem"] = problem.status.value
        # The same for every test: one is enough.
        item.session.shouldfail = str(problem).splitlines()[0]
        pytest.fail(str(problem), pytrace=False)


def _problem(config: pytest.Config, profile: RuntimeProfile) -> TrialFault | None:
    """Why the suite can say nothing of the runtime."""
    try:
        _, info = bench_of(config).runtime(profile)
    except TrialFault as fault:
        return fault
    if not info.endpoint:
        return TrialFault(Status.UNSUPPORTED, _NO_ENDPOINT.format(name=profile.name))
    return None


@pytest.fixture(scope="session")
def profile(request: pytest.FixtureRequest) -> RuntimeProfile:
    """A runtime that the suite was asked to look at."""
    found: RuntimeProfile = request.param
    return found


@pytest.fixture(scope="session")
def models(request: pytest.FixtureRequest) -> Iterator[Gateway]:
    """The gateway: the session's, or one of this worker's own."""
    given = bench_of(request.config).gateway
    if given is not None:
        yield given
        return
    with started() as own:
        yield own


@pytest.fixture(scope="session")
def rig(request: pytest.FixtureRequest, profile: RuntimeProfile, models: Gateway) -> Rig:
    """What runs tasks on the runtime."""
    bench = bench_of(request.config)
    runtime, info = bench.runtime(profile)
    return Rig(
        profile=profile,
        runtime=runtime,
        info=info,
        gateway=models,
        make_sandbox=bench.make_sandbox,
        make_grader=bench.grader,
        cap=bench.cap(profile),
        factor=bench.settings.timeout_multiplier,
    )


@pytest.fixture
def contract(request: pytest.FixtureRequest, rig: Rig) -> Contract:
    """The clause of the test that asks, and the runtime it is held against."""
    facts = request.node.stash[_FACTS]
    facts |= {
        "version": rig.info.version,
        "digest": rig.info.digest,
        "sandbox": rig.first.sandbox,
    }
    clause = CLAUSES[facts["clause"]]
    return Contract(clause, f"{rig.profile.name} {rig.info.version}".strip())
