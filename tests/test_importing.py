"""Result files of the published harnesses become runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.report.run import read_run
from pytest_agentbench.skill import Mutation
from pytest_agentbench.status import Status

Capture = pytest.CaptureFixture[str]


def claw_trial(number: int, score: float, **more: Any) -> dict[str, Any]:
    checks = [
        {"check_id": "a", "check_type": "custom", "category": "correctness", "points": 0.6,
         "earned": 0.6, "passed": True, "detail": "there"},
        {"check_id": "b", "check_type": "custom", "category": "correctness", "points": 0.4,
         "earned": 0.1, "passed": False, "detail": "=1+1 <b>"},
    ]  # fmt: skip
    return {
        "trial_id": number,
        "score": score,
        "capability_score": 0.805,
        "process_score": 1.0,
        "efficiency_penalty": 0.05,
        "passed": score >= 0.6,
        "latency_ms": 2500,
        "tool_calls": 7,
        "token_usage": {"input_tokens": 900, "output_tokens": 100, "cost_estimate_usd": 0.0},
        "execution": {"status": "success", "error_detail": ""},
        "checks": checks,
        **more,
    }


CLAW = {
    "model": "vendor/model-1",
    "timestamp": "2026-05-11T08:00:00+00:00",
    "trials_per_scenario": 3,
    "summary": {"openclaw_runtime": {"version": "2026.5.7"}},
    "scenarios": [
        {
            "scenario_id": "planning_01",
            "name": "Plan",
            "dimension": "planning",
            "difficulty": "hard",
            "trials": [
                claw_trial(1, 0.7648),
                claw_trial(2, 0.7648),
                claw_trial(3, 0.0, execution={"status": "timeout", "error_detail": "too long"}),
            ],
        }
    ],
}
EVO = {
    "benchmark": "evoclawbench",
    "model": "vendor/model-1",
    "runtime": "nanobot",
    "timestamp": 1780000000.0,
    "judge_model": "vendor/judge",
    "baseline_results": {
        "task_22_x": {
            "grades": [
                {"task_id": "task_22_x", "score": 0.5, "max_score": 1.0,
                 "breakdown": {"sub_01_exists": 1.0, "sub_02_exists": 0.0},
                 "sub_problem_scores": [1.0, 0.0], "notes": ""},
                {"task_id": "task_22_x", "score": 1.0, "max_score": 1.0,
                 "breakdown": {"sub_01_exists": 1.0, "sub_02_exists": 1.0}, "notes": ""},
            ],
            "results": [{"status": "success", "execution_time": 4.0},
                        {"status": "error", "timed_out": True, "execution_time": 10.0}],
            "usage": {"input_tokens": 200, "output_tokens": 40, "total_cost_usd": 0.5},
        }
    },
    "postskill_results": {
        "task_22_x": {"grades": [{"score": 1.0, "max_score": 1.0}], "results": [], "usage": {}}
    },
}  # fmt: skip


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "170")
    Path("claw.json").write_text(json.dumps(CLAW))
    Path("evo.json").write_text(json.dumps(EVO))
    return tmp_path


def said(capsys: Capture, *args: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(list(args))
    return code, capsys.readouterr().out


def graded(folder: Path) -> list[dict[str, Any]]:
    lines = map(json.loads, (folder / "ledger.jsonl").read_text().splitlines())
    return [line for line in lines if line["event"] == "graded"]


def test_both_forms_become_one_run_that_reports_read(files: Path, capsys: Capture) -> None:
    assert said(capsys, "import", "claw.json", "evo.json", "-o", "old") == (
        0,
        (
            "claw.json: 3 results, 3 new\nevo.json: 3 results, 3 new\n"
            "agentbench report old, leaderboard and analyze take it like any run\n"
        ),
    )
    code, shown = said(capsys, "report", "old")
    assert code == 0
    assert "openclaw · vendor/model-1 · baseline" in shown
    assert "imported" in shown
    code, shown = said(capsys, "leaderboard", "old")
    assert code == 0
    assert "openclaw@2026.5.7 · vendor/model-1 · baseline" in shown


def test_figures_are_those_of_the_files(files: Path, capsys: Capture) -> None:
    said(capsys, "import", "claw.json", "-o", "claw")
    said(capsys, "import", "evo.json", "-o", "evo")
    first, _, third = graded(files / "claw")
    grade = first["grade"]
    # C = .7 of 1; the rest is as it stands in the file.
    assert grade["correctness"] == pytest.approx(0.7)
    assert (grade["process"], grade["gate"], grade["penalty"]) == (1.0, 1.0, 0.05)
    assert (grade["score"], grade["passed"], grade["strict"]) == (0.7648, True, False)
    assert first["usage"]["cost_usd"] is None  # their 0 is no known cost
    assert (first["seconds"], first["tool_calls"]) == (2.5, 7)
    assert first["started"] == 1778486400.0
    assert (third["status"], third["message"], third["grade"]["score"]) == (
        "agent_timeout", "too long", 0.0
    )  # fmt: skip
    half, whole, later = graded(files / "evo")
    assert (half["grade"]["score"], half["grade"]["passed"], half["grade"]["loose"]) == (
        0.5, False, 0.5
    )  # fmt: skip
    assert half["grade"]["sub_problems"] == {"1": 1.0, "2": 0.0}
    assert (whole["status"], whole["grade"]["passed"]) == ("agent_timeout", True)
    # Told for both runs together: half for each.
    assert (half["usage"]["input_tokens"], half["usage"]["cost_usd"]) == (100, 0.25)
    assert (later["mode"], later["runtime"], later["observed"]["judge"]) == (
        "postskill", "nanobot", "vendor/judge"
    )  # fmt: skip
    assert {line["flags"][0] for line in (first, half)} == {"imported"}


def test_a_file_is_imported_once(files: Path, capsys: Capture) -> None:
    said(capsys, "import", "claw.json", "-o", "old")
    ledger = (files / "old" / "ledger.jsonl").read_bytes()
    code, shown = said(capsys, "import", "claw.json", "-o", "old")
    assert (code, shown.splitlines()[0]) == (0, "claw.json: 3 results, 0 new")
    assert (files / "old" / "ledger.jsonl").read_bytes() == ledger


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "no result file of ClawProBench (with scenarios and trials_per_scenario) or Evo"),
        ("{", "no JSON: "),
        ('{"trials_per_scenario": 3, "scenarios": [{}]}', "a result is not as its harness writes "),
        ('{"trials_per_scenario": 3, "scenarios": []}', "it holds no result"),
        ('{"baseline_results": {"t": {"grades": [{}]}}}', "a result is not as its harness writes "),
        ('{"baseline_results": {"t": []}}', "a result is not as its harness writes "),
    ],
)
def test_what_is_no_result_file_is_refused(
    files: Path, capsys: Capture, text: str, problem: str
) -> None:
    Path("other.json").write_text(text)
    code, shown = said(capsys, "import", "claw.json", "other.json", "-o", "old")
    assert code == 2
    assert shown.startswith(f"agentbench import: other.json: {problem}")
    assert not Path("old").exists()  # all or nothing
    assert said(capsys, "import", "none.json", "-o", "old") == (
        2,
        "agentbench import: none.json: cannot be read: No such file or directory\n",
    )


def evo_run(tokens: int, seconds: float, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": tokens, "output_tokens": 0, "cost_usd": 0.0}
    return {"status": "success", "execution_time": seconds, "usage": usage, **more}


def test_the_phases_of_a_mode_with_skills_come_along(tmp_path: Path, capsys: Capture) -> None:
    hashes = {"skill_hash_before": {"a": "1", "b": "1"}, "skill_hash_after": {"a": "2", "c": "1"}}
    last = evo_run(300, 3.0, **hashes)
    direct = {"task_22_x": {"grades": [{"score": 0.4}], "results": [evo_run(500, 5.0)],
              "usage": {"input_tokens": 500, "output_tokens": 0}}}  # fmt: skip
    after = {
        "grades": [{"score": 0.8}],
        "results": [last],
        "usage": {"input_tokens": 300, "output_tokens": 0},
        "phase_results": [
            {"phase": "first_execution", "result": evo_run(500, 5.0)},
            {"phase": "skill_summary", "result": evo_run(200, 2.0, status="error")},
            {"phase": "second_execution", "result": last},
        ],
        "first_pass_grades": [{"score": 1.0, "max_score": 2.0}],
        "created_skills": [{"name": "made", "content_length": 90, "scripts_count": 2}],
        "skill_quality_score": 0.6,
    }
    source = tmp_path / "0001_m_nanobot.json"
    results = {"baseline_results": direct, "postskill_results": {"task_22_x": after}}
    source.write_text(json.dumps({"runtime": "nanobot", "model": "m", **results}))
    assert main(["import", str(source), "-o", str(tmp_path / "run")]) == 0
    (record,) = (r for r in read_run(tmp_path / "run").view.records.values() if r.phases)
    first, summary, second = record.phases
    assert [(p.name, p.role, p.graded, p.seconds) for p in record.phases] == [
        ("postskill_first", "execute", False, 5.0),
        ("postskill_summary", "summarise", False, 2.0),
        ("postskill_second", "execute", True, 3.0),
    ]
    assert (first.score, first.strict, first.usage.total_tokens) == (0.5, False, 500)
    assert summary.status is Status.AGENT_ERROR
    assert [(s.name, s.files, s.scripts, s.quality) for s in summary.made] == [("made", 3, 2, 0.6)]
    assert second.mutation == Mutation(added=("c",), edited=("a",), deleted=("b",))
    (found,) = read_run(tmp_path / "run").scoreboard.skills
    assert (found.kind, found.ratio, found.resources["tokens"].end_to_end) == (
        "within-task",
        2.0,
        0.5,
    )
    assert found.resources["cost_usd"].end_to_end is None  # their 0 is not known to be one


def test_files_as_the_harnesses_write_them_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Beside the exports above: lists of calls, usage of each run, and trajectories."""
    monkeypatch.chdir(tmp_path)
    calls = [{"name": "read", "args": {"path": "a"}}, {"name": "exec", "args": {}}]
    trial = claw_trial(1, 0.7, tool_calls=calls, safety_passed=True, safety_failures=[])
    (scenario,) = CLAW["scenarios"]  # type: ignore[misc]
    claw = CLAW | {"scenarios": [{**scenario, "trials": [trial]}]}  # type: ignore[dict-item]
    spent = [{"input_tokens": 10, "output_tokens": 5, "request_count": 1, "cost_usd": 0.25},
             {"input_tokens": 70, "output_tokens": 0, "request_count": 2, "cost_usd": 0.0}]  # fmt: skip
    entry = {
        "grades": [{"score": 0.0, "max_score": 1.0, "breakdown": {"ready": 0.0}}] * 2,
        "results": [
            {"status": "success", "exit_code": 0, "execution_time": 0.1, "usage": usage}
            for usage in spent
        ],
        "usage": {"input_tokens": 80, "output_tokens": 5, "total_cost_usd": 0.25},
    }
    tasks = {"task_00_sanity": entry, "task_22_x": entry}
    evo = {"run_id": "0001", "model": "m", "runtime": "openclaw", "baseline_results": tasks}
    Path("result_m_1.json").write_text(json.dumps(claw))
    Path("0001_m_openclaw.json").write_text(json.dumps(evo))
    Path("0001_m_openclaw.trajectories.json").write_text(json.dumps([{"events": []}]))
    files = sorted(path.name for path in tmp_path.glob("*.json"))
    code, shown = said(capsys, "import", *files, "-o", "old")
    assert code == 0
    assert shown.splitlines()[:3] == [
        "0001_m_openclaw.json: 4 results, 4 new",
        "result_m_1.json: 1 results, 1 new",
        "0001_m_openclaw.trajectories.json: passed over, it holds trajectories and no results",
    ]
    *runs, live = graded(tmp_path / "old")
    assert live["tool_calls"] == 2
    told = ("input_tokens", "output_tokens", "cache_read_tokens", "cost_usd")
    assert [[r["usage"][name] for name in told] for r in runs] == 2 * [
        [10, 5, None, 0.25],
        [70, 0, None, None],
    ]
    shown = said(capsys, "report", "old")[1]
    assert "task_00_sanity passed 0 of 2 trials" in " ".join(shown.split())
    code, shown = said(capsys, "import", "0001_m_openclaw.trajectories.json", "-o", "none")
    assert (code, "no result file of ClawProBench" in shown) == (2, True)
