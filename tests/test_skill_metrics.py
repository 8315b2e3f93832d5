"""What skill metrics are of numbers that were worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_agentbench.record import ScenarioFacts
from pytest_agentbench.scoring.aggregate import Outcome, ScenarioScore
from pytest_agentbench.scoring.intervals import Interval
from pytest_agentbench.scoring.paired import Difference
from pytest_agentbench.scoring.skill_attribution import attribute
from pytest_agentbench.scoring.skill_cost import Spent, amortised, break_even, per_million, ratio
from pytest_agentbench.scoring.skill_gain import gain


@pytest.mark.parametrize(
    ("upper", "lower", "expected"),
    [
        (0.6, 0.4, 1.5),
        (0.3, 0.6, 0.5),  # a negative gain is a ratio below 1
        (0.0, 0.5, 0.0),
        (0.5, 0.0, "infinite"),
        (0.0, 0.0, 1.0),  # zero to zero, as the paper has it
        (None, 0.5, None),  # unknown is not 0
        (0.5, None, None),
        (None, 0.0, None),
        (1e308, 1e-9, "infinite"),  # no number that JSON can hold
    ],
)
def test_ratio(upper: float | None, lower: float | None, expected: Any) -> None:
    found = ratio(upper, lower)
    assert found == (pytest.approx(expected) if isinstance(expected, float) else expected)


#: base, reuse, setup, direct runs in it: break-even, then the ratio after 1, 2, 5 and 10 uses.
SPENT = [
    # Each use saves 20 of the 200 that the skill took to make: 10 uses. (200 + 80 n) / 100 n.
    ((100, 80, 200, 0), 10, (2.8, 1.8, 1.2, 1.0)),
    # The first run and the summary took 150, and the first run would have cost 100 anyhow: 50 to
    # win back at 10 a use, which is 5 uses. (150 + 90 n) / 100 (n + 1).
    ((100, 90, 150, 1), 5, (1.2, 1.1, 1.0, 1050 / 1100)),
    # Not whole: 50 at 15 a use is 3.33 uses, so it takes the fourth. (50 + 85 n) / 100 n.
    ((100, 85, 50, 0), 4, (1.35, 1.10, 0.95, 0.90)),
    # A use that costs more than a direct run never wins anything back.
    ((100, 120, 200, 0), "never", (3.2, 2.2, 1.6, 1.4)),
    ((100, 120, 60, 1), "never", (180 / 200, 300 / 300, 660 / 600, 1260 / 1100)),
    ((100, 100, 200, 0), "never", (3.0, 2.0, 1.4, 1.2)),
    # Nothing to win back.
    ((100, 100, 0, 0), 1, (1.0, 1.0, 1.0, 1.0)),
    ((100, 90, 100, 1), 1, (0.95, 280 / 300, 550 / 600, 1000 / 1100)),
    # What is 0 in the baseline cannot get less.
    ((0, 0, 0, 0), 1, (1.0, 1.0, 1.0, 1.0)),
    ((0, 5, 20, 0), "never", ("infinite",) * 4),
    # 0.3 of dollars at 0.1 a use is 3 uses, whatever binary fractions make of it.
    ((0.4, 0.3, 0.3, 0), 3, (1.5, 0.9 / 0.8, 1.8 / 2.0, 3.3 / 4.0)),
]


@pytest.mark.parametrize(("spent", "uses", "ratios"), SPENT)
def test_what_is_won_back_and_when(spent: tuple[float, ...], uses: object, ratios: Any) -> None:
    found = Spent(base=spent[0], reuse=spent[1], setup=spent[2], direct=spent[3])
    assert break_even(found) == uses
    given = tuple(amortised(found, n) for n in (1, 2, 5, 10))
    assert given == (ratios if "infinite" in ratios else pytest.approx(ratios))


@pytest.mark.parametrize(
    ("change", "tokens", "expected"),
    [
        (0.05, (1_000_000, 3_000_000), 2.5),  # 5 points for 2 million
        (-0.02, (500_000, 1_000_000), -4.0),  # a loss of 2 points for half a million
        (0.0, (0, 10), 0.0),
        (0.05, (1000, 1000), "no extra"),
        (0.05, (1000, 900), "no extra"),
        (None, (1000, 2000), None),
        (0.05, None, None),
    ],
)
def test_points_per_extra_million_tokens(change: Any, tokens: Any, expected: Any) -> None:
    found = per_million(change, tokens)
    assert found == (pytest.approx(expected) if isinstance(expected, float) else expected)


def scores(**trials: list[float]) -> list[ScenarioScore]:
    return [
        ScenarioScore(
            facts=ScenarioFacts(id=name),
            outcomes=tuple(
                Outcome(score=s, capability=s, passed=s >= 0.6, strict=s == 1.0, loose=s)
                for s in each
            ),
        )
        for name, each in trials.items()
    ]


def test_gain_of_several_trials() -> None:
    # Means over trials: a .2 → .6, b .4 → .3, c 0 → 1; over scenarios .2 → 1.9 / 3.
    before, after = scores(a=[0.1, 0.3], b=[0.4], c=[0.0]), scores(a=[0.6], b=[0.2, 0.4], c=[1.0])
    found = gain(before, after)
    assert found is not None
    assert found.score.interval is not None
    assert (found.score.before, found.score.after) == pytest.approx((0.2, 1.9 / 3))
    assert found.score.change == pytest.approx(1.9 / 3 - 0.2)
    assert found.ratio == pytest.approx(9.5 / 3)  # of the means, not the mean of the ratios
    assert [each.ratio for each in found.scenarios] == [
        pytest.approx(3.0),
        pytest.approx(0.75),
        "infinite",
    ]
    assert found.strict.change == pytest.approx(1 / 3)
    assert found.score.interval.low < found.score.change < found.score.interval.high


def test_gain_counts_only_scenarios_that_both_sides_have() -> None:
    found = gain(scores(a=[0.5], b=[0.1]), scores(c=[1.0], a=[0.25]))
    assert found is not None
    assert [each.scenario for each in found.scenarios] == ["a"]
    assert (found.score.change, found.ratio) == pytest.approx((-0.25, 0.5))
    assert found.score.interval is None  # one scenario says nothing of others
    assert gain(scores(a=[0.5]), scores(b=[0.5])) is None
    assert gain([], scores(b=[0.5])) is None


def test_gain_of_zeros() -> None:
    nothing = gain(scores(a=[0.0], b=[0.0]), scores(a=[0.0], b=[0.0]))
    assert nothing is not None
    assert (nothing.score.change, nothing.ratio) == (0.0, 1.0)
    found = gain(scores(a=[0.0], b=[0.0]), scores(a=[0.5], b=[0.0]))
    assert found is not None
    assert (found.score.change, found.ratio) == (0.25, "infinite")


def test_gain_has_the_weights_of_the_overall_score() -> None:
    # Tool use has .20 of the weight and safety .15: (.2 · .5 + .15 · 0) / .35.
    facts = {"a": {"dimension": "tool_use"}, "b": {"dimension": "safety"}}
    sides = []
    for values in ({"a": 0.0, "b": 0.4}, {"a": 0.5, "b": 0.4}):
        sides.append(
            [
                ScenarioScore(
                    facts=ScenarioFacts(id=name, **facts[name]),
                    outcomes=(Outcome(score=value, capability=value, passed=False),),
                )
                for name, value in values.items()
            ]
        )
    found = gain(*sides)
    assert found is not None
    assert found.score.change == pytest.approx(0.1 / 0.35)


def over(change: float, low: float | None = None, high: float = 1.0) -> Difference:
    span = None
    if low is not None:
        span = Interval(low=low, high=high, level=0.9, method="sign-flip", n=8)
    return Difference(
        before=0.2,
        after=0.2 + change,
        change=change,
        interval=span,
        p=0.1,
        error=0.1,
        scenarios=8,
        clusters=8,
    )


NOT = "the data do not show that the skill's content helped: "
UP = over(0.4, 0.1, 0.7)


@pytest.mark.parametrize(
    ("gained", "controls", "seen", "reason", "sentence"),
    [
        (
            UP,
            {"empty-skill": over(0.3, 0.05, 0.5), "discard-skill": over(0.35, 0.1, 0.6)},
            {},
            "supported",
            (
                "the data support that the skill's content helped: +0.400 [+0.100, +0.700] over baseline, "
                "+0.300 [+0.050, +0.500] over empty-skill, +0.350 [+0.100, +0.600] over discard-skill"
            ),
        ),
        (
            UP,
            {"empty-skill": over(0.3, 0.05, 0.5), "irrelevant-skill": over(0.1, -0.1, 0.3)},
            {},
            "control_gains_as_much",
            f"{NOT}it is not shown to beat irrelevant-skill (+0.100 [-0.100, +0.300])",
        ),
        (
            UP,
            {"empty-skill": None, "discard-skill": over(0.2)},
            {},
            "control_gains_as_much",
            (
                f"{NOT}it is not shown to beat empty-skill (no scenario has both scores) or discard-skill "
                "(+0.200, no interval)"
            ),
        ),
        (
            UP,
            {},
            {},
            "no_control",
            (
                f"{NOT}there is no control beside it; run it with --mode=empty-skill or "
                "--mode=irrelevant-skill or --mode=discard-skill"
            ),
        ),
        (
            over(0.1, -0.1, 0.3),
            {"empty-skill": UP},
            {},
            "includes_zero",
            f"{NOT}the gain over baseline may be zero (+0.100 [-0.100, +0.300])",
        ),
        (
            over(0.1, 0.0, 0.3),
            {"empty-skill": UP},
            {},
            "includes_zero",
            f"{NOT}the gain over baseline may be zero (+0.100 [+0.000, +0.300])",
        ),
        (
            over(-0.3, -0.5, -0.1),
            {"empty-skill": UP},
            {},
            "score_fell",
            f"{NOT}the score fell (-0.300 [-0.500, -0.100] against baseline)",
        ),
        (
            over(0.4),
            {"empty-skill": UP},
            {},
            "no_interval",
            f"{NOT}one scenario or family gives no interval (+0.400, no interval)",
        ),
        (
            None,
            {"empty-skill": UP},
            {},
            "no_baseline",
            f"{NOT}no scenario has a score both with it and in the mode baseline",
        ),
        (
            UP,
            {"empty-skill": UP},
            {"made": 0},
            "no_skill_made",
            f"{NOT}no skill was made in any trial (+0.400 [+0.100, +0.700] over baseline)",
        ),
        (
            UP,
            {"empty-skill": UP},
            {"made": 3, "shown": 0},
            "never_shown",
            f"{NOT}the model saw it in no trial (+0.400 [+0.100, +0.700] over baseline)",
        ),
    ],
)
def test_whether_content_helped(
    gained: Difference | None,
    controls: dict[str, Difference | None],
    seen: dict[str, int],
    reason: str,
    sentence: str,
) -> None:
    found = attribute(gained, controls, **seen)
    assert (found.supported, found.reason) == (reason == "supported", reason)
    assert found.sentence == sentence
