"""Bring ledger/takings.csv to what the sound batches in inbox/ say, however often it is run.

Usage, from the folder of the task: recover.py [--report]. The report is out/batches.csv and
out/files.csv.
"""

import csv
import hashlib
import os
import re
import sys
from pathlib import Path

INBOX, LEDGER = Path("inbox"), Path("ledger/takings.csv")
FIELDS = ("row_id", "shop", "day", "till", "amount_cents", "rev", "source", "ref")
CLOSED, BY_HAND = "A", "manual"


class Sending:
    """A file of the inbox: its batch, its rows, and whether it is whole and what was announced."""

    def __init__(self, path, announced):
        self.name, self.batch = path.name, path.name.split(".")[0]
        lines = path.read_bytes().decode("utf-8", "replace").replace("\r", "").split("\n")
        lines = [line for line in lines if line]
        self.whole = bool(lines) and lines[-1].startswith("#END")
        texts = [x for x in lines if not x.startswith("#") and not x.startswith("row_id,")]
        digest = hashlib.sha256("".join(f"{text}\n" for text in texts).encode())
        self.true = digest.hexdigest()[:12] == announced
        self.rows = [text.split(",") for text in texts]

    @property
    def sound(self):
        return self.whole and self.true

    @property
    def ids(self):
        return {row[0] for row in self.rows}


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def resends():
    """What the resend log says, by time: (time, batch, word, rest)."""
    lines = Path("logs/resend.log").read_text(encoding="utf-8").splitlines()
    parts = (line.split(maxsplit=4) for line in lines if line.strip())
    return sorted((p[0], p[2], p[3], p[4] if len(p) > 4 else "") for p in parts)


def standing(manifest):
    """Every sending, those that count by batch in the manifest's order, and what was taken back."""
    announced = {row["file"]: row["checksum"] for row in manifest}
    roles, withdrawn, cancelled = {}, set(), set()
    for _, batch, word, rest in resends():
        name = rest.split()[0] if rest else ""
        if word == "SENT":
            found = re.search(r"checksum=([0-9a-f]+)", rest)
            announced[name] = found[1] if found else ""
            roles[name] = (batch, rest.split()[1])
        elif word == "CANCELLED":
            cancelled.add(name)
        elif word == "WITHDRAWN":
            withdrawn.add(batch)
    files = {
        path.name: Sending(path, announced.get(path.name))
        for path in sorted(INBOX.glob("*.csv"))
        if path.name != "manifest.csv"
    }
    counting = {}
    for row in manifest:
        batch = row["batch"]
        valid = [
            (role, files[name])
            for name, (of, role) in roles.items()
            if of == batch and name not in cancelled and name in files and files[name].sound
        ]
        replacing = [file for role, file in valid if role == "replaces"]
        original = files.get(row["file"])
        base = replacing[-1:] or ([original] if original and original.sound else [])
        more = [file for role, file in valid if role == "adds"] if base else []
        counting[batch] = [] if batch in withdrawn else base + more
    return files, counting, withdrawn, cancelled


def merged(counting):
    """Each row once: the highest revision, and with equal ones the earlier batch."""
    best = {}
    for batch, files in counting.items():
        for row in (row for file in files for row in file.rows):
            if row[0] not in best or int(row[5]) > int(best[row[0]][5]):
                best[row[0]] = [*row[:6], batch, ""]
    return best


def kept(before, best, gone):
    """Rows of closed months, and those keyed in by hand whose row has not come."""
    for row in dict.fromkeys(tuple(row[field] or "" for field in FIELDS) for row in before):
        source, ref = row[6], row[7]
        if source.startswith(CLOSED):
            yield row
        elif source == BY_HAND and (not ref or (ref not in best and ref not in gone)):
            yield row


def save(path, head, rows):
    path.parent.mkdir(exist_ok=True)
    new = path.with_name(path.name + ".new")
    with new.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)
    os.replace(new, path)


def verdict(file, manifest, counting, withdrawn, cancelled, seen):
    known = any(row["batch"] == file.batch for row in manifest)
    if not known and file.ids <= seen:
        return "duplicate"
    if file.batch in withdrawn:
        return "withdrawn"
    if file.name in cancelled:
        return "cancelled"
    if not file.whole:
        return "truncated"
    if not file.true:
        return "checksum"
    return "used" if file in counting.get(file.batch, ()) else "superseded"


def word(files, row, withdrawn):
    if row["batch"] in withdrawn:
        return "withdrawn"
    if not files:
        return "missing"
    if files[0].name != row["file"]:
        return "replaced"
    return "completed" if len(files) > 1 else "imported"


def report(manifest, files, counting, withdrawn, cancelled):
    seen = {each for group in counting.values() for file in group for each in file.ids}
    facts = (manifest, counting, withdrawn, cancelled, seen)
    save(
        Path("out/files.csv"),
        ("file", "verdict"),
        [(file.name, verdict(file, *facts)) for file in files.values()],
    )
    lines = []
    for row in manifest:
        group = counting[row["batch"]]
        amounts = [int(each[4]) for file in group for each in file.rows]
        lines.append((row["batch"], word(group, row, withdrawn), len(amounts), sum(amounts)))
    save(Path("out/batches.csv"), ("batch", "status", "rows", "cents"), lines)


def main(argv):
    manifest = table(INBOX / "manifest.csv")
    files, counting, withdrawn, cancelled = standing(manifest)
    best = merged(counting)
    gone = {each for file in files.values() if file.batch in withdrawn for each in file.ids}
    save(LEDGER, FIELDS, [*kept(table(LEDGER), best, gone), *best.values()])
    if "--report" in argv:
        report(manifest, files, counting, withdrawn, cancelled)


if __name__ == "__main__":
    main(sys.argv[1:])
