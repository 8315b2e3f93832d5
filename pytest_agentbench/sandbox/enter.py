"""Makes a new root folder, gives up every capability, and goes on as ``init``.

Usage: enter.py STEPS followed by the arguments of ``init``, in new user, mount and PID namespaces.
STEPS are those of ``layout``: a line each, ``KIND<tab>TARGET<tab>SOURCE``. Standard library alone.
"""

# Importing pathlib would take longer than all that is done here.
# ruff: noqa: PTH102, PTH103, PTH106, PTH109, PTH110, PTH211

from __future__ import annotations

import ctypes
import os
import stat
import sys

_RDONLY, _NOSUID, _NODEV, _REMOUNT, _BIND, _REC = 1, 2, 4, 32, 4096, 16384
_DETACH = 2
_MOUNT_SETATTR = 442  # on every machine
_AT_RECURSIVE = 0x8000
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
#: Where the new root is put together: a folder that every system has.
_NEW = "/tmp"
#: Of an empty folder in memory, and of one that only hides what was there.
_MEMORY, _HIDING = "size=256m,mode=1777", "size=4k,nr_inodes=1k,mode=755"
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
}
#: Where a user who is root outside could reach the kernel.
_KERNEL = ("sys", "sysrq-trigger", "irq", "bus")

libc = ctypes.CDLL(None, use_errno=True)


def main(argv: list[str]) -> int:
    steps = [tuple(line.split("\t")) for line in argv[0].split("\n")]
    enter(steps)
    drop()
    sys.path.append(__file__.rpartition("/")[0])
    import init  # type: ignore[import-not-found]

    return int(init.main(argv[1:]))


def enter(steps: list[tuple[str, ...]]) -> None:
    here = os.getcwd()
    # Opened while they are in sight; a new mount may cover the place that one comes from.
    sources = [os.open(step[2], os.O_PATH) if step[0] in ("ro", "rw") else -1 for step in steps]
    devices = [(name, os.open(f"/dev/{name}", os.O_PATH)) for name in _DEVICES]
    mount("tmpfs", _NEW, "tmpfs", _NOSUID | _NODEV, "size=16m,mode=755")
    for (kind, target, source), fd in zip(steps, sources, strict=True):
        place = _NEW + target
        if kind in ("ro", "rw"):
            bind(fd, place, _RDONLY if kind == "ro" else 0)
        elif kind == "link":
            os.makedirs(place.rpartition("/")[0], exist_ok=True)
            os.symlink(source, place)
        else:
            os.makedirs(place, exist_ok=True)
            if kind == "proc":
                mount("proc", place, "proc", _NOSUID | _NODEV)
                for path in (f"{place}/{name}" for name in _KERNEL):
                    if os.path.exists(path):
                        bind(os.open(path, os.O_PATH), path, _RDONLY)
            elif kind == "dev":
                mount("tmpfs", place, "tmpfs", _NOSUID, "size=1m,mode=755")
                make_devices(place, devices)
            else:
                options = _MEMORY if kind == "memory" else _HIDING
                mount("tmpfs", place, "tmpfs", _NOSUID | _NODEV, options)
    os.mkdir(f"{_NEW}/.old")
    check(libc.pivot_root(_NEW.encode(), f"{_NEW}/.old".encode()), "pivot_root")
    os.chdir("/")
    check(libc.umount2(b"/.old", _DETACH), "umount")
    os.rmdir("/.old")
    for place in ("/", "/dev"):
        mount(None, place, None, _REMOUNT | _BIND | _RDONLY | _NOSUID)
    os.chdir(here)


def make_devices(place: str, devices: list[tuple[str, int]]) -> None:
    for name, fd in devices:
        bind(fd, f"{place}/{name}", 0, nodev=0)
    for name, target in _LINKS.items():
        os.symlink(target, f"{place}/{name}")
    os.mkdir(f"{place}/pts")
    mount("devpts", f"{place}/pts", "devpts", _NOSUID, "newinstance,ptmxmode=0666,mode=620")


def bind(fd: int, place: str, attributes: int, nodev: int = _NODEV) -> None:
    """Show what is open as ``fd`` at ``place``, with all that is mounted in it."""
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        os.makedirs(place, exist_ok=True)
    elif not os.path.exists(place):
        os.makedirs(place.rpartition("/")[0], exist_ok=True)
        os.close(os.open(place, os.O_CREAT | os.O_WRONLY))
    mount(f"/proc/self/fd/{fd}", place, None, _BIND | _REC)
    os.close(fd)
    # What is locked from outside stays as it is; a plain remount would have to repeat it.
    change = (ctypes.c_uint64 * 4)(attributes | _NOSUID | nodev)
    done = libc.syscall(
        _MOUNT_SETATTR, -100, place.encode(), _AT_RECURSIVE, change, ctypes.sizeof(change)
    )
    check(done, f"mount_setattr {place}")


def mount(source: str | None, place: str, kind: str | None, flags: int, options: str = "") -> None:
    done = libc.mount(
        source and source.encode(),
        place.encode(),
        kind and kind.encode(),
        ctypes.c_ulong(flags),
        options.encode() or None,
    )
    check(done, f"mount {place}")


def drop() -> None:
    """No program that is started from here has a capability."""
    number = 0
    while libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def check(done: int, what: str) -> None:
    if done != 0:
        number = ctypes.get_errno()
        sys.exit(f"{what}: {os.strerror(number)}")


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))
