"""A root file system out of the running system: its Python, a shell and the usual programs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

#: Where programs are taken from, and the PATH of the image.
PATH = "/usr/local/bin:/usr/bin:/bin"
NEEDED = ("bash", "cat", "env", "ls", "mkdir", "rm", "sh")
WELCOME = (
    "awk base64 basename chmod cmp comm cp cut date dd df diff dirname du echo expr false find "
    "fold grep gunzip gzip head hostname id install join kill link ln md5sum mktemp mv nl nohup "
    "nproc od paste patch printenv printf ps pwd readlink realpath rmdir sed seq setsid sha1sum "
    "sha256sum shuf sleep sort split stat stty tac tail tar tee test timeout touch tr true tty "
    "uname unexpand uniq unlink wc which whoami xargs yes"
)
#: Parts of the standard library that take much room, and that no agent's work needs.
LEFT_OUT = (
    "__pycache__ ensurepip idlelib lib2to3 site-packages dist-packages test tests tkinter "
    "turtledemo"
)
FOLDERS = ("dev", "etc", "home", "proc", "run", "sys", "tmp", "usr/bin", "usr/local/bin", "var/tmp")
#: Files of /etc, the same as in the other sandboxes.
ETC = Path(__file__).resolve().with_name("etc")
#: What the loader reads, so that libraries in unusual places are found; and the one locale.
ALSO = ("/etc/ld.so.cache", "/usr/lib/locale/C.utf8")
_LIBRARY = re.compile(r"^\s*(?:\S+ => )?(/\S+) \(0x", re.MULTILINE)


class RootfsError(Exception):
    """The running system lacks something; the message says what."""


def write(file: IO[bytes]) -> int:
    """Write the file system to ``file`` as a tar archive; returns its size in bytes.

    It holds the standard library of the Python that runs this, at its own path, and nothing of
    what was installed beside it. All is root's, and of one date: the same system gives the same
    bytes. Raises ``RootfsError``.
    """
    files, links = _contents()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in _folders((*files, *links), links):
            open_to_all = name in ("tmp", "var/tmp")
            archive.addfile(_entry(name, tarfile.DIRTYPE, mode=0o1777 if open_to_all else 0o755))
        for name, target in sorted(links.items()):
            archive.addfile(_entry(name, tarfile.SYMTYPE, link=target))
        for name, source in sorted(files.items()):
            facts = source.stat()
            mode = 0o755 if facts.st_mode & 0o111 else 0o644
            with source.open("rb") as opened:
                entry = _entry(name, tarfile.REGTYPE, mode=mode, size=facts.st_size)
                archive.addfile(entry, opened)
    return file.tell()


def _contents() -> tuple[dict[str, Path], dict[str, str]]:
    """Files by their name in the archive, and links with what they point to."""
    python = Path(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))
    links = {
        name: str(Path("/", name).readlink())
        for name in ("bin", "lib", "lib64", "sbin")
        if Path("/", name).is_symlink()
    }
    files: dict[str, Path] = {}
    binaries = [python]
    for name in (*NEEDED, *WELCOME.split()):
        if (found := shutil.which(name, path=PATH)) is None:
            if name in NEEDED:
                raise RootfsError(f"this system has no {name} in {PATH}, which the image needs")
            continue
        real = Path(os.path.realpath(found))
        binaries.append(real)
        if real.name != name:
            links[f"usr/bin/{name}"] = str(real)
    for folder in sorted({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}):
        for source in _walk(Path(folder)):
            files[str(source)[1:]] = source
            if source.suffix == ".so":
                binaries.append(source)
    for source in (each for also in ALSO for each in _walk(Path(also))):
        files[str(source)[1:]] = source
    files |= {f"etc/{source.name}": source for source in _walk(ETC)}
    for source in (*binaries, *_libraries(binaries)):
        # In the folder where it really lies, so that no link of a folder is needed.
        real = Path(os.path.realpath(source.parent)) / source.name
        files[str(real)[1:]] = source
    for name in ("python", "python3"):
        if f"usr/bin/{name}" not in files:
            links[f"usr/bin/{name}"] = str(python)
    return files, links


def _walk(top: Path) -> Iterator[Path]:
    """The files below ``top``, or itself; sorted."""
    if top.is_file() and not top.name.startswith(("_tkinter.", "_test")):
        yield top
    elif top.is_dir() and top.name not in LEFT_OUT.split() and not top.name.startswith("config-"):
        for path in sorted(top.iterdir()):
            yield from _walk(path)


def _libraries(binaries: Iterable[Path]) -> Iterator[Path]:
    """The shared libraries that the binaries need, and the loader; scripts have none."""
    if (ldd := shutil.which("ldd")) is None:
        raise RootfsError("this system has no ldd, which tells the libraries that an image needs")
    done = subprocess.run(
        (ldd, *map(str, binaries)), check=False, capture_output=True, text=True, timeout=60
    )
    return (Path(found) for found in sorted(set(_LIBRARY.findall(done.stdout))))


def _folders(names: Iterable[str], links: Iterable[str]) -> list[str]:
    """Every folder above the names, parents first; a link stands in for one."""
    folders = set(FOLDERS)
    for name in (*names, *FOLDERS):
        folders |= {str(parent) for parent in Path(name).parents if str(parent) != "."}
    return sorted(folders - set(links))


def _entry(
    name: str, kind: bytes, *, mode: int = 0o644, size: int = 0, link: str = ""
) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.size, entry.linkname = kind, mode, size, link
    return entry
