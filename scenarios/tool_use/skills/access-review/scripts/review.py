"""Write an access review from policy/, hr/ and doors/. Usage: review.py [DAY]"""

import csv
import datetime as dt
import json
import pathlib
import re
import subprocess
import sys

#: An agent's shell may have no PATH, and then Python does not know where it is.
PYTHON = sys.executable or "python3"
TOOL = pathlib.Path("doors/doorctl.py")
NEVER = "9999-12-31"


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def tool(*args, text=""):
    """What the controller's tool says, line by line. It is only ever asked."""
    done = subprocess.run(
        [PYTHON, TOOL, *args], input=text, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def offset():
    """Site time ahead of UTC, as the rules say."""
    rules = "\n".join(path.read_text() for path in sorted(pathlib.Path("policy").glob("*.md")))
    found = re.search(r"UTC\s?([+-]\d{1,2})(?::(\d\d))?", rules)
    if not found:
        sys.exit("the rules name no zone such as UTC+1; add it to the script's call of offset()")
    hours = int(found[1])
    return dt.timedelta(hours=hours, minutes=int(found[2] or 0) * (-1 if hours < 0 else 1))


def last_days():
    """By person: the last day as it was first, and with signed extensions of contractors."""
    plain = {row["person_id"]: row["last_working_day"] for row in rows("hr/leavers.csv")}
    kinds = {row["person_id"]: row["kind"] for row in rows("hr/leavers.csv")}
    extended = dict(plain)
    for row in sorted(rows("hr/extensions.csv"), key=lambda row: row["dated"]):
        if row["state"] == "signed" and kinds.get(row["person_id"]) == "contractor":
            extended[row["person_id"]] = row["new_last_day"]
    return plain, extended


def log(ahead):
    """Each frame of the log: time at the site, card, facility, badge, result."""
    frames = []
    for line in pathlib.Path("doors/events.log").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            when, *fields = line.split()
            facts = dict(field.split("=", 1) for field in fields)
            there = dt.datetime.fromisoformat(when.replace("Z", "")) + ahead
            frames.append((there, facts["card"], facts["result"]))
    answers = tool("decode", "-", text="\n".join(card for _, card, _ in frames) + "\n")
    return [(*frame, *answer.split()[1:]) for frame, answer in zip(frames, answers, strict=True)]


def main(argv):
    frames = log(offset())
    day = argv[0] if argv else str(max(f[0] for f in frames).date() + dt.timedelta(days=1))
    ours = str(json.loads(TOOL.with_name("state.json").read_text())["facility"])
    plain, extended = last_days()
    listed = [line.split(",") for line in tool("list")]
    holder = {badge: person for badge, person, *_ in listed}
    active = [badge for badge, _, status, *_ in listed if status == "active"]
    end = {badge: extended.get(person, NEVER) for badge, person in holder.items()}
    late, foreign, misreads = {}, {}, 0
    for when, card, result, facility, badge in frames:
        if facility == "-":
            misreads += 1
        elif facility != ours:
            foreign[card] = None
        elif result == "open" and str(when.date()) > end.get(badge, NEVER):
            late.setdefault(badge, []).append(when)
    first = {badge: min(times).strftime("%Y-%m-%d %H:%M") for badge, times in late.items()}
    review = {
        "audit_date": day,
        "revoke": [badge for badge in active if end[badge] < day],
        "extended": [b for b in active if plain.get(holder[b], NEVER) < day <= end[b]],
        "late_use": [
            {"badge": badge, "first": first[badge], "openings": len(late[badge])}
            for badge in sorted(late)
        ],
        "late_openings": sum(map(len, late.values())),
        "misreads": misreads,
        "foreign_cards": list(foreign),
    }
    pathlib.Path("out").mkdir(exist_ok=True)
    pathlib.Path("out/badge_audit.json").write_text(json.dumps(review, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
