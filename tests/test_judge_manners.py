"""Judges that misbehave: each ends in a verdict or in none, and never in a zero that nobody gave."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.gateway.client import Gateway, gateway
from pytest_agentbench.grading.decide import Judges
from pytest_agentbench.grading.docket import Docket
from pytest_agentbench.grading.judging.material import Material, Piece
from pytest_agentbench.grading.judging.panel import TIED, combine
from pytest_agentbench.grading.judging.reply import Verdict
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.scenario.rubric import Rung
from pytest_agentbench.trace.events import Trace
from pytest_agentbench.trial import ProfileError
from tests.judged import CRITERIA, EVIDENCE, QUICK, brief, criterion, panel, profile, said

RIGHT = {"cause": True, "figures": True, "repair": False}
NONE = "judge judge gave no verdict on cause, figures, repair: "
UNUSABLE = f"{NONE}its answer cannot be used: "


@pytest.fixture(scope="module")
def models() -> Iterator[Gateway]:
    with gateway() as started:
        yield started


#: Manner, calls it takes, and the message where there is no verdict.
MANNERS = [
    (["fair"], 1, ""),
    (["wordy"], 1, ""),
    (["strings"], 1, ""),
    (["prose", "fair"], 2, ""),
    (["half", "fair"], 2, ""),
    (["empty", "fair"], 2, ""),
    (["wrong-keys", "fair"], 2, ""),
    (["missing", "fair"], 2, ""),
    (["stranger", "fair"], 2, ""),
    (["refuse", "fair"], 2, ""),
    (["unsupported", "fair"], 2, ""),
    (["prose"], 3, UNUSABLE + "it is prose, and no JSON (asked 3 times)"),
    (["half"], 3, UNUSABLE + "its JSON breaks off (asked 3 times)"),
    (["empty"], 3, UNUSABLE + "it is empty (asked 3 times)"),
    (["wrong-keys"], 3, UNUSABLE + 'it has no list "verdicts" beside the nonce (asked 3 times)'),
    (["stranger"], 3, UNUSABLE + "it does not repeat the nonce of this question (asked 3 times)"),
    (
        ["refuse"],
        3,
        f"{NONE}it refuses: I will not judge that. (asked 3 times)",
    ),
    (
        ["unquoted"],
        2,
        f"{NONE}it says met and quotes nothing that shows it",
    ),
    (
        ["unsupported"],
        2,
        f"{NONE}what it quotes is not in the material: 'words that nobody wrote anywhere'",
    ),
]


@pytest.mark.parametrize(("manners", "calls", "message"), MANNERS, ids=lambda v: str(v)[:30])
def test_a_manner_ends_in_a_verdict_or_in_none(
    models: Gateway, manners: list[str], calls: int, message: str
) -> None:
    decision = panel(models, profile(manner=manners)).decide(brief())
    assert decision.message == message
    assert said(decision) == ({} if message else RIGHT)
    assert decision.usage.requests == calls


FAULTS: list[tuple[Any, int, str]] = [
    ({"kind": 429, "first": 1}, 2, ""),
    ({"kind": 503, "first": 3}, 4, ""),
    ({"kind": "refused", "first": 1}, 2, ""),
    ({"kind": "malformed", "first": 1}, 2, ""),
    ({"kind": "cut", "first": 1}, 2, ""),
    ({"kind": "empty", "first": 1}, 2, ""),
    (503, 4, "its model answers 503, 4 times: an injected fault, status 503"),
    (401, 1, "its model answers 401: an injected fault, status 401"),
    ("empty", 3, "its answer cannot be used: it is empty (asked 3 times)"),
]


@pytest.mark.parametrize(("fault", "calls", "reason"), FAULTS, ids=lambda v: str(v)[:40])
def test_a_provider_that_fails_is_asked_again(
    models: Gateway, fault: Any, calls: int, reason: str
) -> None:
    decision = panel(models, profile(fault=fault)).decide(brief())
    message = f"judge judge gave no verdict on cause, figures, repair: {reason}" if reason else ""
    assert decision.message == message
    assert said(decision) == ({} if message else RIGHT)
    assert decision.usage.requests == calls


def test_an_answer_that_never_comes_is_no_verdict(models: Gateway) -> None:
    judges = panel(models, _stalled())
    judge = dataclasses.replace(
        judges.judges[0], patience=dataclasses.replace(QUICK, seconds=0.2, tries=2)
    )
    decision = dataclasses.replace(judges, judges=(judge,)).decide(brief())
    assert decision.message == (
        "judge judge gave no verdict on cause, figures, repair: its model answers 504, 2 times: no "
        "answer within 0.2 s"
    )


def _stalled() -> Any:
    return dataclasses.replace(profile(), options={"policy": "stall"})


def test_verdicts_that_are_good_are_kept_when_others_are_asked_again(models: Gateway) -> None:
    decision = panel(models, profile(manner="missing")).decide(brief())
    assert said(decision) == {"cause": True, "figures": True}
    assert decision.problems == {"judge": {"repair": "it has no verdict on this criterion"}}


def test_a_ladder_wants_one_of_its_rungs(models: Gateway) -> None:
    rungs = (
        Rung(value=0.0, statement="no"),
        Rung(value=0.5, statement="half"),
        Rung(value=1.0, statement="yes"),
    )
    asked = (criterion("cause", ladder=rungs), criterion("repair", ladder=rungs))
    for manner in ("fair", "strings"):
        decision = panel(models, profile(manner=manner)).decide(brief(criteria=asked))
        assert [(v.met, v.level) for v in decision.verdicts] == [(True, 1.0), (False, 0.0)]


def test_verdicts_are_had_once(models: Gateway, tmp_path: Path) -> None:
    judges = panel(models, profile(), cache=tmp_path)
    first, again = judges.decide(brief()), judges.decide(brief())
    assert first.verdicts == again.verdicts
    assert (first.usage.requests, again.usage.requests) == (1, 0)
    assert [each["cached"] for each in (*first.judges, *again.judges)] == [0, 3]
    others = [
        (judges, brief(text="The seal wore out.")),
        (judges, dataclasses.replace(brief(), task="Another.")),
        (panel(models, profile(seed=1), cache=tmp_path), brief()),
    ]
    for other, asked in others:
        assert other.decide(asked).usage.requests == 1


def test_a_cached_verdict_that_is_damaged_is_asked_for_again(
    models: Gateway, tmp_path: Path
) -> None:
    judges = panel(models, profile(), cache=tmp_path)
    judges.decide(brief())
    first, second, third = sorted(tmp_path.rglob("*.json"))
    first.write_text("{")
    second.write_text('{"met": "yes"}')
    third.write_text("[]")
    assert said(judges.decide(brief())) == RIGHT


def test_criteria_come_in_batches_of_one_kind(models: Gateway) -> None:
    many = tuple(criterion(f"c{number}") for number in range(12))
    steps = tuple(
        criterion(f"p{number}", kind="process", category="phase_adherence") for number in range(3)
    )
    decision = panel(models, profile()).decide(brief(criteria=(*many, *steps)))
    assert [v.id for v in decision.verdicts] == [c.id for c in (*many, *steps)]
    assert decision.usage.requests == 3


def test_process_sees_the_way_and_completion_the_result(models: Gateway) -> None:
    pieces = (
        Piece(name="report.md", role="made", text="only in the result"),
        Piece(name="what the agent did", role="trace", text="only on the way"),
    )
    asked = (
        criterion("result_c"),
        criterion("way_c"),
        criterion("result_p", kind="process", category="phase_adherence"),
        criterion("way_p", kind="process", category="phase_adherence"),
    )
    evidence = {
        name: "only on the way" if "way" in name else "only in"
        for name in ("result_c", "way_c", "way_p")
    }
    evidence["result_p"] = "only in the result"
    decision = panel(models, profile(evidence=evidence)).decide(
        brief(criteria=asked, material=Material(pieces=pieces))
    )
    assert said(decision) == {"result_c": True, "way_c": False, "result_p": False, "way_p": True}


VOTES = [
    # what three judges say, what they say together, and whether that is a tie
    ([True, True, False], True, False),
    ([True, False, False], False, False),
    ([True, False, None], False, True),
    ([None, None, True], None, False),
    ([None, True, True], True, False),
]


@pytest.mark.parametrize(("votes", "together", "tied"), VOTES)
def test_the_majority_decides(votes: list[bool | None], together: bool | None, tied: bool) -> None:
    verdicts = {f"j{n}": Verdict(met=met, quotes=(f"q{n}",)) for n, met in enumerate(votes)}
    found = combine(CRITERIA[0], verdicts)
    assert (found.met, TIED in found.flags) == (together, tied)
    assert [vote.met for vote in found.judges] == votes


def test_a_tie_gives_no_credit_whatever_the_polarity() -> None:
    bad = criterion("rushes", polarity="penalize_when_met")
    verdicts = {"a": Verdict(met=True, quotes=("it",)), "b": Verdict(met=False)}
    assert [combine(each, verdicts).credit for each in (CRITERIA[0], bad)] == [0.0, 0.0]


def test_levels_are_the_median_or_the_mean() -> None:
    rungs = tuple(Rung(value=value, statement="") for value in (0.0, 0.5, 1.0))
    verdicts = {
        f"j{n}": Verdict(met=True, level=level, quotes=("it",))
        for n, level in enumerate((0.5, 0.5, 1.0))
    }
    graded = criterion("c", ladder=rungs)
    assert combine(graded, verdicts).level == 0.5
    assert combine(graded, verdicts, "mean").level == pytest.approx(2 / 3)


def test_every_judge_of_several_must_have_answered(models: Gateway) -> None:
    good, bad = profile("good"), profile("bad", manner="prose")
    decision = panel(models, good, bad).decide(brief())
    assert decision.verdicts == ()
    assert decision.message.startswith("judge bad gave no verdict on cause, figures, repair: ")
    alone = panel(models, good).decide(brief())
    assert said(alone) == RIGHT


HYBRID = {"criteria": (), "prose": "Is it good?", "names": ("seal", "pressure", "repair")}


@pytest.mark.parametrize(
    ("manner", "total", "message"),
    [
        ("fair", 2 / 3, ""),
        (
            "prose",
            None,
            "judge judge gave no verdict: its answer cannot be used: it is prose, and no JSON (asked 3 times)",
        ),
        (
            "half",
            None,
            "judge judge gave no verdict: its answer cannot be used: its JSON breaks off (asked 3 times)",
        ),
    ],
)
def test_a_total_by_a_rubric_in_prose(
    models: Gateway, manner: str, total: float | None, message: str
) -> None:
    text = "The seal wore out when pressure fell."
    decision = panel(models, profile(manner=manner)).decide(brief(text, **HYBRID))
    assert decision.total == (None if total is None else pytest.approx(total, abs=1e-4))
    assert decision.message == message


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"manner": "kind"}, "manner 'kind' is not known; allowed: fair, gullible, prose"),
        ({"evidence": {"a": "("}}, "evidence.a is no regular expression: missing"),
        ({"evidence": ["a"]}, r"evidence must be a table of patterns, not \['a'\]"),
        ({"policy": "solve", "manner": "fair"}, 'manner and evidence are for policy = "judge"'),
    ],
)
def test_a_profile_of_a_scripted_judge_that_makes_no_sense(options: Any, words: str) -> None:
    from pytest_agentbench.gateway.registry import make_model

    with pytest.raises(ProfileError, match=words):
        make_model(profile(**({"evidence": EVIDENCE} | options)))


def test_a_total_is_had_once(models: Gateway, tmp_path: Path) -> None:
    judges = panel(models, profile(), profile("other", manner="wordy"), cache=tmp_path)
    asked = brief("The seal wore out when pressure fell.", **HYBRID)
    first, again = judges.decide(asked), judges.decide(asked)
    assert first.total == again.total
    assert [(d.usage.requests, [each["cached"] for each in d.judges]) for d in (first, again)] == [
        (2, [0, 0]),
        (0, [1, 1]),
    ]
    others = dataclasses.replace(asked, prose="Is it short?")
    assert judges.decide(others).usage.requests == 2


def test_what_cannot_be_read_is_no_verdict(models: Gateway) -> None:
    """A deliverable that a person could open and this installation cannot is nobody's failure."""
    unread = ("data.xlsx: to read .xlsx files needs pip install 'pytest-agentbench[judge]'",)
    asked = brief(material=Material(unread=unread))
    docket = Docket(
        scenario=Scenario(id="pumps", path=Path(), prompt=""), trace=Trace(), brief=asked
    )
    decision = Judges(panel=panel(models, profile())).decide(docket)
    assert (decision.verdicts, decision.usage.requests) == ((), None)
    assert decision.message == f"what the agent left cannot be shown to a judge: {unread[0]}"
