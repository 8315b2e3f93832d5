"""Judges behind a provider: how they are asked, how many at once, and what that costs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from pytest_agentbench.gateway.client import gateway
from pytest_agentbench.gateway.judge_script import Asked, ScriptedJudge
from pytest_agentbench.grading.judge import JudgeError
from pytest_agentbench.grading.judging.prompt import atomic
from pytest_agentbench.grading.judging.speaking import say
from pytest_agentbench.grading.judging.wire import CHAT
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.spending import Budget, Budgets
from pytest_agentbench.trial import ModelProfile
from tests.judged import CRITERIA, QUICK, brief
from tests.judged_project import RUBRIC, judged
from tests.project import Project
from tests.provider import FakeProvider, provider
from tests.test_replay import SOLVING, TABLE, player

KEY = "key-of-the-judge-0123456789"
EVIDENCE = {"says_so": "done", "looks_first": "calls read"}


class Court:
    """Answers as a fair judge in any dialect; ``most`` is how many calls were under way at once."""

    def __init__(self, seconds: float = 0.0, evidence: dict[str, str] | None = None) -> None:
        self.judge = ScriptedJudge(evidence=EVIDENCE if evidence is None else evidence)
        self.seconds = seconds
        self.now = self.most = self.calls = 0

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        self.now += 1
        self.most, self.calls = max(self.most, self.now), self.calls + 1
        try:
            await asyncio.sleep(self.seconds)
            return web.json_response(_reply(request.path, self._answer(await request.json())))
        finally:
            self.now -= 1

    def _answer(self, body: dict[str, Any]) -> str:
        asked = Asked.of(_question(body))
        assert asked is not None
        return json.dumps(self.judge.fair(asked))


def _question(body: dict[str, Any]) -> str:
    if "contents" in body:
        return str(body["contents"][0]["parts"][0]["text"])
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else str(content[0]["text"])


def _reply(path: str, text: str) -> dict[str, Any]:
    if path.endswith("/messages"):
        usage = {"input_tokens": 1000, "output_tokens": 100}
        return {
            "type": "message",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "usage": usage,
        }
    if "generateContent" in path:
        usage = {"promptTokenCount": 1000, "candidatesTokenCount": 100}
        part = {"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}
        return {"candidates": [part], "usageMetadata": usage}
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"choices": [choice], "usage": {"prompt_tokens": 1000, "completion_tokens": 100}}


@pytest.fixture
def court() -> Iterator[FakeProvider]:
    with provider() as started:
        started.handler = Court()
        yield started


def configured(project: Project, court: FakeProvider, maker: str = "openai") -> None:
    judged(project)
    with (project.path / "pyproject.toml").open("a") as file:
        file.write(
            f'[tool.agentbench.models.mid]\nbackend = "upstream"\nprovider = "{maker}"\n'
            f'base_url = "{court.base_url}"\nmodel = "judge-x"\nkey_env = "JUDGE_KEY"\n'
            '[tool.agentbench.prices.judge-x]\nas_of = "2026-12-01"\ninput = 2.0\noutput = 10.0\n'
        )


def test_a_replay_is_graded_without_the_judges_provider(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", KEY)
    asked = ("--model=lab", "--judge=mid")
    with provider() as court, provider() as lab:
        court.handler, lab.handler = Court(), player([("exec", {"argv": ["pwd"]}), *SOLVING])
        configured(project, court)
        with (project.path / "pyproject.toml").open("a") as file:
            file.write(TABLE.format(url=lab.base_url).replace("LAB_KEY", ""))
        project.bench(*asked, "--record=tapes", runtime="minimal").assert_outcomes(passed=1)
        assert len(court.asked) == 2
    monkeypatch.delenv("JUDGE_KEY")
    replay = ("scenarios", "--runtime=minimal", *asked, "--replay=tapes")
    project.run(*replay, "--run-dir=replayed").assert_outcomes(passed=1)
    (before,), (after,) = project.records(), project.records("replayed")
    assert before["key"] == after["key"]
    assert _verdicts(after) == _verdicts(before)
    assert after["grade"]["score"] == before["grade"]["score"] == 1.0
    (judge,) = after["observed"]["judging"]["judges"]
    assert (judge["cached"], after["observed"]["judging"]["usage"]["requests"]) == (2, 0)
    # What it was never asked is no score, whatever the recording has.
    project.write("scenarios/shout.rubric.yaml", RUBRIC.replace("is finished", "is done"))
    project.run(*replay, "--run-dir=other").assert_outcomes(errors=1)
    (other,) = project.records("other")
    assert (other["status"], other["grade"]) == ("judge_error", None)
    assert other["message"] == (
        "scenario shout: judge mid has no verdict: the recording lacks one, and the environment "
        "variable JUDGE_KEY, with which it could be asked, is not set; no score is given"
    )


def _verdicts(record: dict[str, Any]) -> Any:
    return record["grade"]["rubric"]["verdicts"]


@pytest.mark.parametrize(
    ("maker", "path"),
    [
        ("openai", "/v1/chat/completions"),
        ("anthropic", "/v1/messages"),
        ("gemini", "/v1/models/judge-x:generateContent"),
    ],
)
def test_each_provider_is_asked_in_its_own_dialect(
    project: Project, court: FakeProvider, maker: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", KEY)
    configured(project, court, maker)
    project.bench("--judge=mid").assert_outcomes(passed=1)
    assert [asked.path for asked in court.asked] == [path] * 2
    for asked in court.asked:
        assert KEY in str(asked.headers)
        settings = asked.body.get("generationConfig", asked.body)
        assert settings["temperature"] == 0
        assert "tools" not in asked.body
        assert '"additionalProperties": false' in json.dumps(asked.body)
    usage = project.records()[0]["grade"]["rubric"]["usage"]
    assert (usage["requests"], usage["input_tokens"], usage["output_tokens"]) == (2, 2000, 200)
    assert usage["cost_usd"] == pytest.approx(0.006)
    kept = [path.read_bytes() for path in (project.path / "run").rglob("*") if path.is_file()]
    assert not any(KEY.encode() in data for data in kept)


def test_each_call_is_a_conversation_of_its_own(
    project: Project, court: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", KEY)
    configured(project, court)
    project.bench("--judge=mid", "--trials=2").assert_outcomes(passed=2)
    for asked in court.asked:
        assert [message["role"] for message in asked.body["messages"]] == ["system", "user"]
    # The second trial left the same, so what is known of the first was not asked again.
    assert len(court.asked) == 2


def test_images_are_shown_where_the_model_takes_them(
    project: Project, court: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", KEY)
    configured(project, court)
    path = project.path / "scenarios" / "shout.yaml"
    draw = "  - exec: [bash, -c, \"printf '\\\\x89PNG\\\\r\\\\n\\\\x1a\\\\nrest' > plot.png\"]\n  - say: done"
    path.write_text(path.read_text().replace("  - say: done", draw))
    project.bench("--judge=mid").assert_outcomes(passed=1)
    contents = [asked.body["messages"][1]["content"] for asked in court.asked]
    images = [
        part
        for parts in contents
        if isinstance(parts, list)
        for part in parts
        if part["type"] == "image_url"
    ]
    assert [image["image_url"]["url"][:22] for image in images] == ["data:image/png;base64,"]


def test_a_key_that_is_not_set_is_told_before_anything_runs(
    project: Project, court: FakeProvider
) -> None:
    configured(project, court)
    result = project.bench("--judge=mid")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: [[]tool.agentbench.models.mid]: the environment variable JUDGE_KEY is not set; *"]
    )


def test_a_hundred_trials_of_twelve_criteria_keep_to_the_bound(
    project: Project, court: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", KEY)
    configured(project, court)
    court.handler = Court(seconds=0.05, evidence={})
    # Other words in every trial, or what is known would not be asked again.
    with (project.path / "pyproject.toml").open("a") as file:
        file.write(
            "[tool.agentbench.runtimes.random]\nadapter = 'command'\n"
            "argv = ['bash', '-c', 'echo $RANDOM $RANDOM > out.txt; echo finished $RANDOM $RANDOM']\n"
        )
    extra = "".join(
        f"- {{id: c{n}, statement: The agent finished part {n}., category: output_discipline}}\n"
        for n in range(10)
    )
    (project.path / "scenarios" / "shout.rubric.yaml").write_text(RUBRIC + extra)
    result = project.bench(
        "--judge=mid",
        "--judge-concurrency=3",
        "--trials=100",
        "--gate=none",
        "-n2",
        runtime="random",
    )
    result.assert_outcomes(failed=100)
    records = project.records()
    assert [len(record["grade"]["rubric"]["verdicts"]) for record in records] == [13] * 100
    assert all(v["source"] == "judge" for v in records[0]["grade"]["rubric"]["verdicts"][1:])
    # 11 criteria of completion in two calls, one of process in a third.
    assert court.handler.calls == 300
    assert 1 < court.handler.most <= 3
    spent = [record["grade"]["rubric"]["usage"] for record in records]
    assert {usage["requests"] for usage in spent} == {3}
    assert sum(usage["cost_usd"] for usage in spent) == pytest.approx(0.9)
    assert all(record["usage"]["cost_usd"] is None for record in records)
    report = json.loads((project.path / "run" / "report.json").read_text())
    assert report["rows"][0]["cost_usd"]["mean"] is None
    assert report["rubrics"][0]["judge_cost_usd"] == pytest.approx(0.9)
    assert report["rubrics"][0]["judge_tokens"] == 330_000


def test_calls_that_wait_for_their_turn_find_the_budget_used_up(court: FakeProvider) -> None:
    assert isinstance(court.handler, Court)
    court.handler.seconds = 0.1
    options = {"base_url": court.base_url, "key_env": ""}
    judge = ModelProfile(name="mid", backend="upstream", options=options)
    about = Scenario(id="a", path=Path(), prompt="")
    prompt = atomic("Say why.", CRITERIA, brief().material.pieces).prompt
    said: list[str] = []
    with (
        gateway(Budgets(run=Budget(requests=2))) as host,
        host.open_judge(judge, about, places=1, seconds=20) as line,
    ):

        def ask(_: int) -> None:
            try:
                say(line.endpoint, CHAT, prompt, QUICK)
            except JudgeError as error:
                said.append(str(error))

        with ThreadPoolExecutor(12) as pool:
            list(pool.map(ask, range(12)))
    # A call that has its turn is not cut off, and one may be paid for a moment after its turn.
    assert 2 <= court.handler.calls <= 4
    assert len(said) == 12 - court.handler.calls
    assert all(words.startswith("the run's budget is used up: ") for words in said)
