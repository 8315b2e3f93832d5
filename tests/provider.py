"""A provider on loopback, in a thread of its own, that answers as a test tells it to."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(slots=True)
class Asked:
    """One request that came."""

    path: str
    headers: dict[str, str]
    body: Any


@dataclass(slots=True)
class FakeProvider:
    """``handler`` answers; ``asked`` is what came, in order."""

    port: int
    loop: asyncio.AbstractEventLoop
    handler: Handler | None = None
    asked: list[Asked] = field(default_factory=list)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def event(self) -> tuple[asyncio.Event, Callable[[], None]]:
        """An event of the provider's, and what sets it from the test's thread."""
        event = asyncio.Event()

        def release() -> None:
            self.loop.call_soon_threadsafe(event.set)

        return event, release

    def answers(self, body: bytes, status: int = 200, **headers: str) -> None:
        """Answer all that comes with this."""
        kind = {"Content-Type": "application/json"}

        async def handler(request: web.Request) -> web.StreamResponse:
            return web.Response(status=status, body=body, headers={**kind, **headers})

        self.handler = handler


@contextlib.contextmanager
def provider() -> Iterator[FakeProvider]:
    loop = asyncio.new_event_loop()
    made: list[FakeProvider] = []
    ready = threading.Event()
    over = asyncio.Event()

    async def handle(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        headers = {name.lower(): value for name, value in request.headers.items()}
        made[0].asked.append(Asked(request.path_qs, headers, body))
        assert made[0].handler
        return await made[0].handler(request)

    async def main() -> None:
        app = web.Application()
        app.router.add_route("*", "/{rest:.*}", handle)
        runner = web.AppRunner(app, shutdown_timeout=0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        made.append(FakeProvider(runner.addresses[0][1], loop))
        ready.set()
        await over.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: loop.run_until_complete(main()))
    thread.start()
    ready.wait()
    try:
        yield made[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


async def streamed(request: web.Request, *pieces: bytes) -> web.StreamResponse:
    """Server-sent events, not ended yet."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
    await response.prepare(request)
    for piece in pieces:
        await response.write(piece)
    return response
