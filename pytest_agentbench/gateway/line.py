"""One run's connection to its model: HTTP on a Unix socket, and on a port where one is needed."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hmac
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from pytest_agentbench.gateway import failure
from pytest_agentbench.gateway.backend import PASSED, Answer, Backend, HangUp, ModelCall, Unsent
from pytest_agentbench.gateway.chat import BackendError, Dialect, RequestError
from pytest_agentbench.gateway.dialects import gemini, messages
from pytest_agentbench.gateway.dialects.registry import dialect_of
from pytest_agentbench.gateway.meter import Gauge, Meter
from pytest_agentbench.gateway.purse import Purse
from pytest_agentbench.gateway.report import LineReport
from pytest_agentbench.gateway.speaker import EVENTS, JSON
from pytest_agentbench.gateway.watch import Watch
from pytest_agentbench.spending import Price

BODY_LIMIT = 64 << 20
_BACKLOG = 512
#: Seconds for an answer to end by itself once its run is over; 0 would wait for ever.
_GRACE = 0.01
#: Of a token, roughly: clients that ask beforehand want to know how near a limit is.
_CHARACTERS = 4
#: Where clients put a key, beside ``Authorization: Bearer``.
_KEY_HEADERS = ("x-api-key", "x-goog-api-key", "api-key")


class Line:
    """Serves ``backend`` to whoever knows ``token``, meters it, and pays from ``purses``."""

    def __init__(
        self,
        backend: Backend,
        *,
        model: str,
        token: str,
        price: Price | None = None,
        watch: Watch | None = None,
        purses: tuple[Purse, ...] = (),
    ) -> None:
        self.backend = backend
        self._price = price
        self._purses = purses
        self.meter = Meter(watch)
        self._model = model
        self._token = token.encode()
        self._strangers = 0
        self._http = web.Server(
            self._handle, access_log=None, handler_cancellation=True, lingering_time=0
        )
        self._servers: list[asyncio.Server] = []

    async def listen(self, socket: Path, *, tcp: bool) -> int | None:
        """Listen on the socket; the number of the port on 127.0.0.1 if there is to be one."""
        loop = asyncio.get_running_loop()
        self._servers.append(
            await loop.create_unix_server(self._http, str(socket), backlog=_BACKLOG)
        )
        if not tcp:
            return None
        server = await loop.create_server(self._http, "127.0.0.1", 0, backlog=_BACKLOG)
        self._servers.append(server)
        port: int = server.sockets[0].getsockname()[1]
        return port

    def report(self) -> LineReport:
        """What went over it so far."""
        facts = {"name": self.backend.name, **getattr(self.backend, "facts", {})}
        if self._price:
            facts["price"] = dataclasses.asdict(self._price)
        report = self.meter.report()
        cost = self._price.cost(report.usage) if self._price else None
        return dataclasses.replace(
            report,
            usage=dataclasses.replace(report.usage, cost_usd=cost),
            backend=facts,
            model=self._model,
            strangers=self._strangers,
        )

    async def close(self) -> None:
        """End every connection; answers that are under way are cut off."""
        for server in self._servers:
            server.close()
        await self._http.shutdown(_GRACE)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = bytearray()
        async for piece in request.content.iter_any():
            body += piece
            if len(body) > BODY_LIMIT:
                problem = f"a request may have {BODY_LIMIT >> 20} MiB"
                return _refusal(None, 413, problem, last=True)
        dialect = dialect_of(request.path) if request.method == "POST" else None
        if not self._known(request):
            self._strangers += 1
            return _refusal(dialect, 401, "the token is not that of this run", "invalid_token")
        if dialect is None:
            return self._besides(request, body)
        try:
            data = json.loads(body)
            if not isinstance(data, dict):
                raise RequestError("a request must be an object")
            understood = dialect.request(request.path, data)
        except (ValueError, RecursionError) as error:
            return _refusal(dialect, 400, str(error), "invalid_request")
        call = ModelCall(
            dialect=dialect,
            path=request.path,
            query=request.query_string,
            body=bytes(body),
            data=data,
            request=understood,
            headers={name: request.headers[name] for name in PASSED if name in request.headers},
        )
        gauge = self.meter.begin(call)
        try:
            return await self._answer(request, call, gauge)
        finally:
            report = self.meter.end(gauge)
            for purse in self._purses:
                purse.pay(report, self._price)

    async def _answer(
        self, request: web.BaseRequest, call: ModelCall, gauge: Gauge
    ) -> web.StreamResponse:
        try:
            for purse in self._purses:
                purse.check()
            answer = await self.backend.answer(call)
            if answer.content_type == EVENTS:
                return await _stream(request, answer, gauge)
            return await _whole(request, answer, gauge)
        except BackendError as error:
            gauge.failed(error.status, error.message, error.code)
            return _refusal(call.dialect, error.status, error.message, error.code)
        except _Gone:
            return web.Response()  # to nobody
        except HangUp as reason:
            gauge.failed(gauge.status or 503, str(reason))
            gauge.cut = gauge.first is not None
            if request.transport:
                request.transport.abort()
            return web.Response()  # to nobody
        except Exception as error:  # noqa: BLE001 - the end of this call, not of the gateway
            message = f"the {self.backend.name} backend raised {type(error).__name__}: {error}"
            gauge.failed(500, message)
            return _refusal(call.dialect, 500, message)

    def _known(self, request: web.BaseRequest) -> bool:
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        said = [key if scheme.lower() == "bearer" else ""]
        said += [request.headers.get(name, "") for name in _KEY_HEADERS]
        said.append(request.query.get("key", ""))
        # All of them, so that the time says nothing.
        matches = [
            hmac.compare_digest(text.encode("utf-8", "surrogateescape"), self._token)
            for text in said
        ]
        return any(matches)

    def _besides(self, request: web.BaseRequest, body: bytearray) -> web.Response:
        """What clients ask for beside model calls."""
        for dialect in (messages, gemini):
            if dialect.counts_tokens(request.path):
                return web.json_response(dialect.token_count(len(body) // _CHARACTERS))
        if request.path.endswith("/models"):
            model = {"id": self._model, "object": "model", "created": 0, "owned_by": "agentbench"}
            return web.json_response({"object": "list", "data": [model]})
        known = "chat/completions, responses, messages, models/MODEL:generateContent"
        problem = f"the gateway has no {request.method} {request.path}; it has POST .../{known}"
        return _refusal(None, 404, problem)


async def _whole(request: web.BaseRequest, answer: Answer, gauge: Gauge) -> web.Response:
    body = bytearray()
    headers = {**answer.headers, "Content-Type": answer.content_type}
    try:
        async for piece in answer.pieces:
            gauge.see(piece)
            body += piece
    except HangUp:
        if body:
            headers["Content-Length"] = str(2 * len(body))
            part = web.StreamResponse(status=answer.status, headers=headers)
            await part.prepare(request)
            await part.write(bytes(body))
        raise
    gauge.status = answer.status
    if answer.status >= 400:
        gauge.failed(answer.status, *failure.words(body))
    gauge.complete()
    return web.Response(status=answer.status, body=bytes(body), headers=headers)


async def _stream(request: web.BaseRequest, answer: Answer, gauge: Gauge) -> web.StreamResponse:
    headers = {**answer.headers, "Content-Type": EVENTS, "Cache-Control": "no-cache"}
    response = web.StreamResponse(status=answer.status, headers=headers)
    gauge.streamed = True
    with _to_runtime():
        await response.prepare(request)
    async for piece in answer.pieces:
        gauge.status = gauge.status or answer.status
        gauge.see(piece)
        if not isinstance(piece, Unsent):
            with _to_runtime():
                await response.write(piece)
    gauge.status = gauge.status or answer.status
    gauge.complete()
    with _to_runtime():
        await response.write_eof()
    return response


class _Gone(Exception):
    """The runtime has left in the middle of an answer, which is nobody's fault."""


@contextlib.contextmanager
def _to_runtime() -> Iterator[None]:
    try:
        yield
    except ConnectionResetError as error:
        raise _Gone from error


def _refusal(
    dialect: Dialect | None, status: int, message: str, code: str = "", *, last: bool = False
) -> web.Response:
    plain: Mapping[str, Any] = {"error": {"message": message, "type": "gateway_error"}}
    data = dialect.error(status, message, code) if dialect else plain
    text = json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")
    response = web.Response(status=status, body=text, content_type=JSON)
    if last:
        response.force_close()
    return response
