"""The gateway's process: one for all runs of a host, started by the controller of a test run.

Usage: python -m pytest_agentbench.gateway.service CONTROL. CONTROL is the path of the Unix socket on
which workers ask for lines, one connection a line: JSON objects, one a line of text. ``open`` gives
a line to its model, ``report`` says what went over it, and the end of the connection closes it, so
that no line outlives its worker. The process ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pytest_agentbench.gateway.cassette import CassetteError
from pytest_agentbench.gateway.host import Host
from pytest_agentbench.gateway.judging import Judging, Turns
from pytest_agentbench.gateway.line import Line
from pytest_agentbench.gateway.purse import Purse
from pytest_agentbench.gateway.registry import make_backend
from pytest_agentbench.gateway.watch import Watch
from pytest_agentbench.spending import Budget, Price

#: Bytes of one message of a worker: the steps of a solution may be long.
MESSAGE_LIMIT = 256 << 20


async def serve(control: Path) -> None:
    """Serve until standard input ends."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGHUP):
        # Ctrl-C is meant for the test run, which still needs its lines to end what it has begun.
        loop.add_signal_handler(number, lambda: None)
    host = Host()
    # Workers wait for the name, which is there before anybody listens.
    early = control.with_name("early")
    server = await asyncio.start_unix_server(
        partial(_worker, host), early, limit=MESSAGE_LIMIT, backlog=512
    )
    early.rename(control)
    async with server, contextlib.aclosing(host):
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
        await reader.read()


async def _worker(host: Host, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    line: Line | None = None
    try:
        while text := await reader.readline():
            try:
                line, said = await _obey(host, json.loads(text), line)
            except CassetteError as error:
                said = {"error": str(error)}
            except Exception as error:  # noqa: BLE001 - the answer to this worker, no more
                said = {"error": f"{type(error).__name__}: {error}"}
            writer.write(json.dumps(said).encode() + b"\n")
            await writer.drain()
    except ConnectionError:
        pass  # the worker is gone, and so is what it asked for
    finally:
        if line is not None:
            await line.close()
            with contextlib.suppress(OSError):  # the worker was told when it asked for the report
                host.deck.keep(line.backend)
        writer.close()


async def _obey(
    host: Host, message: Mapping[str, Any], line: Line | None
) -> tuple[Line | None, Mapping[str, Any]]:
    if message["do"] == "open" and line is None:
        make = partial(make_backend, message["backend"], message["spec"], host)
        tape = message["tape"]
        backend = host.deck.put(tape, message["token"], make) if tape else make()
        budgets = {name: Budget.from_json(each) for name, each in message["budgets"].items()}
        host.purse.budget = budgets["run"]
        purses: tuple[Purse, ...] = (Purse(budgets["trial"]), host.purse)
        if turns := message.get("judging"):
            places = host.judges(turns["places"])
            backend = Judging(backend, Turns(places, turns["seconds"], host.purse))
            purses = (host.purse,)  # that of the trial is its agent's
        line = Line(
            backend,
            model=message["model"],
            token=message["token"],
            price=Price(**message["price"]) if message["price"] else None,
            watch=Watch.from_json(message["watch"]) if message.get("watch") else None,
            purses=purses,
        )
        port = await line.listen(Path(message["socket"]), tcp=message["tcp"])
        return line, {"port": port, "scripted": backend.scripted}
    if message["do"] == "report" and line is not None:
        host.deck.keep(line.backend)
        return line, line.report().to_json()
    raise ValueError(f"{message['do']!r} makes no sense here")


def main(argv: list[str]) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(Path(argv[1])))


if __name__ == "__main__":
    main(sys.argv)
