"""How often the gate raises an alarm: pairs of runs that are made up, put through its functions.

    python benchmarks/gate_power.py [--pairs N] [--jobs N] [DESIGN ...]

Prints a table in Markdown, which docs/ci.md has. A trial passes or fails with a chance of its
scenario's: scores of 0 and 1 are the worst case, as they vary most and make ties. Exit code 1 where
the interval of a rate of false alarms does not contain the stated one; where a true drop is just the
allowed one, it may also lie below.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from statistics import median

from pytest_agentbench.record import ScenarioFacts
from pytest_agentbench.report.verdict import alarm
from pytest_agentbench.rules import Rules
from pytest_agentbench.scenario.model import DIFFICULTIES, DIMENSIONS
from pytest_agentbench.scoring.aggregate import Outcome, ScenarioScore, weights
from pytest_agentbench.scoring.detectable import detectable
from pytest_agentbench.scoring.draws import SEED
from pytest_agentbench.scoring.intervals import Interval, wilson
from pytest_agentbench.scoring.paired import Pair, difference

PAIRS = 2_000
#: Times that where nothing changed, since that rate is held against the stated one.
_UNCHANGED = 4
#: Pairs of a condition whose smallest detectable drop is worked out.
_DETECTED = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Scenarios with the chance of each to pass; ``weighted`` has dimensions and difficulties."""

    name: str
    scenarios: int
    trials: int
    weighted: bool = False

    def facts(self) -> list[ScenarioFacts]:
        if not self.weighted:
            return [ScenarioFacts(id=f"s{i}") for i in range(self.scenarios)]
        draw = random.Random(f"{SEED} {self.name}")
        return [
            ScenarioFacts(
                id=f"s{i}",
                dimension=list(DIMENSIONS)[i % len(DIMENSIONS)],
                difficulty=draw.choice(list(DIFFICULTIES)),
            )
            for i in range(self.scenarios)
        ]

    def chances(self) -> list[float]:
        """From 0.1 to 1 in even steps, in an order that has nothing to do with the weights."""
        chances = [0.1 + 0.9 * i / (self.scenarios - 1) for i in range(self.scenarios)]
        random.Random(f"{SEED} chances {self.name}").shuffle(chances)
        return chances


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What is true of a pair of runs: the drop, and what troubles them.

    ``lost`` are the shares of trials that infrastructure takes, before and now. In a run, all
    trials of a ``flaky`` scenario pass or all fail, by the toss of a coin.
    """

    name: str
    drop: float = 0.0
    allowed: float = 0.0
    lost: tuple[float, float] = (0.0, 0.0)
    flaky: bool = False

    def misses(self, found: Interval, level: float) -> bool:
        """Whether alarms are false here, and their rate is not the one stated."""
        if self.drop > self.allowed:
            return False
        return found.low > level or (self.drop == 0 and found.high < level)


DESIGNS = (
    Design(name="24x3", scenarios=24, trials=3),
    Design(name="102x3", scenarios=102, trials=3),
    Design(name="102x3-weighted", scenarios=102, trials=3, weighted=True),
)
CONDITIONS = (
    Condition(name="no change"),
    Condition(name="no change, 5 % of trials lost before and 25 % now", lost=(0.05, 0.25)),
    Condition(name="no change, one flaky scenario", flaky=True),
    Condition(name="a drop of 5 points, which is allowed", drop=0.05, allowed=0.05),
    Condition(name="a drop of 2 points", drop=0.02),
    Condition(name="a drop of 5 points", drop=0.05),
    Condition(name="a drop of 10 points", drop=0.10),
    Condition(name="a drop of 20 points", drop=0.20),
)


def outcome(passed: bool) -> Outcome:
    return Outcome(score=float(passed), capability=float(passed), passed=passed)


def pairs_of(
    draw: random.Random,
    facts: Sequence[ScenarioFacts],
    chances: Sequence[float],
    after: Sequence[float],
    trials: int,
    condition: Condition,
) -> list[Pair]:
    """The scenarios of one pair of runs that have a score on both sides, as the gate pairs them."""
    pairs = []
    for place, fact in enumerate(facts):
        sides = []
        for chance, lost in zip((chances[place], after[place]), condition.lost, strict=True):
            if condition.flaky and place == 0:
                passed = [draw.random() < 0.5] * trials
            else:
                passed = [draw.random() < chance for _ in range(trials)]
            kept = tuple(outcome(p) for p in passed if draw.random() >= lost)
            sides.append(kept)
        if all(sides):
            scores = [ScenarioScore(facts=fact, outcomes=side) for side in sides]
            pairs.append(Pair(before=scores[0], after=scores[1]))
    return pairs


def run(
    design: Design, condition: Condition, numbers: Sequence[int]
) -> tuple[int, list[float | None]]:
    """Alarms of the pairs with these numbers, and what the first of all could have detected."""
    rules = Rules(allowed_drop=condition.allowed)
    facts, before = design.facts(), design.chances()
    parts = weights([ScenarioScore(facts=fact, outcomes=(outcome(True),)) for fact in facts])
    mean = sum(w * chance for w, chance in zip(parts, before, strict=True))
    after = [chance * (1 - condition.drop / mean) for chance in before]
    alarms, drops = 0, []
    for number in numbers:
        draw = random.Random(f"{SEED} {design.name} {condition.name} {number}")
        pairs = pairs_of(draw, facts, before, after, design.trials, condition)
        score = difference(pairs, tail=rules.level)
        alarms += alarm(score, rules)
        if number < _DETECTED:
            drops.append(detectable(pairs, score, asked=rules.detect_drop).drop)
    return alarms, drops


def rates(
    design: Design, condition: Condition, pairs: int, pool: ProcessPoolExecutor | None
) -> tuple[int, float | None]:
    """Alarms among ``pairs`` and the median of what they could have detected."""
    chunks = [range(start, min(start + 50, pairs)) for start in range(0, pairs, 50)]
    work = partial(run, design, condition)
    found = list(pool.map(work, chunks) if pool else map(work, chunks))
    drops = [drop for _, some in found for drop in some if drop is not None]
    return sum(alarms for alarms, _ in found), median(drops) if drops else None


def _held() -> int:
    """How many rates are held against the stated one."""
    return len(DESIGNS) * sum(condition.drop <= condition.allowed for condition in CONDITIONS)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("designs", nargs="*", metavar="DESIGN", help="all by default")
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(argv)
    level = Rules().level
    missed = 0
    print("| design | what is true | alarms | rate | 95 % interval | detectable in 80 % |")
    print("|---|---|---:|---:|---|---:|")
    with ProcessPoolExecutor(options.jobs) as pool:
        for design in DESIGNS:
            if options.designs and design.name not in options.designs:
                continue
            for condition in CONDITIONS:
                pairs = options.pairs * (1 if condition.drop else _UNCHANGED)
                alarms, drop = rates(design, condition, pairs, pool)
                span = wilson(alarms, pairs)
                assert span is not None
                # Together: of many intervals at 95 % one misses by chance.
                wide = wilson(alarms, pairs, level=1 - 0.05 / _held())
                assert wide is not None
                missed += condition.misses(wide, level)
                print(
                    f"| {design.name} | {condition.name} | {alarms} of {pairs} | "
                    f"{alarms / pairs:.3f} | {span.low:.3f}–{span.high:.3f} | "
                    f"{'–' if drop is None else f'{drop:.3f}'} |",
                    flush=True,
                )
    print(
        f"\nStated rate of false alarms: {level:g}; seed {SEED}; rates of false alarms that disagree "
        f"with it, by intervals that hold together at 95 %: {missed}."
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
