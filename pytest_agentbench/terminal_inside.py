"""Runs inside a sandbox: an interactive shell whose terminal is at the other end of a socket.

Usage: python terminal_inside.py SOCKET ROWS COLUMNS. It imports nothing of this package.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import shutil
import socket
import struct
import sys
import termios

_CHUNK = 1 << 16


def main(argv: list[str]) -> int:
    """The exit code of the shell."""
    path, rows, columns = argv[1], int(argv[2]), int(argv[3])
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        child, master = pty.fork()
        if child == 0:
            shell = shutil.which("bash") or "sh"
            os.execvp(shell, [shell])
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        # The end of the terminal is an error on Linux, that of the line may be one.
        with contextlib.suppress(OSError):
            _relay(line, master)
        os.close(master)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if code >= 0 else 128 - code


def _relay(line: socket.socket, master: int) -> None:
    ends: list[socket.socket | int] = [line, master]
    while True:
        ready, _, _ = select.select(ends, [], [])
        if master in ready:
            line.sendall(os.read(master, _CHUNK))
        if line in ready:
            data = line.recv(_CHUNK)
            if not data:
                return
            os.write(master, data)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
