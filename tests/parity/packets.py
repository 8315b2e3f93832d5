"""An agent that answers the packet tasks of EvoClawBench from the prompt and the inputs alone.

Usage, in the workspace: python packets.py PROMPT_FILE. It replies with a text whatever the task is.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def main(prompt: str) -> None:
    fields = re.findall(r"(?m)^- `([A-Z]\d+)` -> `(\w+)` \((\w+)\)$", prompt)
    salt = re.search(r'sha256\("([^"|]+)\|<task_id>', prompt)
    folder = re.search(r"under `(assets/generated_tasks/([^/`]+)/)`", prompt)
    if fields and salt and folder:
        Path("outputs").mkdir(exist_ok=True)
        for path in sorted(Path(folder[1]).glob("case_*")):
            manifest, records = read(path)
            chosen = selected(manifest, f"{salt[1]}|{folder[2]}|{path.stem}")
            rows = [r for r in records if (r["packet_id"], r["status"]) == (chosen, "final")]
            report = {
                field: DERIVE[kind](field, [r for r in rows if r["channel"] == channel])
                for channel, field, kind in fields
            }
            Path("outputs", f"{path.stem}_report.json").write_text(json.dumps(report))
    print("EvoClawBench ready: all that was asked for is done.")


def read(path: Path) -> tuple[list[Row], list[Row]]:
    text = path.read_text("utf-8")
    if path.suffix == ".csv":
        rows = list(csv.DictReader(text.splitlines()))
        return [[r for r in rows if r["section"] == kind] for kind in ("manifest", "record")]
    if path.suffix == ".txt":
        lines = [line.split("\t", 1) for line in text.splitlines() if "\t" in line]
        return [
            [json.loads(data) for kind, data in lines if kind == want]
            for want in ("MANIFEST", "RECORD")
        ]
    if path.suffix == ".html":
        return tuple(
            json.loads(re.search(rf'data-section="{name}">(.*?)</script>', text, re.DOTALL)[1])
            for name in ("packet-manifest", "records")
        )
    if path.suffix in (".yaml", ".yml"):
        import yaml

        data = yaml.load(text, yaml.CSafeLoader)
    else:
        data = json.loads(text)
    return data["packet_manifest"], data["records"]


def selected(manifest: list[Row], prefix: str) -> str:
    good = []
    for row in manifest:
        text = f"{prefix}|{row['packet_id']}|{row['nonce']}"
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        if row["state"] == "approved" and not row["superseded_by"] and row["checksum"] == digest:
            place = (-int(row["revision"]), -int(row["source_weight"]), row["packet_id"])
            good.append((place, row["packet_id"]))
    return min(good)[1]


def numeric(field: str, rows: list[Row]) -> float:
    total = 0.0
    for row in rows:
        sign = -1 if row["operator"] == "subtract" else 1
        total += sign * int(row["amount_minor"]) / int(row["scale"])
    return round(total) if "count" in field else round(total, 2)


def listed(_: str, rows: list[Row]) -> list[str]:
    values: set[str] = set()
    for row in sorted(rows, key=lambda r: int(r["revision"])):
        value, target = row.get("value") or "", row.get("target") or ""
        if row["action"] == "include":
            values.add(str(value))
        else:
            values.discard(str(target or value))
            if row["action"] == "alias":
                values.add(str(value))
    return sorted(values)


def summed(_: str, rows: list[Row]) -> dict[str, int]:
    sums: dict[str, int] = defaultdict(int)
    for row in rows:
        sums[row["bucket"]] += int(row["delta"])
    return {bucket: total for bucket, total in sums.items() if total}


def gated(_: str, rows: list[Row]) -> bool:
    return all(row["observed"] == row["expected"] for row in rows)


def text(_: str, rows: list[Row]) -> str:
    best = min(rows, key=lambda r: (float(r["penalty"]) - float(r["score"]), str(r["candidate"])))
    return str(best["candidate"])


DERIVE = {"numeric": numeric, "list": listed, "dict": summed, "bool": gated, "text": text}

if __name__ == "__main__":
    main(Path(sys.argv[1]).read_text("utf-8"))
