"""``report.html``: one file that needs no network, no server and no other file.

Whatever an agent wrote is in it as JSON, which the page puts into text nodes. Its policy allows
the two scripts of this package by their hashes and nothing else, and no text as markup.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from importlib import resources
from typing import Any, BinaryIO

from pytest_agentbench.report.page_data import LEAST, PageData
from pytest_agentbench.report.reader import RunReader

#: Bytes of data up to which they are plain in the page, and of a page that should not be passed.
_PLAIN, _PAGE = 1_000_000, 1_900_000


def write(run: RunReader, out: BinaryIO) -> None:
    """Raises ``RunError``. Evidence is cut until the page is below 2 MB, if that can be."""
    data = PageData(run)
    room = data.room
    while True:
        page = render(data.to_json(room))
        if len(page) <= _PAGE or room < LEAST:
            break
        room = min(room // 2, int(room * _PAGE / len(page)))
    out.write(page)


def render(data: dict[str, Any]) -> bytes:
    """The page of ``PageData.to_json``; the same data give the same bytes."""
    files = resources.files("pytest_agentbench.report.page")
    text = {name: files.joinpath(name).read_text("utf-8") for name in _FILES}
    kind, packed = _packed(data)
    style = text["uplot.min.css"] + text["style.css"]
    values = {
        "policy": _policy([text["uplot.min.js"], text["script.js"]], style),
        "style": style,
        "kind": kind,
        "data": packed,
        "library": text["uplot.min.js"],
        "script": text["script.js"],
    }
    page = text["page.html"]
    parts = page.split("{{")
    filled = [parts[0]]
    for part in parts[1:]:
        name, _, rest = part.partition("}}")
        filled += [values[name], rest]
    return "".join(filled).encode()


_FILES = ("page.html", "style.css", "script.js", "uplot.min.js", "uplot.min.css")


def _packed(data: dict[str, Any]) -> tuple[str, str]:
    """Type and content of the element with the data: JSON, compressed where there is much.

    Plain JSON is the same on every machine; what zlib makes of it may differ with its version.
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"), sort_keys=True)
    # In a script element only "<" could mean anything to a parser of HTML.
    plain = text.replace("<", "\\u003c")
    if len(plain) <= _PLAIN:
        return "application/json", plain
    return "application/deflate", base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _policy(scripts: list[str], style: str) -> str:
    hashes = " ".join(map(_hash, scripts))
    return (
        f"default-src 'none'; script-src {hashes}; style-src {_hash(style)}; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
