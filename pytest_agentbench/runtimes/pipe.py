"""Listens to a pipe while others work. Runs inside the sandbox: standard library alone."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from typing import IO

_PIECE = 1 << 16
#: Bytes that a pipe may hold at most when its writer ends (pipe(7), F_SETPIPE_SZ).
_CAPACITY = 1 << 20


class Listener:
    """Hands what comes through ``stream`` to ``keep``, piece by piece, from a thread of its own.

    Whoever still holds the other end later may go on writing: it is listened to for ever.
    """

    def __init__(self, stream: IO[bytes], keep: Callable[[bytes], object]) -> None:
        self._stream = stream
        self._keep = keep
        self._lock = threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()

    def settle(self) -> None:
        """Return once all that was written before this call is kept.

        The thread may not have had its turn yet, on a busy machine for seconds, and waiting for
        the end of the stream is no way: a process in the background may hold it.
        """
        with self._lock:
            for _ in range(_CAPACITY // _PIECE):
                if self._stream.closed or not self._ready(0.0) or not self._take():
                    return

    def _listen(self) -> None:
        going = True
        while going:
            self._ready(None)
            with self._lock:
                if self._ready(0.0):
                    going = self._take()
        with self._lock:
            self._stream.close()

    def _ready(self, seconds: float | None) -> bool:
        return bool(select.select([self._stream], [], [], seconds)[0])

    def _take(self) -> bool:
        piece = os.read(self._stream.fileno(), _PIECE)
        self._keep(piece)
        return bool(piece)
