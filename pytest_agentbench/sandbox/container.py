"""One container: made, fed, read with a cap, ended by its deadline, removed."""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import docker  # type: ignore[import-untyped]
import requests

from pytest_agentbench.execution import Command, Completed
from pytest_agentbench.sandbox import engine, leftovers
from pytest_agentbench.sandbox.process import GRACE
from pytest_agentbench.status import Status, TrialFault

_CHUNK = 1 << 16
#: Seconds between two looks at what is to be watched.
LOOK = 0.1
#: Seconds for what the engine does after a kill.
_END = 10.0


class Container:
    """Made when entered and removed, alive or dead, when left.

    ``options`` are those of ``docker.DockerClient.containers.create``, which pulls no image.
    Raises ``TrialFault`` for all that the engine cannot do.
    """

    def __init__(self, client: Any, options: Mapping[str, Any]) -> None:
        self._client = client
        self._options = options
        self._made: Any = None
        self._removed = False

    @property
    def left(self) -> str | None:
        """The id of a container that could not be removed."""
        return None if self._made is None or self._removed else str(self._made.short_id)

    def __enter__(self) -> Self:
        with engine.fault("create a container"):
            self._made = self._client.containers.create(**self._options)
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Kill and remove it. Failing changes nothing of what was done, but stays in ``left``."""
        with contextlib.suppress(TrialFault), engine.fault("remove a container"):
            with contextlib.suppress(docker.errors.NotFound):
                self._made.remove(force=True, v=True)
            self._removed = True

    def run(self, command: Command, crossed: Callable[[], str]) -> tuple[Completed, bool]:
        """Start it, feed it, and end it; what came of it, and whether memory ran out.

        The time limit runs from the start. Past it the first process gets TERM, and a second
        later KILL, which ends all others with it: they share a process namespace. ``crossed``
        is asked now and then; once it names a limit, KILL comes at once.
        """
        with engine.fault("run a container"), contextlib.ExitStack() as stack:
            api, name = self._client.api, self._made.id
            line = stack.enter_context(_attached(api, name, command))
            api.start(name)
            started = time.monotonic()
            deadline, limit = started + command.timeout, ""
            ended = False
            while not (ended or limit) and (now := time.monotonic()) < deadline:
                ended = self._ended(line, min(deadline, now + LOOK))
                limit = crossed()
            timed_out = not (ended or limit)
            if timed_out:
                self._kill("TERM")
                ended = self._ended(line, time.monotonic() + GRACE)
            if not ended:
                self._kill("KILL")
                self._ended(line, time.monotonic() + _END)
            seconds = time.monotonic() - started
            state = api.inspect_container(name)["State"]
        if state["Running"]:
            raise TrialFault(Status.SANDBOX_ERROR, "docker cannot end a container: it still runs")
        done = Completed(
            exit_code=state["ExitCode"],
            exceeded=(limit,) if limit else (),
            timed_out=timed_out,
            seconds=seconds,
            stdout=bytes(line.stdout.kept),
            stderr=bytes(line.stderr.kept),
            stdout_bytes=line.stdout.total,
            stderr_bytes=line.stderr.total,
        )
        return done, bool(state["OOMKilled"])

    def _ended(self, line: Line, deadline: float) -> bool:
        """Pump until the container has ended; False when ``deadline`` (monotonic) comes first."""
        if not line.pump(deadline):
            return False
        # Streams that are closed say little: who may trace the first process can close them.
        left = max(0.1, deadline - time.monotonic())
        try:
            self._client.api.wait(self._made.id, timeout=left)
        except requests.RequestException:
            return False
        return True

    def _kill(self, name: str) -> None:
        # Ended meanwhile.
        with contextlib.suppress(docker.errors.APIError):
            self._client.api.kill(self._made.id, name)


class Report:
    """What ``init`` says from inside, over the socket ``path``. A context manager.

    Only the first to connect is heard, and that is ``init``, before the command starts: nothing
    that the command does can pass for it.
    """

    def __enter__(self) -> Self:
        self._folder = leftovers.folder("report-")
        self.path = self._folder / "s"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        # Its folder keeps others out; inside, another user connects.
        self.path.chmod(0o666)
        self._listener.listen(1)
        self._listener.setblocking(False)
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        with contextlib.suppress(OSError):
            leftovers.remove(self._folder)

    def lines(self) -> list[bytes]:
        """All that was said, to be asked for when ``init`` is dead."""
        try:
            connection, _ = self._listener.accept()
        except BlockingIOError:
            return []
        with connection:
            return connection.recv(_CHUNK).splitlines()


class Stream:
    """An output stream: the first ``limit`` bytes kept, all counted."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.kept = bytearray()
        self.total = 0

    def take(self, data: bytes) -> None:
        self.total += len(data)
        self.kept += data[: max(0, self.limit - len(self.kept))]


class Frames:
    """Takes the engine's one stream apart: a header of 8 bytes, then so many bytes of a stream.

    The format is that of the engine's API, "Attach to a container", stream format.
    """

    def __init__(self, streams: Mapping[int, Stream]) -> None:
        self._streams = streams
        self._header = b""
        self._stream: Stream | None = None
        self._left = 0

    def feed(self, data: bytes) -> None:
        while data:
            if self._left == 0:
                missing = 8 - len(self._header)
                self._header, data = self._header + data[:missing], data[missing:]
                if len(self._header) == 8:
                    number, self._left = struct.unpack(">BxxxI", self._header)
                    self._stream = self._streams.get(number)
                    self._header = b""
                continue
            part, data = data[: self._left], data[self._left :]
            self._left -= len(part)
            if self._stream is not None:
                self._stream.take(part)


class Line:
    """The connection to the streams of a container, in the thread that waits for it."""

    def __init__(self, connection: socket.socket, command: Command) -> None:
        self.stdout = Stream(command.output_limit)
        self.stderr = Stream(command.output_limit)
        self._frames = Frames({1: self.stdout, 2: self.stderr})
        self._input = memoryview(command.stdin)
        self._connection = connection
        self._over = False
        connection.setblocking(False)

    def pump(self, deadline: float) -> bool:
        """Move bytes until the engine closes the streams; False when ``deadline`` comes first."""
        with selectors.DefaultSelector() as selector:
            write = selectors.EVENT_WRITE if self._input else 0
            selector.register(self._connection, selectors.EVENT_READ | write)
            while not self._over and (left := deadline - time.monotonic()) > 0:
                for _, events in selector.select(left):
                    if events & selectors.EVENT_READ:
                        self._read()
                    if events & selectors.EVENT_WRITE:
                        self._write()
                        if not self._input:
                            selector.modify(self._connection, selectors.EVENT_READ)
        return self._over

    def _read(self) -> None:
        try:
            data = self._connection.recv(_CHUNK)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        self._frames.feed(data)
        self._over = not data

    def _write(self) -> None:
        try:
            self._input = self._input[self._connection.send(self._input[:_CHUNK]) :]
        except BlockingIOError:
            return
        except ConnectionError:
            self._input = self._input[:0]
        if not self._input:
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def _attached(api: Any, name: str, command: Command) -> Iterator[Line]:
    """Connect to the streams before there is anything in them; no log is kept of them.

    Asked for by hand, as the API's "Attach to a container" says: the SDK has a way to read from
    this connection and one to write, and none to close it.
    """
    wanted = f"stream=1&stdout=1&stderr=1&stdin={int(bool(command.stdin))}"
    request = (
        f"POST /v{api.api_version}/containers/{name}/attach?{wanted} HTTP/1.1\r\n"
        "Host: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n"
    )
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_END)
        connection.connect(engine.address().removeprefix("unix://"))
        connection.sendall(request.encode())
        head = b""
        # By single bytes: what follows the head belongs to the streams.
        while not head.endswith(b"\r\n\r\n") and (byte := connection.recv(1)):
            head += byte
        if not head.startswith((b"HTTP/1.1 101 ", b"HTTP/1.1 200 ")):
            said = head.decode("latin-1").partition("\r\n")[0]
            raise TrialFault(Status.SANDBOX_ERROR, f"docker cannot attach a container: {said!r}")
        yield Line(connection, command)
