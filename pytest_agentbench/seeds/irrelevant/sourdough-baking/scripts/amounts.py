"""The weights for a loaf, in grams. Usage: amounts.py FLOUR"""

from __future__ import annotations

import sys

SHARES = {"flour": 1.0, "water": 0.72, "starter": 0.2, "salt": 0.02}


def main(argv: list[str]) -> int:
    if len(argv) != 1 or not argv[0].isdecimal():
        print("usage: amounts.py FLOUR, in whole grams", file=sys.stderr)
        return 2
    for name, share in SHARES.items():
        print(f"{name}: {round(int(argv[0]) * share)} g")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
