"""TERM, as CI sends it, ends a run as Ctrl-C does: agents are killed and the ledger is completed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable


def end_on_term() -> Callable[[], None]:
    """Have TERM raise ``KeyboardInterrupt`` in this process until the returned function is called.

    Where somebody else handles it, or outside of the main thread, nothing changes.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return lambda: None
    signal.signal(signal.SIGTERM, _interrupt)
    return _restore


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)


def _restore() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
