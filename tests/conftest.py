"""Whole-run tests work in small projects of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from pytest_agentbench.gateway.client import Gateway
from pytest_agentbench.gateway.client import gateway as started_gateway
from tests.project import Project

pytest_plugins = ["pytester"]


@pytest.fixture(scope="session")
def gateway() -> Iterator[Gateway]:
    """A gateway's process, for all tests of a worker."""
    with started_gateway() as started:
        yield started


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("COLUMNS", "140")
    made = Project(pytester)
    made.scenario()
    return made


@pytest.fixture(params=["alone", "-n2"])
def workers(request: pytest.FixtureRequest) -> list[str]:
    """Arguments that run the same without xdist and with two workers."""
    return [] if request.param == "alone" else ["-n", "2"]


@pytest.fixture
def nodes() -> Callable[[pytest.RunResult], list[str]]:
    return lambda result: [line for line in result.outlines if "::" in line]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kills", type=int, default=8, help="kills of each kind in test_kill.py")
