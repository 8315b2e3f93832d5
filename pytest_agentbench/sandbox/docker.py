"""The Docker sandbox: one container for each command, removed at its end."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker  # type: ignore[import-untyped]
from docker.types import LogConfig, Mount, Ulimit  # type: ignore[import-untyped]

from pytest_agentbench.execution import Command, Completed, Limits, View
from pytest_agentbench.sandbox import engine, owner
from pytest_agentbench.sandbox.bounds import settled
from pytest_agentbench.sandbox.container import Container, Report
from pytest_agentbench.sandbox.disk import Disk
from pytest_agentbench.sandbox.enforcement import enforcement
from pytest_agentbench.sandbox.handover import USER, handed_over
from pytest_agentbench.sandbox.image import BASE, reference
from pytest_agentbench.sandbox.namespace import FORWARDER, INIT
from pytest_agentbench.sandbox.registry import SandboxUnavailable
from pytest_agentbench.status import Status, TrialFault

#: MiB of the private /tmp, out of the container's memory.
TMP_MB = 256
_BY = {
    "memory_mb": "cgroup",
    "processes": "cgroup",
    "cpus": "cgroup",
    "cpu_seconds": "rlimit",
    "file_mb": "rlimit",
    "open_files": "rlimit",
    "workspace_mb": "watching",
}
#: Where our own files are inside.
INSIDE = "/run/agentbench"


class Docker:
    """Each command in a container of its own, which sees its ``View`` and the image.

    ``image`` is a name for ``agentbench image``, or the engine's name of any image that has a
    ``python3``, which runs our ``init.py`` as the first process. Nothing is ever pulled.
    """

    name = "docker"
    forwards = True

    def __init__(self, *, hidden: tuple[Path, ...] = (), image: str = BASE) -> None:
        self._hidden = hidden
        self._image = image
        self._left: list[Container] = []
        self._client: Any = None
        self._facts: dict[str, Any] = {}

    @staticmethod
    def problem(image: str = BASE) -> str:
        """Why commands cannot run here in ``image``; also removes what a dead run left."""
        try:
            client, _ = _open(image)
        except SandboxUnavailable as error:
            return str(error)
        try:
            sweep(client)
        except TrialFault as fault:
            return str(fault)
        finally:
            client.close()
        return ""

    def run(self, command: Command) -> Completed:
        try:
            if self._client is None:
                self._client, self._facts = _open(self._image)
        except SandboxUnavailable as error:
            raise TrialFault(Status.SANDBOX_ERROR, f"docker: {error}") from error
        limits = _limits(command.view.limits)
        disk = Disk(command.view.writable, limits.workspace_mb or 0)
        with Report() as report, handed_over(command.view):
            container = Container(self._client, self._options(command, limits, report.path))
            try:
                with container:
                    done, no_memory = container.run(command, disk.crossed)
            finally:
                if container.left:
                    self._left.append(container)
            done = _told(done, report.lines(), command, reference(self._image))
        if no_memory:
            note = f"memory: a process was killed at {limits.memory_mb} MiB"
            done = replace(done, exceeded=(*done.exceeded, note))
        return replace(done, enforced=self._enforced(command, limits))

    def close(self) -> tuple[str, ...]:
        if self._client is None:
            return ()
        for container in self._left:
            container.remove()
        with contextlib.suppress(TrialFault):
            sweep(self._client)
        self._client.close()
        self._client = None
        return tuple(f"container {each.left}" for each in self._left if each.left)

    def _enforced(self, command: Command, limits: Limits) -> dict[str, Any]:
        enforced = enforcement(
            self.name,
            files="hidden",
            read_only=True,
            network=command.view.network,
            capabilities="none",
            tree_kill="pid namespace",
            # The engine keeps it running; the next start removes it.
            dies_with_worker=False,
            output_limit=command.output_limit,
            limits={
                name: {"limit": value, "by": by}
                for name, by in _BY.items()
                if (value := getattr(limits, name)) is not None
            },
        )
        return enforced | {"image": reference(self._image), "image_id": self._facts["Id"]}

    def _options(self, command: Command, limits: Limits, report: Path) -> dict[str, Any]:
        """What the container is made with."""
        view = command.view
        own = {"init.py": INIT, "forwarder.py": FORWARDER, "report": report}
        mounts = [(path, Path(INSIDE, name), True) for name, path in own.items()]
        mounts += places(view)
        tmpfs = {"/tmp": f"rw,exec,nosuid,nodev,mode=1777,size={TMP_MB}m"}
        for path in covered([place[1] for place in mounts], self._hidden):
            tmpfs[str(path)] = "ro,mode=000,size=4k"
        socket = str(view.gateway / "s") if view.network == "gateway" and view.gateway else ""
        assert limits.memory_mb is not None
        assert limits.cpus is not None
        memory = limits.memory_mb << 20
        env = {**command.env, "PATH": self._path(command)}
        # Adapters of ours run on the harness's Python, for which an image has its own.
        program = "python3" if command.argv[0] == sys.executable else command.argv[0]
        return {
            "image": reference(self._image),
            "entrypoint": ["python3", "-I", "-S", "-B", f"{INSIDE}/init.py"],
            "command": [f"{INSIDE}/report", socket, "", program, *command.argv[1:]],
            "working_dir": str(command.cwd),
            "environment": [f"{name}={value}" for name, value in env.items()],
            "user": f"{os.geteuid() or USER}:{os.getegid() or USER}",
            "stdin_open": bool(command.stdin),
            "network_mode": "bridge" if view.network == "open" else "none",
            "mounts": [
                Mount(str(target), str(source), type="bind", read_only=read_only)
                for source, target, read_only in mounts
            ],
            # That of an image would run beside the command.
            "healthcheck": {"test": ["NONE"]},
            "read_only": True,
            "tmpfs": tmpfs,
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges"],
            "mem_limit": memory,
            "memswap_limit": memory,
            "nano_cpus": int(limits.cpus * 1e9),
            "pids_limit": limits.processes,
            "ulimits": list(_ulimits(limits)),
            # What is said goes to us alone; a log would fill the engine's disk.
            "log_config": LogConfig(type=LogConfig.types.NONE),
            "labels": {
                **owner.labels(),
                "agentbench.trial": command.env.get("AGENTBENCH_TRIAL", ""),
            },
        }

    def _path(self, command: Command) -> str:
        """The image's PATH, after those folders of the command's that are to be seen inside."""
        env = self._facts["Config"]["Env"] or ()
        image = next((each[5:] for each in env if each.startswith("PATH=")), os.defpath)
        seen = command.view.readable + command.view.writable
        own = [
            folder
            for folder in command.env.get("PATH", "").split(":")
            if folder and any(Path(folder).is_relative_to(path) for path in seen)
        ]
        return ":".join((*own, image))


def places(view: View) -> list[tuple[Path, Path, bool]]:
    """What is mounted: where it lies, where it is seen, and whether it is read-only."""
    mounts = {path: (path, path, False) for path in view.writable}
    gateway = (view.gateway,) if view.network == "gateway" and view.gateway else ()
    for path in (*view.readable, *gateway):
        real = path.resolve()
        # Where it really lies too, for programs that look themselves up.
        for target in (real, path):
            mounts.setdefault(target, (real, target, True))
    return list(mounts.values())


def covered(shown: Iterable[Path], hidden: Iterable[Path]) -> list[Path]:
    """The hidden folders that would be seen inside a mounted one."""
    shown = set(shown)
    real = (path.resolve() for path in hidden)
    return [path for path in real if path not in shown and shown.intersection(path.parents)]


def sweep(client: Any) -> tuple[str, ...]:
    """Remove the containers of dead owners and return their ids. Raises ``TrialFault``."""
    removed = []
    with engine.fault("remove what a dead run left"):
        for found in client.api.containers(all=True, filters={"label": owner.OWNER}):
            if owner.gone(found["Labels"]):
                # Another process may be at it too.
                with contextlib.suppress(docker.errors.APIError):
                    client.api.remove_container(found["Id"], force=True, v=True)
                    removed.append(str(found["Id"]))
    return tuple(removed)


def _open(image: str) -> tuple[Any, dict[str, Any]]:
    """A client and what its engine says of the image. Raises ``SandboxUnavailable``."""
    client = engine.connect()
    name = reference(image)
    try:
        return client, client.api.inspect_image(name)
    except docker.errors.ImageNotFound:
        client.close()
        advice = f"agentbench image build {image}" if name != image else f"docker pull {name}"
        raise SandboxUnavailable(
            f"the image {name} is not on the engine at {engine.address()}, and none is pulled; "
            f"run: {advice}"
        ) from None


def _told(done: Completed, lines: list[bytes], command: Command, image: str) -> Completed:
    """``done`` with what ``init`` said of the command. Raises ``TrialFault``."""
    if b"up" not in lines:
        said = done.stderr.decode("utf-8", "replace").strip()[-500:]
        raise TrialFault(Status.SANDBOX_ERROR, f"docker: init did not start: {said or 'no word'}")
    match lines[-1].split():
        case [b"failed", number]:
            raise TrialFault(
                Status.SANDBOX_ERROR,
                f"cannot start {command.argv[0]!r} in the image {image}: "
                f"{os.strerror(int(number) or errno.EINVAL)}",
            )
        case [b"exit", status, left]:
            code = os.waitstatus_to_exitcode(int(status))
            return replace(done, exit_code=code, survivors=int(left))
    return replace(done, exit_code=-signal.SIGKILL)


def _limits(asked: Limits) -> Limits:
    """The limits asked for, over the defaults; an engine refuses more cores than there are."""
    limits = settled(asked)
    cores = os.cpu_count() or 1
    return replace(limits, cpus=min(limits.cpus or cores, cores))


def _ulimits(limits: Limits) -> Iterator[Ulimit]:
    size = limits.file_mb << 20 if limits.file_mb is not None else None
    wanted = (("core", 0), ("fsize", size), ("cpu", limits.cpu_seconds))
    for name, most in (*wanted, ("nofile", limits.open_files)):
        if most is not None:
            yield Ulimit(name=name, soft=most, hard=most)
