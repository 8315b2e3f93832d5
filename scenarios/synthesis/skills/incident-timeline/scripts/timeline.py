"""Write out/timeline.csv and out/figures.json of an incident. Usage: timeline.py [DAY]"""

import csv
import datetime as dt
import json
import pathlib
import re
import sys
import zoneinfo

UTC = dt.timezone.utc
GUIDE = " ".join(pathlib.Path("docs/review_guide.md").read_text(encoding="utf-8").split())


def zone(text):
    """The zone that a text names: as Region/City, or by a city of the database."""
    if found := re.search(r"\b([A-Z]\w+/[A-Z]\w+)", text):
        return zoneinfo.ZoneInfo(found[1])
    cities = {name.rpartition("/")[2].replace("_", " "): name for name in zones()}
    for city in sorted(cities, key=lambda city: (-len(city), city)):
        if re.search(rf"\b{re.escape(city)}\b", text):
            return zoneinfo.ZoneInfo(cities[city])
    sys.exit(f"no zone is named in: {text}")


def zones():
    regions = ("Africa", "America", "Asia", "Australia", "Europe", "Pacific")
    return sorted(n for n in zoneinfo.available_timezones() if n.split("/")[0] in regions)


def utc(stamp, where):
    return dt.datetime.fromisoformat(stamp).replace(tzinfo=where).astimezone(UTC)


def sentence(words):
    return next(s for s in re.split(r"(?<=[.:])\s|- ", GUIDE) if re.search(words, s))


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def clocks(day):
    """How many seconds each host was ahead on that day."""
    for path in sorted(pathlib.Path("docs").glob("clock_report_*.txt")):
        text = path.read_text(encoding="utf-8")
        if f"day covered: {day}" in text:
            found = re.findall(r"^(\S+)\s+\S+Z\s+([+-][\d.]+) s", text, re.MULTILINE)
            return {host: float(ahead) for host, ahead in found}
    sys.exit(f"no clock report covers {day}")


def alerts(day):
    """(time, alert) of each, with the error of its host's clock taken out where there was one."""
    where, ahead = zone(sentence("monitoring hosts")), clocks(day)
    stepped = set()
    for row in sorted(rows("alerts.csv"), key=lambda row: row["alert_id"]):
        when = utc(row["host_time"], where)
        if row["alert"] == "ClockStepped":
            stepped.add(row["host"])
        elif abs(ahead.get(row["host"], 0)) >= 1 and row["host"] not in stepped:
            when -= dt.timedelta(seconds=ahead[row["host"]])
        yield when, row


def main(argv):
    covered = [p.stem.rpartition("_")[2] for p in pathlib.Path("docs").glob("clock_report_*.txt")]
    day = argv[0] if argv else max(covered)
    product = re.search(r"hit `([\w-]+)`", GUIDE)[1]
    begin, end = re.search(r"from (\d\d:\d\d:\d\d)Z to (\d\d:\d\d:\d\d)Z", GUIDE).groups()
    first, last = (
        dt.datetime.fromisoformat(f"{day}T{t}").replace(tzinfo=UTC) for t in (begin, end)
    )
    catalogue = json.loads(pathlib.Path("services.json").read_text())["services"]
    services = {each["name"] for each in catalogue if product in each["products"]}
    events = []
    office = zone(sentence("deploy system"))
    for row in rows("deploys.csv"):
        live = row["environment"] == "production" and row["result"] == "succeeded"
        if live and row["service"] in services:
            events.append((utc(row["finished"], office), "deploy", row["deploy_id"], row))
    for when, row in alerts(day):
        if row["severity"] == "critical" and row["service"] in services:
            events.append((when, "alert", row["alert_id"], row))
    chat = json.loads(pathlib.Path("chat_export.json").read_text(encoding="utf-8"))
    for row in chat["messages"]:
        marked = "timeline" in row["reactions"] and "timeline-withdrawn" not in row["reactions"]
        if marked and not row["bot"]:
            events.append((utc(row["posted"], zone(chat["times"])), "chat", row["id"], row))
    events = sorted((e for e in events if first <= e[0] <= last), key=lambda e: (e[0], e[2]))
    save(events, figures(events))


def figures(events):
    def some(source, **wanted):
        return [
            e for e in events if e[1] == source and all(e[3][k] == v for k, v in wanted.items())
        ]

    def said(reaction):
        return next(e[0] for e in events if e[1] == "chat" and reaction in e[3]["reactions"])

    fired = some("alert", **{"class": "synthetic", "state": "FIRING"})
    healed = some("alert", **{"class": "synthetic", "state": "RESOLVED"})
    begin, decided = fired[0][0], said("decision")
    back = [e for e in some("deploy") if re.search(r"roll(ed)?[ -]?back", e[3]["note"], re.I)]
    ended = next((e[0] for e in back if e[0] > decided), None)
    return {
        "trigger_deploy": [e for e in some("deploy") if e[0] < begin][-1][2],
        "impact_seconds": seconds(healed[-1][0] - begin),
        "page_to_ack_seconds": seconds(said("ack") - some("alert", paged="yes")[0][0]),
        "decision_to_rollback_seconds": seconds(ended - decided) if ended else None,
    }


def seconds(span):
    return int(span.total_seconds())


def save(events, found):
    out = pathlib.Path("out")
    out.mkdir(exist_ok=True)
    with open(out / "timeline.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("time_utc", "source", "ref"))
        writer.writerows((f"{w:%Y-%m-%dT%H:%M:%SZ}", source, ref) for w, source, ref, _ in events)
    (out / "figures.json").write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
