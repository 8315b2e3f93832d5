"""Documents as text: spreadsheets, word processors' files, PDF. Runs in a child of the checker server.

The files are hostile: sizes are bounded before a library sees them, and time and memory by the
child. Beside what a person sees, each reader gives what the file says where nobody looks.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

#: Bytes that an office file may unpack to, and in how many parts.
UNPACKED = 64 << 20
PARTS = 2000
ROWS, COLUMNS, SHEETS, PAGES = 2000, 100, 20, 60
_PROPERTIES = (
    "title",
    "subject",
    "author",
    "creator",
    "keywords",
    "comments",
    "description",
    "category",
)
INSTALL = "pip install 'pytest-agentbench[judge]'"


class NotRead(Exception):
    """A document that cannot be shown; the text says why. ``ours`` where the agent is not to blame."""

    def __init__(self, reason: str, *, ours: bool = False) -> None:
        super().__init__(reason)
        self.ours = ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """``text`` as a person sees it; ``hidden`` texts by where they are, such as "properties"."""

    text: str
    hidden: Mapping[str, str] = field(default_factory=dict)


def read(suffix: str, data: bytes) -> Document:
    """The document in ``data``. Raises ``NotRead``."""
    try:
        return READERS[suffix](data)
    except NotRead:
        raise
    except ImportError as error:
        raise NotRead(f"to read {suffix} files needs {INSTALL} ({error})", ours=True) from None
    except Exception as error:
        kind = type(error).__name__
        raise NotRead(f"is no {suffix} file that can be read ({kind})") from error


def _xlsx(data: bytes) -> Document:
    from openpyxl import load_workbook

    _bounded(data)
    book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    shown: list[str] = []
    hidden = {"properties": _properties(book.properties)}
    for sheet in islice(book.worksheets, SHEETS):
        rows = "\n".join(_rows(sheet))
        if sheet.sheet_state == "visible":
            shown.append(f"## sheet {sheet.title}\n{rows}")
        else:
            hidden[f"hidden sheet {sheet.title}"] = rows
    if len(book.worksheets) > SHEETS:
        shown.append(f"⟦… {len(book.worksheets) - SHEETS} more sheets are not shown …⟧")
    return Document(text="\n\n".join(shown), hidden=hidden)


def _rows(sheet: Any) -> Iterator[str]:
    for number, row in enumerate(sheet.iter_rows(max_col=COLUMNS, values_only=True)):
        if number == ROWS:
            yield f"⟦… rows after the first {ROWS:,} are not shown …⟧"
            return
        cells = ["" if cell is None else str(cell) for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        yield "\t".join(cells)


def _docx(data: bytes) -> Document:
    from docx import Document as open_docx
    from docx.table import Table
    from docx.text.paragraph import Paragraph

    _bounded(data)
    file = open_docx(io.BytesIO(data))
    shown: list[str] = []
    veiled: list[str] = []

    def say(paragraph: Paragraph) -> str:
        veiled.extend(run.text for run in paragraph.runs if run.font.hidden)
        text = "".join(run.text for run in paragraph.runs if not run.font.hidden)
        style = paragraph.style.name if paragraph.style is not None else ""
        level = str(style).removeprefix("Heading ")
        return f"{'#' * int(level)} {text}" if level.isdigit() and str(style) != level else text

    for block in file.iter_inner_content():
        if isinstance(block, Table):
            for row in block.rows:
                cells = [" ".join(say(each) for each in cell.paragraphs) for cell in row.cells]
                shown.append("\t".join(cells))
        else:
            shown.append(say(block))
    edges = (part for section in file.sections for part in (section.header, section.footer))
    shown += [text for part in edges for each in part.paragraphs if (text := say(each))]
    remarks = "\n".join(comment.text for comment in getattr(file, "comments", ()))
    return Document(
        text="\n".join(shown),
        hidden={
            "properties": _properties(file.core_properties),
            "hidden text": "\n".join(veiled),
            "comments": remarks,
        },
    )


def _pdf(data: bytes) -> Document:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted:
        raise NotRead("is encrypted")
    shown = [
        f"## page {n}\n{page.extract_text()}"
        for n, page in enumerate(islice(reader.pages, PAGES), 1)
    ]
    if len(reader.pages) > PAGES:
        shown.append(f"⟦… {len(reader.pages) - PAGES} more pages are not shown …⟧")
    facts = "\n".join(str(value) for value in (reader.metadata or {}).values())
    return Document(text="\n\n".join(shown), hidden={"properties": facts, "notes": _notes(reader)})


def _notes(reader: Any) -> str:
    found = []
    for page in islice(reader.pages, PAGES):
        for annotation in page.get("/Annots") or ():
            found.append(str(annotation.get_object().get("/Contents") or ""))
    return "\n".join(found)


def _properties(properties: Any) -> str:
    said = (getattr(properties, name, None) for name in _PROPERTIES)
    return "\n".join(str(value) for value in said if value)


def _bounded(data: bytes) -> None:
    """Raise ``NotRead`` for an archive that is larger than it looks."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
    except zipfile.BadZipFile:
        raise NotRead("is no office file: not even an archive") from None
    if len(parts) > PARTS or sum(part.file_size for part in parts) > UNPACKED:
        raise NotRead(f"unpacks to more than {UNPACKED >> 20} MiB or {PARTS:,} parts")


READERS: Mapping[str, Callable[[bytes], Document]] = {".xlsx": _xlsx, ".docx": _docx, ".pdf": _pdf}
