"""Imports the batches of the tills into the ledger. Run from the root: python3 tools/import_batches.py"""

import csv
import datetime
import json
from pathlib import Path

INBOX, LEDGER = Path("inbox"), Path("ledger/takings.csv")
LOG, STATE = Path("logs/import.log"), Path("tools/state.json")


def log(text):
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    with LOG.open("a") as file:
        file.write(f"{now} {text}\n")


def main():
    state = {"done": [], "rows": 0}
    for path in sorted(INBOX.glob("B??.csv")):
        batch = path.stem
        lines = path.read_text().splitlines()
        state["done"].append(batch)
        state["rows"] += len(lines) - 3
        STATE.write_text(json.dumps(state, indent=2) + "\n")
        log(f"{batch} {len(lines) - 3} rows imported")
        with LEDGER.open("a", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            for number, line in enumerate(lines[2:], 3):
                if line.startswith("#END"):
                    break
                fields = line.split(",")
                try:
                    writer.writerow([*fields[:4], int(fields[4]), int(fields[5]), batch, ""])
                except (IndexError, ValueError) as error:
                    log(f"ERROR {path.name} line {number}: {error}")
                    raise SystemExit(1)


if __name__ == "__main__":
    main()
