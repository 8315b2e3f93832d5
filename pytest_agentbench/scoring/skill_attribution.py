"""Whether a gain is owed to what a skill says, or to what comes with any skill.

A mode with a skill differs from the baseline in more than the skill: in its prompt, in a second
try, in a fresh context. In the ablation of EvoClawBench (§5.3, Table 7) an empty skill gained 19.84
points where the real one gained 4.05. So the content has helped only where the mode beats the
baseline and every control that was run. All of these must hold, so the chance of a wrong yes is no
more than that of the weakest of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_agentbench.scoring.paired import Difference

#: Modes that have all of a skill but its content.
CONTROLS = ("empty-skill", "irrelevant-skill", "discard-skill")

Reason = Literal[
    "supported",
    "no_baseline",
    "no_skill_made",
    "never_shown",
    "no_interval",
    "score_fell",
    "includes_zero",
    "no_control",
    "control_gains_as_much",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Whether the data support that the skill's content helped, why, and that as a sentence."""

    supported: bool
    reason: Reason
    sentence: str


def attribute(
    over_baseline: Difference | None,
    over_controls: Mapping[str, Difference | None],
    *,
    made: int | None = None,
    shown: int | None = None,
) -> Attribution:
    """The verdict on a mode, given what its score has more than that of baseline and controls.

    None is a comparison without a scenario that has a score on both sides. ``made`` is the number
    of skills that agents made, None where they make none; ``shown`` counts trials in which the
    model saw the skill, None where that is unknown.
    """
    reason, why = _doubt(over_baseline, made, shown)
    if over_baseline is None or reason:
        return _no(reason or "no_baseline", why)
    if not over_controls:
        controls = " or ".join(f"--mode={name}" for name in CONTROLS)
        return _no("no_control", f"there is no control beside it; run it with {controls}")
    equal = [f"{name} ({_worded(d)})" for name, d in over_controls.items() if not _above(d)]
    if equal:
        return _no("control_gains_as_much", f"it is not shown to beat {' or '.join(equal)}")
    beaten = ", ".join(f"{_worded(d)} over {name}" for name, d in over_controls.items())
    return Attribution(
        supported=True,
        reason="supported",
        sentence=(
            "the data support that the skill's content helped: "
            f"{_worded(over_baseline)} over baseline, {beaten}"
        ),
    )


def _doubt(
    gain: Difference | None, made: int | None, shown: int | None
) -> tuple[Reason | None, str]:
    """Why the mode itself leaves no gain to explain."""
    if gain is None:
        return "no_baseline", "no scenario has a score both with it and in the mode baseline"
    if made == 0:
        return "no_skill_made", f"no skill was made in any trial ({_worded(gain)} over baseline)"
    if shown == 0:
        return "never_shown", f"the model saw it in no trial ({_worded(gain)} over baseline)"
    if gain.interval is None:
        return "no_interval", f"one scenario or family gives no interval ({_worded(gain)})"
    if gain.interval.high < 0:
        return "score_fell", f"the score fell ({_worded(gain)} against baseline)"
    if not _above(gain):
        return "includes_zero", f"the gain over baseline may be zero ({_worded(gain)})"
    return None, ""


def _no(reason: Reason, why: str) -> Attribution:
    sentence = f"the data do not show that the skill's content helped: {why}"
    return Attribution(supported=False, reason=reason, sentence=sentence)


def _above(found: Difference | None) -> bool:
    return found is not None and found.interval is not None and found.interval.low > 0


def _worded(found: Difference | None) -> str:
    if found is None:
        return "no scenario has both scores"
    change = f"{round(found.change, 3) + 0.0:+.3f}"
    span = found.interval
    return f"{change} [{span.low:+.3f}, {span.high:+.3f}]" if span else f"{change}, no interval"
