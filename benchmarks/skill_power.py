"""How often a report says that a skill's content helped: runs that are made up, put through it.

    python benchmarks/skill_power.py [--runs N]

Prints the table that docs/skills.md has. Trials pass or fail with a chance of their scenario's, 0 to
0.7; three trials of a scenario in each mode. Exit code 1 where a yes that is wrong is more frequent
than the 5 % that are stated.
"""

from __future__ import annotations

import argparse
import random
import sys

from pytest_agentbench.record import ScenarioFacts
from pytest_agentbench.scoring.aggregate import Outcome, ScenarioScore
from pytest_agentbench.scoring.skill_attribution import attribute
from pytest_agentbench.scoring.skill_gain import score_gain

SEED, TRIALS, SIZES = 20261201, 3, (4, 8, 16, 24, 48)
#: What is true: by how much any skill raises the chance to pass, and its content beyond that.
TRUTHS = {
    "nothing helps": (0.0, 0.0),
    "any skill helps, by 0.3": (0.3, 0.0),
    "the content helps, by 0.15": (0.0, 0.15),
    "the content helps, by 0.3": (0.0, 0.3),
}


def mode(chances: list[float], draw: random.Random) -> list[ScenarioScore]:
    found = []
    for number, chance in enumerate(chances):
        scores = [float(draw.random() < chance) for _ in range(TRIALS)]
        outcomes = (Outcome(score=s, capability=s, passed=s == 1) for s in scores)
        facts = ScenarioFacts(id=f"s{number:02}")
        found.append(ScenarioScore(facts=facts, outcomes=tuple(outcomes)))
    return found


def supported(size: int, any_skill: float, content: float, draw: random.Random) -> bool:
    chances = [draw.uniform(0.0, 0.7) for _ in range(size)]
    baseline = mode(chances, draw)
    empty, other = (mode([c + any_skill for c in chances], draw) for _ in range(2))
    skill = mode([c + any_skill + content for c in chances], draw)
    controls = {
        "empty-skill": score_gain(empty, skill),
        "irrelevant-skill": score_gain(other, skill),
    }
    return attribute(score_gain(baseline, skill), controls, made=1, shown=1).supported


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    runs = parser.parse_args().runs
    print(f"| what is true | {' | '.join(f'{size} scenarios' for size in SIZES)} |")
    print("|---|" + "---:|" * len(SIZES))
    wrong = 0.0
    for name, (any_skill, content) in TRUTHS.items():
        rates = []
        for size in SIZES:
            draw = random.Random(f"{SEED} {name} {size}")
            yes = sum(supported(size, any_skill, content, draw) for _ in range(runs))
            rates.append(yes / runs)
        wrong = max(wrong, *rates) if not content else wrong
        print(f"| {name} | {' | '.join(f'{100 * rate:.1f} %' for rate in rates)} |")
    return int(wrong > 0.05)


if __name__ == "__main__":
    sys.exit(main())
