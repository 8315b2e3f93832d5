"""What a rubric says of one trial, as text. Whatever an agent or a judge wrote is escaped."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_agentbench.grade import CriterionVerdict, RubricGrade
from pytest_agentbench.scenario.rubric import TOPICS
from pytest_agentbench.text import escape

#: Characters of a reason or a quotation.
_WIDTH = 200
_KINDS = ("completion", "process")


def scores(rubric: RubricGrade) -> str:
    """All scores in one line; ``?`` where there is none."""
    parts = [
        f"{kind} loose {_figure(getattr(rubric, f'{kind}_loose'))}, "
        f"strict {_figure(getattr(rubric, f'{kind}_strict'))}"
        for kind in _KINDS
    ]
    gates = f" ({', '.join(map(escape, rubric.gates_failed))} failed)" * bool(rubric.gates_failed)
    return "; ".join([*parts, f"gated {_figure(rubric.gated)}{gates}"])


def missed(rubric: RubricGrade) -> list[str]:
    """A line for each criterion without full credit, and one for what nobody decided."""
    lines = [_line(verdict) for verdict in rubric.verdicts if _falls_short(verdict)]
    return lines + ([f"not decided: {escape(rubric.message)}"] if rubric.message else [])


def whole(rubric: RubricGrade) -> Iterator[str]:
    """Scores, categories, and every verdict with its reason and what it quotes."""
    yield scores(rubric)
    for each in rubric.categories:
        title = TOPICS[each.category].title if each.category in TOPICS else escape(each.category)
        yield f"{title:<24} loose {each.loose:.3f}, strict {each.strict:g} (of {each.criteria})"
    for verdict in rubric.verdicts:
        yield _line(verdict)
        yield from (f"    quotes   {escape(quote, _WIDTH)}" for quote in verdict.quotes)
        for vote in verdict.judges:
            reason = f": {escape(vote.reason, _WIDTH)}" if vote.reason else ""
            yield f"    {escape(vote.judge, 40)} {_WORDS[vote.met]}{reason}"
    if rubric.judges:
        yield f"judged by {', '.join(escape(name, 40) for name in rubric.judges)}"
    if rubric.message:
        yield f"not decided: {escape(rubric.message, _WIDTH)}"


_WORDS = {True: "holds", False: "does not hold", None: "does not apply"}


def _falls_short(verdict: CriterionVerdict) -> bool:
    return verdict.credit is not None and (verdict.credit < 1 or verdict.level < 1)


def _line(verdict: CriterionVerdict) -> str:
    sign = {None: "–", 1.0: "✓", 0.0: "✗"}[verdict.credit]
    facts = [verdict.kind, *(["gatekeeper"] if verdict.gatekeeper else [])]
    facts += [*(["must"] if verdict.must else []), *map(escape, verdict.flags)]
    if verdict.credit is not None and verdict.level != verdict.credit:
        facts.append(f"level {verdict.level:.2f}")
    if verdict.penalized:
        facts.append("should not hold")
    reason = f": {escape(verdict.reason, _WIDTH)}" if verdict.reason else ""
    return f"{sign} {escape(verdict.id)} ({', '.join(facts)}) {_WORDS[verdict.met]}{reason}"


def _figure(value: float | None) -> str:
    return "?" if value is None else f"{value:.3f}"
