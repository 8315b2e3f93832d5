"""The model gateway of one run: HTTP over a Unix socket in a private folder."""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

from pytest_agentbench.execution import ModelEndpoint
from pytest_agentbench.gateway.chat import Backend, BackendError, ChatRequest
from pytest_agentbench.gateway.meter import Meter
from pytest_agentbench.gateway.registry import make_model
from pytest_agentbench.sandbox import leftovers
from pytest_agentbench.scenario.model import Step
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trial import ModelProfile, ProfileError, Trial

BODY_LIMIT = 32 << 20
_BACKLOG = 512


@dataclass(frozen=True, slots=True)
class Line:
    """A run's connection to its model, and what went over it."""

    endpoint: ModelEndpoint
    meter: Meter


@contextlib.contextmanager
def open_line(
    profile: ModelProfile, trial: Trial, steps: tuple[Step, ...], *, url: str = ""
) -> Iterator[Line]:
    """Serve the model of ``profile`` to one run. Raises ``TrialFault`` for a bad profile.

    ``url`` is where a sandbox forwards from; without one a port of the host's own is opened.
    """
    try:
        backend = make_model(profile).backend(trial, steps)
    except ProfileError as error:
        raise TrialFault(Status.HARNESS_ERROR, str(error)) from None
    # Not below the trial's folder: the path of a socket has room for about 100 bytes.
    with leftovers.temporary("gw-") as base:
        # What a sandbox shows of it, and may hand over to another user.
        folder = base / "g"
        folder.mkdir(mode=0o700)
        listener = None if url else socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
        if listener:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        endpoint = ModelEndpoint(
            name=profile.name,
            socket=folder / "s",
            token=secrets.token_hex(16),
            url=url,
            scripted=backend.scripted,
        )
        meter = Meter()
        with contextlib.closing(Server(endpoint, backend, meter, listener)):
            yield Line(endpoint, meter)


class Server:
    """Listens from the start; ``close`` ends every connection and waits for their threads."""

    def __init__(
        self,
        endpoint: ModelEndpoint,
        backend: Backend,
        meter: Meter,
        listener: socket.socket | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.backend = backend
        self.meter = meter
        self.closing = threading.Event()
        self._open: dict[socket.socket, threading.Thread] = {}
        self._lock = threading.Lock()
        unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        unix.bind(str(endpoint.socket))
        unix.listen(_BACKLOG)
        listeners = (unix, listener) if listener else (unix,)
        self._listeners = {
            each: threading.Thread(target=self._accept, args=(each,), name="gateway", daemon=True)
            for each in listeners
        }
        for acceptor in self._listeners.values():
            acceptor.start()

    def close(self) -> None:
        self.closing.set()
        for listener, acceptor in self._listeners.items():
            # Wakes the acceptor, which a mere close would not.
            listener.shutdown(socket.SHUT_RDWR)
            acceptor.join()
            listener.close()
        with self._lock:
            threads = dict(self._open)
        for connection, thread in threads.items():
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            thread.join()

    def _accept(self, listener: socket.socket) -> None:
        while not self.closing.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                self.closing.wait(0.05)  # out of descriptors, if not closing
                continue
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            with self._lock:
                self._open[connection] = thread
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            # A client that goes away in the middle is its own business.
            with contextlib.suppress(OSError):
                Handler(connection, "", self)
        finally:
            with self._lock:
                self._open.pop(connection)
            connection.close()


class Handler(BaseHTTPRequestHandler):
    """One connection. Speaks ``POST /v1/chat/completions``."""

    protocol_version = "HTTP/1.1"

    def __init__(self, request: socket.socket, address: str, server: Server) -> None:
        self.gateway = server
        super().__init__(request, address, server)  # type: ignore[arg-type]

    def address_string(self) -> str:
        return "agent"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def do_POST(self) -> None:
        body = self._body()
        if body is None:
            return
        said = self.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(said, f"Bearer {self.gateway.endpoint.token}".encode()):
            self._error(401, "the token is not that of this run", "invalid_token")
            return
        if self.path != "/v1/chat/completions":
            self._error(404, "this version of the gateway has: POST /v1/chat/completions")
            return
        try:
            request = ChatRequest.from_json(json.loads(body))
        except (ValueError, TypeError, RecursionError) as error:
            self._error(400, str(error), "invalid_request")
            return
        self._reply(request)

    def _reply(self, request: ChatRequest) -> None:
        gateway = self.gateway
        try:
            reply = gateway.backend.reply(request, gateway.closing)
        except BackendError as error:
            if not gateway.closing.is_set():
                gateway.meter.failed(error.status, error.message, error.code)
            self._error(error.status, error.message, error.code)
        except Exception as error:  # noqa: BLE001 - the end of this request, not of the server
            message = f"the {gateway.backend.name} backend raised {type(error).__name__}: {error}"
            gateway.meter.failed(500, message)
            self._error(500, message)
        else:
            gateway.meter.answered(reply)
            self._send(200, reply.to_json(request.model))

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            self._error(411, "a request needs a Content-Length")
            return None
        if int(length) > BODY_LIMIT:
            self._error(413, f"a request may have {BODY_LIMIT >> 20} MiB")
            return None
        return self.rfile.read(int(length))

    def _error(self, status: int, message: str, code: str = "") -> None:
        # What is left of the request is not read, so the connection is of no more use.
        self.close_connection = True
        error = {"message": message, "type": "gateway_error", "code": code or None}
        self._send(status, {"error": error})

    def _send(self, status: int, data: Any) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
