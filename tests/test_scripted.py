"""The scripted model: what its profile says, and what it plays."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.gateway.chat import BackendError, ChatReply, ChatRequest, Message, ToolCall
from pytest_agentbench.gateway.play import Play
from pytest_agentbench.gateway.scripted import ScriptedModel, ScriptPlan
from pytest_agentbench.gateway.toolbox import Toolbox
from pytest_agentbench.scenario.model import Probe, Step
from pytest_agentbench.trial import ProfileError, Trial
from tests.made import STEPS, profile, trial
from tests.offers import GEMINI, MINIMAL, NANOBOT, OPENCLAW, OPENHANDS, Surface, tool
from tests.talking import Talk, ask

WRONG = (Step(verb="say", text="wrong"),)
LINE = tool("exec", "command", command="A line of bash.")
READ = tool("read", "path", path="A file.")


def plan(one: Trial | None = None, **options: Any) -> ScriptPlan:
    """The plan as the gateway gets it."""
    made = ScriptedModel.of(profile(**options)).plan(one or trial(), STEPS)
    there = ScriptPlan.from_json(json.loads(json.dumps(made.to_json())))
    assert there == made
    return there


def request(*messages: Message, tools: tuple[Any, ...] = (READ, LINE)) -> ChatRequest:
    asked = Message(role="user", text="Do it.")
    return ChatRequest(model="toy", messages=(asked, *messages), tools=tools)


def reply(steps: tuple[Step, ...], *messages: Message, **more: Any) -> ChatReply:
    return ask(Play(steps=steps), request(*messages, **more))


def test_each_step_is_one_call_and_its_place_is_in_the_ids() -> None:
    ids = ("step0001try1", "step0002try1", "step0003try1")
    results = [Message(role="tool", call_id=each, text="ok") for each in ids]
    turns = [reply(STEPS, *results[:count]) for count in range(4)]
    assert [turn.text for turn in turns] == ["First the notes.", "", "", "Written."]
    assert [turn.calls for turn in turns] == [
        (ToolCall(id=ids[0], name="read", args={"path": "notes.txt"}),),
        (ToolCall(id=ids[1], name="exec", args={"command": "sort 'a b.txt'"}),),
        (ToolCall(id=ids[2], name="exec", args={"command": "printf %s done > out.txt"}),),
        (),
    ]


def test_ids_of_others_are_counted() -> None:
    results = [Message(role="tool", call_id=f"read_{n}", text="ok") for n in range(2)]
    assert [call.id for call in reply(STEPS, *results).calls] == ["step0003try1"]


def test_ids_are_found_in_what_a_runtime_makes_of_them() -> None:
    result = Message(role="tool", call_id="call_step0002try1|fc_1", text="ok")
    assert [call.id for call in reply(STEPS, result).calls] == ["step0003try1"]


def test_it_closes_with_a_text_of_its_own_when_the_steps_have_none() -> None:
    done = Message(role="tool", call_id="step0001try1", text="ok")
    assert reply(STEPS[1:2], done).text == "All done."


def test_argv_is_used_where_the_tool_takes_it() -> None:
    steps = (Step(verb="exec", argv=("ls", "-l")),)
    both = tool("exec", argv={"type": "array"}, command="A line.")
    listed = tool("shell", command={"type": "array", "items": {"type": "string"}})
    write = (Step(verb="write", path="x", content=""),)
    assert reply(steps, tools=(both,)).calls[0].args == {"argv": ["ls", "-l"]}
    assert reply(steps, tools=(listed,)).calls[0].args == {"command": ["ls", "-l"]}
    line = ["bash", "-c", "printf %s '' > x"]
    assert reply(write, tools=(listed,)).calls[0].args == {"command": line}


@pytest.mark.parametrize(
    ("step", "offered", "problem"),
    [
        (
            Step(verb="edit", path="x", old="a", new="b"),
            (READ, tool("write", path="", content="")),
            "the script needs a tool 'edit'; offered: read, write",
        ),
        (
            Step(verb="exec", argv=("ls",)),
            (READ,),
            "the script needs a tool 'exec'; offered: read",
        ),
        (
            Step(verb="call", service="mail", args={"to": "x"}),
            (READ, LINE),
            "the script needs a tool 'call'; offered: read, exec",
        ),
    ],
)
def test_a_step_for_which_nothing_is_offered_is_an_error(
    step: Step, offered: tuple[Any, ...], problem: str
) -> None:
    with pytest.raises(BackendError) as caught:
        reply((step,), tools=offered)
    assert (caught.value.status, caught.value.message) == (501, problem)


def test_a_service_is_called_where_calls_are_offered() -> None:
    steps = (Step(verb="call", service="mail", args={"to": "x"}),)
    answer = reply(steps, tools=(tool("call", service="", args={"type": "object"}),))
    assert answer.calls[0].args == {"service": "mail", "args": {"to": "x"}}


def test_a_request_without_tools_gets_a_text() -> None:
    for policy in ("solve", "careless", "apprentice", "loop"):
        answer = ask(plan(policy=policy).policy(), request(tools=()))
        assert (answer.text, answer.calls) == ("A task for a scripted model.", ())


def test_tokens_are_a_quarter_of_the_characters_of_the_whole_conversation() -> None:
    answer = reply(STEPS[1:2])
    assert answer.usage.input_tokens == -(-len('[{"role": "user", "content": "Do it."}]') // 4)
    assert answer.usage.output_tokens == -(-len('{"path": "notes.txt"}') // 4)
    more = reply(STEPS[1:2], Message(role="tool", call_id="step0001try1", text="x" * 400))
    assert more.usage.input_tokens is not None
    assert more.usage.input_tokens > 100


@pytest.mark.parametrize(
    ("surface", "native"),
    [
        (GEMINI, ("replace", {"file_path": "x", "instruction": "Edit x"})),
        (OPENHANDS, ("file_editor", {"path": "/w/x", "security_risk": "UNKNOWN"})),
        (OPENCLAW, ("edit", {"path": "x"})),
    ],
    ids=["gemini-cli", "openhands", "openclaw"],
)
def test_what_else_a_tool_requires_is_filled_in(
    surface: Surface, native: tuple[str, dict[str, Any]]
) -> None:
    stated = Message(role="system", text="Working directory: /w")
    found = Toolbox(request(stated, tools=surface.tools)).edit("x", "a", "b")
    assert found is not None
    assert found[0] == native[0]
    assert native[1].items() <= found[1].items()


def test_required_values_fit_their_schemas() -> None:
    needs: dict[str, Any] = {
        "why": {"type": "string", "maxLength": 3},
        "mode": {"enum": ["fast", "slow"]},
        "sure": {"type": "boolean"},
        "count": {"type": "integer", "minimum": 5},
        "share": {"type": "number", "maximum": 0.5},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "none": {"type": "array"},
        "deep": {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]},
        "maybe": {"anyOf": [{"type": "null"}, {"type": "integer"}]},
        "fixed": {"const": 7},
        "usual": {"type": "string", "default": "x"},
    }
    offer = tool("bash", *needs, command="", **needs)
    native = Toolbox(request(tools=(offer,))).run(("ls",))
    assert native is not None
    assert native[1] == {
        "command": "ls",
        "why": "Run",
        "mode": "fast",
        "sure": False,
        "count": 5,
        "share": 0.5,
        "tags": ["Run ls"],
        "none": [],
        "deep": {"on": False},
        "maybe": 1,
        "fixed": 7,
        "usual": "x",
    }


def test_commands_get_time_and_room_where_the_tool_can_give_it() -> None:
    def made(surface: Surface) -> Any:
        native = Toolbox(request(tools=surface.tools)).run(("ls",))
        return native and native[1]

    assert made(OPENCLAW) == {"command": "ls", "yieldMs": 30000}
    assert made(NANOBOT) == {"command": "ls", "max_output_chars": 50000}


CHANCES = {"easy": 0.95, "medium": 0.8, "hard": 0.5, "expert": 0.25}


def test_solving_follows_the_draw() -> None:
    model = ScriptedModel.of(profile(seed=3, solve=CHANCES))
    solved = 0
    for index in range(1, 201):
        digest = hashlib.sha256(f"3|demo|{index}".encode()).hexdigest()
        draw = int(digest[:12], 16) / 16**12
        one = trial(index, difficulty="hard", probes=(Probe(name="p", steps=WRONG, fails=()),))
        assert model.draw(one.scenario, index) == draw
        made = model.plan(one, STEPS)
        assert made == ScriptPlan(steps=STEPS if draw < 0.5 else WRONG)
        solved += made.steps == STEPS
    assert 80 < solved < 120


def test_every_probe_is_played_by_some_trial() -> None:
    probes = tuple(
        Probe(name=name, steps=(Step(verb="say", text=name),), fails=()) for name in "abc"
    )
    played = {
        ask(
            plan(trial(index, difficulty="expert", probes=probes), solve=CHANCES).policy(),
            request(),
        ).text
        for index in range(60)
    }
    assert played == {"First the notes.", "a", "b", "c"}


def test_wrong_plays_the_first_plausible_probe_that_fails() -> None:
    def probe(name: str, **fields: Any) -> Probe:
        return Probe(name=name, steps=(Step(verb="say", text=name),), fails=("c",), **fields)

    probes = (
        probe("a"),
        probe("b", plausible=True, passes=True),
        probe("c", plausible=True),
        probe("d", plausible=True),
    )
    assert plan(trial(probes=probes), policy="wrong").steps == probes[2].steps
    made = plan(trial(probes=probes[:1]), policy="wrong")
    assert ask(made.policy(), request()).text == "I could not work this out."


def test_without_probes_it_gives_up() -> None:
    made = plan(solve=CHANCES | {"medium": 0})
    assert ask(made.policy(), request()).text == "I could not work this out."


def test_an_error_for_every_request() -> None:
    for tools in ((), (READ,)):
        with pytest.raises(BackendError) as caught:
            ask(plan(policy="error:429").policy(), request(tools=tools))
        assert (caught.value.status, caught.value.message) == (
            429,
            "the scripted model answers 429, as told",
        )


def test_refusing() -> None:
    answer = ask(plan(policy="refuse").policy(), request())
    assert (answer.refusal, answer.text, answer.calls) == ("I will not do that.", "", ())


def test_stalling_lasts_until_it_is_cancelled() -> None:
    async def run() -> bool:
        waiting = asyncio.create_task(plan(policy="stall").policy().reply(request()))
        for _ in range(10):  # turns of the loop, in which it could answer
            await asyncio.sleep(0)
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait([waiting])
        return waiting.cancelled()

    assert asyncio.run(run())


def test_looping_never_ends_and_never_repeats_itself(tmp_path: Path) -> None:
    talk = Talk(MINIMAL, tmp_path)
    with pytest.raises(AssertionError, match="no end after 20 turns"):
        talk.run(plan(policy="loop").policy(), turns=20)
    assert set(talk.used) == {"exec"}
    assert len({str(call.args) for call in talk.calls}) == 20


def test_looping_without_a_shell() -> None:
    policy = plan(policy="loop").policy()
    assert ask(policy, request(tools=(READ,))).calls[0].args == {"path": "."}
    with pytest.raises(BackendError) as caught:
        ask(policy, request(tools=(tool("think", thought=""),)))
    assert caught.value.message == "the script needs a tool 'exec'; offered: think"


def test_a_plan_with_all_kinds_of_steps_travels_as_json() -> None:
    steps = (
        *STEPS,
        Step(verb="edit", path="x", old="ä", new="日本"),
        Step(verb="call", service="mail", args={"to": ["x"], "n": 1}),
    )
    made = ScriptPlan(kind="careless", steps=steps)
    assert ScriptPlan.from_json(json.loads(json.dumps(made.to_json()))) == made
    assert made.policy() == Play(steps=steps, careless=True)


def test_a_plan_of_no_kind_is_a_bug() -> None:
    with pytest.raises(ValueError, match="there is no plan of kind 'win'"):
        ScriptPlan(kind="win").policy()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {"speed": 1},
            (
                "unknown option 'speed'; allowed: policy, seed, solve, manner, evidence, lesson, "
                "edits"
            ),
        ),
        (
            {"policy": "win"},
            (
                "policy 'win' is not known; allowed: solve, solve-with-p, wrong, careless, "
                "apprentice, loop, refuse, stall, judge, drafter, error:STATUS"
            ),
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
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ProfileError) as caught:
        ScriptedModel.of(profile(**options))
    assert str(caught.value) == f"[tool.agentbench.models.toy]: {problem}"
