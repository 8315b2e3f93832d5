"""Draft out/notice.md and out/left_out.csv by style_guide.md."""

import csv
import datetime as dt
import io
import json
import pathlib
import re
import sys
import zoneinfo

MONTHS = (
    "January February March April May June July August September October November December"
).split()
SECTIONS = {"feature": "New", "improvement": "Changed", "defect": "Fixed", "security": "Fixed"}
GUIDE = pathlib.Path("style_guide.md").read_text(encoding="utf-8")
FLAT = " ".join(GUIDE.split())
RELEASE = json.loads(pathlib.Path("release.json").read_text(encoding="utf-8"))


def moment(text):
    return dt.datetime.fromisoformat(text.replace("Z", "+00:00"))


def number(ticket):
    return int(ticket.rpartition("-")[2])


def written(day):
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def read(text):
    found = re.fullmatch(r"(\d+) (\w+) (\d{4})", text)
    return dt.date(int(found[3]), MONTHS.index(found[2]) + 1, int(found[1]))


def tickets():
    """The export that was made after the code freeze."""
    freeze = moment(RELEASE["code_freeze"])
    for path in sorted(pathlib.Path().glob("tickets*.csv")):
        head, _, body = path.read_text(encoding="utf-8").partition("\n")
        made = re.search(r"(\d{4}-\d\d-\d\dT[\d:]+Z)", head)
        if made and moment(made[1]) > freeze:
            return {row["ticket"]: row for row in csv.DictReader(io.StringIO(body))}
    sys.exit("no export was made after the code freeze")


def changelog():
    """Words of each ticket of the build's candidates, what stands in the end, what was shipped."""
    text = pathlib.Path("CHANGELOG.md").read_text(encoding="utf-8")
    parts = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    named, standing, shipped = {}, set(), set()
    for part in parts:
        version = part.split()[0]
        if version == RELEASE["build"]:
            for candidate in reversed(re.split(r"^### ", part, flags=re.MULTILINE)[1:]):
                for group in re.split(r"^#### ", candidate, flags=re.MULTILINE)[1:]:
                    lines = re.findall(r"^- (?:\w+: )?(.*) \((\w+-\d+)\)", group, re.MULTILINE)
                    named |= {ticket: words for words, ticket in lines}
                    found = {ticket for _, ticket in lines}
                    standing = (
                        standing - found if group.startswith("Reverted") else standing | found
                    )
        elif version[0].isdigit():
            shipped |= set(re.findall(r"\((\w+-\d+)\)", part))
    return named, standing, shipped


def reason(ticket, facts, standing, shipped, day):
    """Why the guide leaves a ticket out; "" if it is announced."""
    if ticket not in standing:
        return "reverted"
    if ticket in shipped:
        return "shipped"
    if facts["duplicate_of"]:
        return "duplicate"
    return hidden(facts, day)


def hidden(facts, day):
    if facts["visibility"] == "internal":
        return "internal"
    return (
        "embargoed"
        if facts["visibility"] == "embargoed" and str(day) < facts["embargo_until"]
        else ""
    )


def public_names(day):
    with open("names.csv", newline="", encoding="utf-8") as file:
        return {
            row["code_name"]: row["public_name"]
            for row in csv.DictReader(file)
            if row["valid_from"] <= str(day) <= (row["valid_to"] or "9999")
        }


def deadline(day, kind):
    days = re.search(rf"plus \*\*(\d+) days\*\* for `{kind}`", FLAT)
    due = day + dt.timedelta(days=int(days[1]))
    closed = [
        (read(first), read(last))
        for first, last in re.findall(r"^\| (\d+ \w+ \d{4}) \| (\d+ \w+ \d{4}) \|", GUIDE, re.M)
    ]
    while due.weekday() >= 5 or any(first <= due <= last for first, last in closed):
        due += dt.timedelta(days=1)
    return due


def bullet(section, name, words, width, banned):
    """A bullet without its bracket: the changelog's words where they fit, else a general one."""
    begin = {
        "New": f"You can now use this in the {name}",
        "Changed": f"News in the {name}",
        "Fixed": f"Fixed in the {name}",
    }[section]
    line = f"- {begin}: {words}"
    fits = words and len(line) <= width and not banned.search(words)
    return line if fits else f"- {begin}"


def main():
    width = int(re.search(r"at most \*\*(\d+) characters\*\*", FLAT)[1])
    most = int(re.search(r"at most \*\*(\d+) words\*\*", FLAT)[1])
    live = moment(RELEASE["go_live"]).astimezone(zoneinfo.ZoneInfo("Europe/Berlin"))
    day, known = live.date(), tickets()
    named, standing, shipped = changelog()
    left = {t: why for t in named if (why := reason(t, known[t], standing, shipped, day))}
    announced = set(named) - set(left)
    originals = {known[t]["duplicate_of"] for t, why in left.items() if why == "duplicate"}
    announced |= {t for t in originals - set(left) if not hidden(known[t], day)}
    left = {t: why for t, why in left.items() if t not in announced}
    names = public_names(day)
    never = re.search(r"Never, in any spelling with capitals: (.*?)\.", FLAT)[1].split(", ")
    codes = [row for row in names]
    banned = re.compile(rf"\b({'|'.join(map(re.escape, never + codes))})\b|!|\d\.\d", re.I)
    title = f"{RELEASE['product']} {RELEASE['version']}"
    order = sorted(announced, key=number)
    plain = [t for t in order if known[t]["type"] != "security"]

    def draft(spared):
        parts = [f"# {title}"]
        when = f"{live:%A} {written(day)} at {live:%H:%M} {live.tzname()}"
        parts.append(f"{title} goes live on {when}.")
        for section in ("New", "Changed", "Fixed"):
            lines = []
            for ticket in (t for t in plain if SECTIONS[known[t]["type"]] == section):
                words = "" if ticket in spared else named.get(ticket, "")
                room = width - len(f" [{ticket}]")
                name = names[known[ticket]["component"]]
                lines.append(f"{bullet(section, name, words, room, banned)} [{ticket}]")
            secure = [t for t in order if t not in plain]
            if section == "Fixed" and secure:
                lines.append(f"- Security improvements [{', '.join(secure)}]")
            parts.append("\n".join([f"## {section}", "", *lines]))
        due = sorted(
            (deadline(day, known[t]["breaking"]), t) for t in order if known[t]["breaking"]
        )
        acts = [f"- By {written(d)}: adapt your {known[t]['breaking']} [{t}]" for d, t in due]
        parts.append("\n".join(["## Action needed", "", *acts]))
        counts = [
            sum(SECTIONS[known[t]["type"]] == s for t in order) for s in ("New", "Changed", "Fixed")
        ]
        new, changed, fixed = counts
        parts.append(f"{len(order)} changes: {new} new, {changed} changed, {fixed} fixed")
        return "\n\n".join(parts) + "\n"

    spared = set()
    for ticket in [None, *sorted(plain, key=lambda t: -len(named.get(t, "").split()))]:
        spared.add(ticket)
        text = draft(spared)
        if len(text.split()) <= most:
            break
    out = pathlib.Path("out")
    out.mkdir(exist_ok=True)
    (out / "notice.md").write_text(text, encoding="utf-8")
    with open(out / "left_out.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("ticket", "reason"))
        writer.writerows((t, left[t]) for t in sorted(left, key=number))


if __name__ == "__main__":
    main()
