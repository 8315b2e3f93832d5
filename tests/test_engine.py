import errno
import socket
from pathlib import Path

import docker
import pytest

from pytest_agentbench.sandbox import engine
from pytest_agentbench.sandbox.docker import Docker
from pytest_agentbench.sandbox.registry import SandboxUnavailable
from pytest_agentbench.status import Status, TrialFault


def test_no_engine_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"unix://{tmp_path}/s"
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(SandboxUnavailable) as caught:
        engine.connect()
    assert str(caught.value) == (
        f"no engine answers at {address} (No such file or directory); start one, or set "
        "DOCKER_HOST to the address of its socket (unix://PATH)"
    )
    assert Docker.problem() == str(caught.value)


def test_a_socket_that_nobody_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "s"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/s")
    assert Docker.problem() == (
        f"no engine answers at unix://{tmp_path}/s (Connection refused); start it, or set "
        "DOCKER_HOST to the address of another (unix://PATH)"
    )


def test_an_engine_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://10.0.0.1:2375")
    assert Docker.problem() == (
        "DOCKER_HOST is 'tcp://10.0.0.1:2375'; only an engine on this machine can mount a trial's "
        "folders: set DOCKER_HOST to unix://PATH"
    )


def test_faults_of_the_engine_are_faults_of_the_sandbox() -> None:
    with pytest.raises(TrialFault) as caught, engine.fault("start a container"):
        raise docker.errors.APIError("500", explanation="it is tired")
    assert caught.value.status is Status.SANDBOX_ERROR
    assert str(caught.value) == "docker cannot start a container: it is tired"


def test_a_full_disk_of_the_engine_is_told_apart() -> None:
    for error in (
        docker.errors.APIError("500", explanation="write /x: no space left on device"),
        OSError(errno.ENOSPC, "No space left on device"),
    ):
        with pytest.raises(TrialFault) as caught, engine.fault("create a container"):
            raise error
        assert caught.value.status is Status.NO_SPACE
