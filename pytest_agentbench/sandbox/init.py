"""The first process inside a PID namespace. Standard library alone, and as little of it as can be.

Usage: init.py REPORT SOCKET LIMITS PROGRAM [ARGUMENT...]. It starts the program in a session of its
own, hands signals on to its process group, reaps orphans, and ends when the program does, which
ends all that is left in the namespace. To the descriptor REPORT, or the Unix socket of that path,
it writes lines: ``up``, then ``failed ERRNO`` if the program cannot be started, or ``exit STATUS
LEFT``: the wait status and how many processes were left. With a SOCKET, 127.0.0.1:8080 is
forwarded to it. LIMITS are ``NAME=VALUE`` with commas between, names as in ``resource``.
"""

from __future__ import annotations

import _ctypes
import _signal  # type: ignore[import-not-found] # signal takes half as long as all of Python
import posix as os  # os itself is a tenth of starting Python
import resource
import sys

_PR_SET_DUMPABLE = 4
_FORWARDED = (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP, _signal.SIGQUIT)
#: Python ignores these, and a program would inherit that.
_DEFAULT = (_signal.SIGPIPE, _signal.SIGXFSZ)


def main(argv: list[str]) -> int:
    report, socket, limits, *command = argv
    fd = int(report) if report.isdecimal() else connect(report)
    os.set_inheritable(fd, False)
    if socket:
        sys.path.append(__file__.rpartition("/")[0])
        import forwarder  # type: ignore[import-not-found]

        forwarder.start(socket)
    restrict(limits)
    # Its memory and descriptors are nobody's, though the program has the same user.
    hide_memory()
    os.write(fd, b"up\n")
    try:
        child = os.posix_spawnp(
            command[0], command, os.environ, setsid=True, setsigdef=_DEFAULT, setsigmask=()
        )
    except (OSError, ValueError) as error:
        os.write(fd, b"failed %d\n" % (getattr(error, "errno", None) or 0))
        return 127
    for number in _FORWARDED:
        _signal.signal(number, lambda number, _: hand_on(child, number))
    status = None
    while status is None:
        pid, ended = os.waitpid(-1, 0)
        status = ended if pid == child else None
    os.write(fd, b"exit %d %d\n" % (status, left()))
    return 0


def hide_memory() -> None:
    """As ``ctypes`` would, which takes a quarter of the time of starting Python to import."""
    prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
    _ctypes.call_function(prctl, (_PR_SET_DUMPABLE, 0, 0, 0, 0))


def hand_on(child: int, number: int) -> None:
    try:
        os.killpg(child, number)
    except ProcessLookupError:
        return


def connect(path: str) -> int:
    """A descriptor to write to the Unix socket at ``path``."""
    import _socket

    channel = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    channel.connect(path)
    return channel.detach()


def restrict(limits: str) -> None:
    """Set the limits, as far as the hard ones allow."""
    for limit in filter(None, limits.split(",")):
        name, _, value = limit.partition("=")
        what, most = getattr(resource, "RLIMIT_" + name), int(value)
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        # SIGXCPU tells what happened; SIGKILL comes at the hard limit.
        resource.setrlimit(what, (most, most + 1 if name == "CPU" and most != hard else most))


def left() -> int:
    """How many processes are alive beside this one."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return 0
    return sum(name.isdecimal() for name in os.listdir("/proc")) - 1


if __name__ == "__main__":
    # At once, without a look at threads: the end of the first process is the end of the others.
    os._exit(main(sys.argv[1:]))
