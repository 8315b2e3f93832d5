"""Two hosts in network namespaces of their own, each with an sshd: ``make test-cluster``."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.cluster.host import Host, call

ASKED = "AGENTBENCH_TEST_CLUSTER"
#: Of both hosts; the network is the third number of the address.
SSHD = """\
Port 22
ListenAddress {address}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
StrictModes no
PasswordAuthentication no
UsePAM no
PermitRootLogin yes
"""
#: A host that is cut off is given up after some seconds.
SSH = """\
Host {name}
  HostName {address}
  User root
  IdentityFile {folder}/user_key
  IdentitiesOnly yes
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
  ServerAliveInterval 1
  ServerAliveCountMax 2
  ConnectTimeout 3
"""


def pytest_ignore_collect() -> bool | None:
    """Not in ``make test``: it needs root and changes the network."""
    return None if os.environ.get(ASKED) else True


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Sequence[Host]]:
    folder = tmp_path / "ssh"
    folder.mkdir(mode=0o700)
    for key in ("host_key", "user_key"):
        call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key))
    Path("/run/sshd").mkdir(exist_ok=True)
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    assert sshd
    config = folder / "config"
    made: list[Host] = []
    servers = []
    try:
        for number in (1, 2):
            network = f"10.213.{os.getpid() % 125 * 2 + number}"
            unique = f"ab{os.getpid()}{number}"
            host = Host(f"host{number}", unique, f"{unique}c", f"{network}.2", config)
            call("ip", "netns", "add", host.namespace)
            made.append(host)
            peer = f"{unique}p"
            call("ip", "link", "add", host.device, "type", "veth", "peer", "name", peer)
            call("ip", "link", "set", peer, "netns", host.namespace)
            call("ip", "addr", "add", f"{network}.1/24", "dev", host.device)
            call("ip", "link", "set", host.device, "up")
            inside = ("ip", "-n", host.namespace)
            call(*inside, "addr", "add", f"{host.address}/24", "dev", peer)
            call(*inside, "link", "set", peer, "up")
            call(*inside, "link", "set", "lo", "up")
            place = folder / f"sshd{number}"
            place.write_text(SSHD.format(address=host.address, folder=folder))
            with config.open("a") as file:
                file.write(SSH.format(name=host.name, address=host.address, folder=folder))
            argv = ["ip", "netns", "exec", host.namespace, sshd, "-D", "-e", "-f", str(place)]
            servers.append(subprocess.Popen(argv, stderr=subprocess.DEVNULL))
        for host in made:
            wait_for(host)
        yield made
    finally:
        for server in servers:
            server.terminate()
            server.wait(timeout=30)
        for host in made:
            for pid in host.processes():
                subprocess.run(["kill", "-9", pid], check=False, capture_output=True)
            call("ip", "netns", "del", host.namespace)
            subprocess.run(["ip", "link", "del", host.device], check=False, capture_output=True)


def wait_for(host: Host) -> None:
    deadline = time.monotonic() + 60
    while host.run("true") != 0:
        assert time.monotonic() < deadline, f"{host.name} does not answer"
        time.sleep(0.2)
