"""Prepare the payment run: out/payments.csv, out/held.csv and out/run.json from mail/ and ap/."""

import csv
import datetime as dt
import email
import email.policy
import json
import pathlib
import re
import sys
from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")
MONTHS = (
    "January February March April May June July August September October November December"
).split()
ACCOUNT = re.compile(r"\b[A-Z]{2}\d{2}[A-Z0-9]{11,30}\b")
HEAD = re.compile(r"^(INVOICE|CREDIT NOTE) (.+?)\s*$", re.MULTILINE)
LINE = re.compile(r"^ {2}\S.*?\s(\d+)\s*x\s+([\d.]+)\s+([\d.]+)\s*$", re.MULTILINE)


def rows(name):
    with open(f"ap/{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def cents(value):
    return value.quantize(CENT, ROUND_HALF_UP)


class Handbook:
    """The days and limits of the run, as the handbook gives them."""

    def __init__(self):
        text = " ".join(pathlib.Path("ap/handbook.md").read_text(encoding="utf-8").split())
        run = re.search(r"that of \*\*\w+, (\d+) (\w+) (\d{4})\*\*", text)
        following = re.search(r"the next one is on (\d+) (\w+)", text)
        limit = re.search(r"by more than ([\d.]+) % or more than ([\d.]+)", text)
        if not (run and following and limit):
            sys.exit("the handbook has another form than run.py knows; prepare the run by hand")
        self.day = dt.date(int(run[3]), MONTHS.index(run[2]) + 1, int(run[1]))
        month = MONTHS.index(following[2]) + 1
        year = self.day.year + (month < self.day.month)
        self.following = dt.date(year, month, int(following[1]))
        self.share, self.most = Decimal(limit[1]) / 100, Decimal(limit[2])


class Document:
    """An invoice or a credit note, as it stands in a mail."""

    def __init__(self, kind, number, text):
        self.credit, self.number = kind == "CREDIT NOTE", number
        self.day = dt.date.fromisoformat(re.search(r"^Date: (\S+)", text, re.MULTILINE)[1])
        self.orders = re.findall(r"PO-\d+", re.search(r"^Your order: (.*)$", text, re.M)[1])
        self.lines = [tuple(map(Decimal, found)) for found in LINE.findall(text)]
        self.net, self.vat, self.gross = (
            Decimal(re.search(rf"^\s*{word}\b.*?([\d.]+)\s*$", text, re.MULTILINE)[1])
            for word in ("Net", "VAT", "Gross")
        )

    @property
    def adds_up(self):
        lines = sum(amount for _, _, amount in self.lines)
        each = all(cents(count * price) == amount for count, price, amount in self.lines)
        return each and lines == self.net and self.net + self.vat == self.gross


def parts(path):
    """The sender's domain and the texts of a mail."""
    message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
    texts = [p.get_content() for p in message.walk() if p.get_content_type() == "text/plain"]
    return message["From"].rpartition("@")[2].strip("> "), texts


def documents(text):
    heads = list(HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    for head, end in zip(heads, ends, strict=False):
        yield Document(head[1], head[2], text[head.start() : end])


def bare(number):
    """A number without blanks, hyphens, and zeros after the letters."""
    return re.sub(r"^([A-Z]+)0+", r"\1", re.sub(r"[\s-]", "", number.upper()))


class Run:
    def __init__(self):
        self.book = Handbook()
        self.vendors = {row["vendor_id"]: row for row in rows("vendors")}
        self.domains = {row["mail_domain"]: row["vendor_id"] for row in rows("vendors")}
        self.orders = {row["po"]: row for row in rows("purchase_orders")}
        self.paid = {(row["vendor_id"], bare(row["invoice_no"])) for row in rows("paid")}
        self.released = {(row["invoice_no"], row["rule_lifted"]) for row in rows("releases")}
        disputes = pathlib.Path("ap/disputes.md").read_text(encoding="utf-8").splitlines()
        cells = [[c.strip() for c in line.strip("| ").split("|")] for line in disputes]
        self.disputed = {c[3] for c in cells if len(c) == 7 and c[6] == "open"}

    def account(self, vendor):
        found = self.vendors[vendor]["iban"]
        for row in sorted(rows("bank_changes"), key=lambda row: row["valid_from"]):
            people = {row["form_checked_by"], row["called_back_by"]} - {""}
            valid = dt.date.fromisoformat(row["valid_from"]) <= self.book.day
            if row["vendor_id"] == vendor and row["state"] == "approved":
                found = row["new_iban"] if valid and len(people) == 2 else found
        return found

    def discount(self, vendor, document):
        facts = self.vendors[vendor]
        last = document.day + dt.timedelta(days=int(facts["discount_days"]))
        if self.book.day > last:
            return Decimal(0)
        return cents(document.gross * Decimal(facts["discount_pct"]) / 100)

    def over(self, document):
        known = [self.orders[each] for each in document.orders if each in self.orders]
        allowed = sum(Decimal(o["unit_price"]) * Decimal(o["received"]) for o in known)
        return document.net - allowed > min(allowed * self.book.share, self.book.most)

    def reason(self, vendor, document):
        """Why it is held; "" if it is paid."""
        due = document.day + dt.timedelta(days=int(self.vendors[vendor]["terms_days"]))
        if self.vendors[vendor]["status"] == "blocked":
            return "blocked"
        if document.number in self.disputed:
            return "disputed"
        if (vendor, bare(document.number)) in self.paid:
            return "duplicate"
        if not document.adds_up:
            return "arithmetic"
        if self.over(document) and (document.number, "over_po") not in self.released:
            return "over_po"
        if due >= self.book.following and not self.discount(vendor, document):
            return "not_due"
        return ""

    def prepare(self):
        payments, held, reported = {}, [], []
        for path in sorted(pathlib.Path("mail").glob("*.eml")):
            domain, texts = parts(path)
            vendor = self.domains.get(domain)
            named = {found for text in texts for found in ACCOUNT.findall(text)}
            if vendor is None or named - {self.account(vendor)}:
                reported.append(path.name)
            for document in (d for text in texts for d in documents(text)) if vendor else ():
                reason = "" if document.credit else self.reason(vendor, document)
                if reason:
                    held.append((vendor, document.number, reason))
                    continue
                amount = document.gross - self.discount(vendor, document)
                amount = -document.gross if document.credit else amount
                payments.setdefault(vendor, []).append((document.number, amount))
        self.save(payments, held, reported)

    def save(self, payments, held, reported):
        out = pathlib.Path("out")
        out.mkdir(exist_ok=True)
        lines = []
        for vendor, settled in sorted(payments.items()):
            amount = sum(value for _, value in settled)
            numbers = ";".join(number for number, _ in settled)
            lines.append((vendor, self.account(vendor), f"{amount:.2f}", numbers))
        table(out / "payments.csv", ("vendor_id", "iban", "amount_eur", "invoices"), lines)
        table(out / "held.csv", ("vendor_id", "invoice_no", "reason"), held)
        run = {
            "run_date": str(self.book.day),
            "payments": len(lines),
            "total_eur": float(sum(Decimal(line[2]) for line in lines)),
            "reported": reported,
        }
        (out / "run.json").write_text(json.dumps(run, indent=2) + "\n")


def table(path, head, lines):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(lines)


if __name__ == "__main__":
    Run().prepare()
