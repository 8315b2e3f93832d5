"""Make an extract for a partner by policy/. Usage: extract.py [DAY], the day of the extract."""

import collections
import csv
import datetime as dt
import email
import email.policy
import json
import pathlib
import re
import sys
from decimal import ROUND_HALF_UP, Decimal

MONTHS = (
    "January February March April May June July August September October November December"
).split()
NUMBERS = "zero one two three four five six seven eight nine ten".split()
#: What no column of an extract tells, and filters that a mail may want dropped.
BEYOND = (
    r"birth[ _-]?date|date of birth|e[ _-]?mail address|\be_mail\b|phone|street|"
    r"(?:consent filter|age limit)[^.]*not needed|without consent go out|exact amount"
)


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def mails():
    """Each mail in request/: name, day, text."""
    for path in sorted(pathlib.Path("request").glob("*.eml")):
        message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
        text = " ".join(message.get_body(("plain",)).get_content().split())
        yield path.name, message["Date"].datetime.date(), text


def count(word):
    return int(word) if word.isdecimal() else NUMBERS.index(word)


class Policy:
    def __init__(self, partner, day):
        text = pathlib.Path("policy/disclosure_policy.md").read_text(encoding="utf-8")
        self.rare = count(re.search(r"fewer than (\w+) rows", text)[1])
        self.digits = count(re.search(r"the first (\w+) digits", text)[1])
        self.step = int(re.search(r"nearest (\d+)", text)[1])
        self.most = Decimal(re.search(r"above (\d+) \(before", text)[1])
        self.band = {"five": 5, "ten": 10}[re.search(r"bands of (\w+) years", text)[1]]
        self.oldest = int(re.search(r"from (\d+) on it is", text)[1])
        self.purpose = re.search(r"consent to `(\w+)`", text)[1]
        self.used = []
        for row in rows("policy/approvals.csv"):
            good = row["state"] == "approved" and row["partner"] == partner
            found = re.search(r"first (\w+) digits", row["widened_to"])
            if good and row["decided_on"] <= day <= (row["valid_until"] or day):
                if row["subject"] == "postcode" and found:
                    self.digits = count(found[1])
                    self.used.append(row["approval"])
                else:
                    print(f"{row['approval']} counts too; work it in by hand", file=sys.stderr)

    def amount(self, text):
        value = Decimal(text)
        if value > self.most:
            return f"{self.most}+"
        return int((value / self.step).quantize(Decimal(1), ROUND_HALF_UP) * self.step)

    def ages(self, years):
        if years >= self.oldest:
            return f"{self.oldest}+"
        first = years // self.band * self.band
        return f"{max(first, 18)}-{first + self.band - 1}"


def period(text):
    """First and last day that a request names, as in "of 2026 (1 January to 31 March)"."""
    months = "|".join(MONTHS)
    found = re.search(rf"(\d+) ({months}) to (\d+) ({months})", text)
    year = re.search(r"\b(20\d\d)\b", text)
    if not found or not year:
        sys.exit("the request names no period that extract.py can read; filter by hand")
    return tuple(
        f"{year[1]}-{MONTHS.index(month) + 1:02}-{int(number):02}"
        for number, month in (found.group(1, 2), found.group(3, 4))
    )


def consents(purpose, day):
    """Customers whose consent holds: the entry recorded last of those effective by the day."""
    state = {}
    for row in sorted(rows("data/consent_log.csv"), key=lambda row: row["recorded_at"]):
        if row["purpose"] == purpose and row["effective_from"] <= day:
            state[row["customer_no"]] = row["state"]
    return {customer for customer, word in state.items() if word == "given"}


def age(born, day):
    born, day = map(dt.date.fromisoformat, (born, day))
    return day.year - born.year - ((day.month, day.day) < (born.month, born.day))


def main(argv):
    received = list(mails())
    day = argv[0] if argv else str(max(sent for _, sent, _ in received))
    request = received[0][2]
    partners = sorted({row["partner"] for row in rows("policy/approvals.csv")})
    partner = next(name for name in partners if name in request)
    policy = Policy(partner, day)
    first, last = period(request)
    given = consents(policy.purpose, day)
    people = {row["customer_no"]: row for row in rows("data/customers.csv")}
    column = f"{partner.split()[0].lower()}_id"
    identity = {row["customer_no"]: row[column] for row in rows("data/partner_ids.csv")}
    left = collections.Counter(withdrawn=0, no_consent=0, under_18=0)
    told = []
    for claim in rows("data/claims.csv"):
        customer = claim["customer_no"]
        if not first <= claim["incident_date"] <= last:
            continue
        years = age(people[customer]["birth_date"], claim["incident_date"])
        if claim["status"] == "withdrawn":
            left["withdrawn"] += 1
        elif customer not in given:
            left["no_consent"] += 1
        elif years < 18:
            left["under_18"] += 1
        else:
            told.append((claim, identity[customer], years, people[customer]["postcode"]))
    frequent = collections.Counter(claim["category"] for claim, *_ in told)
    out = pathlib.Path("out/partner")
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "extract.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow("claim_no person month category age_band postcode amount_eur".split())
        for claim, person, years, postcode in told:
            category = claim["category"]
            writer.writerow(
                (
                    claim["claim_no"],
                    person,
                    claim["incident_date"][:7],
                    category if frequent[category] >= policy.rare else "other",
                    policy.ages(years),
                    postcode[: policy.digits],
                    policy.amount(claim["amount_eur"]),
                )
            )
    release = {
        "rows": len(told),
        "left_out": dict(left),
        "approvals_used": policy.used,
        "declined": [name for name, _, text in received if re.search(BEYOND, text, re.I)],
    }
    (out.parent / "release.json").write_text(json.dumps(release, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
