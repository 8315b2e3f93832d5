"""From 127.0.0.1:8080 inside a network namespace to the gateway's Unix socket.

Runs in threads of ``init``. The C modules below ``socket`` and ``threading`` are used, since
importing those two costs twice what starting an interpreter does.
"""

from __future__ import annotations

import _socket
import _thread

_PORT = 8080
_CHUNK = 1 << 16
#: More than any agent opens at once; a full queue would refuse.
_BACKLOG = 256


def start(path: str) -> None:
    """Listen, and forward every connection to the Unix socket at ``path``."""
    bring_up()
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", _PORT))
    listener.listen(_BACKLOG)
    _thread.start_new_thread(_accept, (listener, path))


def bring_up() -> None:
    """Bring up the loopback device, which ``unshare`` leaves down."""
    import fcntl

    get, put, up = 0x8913, 0x8914, 1  # SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP
    probe = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    request = b"lo".ljust(16, b"\0")
    flags = int.from_bytes(
        fcntl.ioctl(probe.fileno(), get, request.ljust(40, b"\0"))[16:18], "little"
    )
    if not flags & up:
        fcntl.ioctl(
            probe.fileno(), put, (request + (flags | up).to_bytes(2, "little")).ljust(40, b"\0")
        )
    probe.close()


def _accept(listener: _socket.socket, path: str) -> None:
    while True:
        fd, _ = listener._accept()  # type: ignore[attr-defined]
        client = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM, 0, fd)
        _thread.start_new_thread(_forward, (client, path))


def _forward(client: _socket.socket, path: str) -> None:
    client.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
    gateway = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        gateway.connect(path)  # waits while the gateway's queue is full
    except OSError as error:
        client.recv(_CHUNK)
        body = (
            b'{"error": {"message": "the gateway is gone: %s"}}' % (error.strerror or "").encode()
        )
        client.sendall(
            b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body)
        )
    else:
        answered = _thread.allocate_lock()
        answered.acquire()
        _thread.start_new_thread(_pump, (gateway, client, answered))
        _pump(client, gateway)
        answered.acquire()
    client.close()
    gateway.close()


def _pump(
    source: _socket.socket, target: _socket.socket, done: _thread.LockType | None = None
) -> None:
    """Copy as it comes. The end of the source ends that direction alone; an error ends both."""
    try:
        while data := source.recv(_CHUNK):
            target.sendall(data)
        target.shutdown(_socket.SHUT_WR)
    except OSError:
        for end in (source, target):
            _hang_up(end)
    finally:
        if done is not None:
            done.release()


def _hang_up(end: _socket.socket) -> None:
    try:
        end.shutdown(_socket.SHUT_RDWR)
    except OSError:
        return
