"""Plan moves by the runbook and the minutes: out/plan.csv and out/summary.json."""

import collections
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
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
SEED, TRIES = 1, 3000
HALF_DAY = dt.timedelta(hours=12)
QUARTER = dt.timedelta(minutes=15)


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def flat(path):
    return " ".join(path.read_text(encoding="utf-8").replace("**", "").split())


def day(number, month, year):
    return dt.date(int(year), MONTHS.index(month) + 1, int(number))


def spans(path, state):
    return [
        (row, dt.date.fromisoformat(row["first_night"]), dt.date.fromisoformat(row["last_night"]))
        for row in rows(path)
        if row["state"] == state
    ]


class Facts:
    """What holds, by runbook and minutes."""

    def __init__(self):
        (runbook,) = pathlib.Path().glob("runbook*.md")
        text = flat(runbook)
        number, month, year = re.search(
            r"The last move is over by noon UTC on (\d+) (\w+) (\d{4})", text
        ).groups()
        self.end = day(number, month, year)
        first = re.search(r"The first night is (\d+) (\w+)", text)
        self.first = day(first[1], first[2], year)
        closed = re.search(r"No move begins in a night that bears the date of an? (.*?)\.", text)[1]
        self.closed = [n for n, name in enumerate(WEEKDAYS) if name in closed]
        self.stale = int(re.search(r"more than (\d+) days older", text)[1])
        self.soak, self.soak_first = map(
            int, re.search(r"earliest (\d+) hours after .*?; (\d+) hours where", text).groups()
        )
        listed = json.loads(pathlib.Path("inventory/services.json").read_text(encoding="utf-8"))
        self.services = {each["name"]: each for each in listed["services"]}
        self.earliest = {}
        for path in sorted(pathlib.Path("minutes").glob("*.md")):
            for item in re.split(r" (?=\d+\. )", flat(path)):
                self.work_in(item, path.stem[:4])
        self.rehearsed = {}
        for row in sorted(rows("inventory/rehearsals.csv"), key=lambda row: row["date"]):
            if row["result"] == "ok":
                found = dt.date.fromisoformat(row["date"]), float(row["hours"])
                self.rehearsed[row["service"]] = found
        self.regions = {row["region"]: row for row in rows("calendar/regions.csv")}
        self.freezes = spans("calendar/freezes.csv", "confirmed")
        self.leave = spans("team/leave.csv", "approved")
        self.people = {row["name"]: row for row in rows("team/roster.csv")}

    def work_in(self, item, year):
        months = "|".join(MONTHS)
        named = [name for name in re.findall(r"`([\w-]+)`", item) if name in self.services]
        if found := re.search(rf"over by noon UTC on (\d+) ({months}) (\d{{4}})", item):
            self.end = day(*found.groups())
            print(f"end: {self.end}")
        if found := re.search(rf"not before the night of (\d+) ({months})", item):
            self.earliest[named[0]] = day(*found.groups(), year)
            print(f"{named[0]}: not before {self.earliest[named[0]]}")
        if found := re.search(r"does not need `([\w-]+)`", item):
            self.services[named[0]]["needs"].remove(found[1])
            print(f"{named[0]}: does not need {found[1]}")
        if found := re.search(r"needs `([\w-]+)` as well", item):
            self.services[named[0]]["needs"].append(found[1])
            print(f"{named[0]}: needs {found[1]}")

    def length(self, name, night):
        date, hours = self.rehearsed[name]
        hours *= 1.25 if (night - date).days > self.stale else 1
        return QUARTER * math.ceil(round(hours * 4, 6))

    def window(self, name, night):
        """The region's window of a night, in UTC."""
        region = self.regions[self.services[name]["region"]]
        ahead = int(region["standard_time"].removeprefix("UTC"))
        summer = re.search(r"from (\S+) to (\S+)", region["summer_time"])
        if summer and summer[1] <= str(night) < summer[2]:
            ahead += 1
        noon = dt.datetime.combine(night, dt.time(12))
        for back in (0, 1):  # the window that opens in this night, noon to noon UTC
            local = dt.datetime.combine(night + dt.timedelta(days=back), dt.time())
            hour, minute = map(int, region["window_from"].split(":"))
            opens = local + dt.timedelta(hours=hour - ahead, minutes=minute)
            if noon <= opens < noon + 2 * HALF_DAY:
                hour, minute = map(int, region["window_to"].split(":"))
                return opens, local + dt.timedelta(hours=24 + hour - ahead, minutes=minute)
        return noon, noon

    def frozen(self, name, night):
        service = self.services[name]
        scopes = ("all", f"tier {service['tier']}", service["region"])
        held = any(r["scope"] in scopes and a <= night <= b for r, a, b in self.freezes)
        return held or night.weekday() in self.closed or night < self.earliest.get(name, night)

    def away(self, person, night):
        return any(row["name"] == person and a <= night <= b for row, a, b in self.leave)

    def depth(self, name):
        """How many of the first tier come from here on; what has most of them is urgent."""
        after = [n for n, each in self.services.items() if name in each["needs"]]
        return (self.services[name]["tier"] == 1) + max(map(self.depth, after), default=0)


class Attempt:
    """A plan that is made night by night, one move in each."""

    def __init__(self, facts, chance):
        self.facts, self.chance, self.moves = facts, chance, {}
        self.nights = collections.defaultdict(set)

    def run(self):
        night, last = self.facts.first, self.facts.end
        urgency = {n: self.facts.depth(n) + self.chance.random() * 2.5 for n in self.facts.services}
        while night < last and len(self.moves) < len(urgency):
            ready = [n for n in urgency if n not in self.moves and not self.facts.frozen(n, night)]
            for name in sorted(ready, key=lambda n: -urgency[n]):
                if move := self.move(name, night):
                    self.moves[name] = (night, *move)
                    break
            night += dt.timedelta(days=1)
        return len(self.moves) == len(urgency)

    def move(self, name, night):
        facts, service = self.facts, self.facts.services[name]
        opens, closes = facts.window(name, night)
        for other in service["needs"]:
            if other not in self.moves:
                return None
            first = facts.services[other]["tier"] == 1
            soak = facts.soak_first if first else facts.soak
            opens = max(opens, self.moves[other][2] + dt.timedelta(hours=soak))
        length = facts.length(name, night)
        end = opens + length
        deadline = dt.datetime.combine(facts.end, dt.time(12))
        if end + length / 2 > closes or end > deadline:
            return None
        tiers = [
            facts.services[n]["tier"] for n, m in self.moves.items() if week(m[0]) == week(night)
        ]
        if service["tier"] == 1 and 1 in tiers:
            return None
        free = [person for person in facts.people if self.free(person, night)]
        self.chance.shuffle(free)
        led = {move[3] for move in self.moves.values() if move[2] <= opens}
        for lead in free:
            if service["skill"] in facts.people[lead]["skills"].split("+"):
                if service["tier"] != 1:
                    return opens, end, lead, ""
                for second in free:
                    if second != lead and second in led:
                        return opens, end, lead, second
        return None

    def free(self, person, night):
        worked = [m[0] for m in self.moves.values() if person in m[3:]]
        this_week = sum(week(each) == week(night) for each in worked)
        rested = all(abs((each - night).days) > 1 for each in worked)
        most = int(self.facts.people[person]["nights_a_week"])
        return rested and this_week < most and not self.facts.away(person, night)


def week(night):
    return night.isocalendar()[:2]


def main():
    facts, chance = Facts(), random.Random(SEED)
    for _ in range(TRIES):
        attempt = Attempt(facts, chance)
        if attempt.run():
            save(facts, attempt.moves)
            return
    sys.exit(f"no plan was found in {TRIES} tries; look for what cannot be kept")


def save(facts, moves):
    out = pathlib.Path("out")
    out.mkdir(exist_ok=True)
    form = "%Y-%m-%dT%H:%MZ"
    with open(out / "plan.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("service", "start_utc", "end_utc", "lead", "second"))
        for name, (_, start, end, *people) in sorted(moves.items(), key=lambda m: m[1][1]):
            writer.writerow((name, start.strftime(form), end.strftime(form), *people))
    nights = {p: sum(p in m[3:] for m in moves.values()) for p in facts.people}
    last = max(move[2] for move in moves.values()).strftime(form)
    (out / "summary.json").write_text(json.dumps({"last_end": last, "nights": nights}) + "\n")


if __name__ == "__main__":
    main()
