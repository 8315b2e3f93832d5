"""What a command printed is all there when it has ended."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from pytest_agentbench.runtimes.pipe import Listener


@contextmanager
def pipe(keep: Callable[[bytes], object]) -> Iterator[tuple[IO[bytes], Callable[[], Listener]]]:
    """A pipe's end to write to, and what starts to listen at the other."""
    reading, writing = os.pipe()
    stream = os.fdopen(reading, "rb")
    with os.fdopen(writing, "wb", buffering=0) as into:
        yield into, lambda: Listener(stream, keep)
    while not stream.closed:  # by the listener, at the end
        time.sleep(0.01)


def test_all_that_was_written_before_is_kept_however_slow_the_listener() -> None:
    kept = bytearray()

    def keep(piece: bytes) -> None:
        time.sleep(0.01)
        kept.extend(piece)

    with pipe(keep) as (into, listen):
        listener = listen()
        for length in range(1, 60):
            into.write(b"x" * length)
            listener.settle()
            assert len(kept) == length * (length + 1) // 2
    listener.settle()


def test_a_full_pipe_whose_other_end_stays_open_is_read_whole() -> None:
    kept = bytearray()
    with pipe(kept.extend) as (into, listen):
        assert into.write(b"x" * 65536) == 65536
        listen().settle()
        assert len(kept) == 65536
