"""The connection to a Docker engine on this machine."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Iterator
from typing import Any

import docker  # type: ignore[import-untyped]
import requests

from pytest_agentbench.sandbox.registry import SandboxUnavailable
from pytest_agentbench.status import Status, TrialFault, status_of

DEFAULT = "unix:///var/run/docker.sock"
#: Seconds that the engine may take to answer a request.
PATIENCE = 60.0
_ADVICE = {
    errno.ENOENT: "start one, or set DOCKER_HOST to the address of its socket (unix://PATH)",
    errno.ECONNREFUSED: "start it, or set DOCKER_HOST to the address of another (unix://PATH)",
    errno.EACCES: "as this user: become a member of the group that owns the socket",
}


def address() -> str:
    """Where the engine is: DOCKER_HOST, or the usual socket."""
    return os.environ.get("DOCKER_HOST") or DEFAULT


def connect(*, timeout: float = PATIENCE) -> Any:
    """A ``docker.DockerClient``, which the caller closes.

    Raises ``SandboxUnavailable`` where no engine answers, and for one that would not find our
    files (on another machine) or not as ours (in a user namespace of its own).
    """
    host = address()
    if not host.startswith("unix://"):
        raise SandboxUnavailable(
            f"DOCKER_HOST is {host!r}; only an engine on this machine can mount a trial's "
            "folders: set DOCKER_HOST to unix://PATH"
        )
    _knock(host)
    try:
        client = docker.DockerClient(base_url=host, version="auto", timeout=timeout)
    except docker.errors.DockerException as error:
        raise SandboxUnavailable(f"the engine at {host} fails: {error}") from None
    return client


def _knock(host: str) -> None:
    """Find out in time, and by the system's own word, that nobody listens."""
    with socket.socket(socket.AF_UNIX) as knock:
        knock.settimeout(PATIENCE)
        try:
            knock.connect(host.removeprefix("unix://"))
        except OSError as error:
            number = error.errno or 0
            advice = _ADVICE.get(number, _ADVICE[errno.ECONNREFUSED])
            raise SandboxUnavailable(
                f"no engine answers at {host} ({os.strerror(number)}); {advice}"
            ) from None


@contextlib.contextmanager
def fault(doing: str) -> Iterator[None]:
    """An engine that refuses or dies is a fault of the sandbox, never of an agent."""
    try:
        yield
    except docker.errors.APIError as error:
        said = str(error.explanation or error).strip()
        status = Status.NO_SPACE if "no space left" in said else Status.SANDBOX_ERROR
        raise TrialFault(status, f"docker cannot {doing}: {said}") from error
    except (docker.errors.DockerException, requests.RequestException, OSError) as error:
        status = status_of(error, Status.SANDBOX_ERROR)
        raise TrialFault(status, f"docker cannot {doing}: {error}") from error
