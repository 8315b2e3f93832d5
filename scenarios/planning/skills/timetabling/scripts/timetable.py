"""Fit sessions into rooms and hours: out/timetable.csv and out/summary.json.

Usage: timetable.py [--drop CODE] [--set CODE.people=N] [--set CODE.minutes=N]
                    [--add CODE,TITLE,TRAINER,PEOPLE,MINUTES,NEEDS,BUILDS_ON,GROUP]
"""

import argparse
import csv
import datetime as dt
import json
import math
import pathlib
import random
import re
import sys

MONTHS = (
    "January February March April May June July August September October November December"
).split()
DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
COLUMNS = ("code", "title", "trainer", "people", "minutes", "needs", "builds_on", "group")
STEP = 15
SEED, TRIES = 1, 4000


def clock(text):
    hour, minute = text.split(":")
    return int(hour) * 60 + int(minute)


class Rules:
    def __init__(self):
        text = " ".join(pathlib.Path("rules.md").read_text(encoding="utf-8").split())
        found = re.search(r"on (.*?) (\w+) (\d{4}), between (\d\d:\d\d) and (\d\d:\d\d)", text)
        month, year = MONTHS.index(found[2]) + 1, int(found[3])
        self.dates = [dt.date(year, month, int(n)) for n in re.findall(r"\d+", found[1])]
        self.opens, self.closes = clock(found[4]), clock(found[5])
        zone = re.search(r"UTC([+-]\d+)", text)
        self.ahead = dt.timedelta(hours=int(zone[1]) if zone else 0)
        lunch = re.search(r"Nothing runs between (\d\d:\d\d) and (\d\d:\d\d)", text)
        self.lunch = (clock(lunch[1]), clock(lunch[2])) if lunch else (0, 0)
        gap = re.search(r"aired for (\d+) minutes", text)
        self.gap = int(gap[1]) if gap else 0
        load = re.search(r"more than (\d+) minutes a day", text)
        self.load = int(load[1]) if load else 24 * 60
        budget = re.search(r"may cost EUR (\d+)", text)
        self.budget = int(budget[1]) if budget else math.inf


def sessions(options):
    with open("requests/sessions.csv", newline="", encoding="utf-8") as file:
        found = {row["code"]: row for row in csv.DictReader(file)}
    for line in options.add:
        row = dict(zip(COLUMNS, next(csv.reader([line])), strict=True))
        found[row["code"]] = row
    for code in options.drop:
        found.pop(code)
    for change in options.set:
        place, _, value = change.partition("=")
        code, _, field = place.partition(".")
        found[code][field] = value
    for row in found.values():
        row["people"], row["minutes"] = int(row["people"]), int(row["minutes"])
        row["needs"] = set(filter(None, row["needs"].split(";")))
    return found


def rooms():
    """Rooms with the least number of people that a list or a notice allows, and their closures."""
    data = json.loads(pathlib.Path("rooms/rooms.json").read_text(encoding="utf-8"))
    found = {room["name"]: dict(room, equipment=set(room["equipment"])) for room in data["rooms"]}
    for notice in sorted(pathlib.Path("rooms").glob("*.md")):
        for name, people in re.findall(r"^\| (\w+) \| (\d+) \|", notice.read_text("utf-8"), re.M):
            found[name]["seats"] = min(found[name]["seats"], int(people))
    closed = [
        (c["room"], c["date"], clock(c["from"]), clock(c["to"])) for c in data.get("closures", ())
    ]
    return found, closed


def busy(rules):
    """When each trainer is not free: (name, date, from, to) in site time."""
    for path in sorted(pathlib.Path("trainers").glob("*.ics")):
        for event in re.findall(r"BEGIN:VEVENT(.*?)END:VEVENT", path.read_text("utf-8"), re.S):
            field = dict(line.split(":", 1) for line in event.split() if ":" in line)
            if field.get("TRANSP") == "TRANSPARENT" or field.get("STATUS") == "CANCELLED":
                continue
            start, end = (
                dt.datetime.strptime(field[key], "%Y%m%dT%H%M%SZ") + rules.ahead
                for key in ("DTSTART", "DTEND")
            )
            for day in rules.dates:
                for first in occurrences(start, field.get("RRULE", ""), day):
                    last = first + (end - start)
                    opens = dt.datetime.combine(day, dt.time())
                    a, b = ((x - opens).total_seconds() / 60 for x in (first, last))
                    if a < 24 * 60 and b > 0:
                        yield path.stem.capitalize(), str(day), a, b


def occurrences(start, rule, day):
    """The starts of an event that may reach into a day: its own, or those of a weekly rule."""
    if "FREQ=WEEKLY" in rule:
        named = re.search(r"BYDAY=([A-Z,]+)", rule)
        days = named[1].split(",") if named else [DAYS[start.weekday()]]
        if day >= start.date() and DAYS[day.weekday()] in days:
            yield dt.datetime.combine(day, start.time())
    elif "FREQ=DAILY" in rule:
        if day >= start.date():
            yield dt.datetime.combine(day, start.time())
    else:
        yield start


class Search:
    def __init__(self, options):
        self.rules, self.sessions = Rules(), sessions(options)
        self.rooms, self.closed = rooms()
        self.busy = list(busy(self.rules))

    def cost(self, code, room):
        halves = math.ceil(self.sessions[code]["minutes"] / 30)
        return halves * self.rooms[room]["price_per_half_hour"]

    def places(self, code):
        """Every (date, start, end, room) that the session could have if it were alone."""
        rules, row = self.rules, self.sessions[code]
        for day in map(str, rules.dates):
            for start in range(rules.opens, rules.closes - row["minutes"] + 1, STEP):
                end = start + row["minutes"]
                if start < rules.lunch[1] and rules.lunch[0] < end:
                    continue
                taken = (b for b in self.busy if b[:2] == (row["trainer"], day))
                if any(start < b and a < end for _, _, a, b in taken):
                    continue
                for name, room in self.rooms.items():
                    shut = (c for c in self.closed if c[:2] == (name, day))
                    fits = row["people"] <= room["seats"] and row["needs"] <= room["equipment"]
                    if fits and not any(start < b and a < end for _, _, a, b in shut):
                        yield day, start, end, name

    def clash(self, code, place, other, taken):
        """Whether two sessions cannot both be where they are."""
        one, two = self.sessions[code], self.sessions[other]
        if one["builds_on"] == other and place[:2] < (taken[0], taken[2]):
            return True
        if two["builds_on"] == code and taken[:2] < (place[0], place[2]):
            return True
        if place[0] != taken[0]:
            return False
        gap = self.rules.gap if place[3] == taken[3] else 0
        shared = one["trainer"] == two["trainer"] or one["group"] == two["group"]
        meets = place[1] < taken[2] and taken[1] < place[2]
        near = place[1] < taken[2] + gap and taken[1] < place[2] + gap
        return (shared and meets) or (place[3] == taken[3] and near)

    def overloaded(self, code, place, plan):
        row = self.sessions[code]
        same = [
            self.sessions[c]["minutes"]
            for c, p in plan.items()
            if p[0] == place[0] and self.sessions[c]["trainer"] == row["trainer"]
        ]
        return sum(same) + row["minutes"] > self.rules.load

    def run(self):
        """A plan that keeps all rules, by trying again from the tightest session on."""
        options = {code: list(self.places(code)) for code in self.sessions}
        chance = random.Random(SEED)
        for _ in range(TRIES):
            plan, left = {}, {code: list(found) for code, found in options.items()}
            while left:
                code = min(left, key=lambda c: (len(left[c]), chance.random()))
                if not left[code]:
                    break
                cheap = min(self.cost(code, place[3]) for place in left[code])
                best = [p for p in left.pop(code) if self.cost(code, p[3]) == cheap]
                place = plan[code] = chance.choice(best)
                left = {
                    other: [
                        p
                        for p in found
                        if not self.clash(other, p, code, place)
                        and not self.overloaded(other, p, plan)
                    ]
                    for other, found in left.items()
                }
            total = sum(self.cost(code, place[3]) for code, place in plan.items())
            if not left and total <= self.rules.budget:
                return plan, total
        sys.exit(f"no timetable was found in {TRIES} tries; look for what cannot be kept")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("add", "drop", "set"):
        parser.add_argument(f"--{name}", action="append", default=[])
    search = Search(parser.parse_args())
    plan, total = search.run()
    out = pathlib.Path("out")
    out.mkdir(exist_ok=True)
    with open(out / "timetable.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("session", "date", "start", "end", "room", "trainer"))
        for code, (day, start, end, room) in sorted(plan.items(), key=lambda item: item[1]):
            times = (f"{t // 60:02}:{t % 60:02}" for t in (start, end))
            writer.writerow((code, day, *times, room, search.sessions[code]["trainer"]))
    (out / "summary.json").write_text(json.dumps({"room_cost": total}) + "\n")


if __name__ == "__main__":
    main()
