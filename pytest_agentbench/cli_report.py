"""``agentbench report``: a run folder as a scoreboard, a page, or a file for other programs."""

from __future__ import annotations

import argparse
import contextlib
import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from pytest_agentbench.report.reader import RunReader

#: Formats, and where one goes that is of no use on a terminal, in the run folder.
FORMATS = {
    "text": "",
    "json": "",
    "html": "report.html",
    "md": "",
    "csv": "",
    "parquet": "trials.parquet",
    "ctrf": "",
    "junit": "",
}


def add(commands: Any) -> None:
    """Add the subcommand."""
    report = commands.add_parser(
        "report", help="print the scoreboard of a run folder, or write it in another format"
    )
    report.add_argument("run_dir", type=Path, metavar="RUN", help="folder of a run")
    report.add_argument("--format", choices=tuple(FORMATS), default="text", help="(default: text)")
    report.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write here; by default standard output, html and parquet into the run folder",
    )
    report.set_defaults(run=run_report)


def run_report(options: argparse.Namespace) -> int:
    from pytest_agentbench.report.reader import open_run
    from pytest_agentbench.report.replaced import replacing
    from pytest_agentbench.report.run import RunError

    kind = options.format
    target = options.output
    if target is None and FORMATS[kind]:
        target = options.run_dir / FORMATS[kind]
    try:
        with _without_collection(), open_run(options.run_dir) as run:
            write = _writer(kind, to_file=target is not None)
            if target is None:
                write(run, sys.stdout.buffer)
                sys.stdout.buffer.flush()
            else:
                with replacing(target) as file:
                    write(run, file)
    except RunError as error:
        print(f"agentbench report: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return _closed()
    except OSError as error:
        print(f"agentbench report: {error.filename or target}: {error.strerror}", file=sys.stderr)
        return 2
    if target is not None and options.output is None:
        print(target)
    return 0


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Records have no cycles, and to look for some takes an eighth of the time of a large report."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _closed() -> int:
    """The reader of a pipe wanted no more, such as ``head``: that is no error of ours."""
    import os

    # Python flushes at its end, which would fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _writer(kind: str, *, to_file: bool) -> Callable[[RunReader, BinaryIO], None]:
    import importlib

    if kind == "text":
        return _text_into_file if to_file else _text
    names = {"json": "json_report", "md": "markdown_report", "html": "html_report"}
    module = importlib.import_module(
        f"pytest_agentbench.report.{names.get(kind, f'{kind}_report')}"
    )
    write: Callable[[RunReader, BinaryIO], None] = module.write
    return write


def _text(run: RunReader, out: BinaryIO) -> None:
    import shutil

    _render(run, out, width=shutil.get_terminal_size((100, 24)).columns)


def _text_into_file(run: RunReader, out: BinaryIO) -> None:
    # The same bytes wherever it is written.
    _render(run, out, width=100)


def _render(run: RunReader, out: BinaryIO, *, width: int) -> None:
    from pytest_agentbench.report.terminal_text import render

    lines = render(run.scoreboard(), width=width)
    out.writelines(line.encode("utf-8", "backslashreplace") + b"\n" for line in lines)
