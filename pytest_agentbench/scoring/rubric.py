"""Scores of a rubric: eq. 3 and Table 6 of SkillForgeBench, and gates. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from pytest_agentbench.execution import Usage
from pytest_agentbench.grade import CategoryScore, CriterionVerdict, RubricGrade
from pytest_agentbench.scenario.rubric import TOPICS, Rubric

#: The most that the gated score can be once the gatekeeper, or a ``must``, failed. Ours: the
#: paper marks gatekeepers and leaves open what follows.
GATEKEEPER_CAP, MUST_CAP = 0.0, 0.5


def loose(verdicts: Iterable[CriterionVerdict]) -> float | None:
    """S_loose: the mean of the binary verdicts; None where no criterion applies."""
    given = _credits(verdicts)
    return math.fsum(given) / len(given) if given else None


def strict(verdicts: Iterable[CriterionVerdict]) -> float | None:
    """S_strict: the product of the binary verdicts; None where no criterion applies."""
    given = _credits(verdicts)
    return math.prod(given) if given else None


def categories(verdicts: Sequence[CriterionVerdict]) -> tuple[CategoryScore, ...]:
    """Table 6: of each category the weighted mean level, and 1 where every level is the highest.

    Categories stand in the order of D.4; those without a criterion that applies are left out.
    """
    found = []
    for topic in TOPICS.values():
        counted = [v for v in verdicts if v.category == topic.name and v.met is not None]
        if counted:
            weight = math.fsum(v.weight for v in counted)
            found.append(
                CategoryScore(
                    category=topic.name,
                    kind=topic.kind,
                    loose=math.fsum(v.weight * v.level for v in counted) / weight,
                    strict=float(all(v.level == 1 for v in counted)),
                    criteria=len(counted),
                )
            )
    return tuple(found)


def gates_failed(verdicts: Iterable[CriterionVerdict]) -> tuple[CriterionVerdict, ...]:
    """The gatekeeper and each ``must``, where it applies and has no credit."""
    return tuple(v for v in verdicts if (v.gatekeeper or v.must) and v.credit == 0)


def gated(verdicts: Sequence[CriterionVerdict]) -> float | None:
    """The loose completion score, at most what its failed gates allow; None without a score."""
    score = loose(v for v in verdicts if v.kind == "completion")
    if score is None:
        return None
    caps = [GATEKEEPER_CAP if v.gatekeeper else MUST_CAP for v in gates_failed(verdicts)]
    return min([score, *caps])


def grade_rubric(
    rubric: Rubric,
    verdicts: Iterable[CriterionVerdict],
    *,
    judges: Sequence[str] = (),
    usage: Usage | None = None,
    message: str = "",
    flags: Sequence[str] = (),
) -> RubricGrade:
    """The scores over ``verdicts``, in the order of the rubric.

    A kind of which any criterion has no verdict has no scores: a part is never the whole.
    """
    by_id = {verdict.id: verdict for verdict in verdicts}
    known = tuple(by_id[each.id] for each in rubric.criteria if each.id in by_id)
    whole = {
        kind: [v for v in known if v.kind == kind]
        for kind in ("completion", "process")
        if all(each.id in by_id for each in rubric.of(kind))
    }
    done, way = whole.get("completion", []), whole.get("process", [])
    return RubricGrade(
        verdicts=known,
        completion_loose=loose(done),
        completion_strict=strict(done),
        process_loose=loose(way),
        process_strict=strict(way),
        gated=gated(known) if done else None,
        gates_failed=tuple(v.id for v in gates_failed(known)),
        categories=categories([*done, *way]),
        judges=tuple(judges),
        usage=usage or Usage(),
        message=message,
        flags=tuple(flags),
    )


def idle_verdicts(rubric: Rubric) -> tuple[CriterionVerdict, ...]:
    """The verdicts on an agent that did nothing: no statement holds, and nobody is asked.

    What penalizes a deed does not apply, so that idleness earns nothing by it either.
    """
    return tuple(
        CriterionVerdict.of(each, None if each.penalized else False, source="check", reason=IDLE)
        for each in rubric.criteria
    )


IDLE = "the agent did nothing"


def _credits(verdicts: Iterable[CriterionVerdict]) -> list[float]:
    return [credit for v in verdicts if (credit := v.credit) is not None]
