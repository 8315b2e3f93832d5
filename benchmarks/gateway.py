"""What a model call through the gateway costs: CPU time of the gateway's process.

Usage: python benchmarks/gateway.py [--runs N] [--calls N]. Ends with exit code 1 when a median is
above its bound. Calls are not streamed unless the row says so; the provider is a small server on
loopback, in a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pytest_agentbench.execution import ModelEndpoint
from pytest_agentbench.gateway.client import Gateway
from pytest_agentbench.scenario.model import Scenario, Step
from pytest_agentbench.trial import ModelProfile, Phase, RuntimeProfile, Tape, Trial

BOUND_MS = 3.0
STEPS = (Step(verb="say", text="done " * 50),)
#: Bytes of a request: that of a runtime with many tools.
LARGE = 64 << 10


class Client(http.client.HTTPConnection):
    """Keeps one connection to a line."""

    def __init__(self, endpoint: ModelEndpoint) -> None:
        super().__init__("gateway")
        self.endpoint = endpoint

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self.endpoint.socket))

    def ask(self, body: bytes) -> None:
        self.request("POST", "/v1/chat/completions", body, {"x-api-key": self.endpoint.token})
        response = self.getresponse()
        said = response.read()
        assert response.status == 200, said


def request(size: int, *, stream: bool) -> bytes:
    text = "The quick brown fox jumps over the lazy dog. " * (size // 45)
    tool = {"name": "read", "parameters": {"properties": {"path": {"type": "string"}}}}
    tools = [{"type": "function", "function": tool}]
    messages = [{"role": "system", "content": text}, {"role": "user", "content": "Do it."}]
    return json.dumps(
        {"model": "m", "stream": stream, "tools": tools, "messages": messages}
    ).encode()


def trial() -> Trial:
    return Trial(
        scenario=Scenario(id="cost", path=Path("cost.yaml"), prompt="Do it.", solution=STEPS),
        runtime=RuntimeProfile(name="none", adapter="nop"),
        mode="baseline",
        index=1,
        phases=(Phase(name="baseline", seconds=60),),
    )


def cpu_ms(pid: int) -> float:
    """User and system time of a process that works in one thread."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6


@contextmanager
def service(folder: Path) -> Iterator[tuple[Gateway, int]]:
    """A gateway, and the number of its process."""
    control = folder / "control"
    argv = [sys.executable, "-m", "pytest_agentbench.gateway.service", str(control)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as process:
        try:
            yield Gateway(control), process.pid
        finally:
            assert process.stdin
            process.stdin.close()


@contextmanager
def provider() -> Iterator[str]:
    """The address of a server that answers as a provider would."""
    argv = [sys.executable, __file__, "--provider"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.stdin.close()


def serve() -> None:
    """Answer until standard input ends."""
    from aiohttp import web

    from pytest_agentbench.gateway.chat import ChatReply
    from pytest_agentbench.gateway.dialects.chat import ChatCompletions

    dialect = ChatCompletions()
    asked = {stream: dialect.request("", {"messages": [], "stream": stream}) for stream in (0, 1)}
    reply = ChatReply(text="done " * 50)
    whole = json.dumps(dialect.reply(asked[0], reply)).encode()
    pieces = dialect.stream(asked[1], reply)

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        if b'"stream": true' not in await request.read():
            return web.Response(body=whole, content_type="application/json")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
        await response.write_eof()
        return response

    async def main() -> None:
        server = web.Server(handle, access_log=None)
        listening = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
        print(listening.sockets[0].getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.read)

    asyncio.run(main())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--provider", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.provider:
        serve()
        return 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        gateway, pid = stack.enter_context(service(folder))
        scripted = ModelProfile(name="m", backend="scripted")
        upstream = ModelProfile(
            name="m",
            backend="upstream",
            options={"base_url": stack.enter_context(provider())},
        )
        taped = dataclasses.replace(upstream, tape=Tape(folder=folder / "tapes"))
        rows = {
            "scripted": (scripted, 2 << 10, False),
            "scripted, 64 KiB": (scripted, LARGE, False),
            "upstream": (upstream, 2 << 10, False),
            "upstream, 64 KiB": (upstream, LARGE, False),
            "upstream, streamed": (upstream, 2 << 10, True),
            "upstream, 64 KiB, recorded": (taped, LARGE, False),
        }
        costs: dict[str, list[float]] = {name: [] for name in rows}
        for number in range(args.runs + 1):
            for name, (profile, size, stream) in rows.items():
                with gateway.open_line(profile, trial(), STEPS, url="x") as line:
                    client = Client(line.endpoint)
                    body = request(size, stream=stream)
                    client.ask(body)
                    before = cpu_ms(pid)
                    for _ in range(args.calls):
                        client.ask(body)
                    cost = (cpu_ms(pid) - before) / args.calls
                    client.close()
                if number:  # the first round warms up
                    costs[name].append(cost)
    print(
        f"CPU ms of the gateway for a call; {args.calls} calls, {args.runs} rounds, load", end=" "
    )
    print(f"{os.getloadavg()[0]:.1f}")
    for name, found in costs.items():
        print(f"{name:28} {statistics.median(found):5.2f}  {min(found):.2f} to {max(found):.2f}")
    bound = [name for name in rows if "streamed" not in name and "recorded" not in name]
    return int(any(statistics.median(costs[name]) > BOUND_MS for name in bound))


if __name__ == "__main__":
    sys.exit(main())
