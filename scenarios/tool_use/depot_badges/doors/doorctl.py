#!/usr/bin/env python3
"""doorctl: talk to the door controller (offline copy of its state).

    doorctl.py list [--status STATUS]   badges, one a line: badge,holder,status,issued
    doorctl.py show BADGE...            the same for single badges
    doorctl.py decode CARD...           what a card code from the log stands for
    doorctl.py decode -                 card codes from standard input, one a line
    doorctl.py revoke BADGE...          withdraw badges (takes effect at once)

A card code is the 26-bit frame that the reader sent, in hexadecimal: even parity over the
first half, facility (8 bits), number (16 bits), odd parity over the second half.
decode prints CARD FACILITY BADGE, or CARD - misread where a parity bit is wrong.
"""
import json
import pathlib
import sys

STATE = pathlib.Path(__file__).with_name("state.json")


def decode(card):
    frame = int(card, 16)
    first, second = frame >> 13, frame & 0x1FFF
    if bin(first).count("1") % 2 or not bin(second).count("1") % 2:
        return f"{card} - misread"
    body = (frame >> 1) & 0xFFFFFF
    return f"{card} {body >> 16} B-{body & 0xFFFF}"


def row(badge, entry):
    return ",".join((badge, entry["holder"] or "", entry["status"], entry["issued"] or ""))


def main(argv):
    if not argv or argv[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0
    state = json.loads(STATE.read_text())
    badges = state["badges"]
    command, rest = argv[0], argv[1:]
    if command == "list":
        wanted = rest[1] if rest[:1] == ["--status"] and len(rest) == 2 else None
        for badge, entry in badges.items():
            if wanted in (None, entry["status"]):
                print(row(badge, entry))
    elif command == "show":
        for badge in rest:
            print(row(badge, badges[badge]) if badge in badges else f"{badge},,unknown,")
    elif command == "decode":
        for card in sys.stdin.read().split() if rest == ["-"] else rest:
            print(decode(card))
    elif command == "revoke":
        for badge in rest:
            badges[badge]["status"] = "revoked"
        STATE.write_text(json.dumps(state, indent=1) + "\n")
    else:
        print(f"doorctl: unknown command {command}; try --help", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
