"""What a mode with a skill takes, against the baseline: tokens, dollars, seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum

from pytest_agentbench.report.skill_tally import RESOURCES, Effort, SkillTally
from pytest_agentbench.scoring.skill_cost import (
    REUSES,
    BreakEven,
    Ratio,
    Spent,
    amortised,
    break_even,
    ratio,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceComparison:
    """One resource, of one trial in the mean over scenarios; None is *unknown*.

    ``before`` is the baseline's and ``after`` the graded run's, over the ``scenarios`` of which both
    are known; ``whole`` is that of all runs of a trial and ``whole_before`` the baseline's beside
    it, over ``whole_scenarios``. ``execution`` and ``end_to_end`` are E of EvoClawBench, equation 2:
    above 1 the mode takes less than the baseline.

    ``break_even`` and ``amortised``, by number of uses, are for modes in which a skill is made
    before the graded run.
    """

    before: float | None = None
    after: float | None = None
    whole_before: float | None = None
    whole: float | None = None
    execution: Ratio = None
    end_to_end: Ratio = None
    break_even: BreakEven = None
    amortised: Mapping[int, Ratio] = field(default_factory=dict)
    scenarios: int = 0
    whole_scenarios: int = 0

    @property
    def totals(self) -> tuple[float, float] | None:
        """Of all scenarios together, end to end: the baseline's and the mode's."""
        if self.whole_before is None or self.whole is None:
            return None
        return self.whole_before * self.whole_scenarios, self.whole * self.whole_scenarios


def resources(base: SkillTally, skill: SkillTally, *, uses: bool) -> dict[str, ResourceComparison]:
    """Of each of ``RESOURCES``, over the scenarios that have a graded trial on both sides.

    ``uses`` asks for what a number of uses costs, where something came before the graded run.
    """
    both = [id_ for id_ in skill.efforts if id_ in base.efforts]
    direct = skill.direct / skill.graded if skill.graded else 0.0
    return {
        name: _resource(
            [(base.efforts[id_][place], skill.efforts[id_][place]) for id_ in both],
            direct,
            staged=uses and skill.staged,
        )
        for place, name in enumerate(RESOURCES)
    }


def _resource(
    pairs: Sequence[tuple[Effort, Effort]], direct: float, *, staged: bool
) -> ResourceComparison:
    known = [(b, x) for b, x in pairs if b.trials and x.trials]
    whole = [(b, x) for b, x in pairs if b.trials and x.whole_trials]
    before = _mean([b.alone / b.trials for b, _ in known])
    after = _mean([x.alone / x.trials for _, x in known])
    base = _mean([b.alone / b.trials for b, _ in whole])
    every = _mean([x.whole / x.whole_trials for _, x in whole])
    again = _mean([x.reuse / x.whole_trials for _, x in whole])
    spent = None
    if staged and base is not None and every is not None and again is not None:
        spent = Spent(base=base, reuse=again, setup=max(0.0, every - again), direct=direct)
    return ResourceComparison(
        before=before,
        after=after,
        whole_before=base,
        whole=every,
        execution=ratio(before, after),
        end_to_end=ratio(base, every),
        break_even=break_even(spent) if spent else None,
        amortised={n: amortised(spent, n) for n in REUSES} if spent else {},
        scenarios=len(known),
        whole_scenarios=len(whole),
    )


def _mean(values: Sequence[float]) -> float | None:
    return fsum(values) / len(values) if values else None
