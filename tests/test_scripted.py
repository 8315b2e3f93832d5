"""The scripted model: what it plays."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.gateway.chat import BackendError, ChatReply, ChatRequest, ToolOffer
from pytest_agentbench.gateway.registry import make_model
from pytest_agentbench.gateway.scripted import Script, ScriptedModel
from pytest_agentbench.scenario.model import Probe, Scenario, Step
from pytest_agentbench.trial import ModelProfile, Phase, ProfileError, RuntimeProfile, Trial

STEPS = (
    Step(verb="say", text="First the notes."),
    Step(verb="read", path="notes.txt"),
    Step(verb="exec", argv=("sort", "a b.txt")),
    Step(verb="write", path="out.txt", content="done"),
    Step(verb="say", text="Written."),
)
OFFER = (
    ToolOffer(name="read", parameters=("path",)),
    ToolOffer(name="write", parameters=("path", "content")),
    ToolOffer(name="exec", parameters=("command",)),
)


def trial(index: int = 1, difficulty: str = "medium", **fields: Any) -> Trial:
    scenario = Scenario(
        id="demo",
        path=Path("demo.yaml"),
        prompt="Do it.",
        difficulty=difficulty,
        **{"solution": STEPS, **fields},
    )
    return Trial(
        scenario=scenario,
        runtime=RuntimeProfile(name="minimal", adapter="minimal"),
        mode="baseline",
        index=index,
        phases=(Phase(name="baseline", seconds=10),),
    )


def profile(**options: Any) -> ModelProfile:
    return ModelProfile(name="toy", backend="scripted", options=options)


def request(results: int = 0, tools: tuple[ToolOffer, ...] = OFFER) -> ChatRequest:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Do it."}]
    messages += [{"role": "tool", "content": "ok"}] * results
    return ChatRequest(model="toy", messages=tuple(messages), tools=tools)


def reply(script: Any, results: int = 0) -> ChatReply:
    answer = script.reply(request(results), threading.Event())
    assert isinstance(answer, ChatReply)
    return answer


def test_each_step_is_one_call_and_its_place_is_the_number_of_results() -> None:
    script = Script(steps=STEPS)
    turns = [reply(script, results) for results in (0, 1, 2, 3)]
    assert [turn.text for turn in turns] == ["First the notes.", "", "", "Written."]
    assert [[(call.name, call.args) for call in turn.calls] for turn in turns] == [
        [("read", {"path": "notes.txt"})],
        [("exec", {"command": "sort 'a b.txt'"})],
        [("write", {"path": "out.txt", "content": "done"})],
        [],
    ]
    assert turns[1] == reply(script, 1)


def test_it_closes_with_a_text_of_its_own_when_the_steps_have_none() -> None:
    assert reply(Script(steps=STEPS[1:2]), 1).text == "All done."


def test_argv_is_used_where_the_tool_takes_it() -> None:
    script = Script(steps=(Step(verb="exec", argv=("ls", "-l")),))
    offer = (ToolOffer(name="exec", parameters=("argv", "command")),)
    calls = script.reply(request(0, offer), threading.Event()).calls
    assert calls[0].args == {"argv": ["ls", "-l"]}


def test_a_tool_that_is_not_offered_is_an_error() -> None:
    script = Script(steps=(Step(verb="edit", path="x", old="a", new="b"),))
    with pytest.raises(BackendError) as caught:
        reply(script)
    assert (caught.value.status, caught.value.message) == (
        501,
        "the script needs a tool 'edit'; offered: read, write, exec",
    )


def test_tokens_are_a_quarter_of_the_characters() -> None:
    answer = reply(Script(steps=STEPS[1:2]))
    assert answer.input_tokens == -(-len('[{"role": "user", "content": "Do it."}]') // 4)
    assert answer.output_tokens == -(-len('{"path": "notes.txt"}') // 4)


CHANCES = {"easy": 0.95, "medium": 0.8, "hard": 0.5, "expert": 0.25}


def test_solving_follows_the_draw() -> None:
    model = ScriptedModel.of(profile(seed=3, solve=CHANCES))
    wrong = (Step(verb="say", text="wrong"),)
    solved = 0
    for index in range(1, 201):
        digest = hashlib.sha256(f"3|demo|{index}".encode()).hexdigest()
        draw = int(digest[:12], 16) / 16**12
        one = trial(index, "hard", probes=(Probe(name="p", steps=wrong, fails=()),))
        assert model.draw(one.scenario, index) == draw
        script = model.backend(one, STEPS)
        assert script == Script(steps=STEPS if draw < 0.5 else wrong)
        solved += script.steps == STEPS
    assert 80 < solved < 120


def test_every_probe_is_played_by_some_trial() -> None:
    model = ScriptedModel.of(profile(solve=CHANCES))
    probes = tuple(
        Probe(name=name, steps=(Step(verb="say", text=name),), fails=()) for name in "abc"
    )
    played = [
        reply(model.backend(trial(index, "expert", probes=probes), STEPS)).text
        for index in range(60)
    ]
    assert set(played) == {"First the notes.", "a", "b", "c"}


def test_without_probes_it_gives_up() -> None:
    model = ScriptedModel.of(profile(solve=CHANCES | {"medium": 0}))
    assert reply(model.backend(trial(), STEPS)).text == "I could not work this out."


def test_a_fault_is_of_one_trial() -> None:
    model = ScriptedModel.of(profile(faults={"demo-t2": 503}))
    assert model.backend(trial(1), STEPS) == Script(steps=STEPS)
    assert model.backend(trial(2), STEPS) == Script(error=503)


def test_policies() -> None:
    scripts = [
        ScriptedModel.of(profile(policy=policy)).backend(trial(), STEPS)
        for policy in ("solve", "refuse", "stall", "error:429")
    ]
    assert scripts == [
        Script(steps=STEPS),
        Script(refusal="I will not do that."),
        Script(stall=True),
        Script(error=429),
    ]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"speed": 1}, "unknown option 'speed'; allowed: policy, seed, solve, faults"),
        (
            {"policy": "win"},
            "policy 'win' is not known; allowed: solve, solve-with-p, refuse, stall, error:STATUS",
        ),
        ({"seed": "x"}, "seed must be a whole number, not 'x'"),
        ({"solve": 0.5}, "solve must be a table, not 0.5"),
        (
            {"solve": {"easy": 2}},
            (
                "solve.easy = 2: the table gives a chance between 0 and 1 for each of easy, medium, "
                "hard, expert"
            ),
        ),
        ({"solve": {"easy": 1}}, "policy solve-with-p needs solve.medium, a chance"),
        ({"faults": {"a-t1": 200}}, "faults.a-t1 = 200: must be an HTTP status, 400 to 599"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ProfileError) as caught:
        make_model(profile(**options))
    assert str(caught.value) == f"[tool.agentbench.models.toy]: {problem}"
