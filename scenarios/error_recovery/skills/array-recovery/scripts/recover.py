"""Work out a recovery by runbook.md: damage window, snapshots, restart waves, data loss, notice."""

import csv
import datetime as dt
import json
import pathlib
import re
import sys

NUMBERS = "zero one two three four five six seven eight nine ten".split()
RUNBOOK = " ".join(pathlib.Path("runbook.md").read_text(encoding="utf-8").split())


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def time(text):
    return dt.datetime.fromisoformat(text.replace("Z", "+00:00"))


def stamp(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def damage():
    """The damaged array, and begin and end of its damage in true time."""
    ahead = {row["host"]: int(row["offset_seconds"]) for row in rows("logs/clocks.csv")}
    begins, fenced = [], []
    for line in pathlib.Path("logs/controllers.log").read_text(encoding="utf-8").splitlines():
        if not line.strip() or "TEST=1" in line or "repaired from mirror" in line:
            continue
        when, host, array, event, *_ = line.split()
        moment = time(when) - dt.timedelta(seconds=ahead.get(host, 0))
        if event in ("CACHE_LOST", "CRC_MISMATCH"):
            begins.append((moment, array))
        elif event == "FENCED":
            fenced.append((moment, array))
    if not begins or not fenced:
        sys.exit("the log shows no damage that ended with a fenced controller; look at it by hand")
    array = fenced[0][1]
    return (
        array,
        min(moment for moment, where in begins if where == array),
        max(moment for moment, where in fenced if where == array),
    )


def affected(array):
    """Services that had a volume of the array mounted for writing."""
    lines = pathlib.Path("services/mounts.txt").read_text(encoding="utf-8").splitlines()
    form = rf" {re.escape(array)}:\S+ on .*\(rw[,)].*service=(\S+)"
    return sorted({found[1] for line in lines if (found := re.search(form, line))})


def stopped(services, hit):
    """What is affected, and all that needs something stopped."""
    down = set(hit)
    while more := {s for s, facts in services.items() if down & set(facts["needs"])} - down:
        down |= more
    return down


def snapshots(array, begin):
    """The newest usable snapshot of each service."""
    catalog = {row["snapshot"]: row for row in rows("backup/catalog.csv")}

    def usable(name, depth=0):
        row = catalog.get(name)
        if row is None or depth > len(catalog):
            return False
        sound = row["verified"] == "ok" and row["stored_on"] != array
        if not sound or not row["finished"] or time(row["finished"]) >= begin:
            return False
        return row["kind"] == "full" or usable(row["parent"], depth + 1)

    best = {}
    for name, row in catalog.items():
        service = row["service"]
        newer = service not in best or row["as_of"] > best[service]["as_of"]
        if newer and usable(name):
            best[service] = row
    return best


def waves(services, down):
    words = re.search(r"[Aa]t most \**(\w+)\** services start in a wave", RUNBOOK)[1].lower()
    most = int(words) if words.isdecimal() else NUMBERS.index(words)
    left, planned = set(down), []
    while left:
        ready = [name for name in left if not left & set(services[name]["needs"])]
        if not ready:
            sys.exit(f"these need one another in a circle: {', '.join(sorted(left))}")
        wave = sorted(ready, key=lambda name: (services[name]["tier"], name))[:most]
        planned.append(wave)
        left -= set(wave)
    return planned


def limit(service, tier, day):
    valid = [
        row
        for row in rows("services/rpo.csv")
        if row["from"] <= day and (not row["until"] or day <= row["until"])
    ]
    for name in (service, f"tier {tier}"):
        if fits := [int(row["minutes"]) for row in valid if row["for"] == name]:
            return fits[-1]
    sys.exit(f"no limit of data loss is given for {service}")


def minutes(span):
    return -(-int(span.total_seconds()) // 60)


def notice(services, down, begin, end):
    name, sign, hours = re.search(r"in ([A-Z][\w ]+ Time) \(UTC([+-])(\d+)\)", RUNBOOK).groups()
    ahead = dt.timedelta(hours=int(hours)) * (1 if sign == "+" else -1)
    first = (begin + ahead).replace(second=0)
    last = end + ahead + dt.timedelta(seconds=-(end + ahead).second % 60)
    public = sorted(services[s]["public_name"] for s in down if services[s]["public_name"])
    said = ", ".join(public[:-1]) + (" and " if public[1:] else "") + public[-1]
    until = f"{last:%H:%M}" if last.date() == first.date() else f"{day(last)}, {last:%H:%M}"
    return (
        f"On {day(first)}, from {first:%H:%M} to {until} {name}, a storage fault damaged data. "
        f"{said} {'are' if public[1:] else 'is'} stopped while we restore it.\n"
    )


def day(moment):
    return f"{moment.day} {moment:%B %Y}"


def table(path, head, lines):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(lines)


def main():
    listed = json.loads(pathlib.Path("services/services.json").read_text(encoding="utf-8"))
    services = {each["name"]: each for each in listed}
    array, begin, end = damage()
    hit = affected(array)
    down, best = stopped(services, hit), snapshots(array, begin)
    out = pathlib.Path("out")
    out.mkdir(exist_ok=True)
    incident = {"damage_start": stamp(begin), "damage_end": stamp(end)}
    (out / "incident.json").write_text(json.dumps(incident) + "\n")
    restores = [(name, best[name]["snapshot"]) for name in hit if name in best]
    table(out / "restore.csv", ("service", "snapshot"), restores)
    (out / "restart.json").write_text(json.dumps({"waves": waves(services, down)}) + "\n")
    losses = []
    for name, _ in restores:
        journal = services[name]["journal_on"]
        back = begin if journal and journal != array else time(best[name]["as_of"])
        lost = minutes(end - back)
        most = limit(name, services[name]["tier"], f"{begin:%Y-%m-%d}")
        losses.append((name, lost, "yes" if lost <= most else "no"))
    table(out / "loss.csv", ("service", "lost_minutes", "within"), losses)
    (out / "status.md").write_text(notice(services, down, begin, end), encoding="utf-8")


if __name__ == "__main__":
    main()
