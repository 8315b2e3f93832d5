"""Skill metrics beside those of EvoClawBench's own scripts, over result files that are made up.

Usage: python -m tests.parity.skill_metrics EVOCLAW

EVOCLAW is a checkout with ``evoclawbench/scripts``. A file with all three modes is given to its
``lib_metrics`` and ``analyze_cost_and_amortization``, and to ``agentbench import``. All figures are
known and none is 0, since otherwise the two are meant to differ (docs/skills.md).
"""

from __future__ import annotations

import importlib
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from pytest_agentbench.cli import main as agentbench
from pytest_agentbench.report.reader import open_run
from pytest_agentbench.report.skill_comparison import SkillComparison
from pytest_agentbench.scoring.skill_cost import per_million

FILES, TASKS = 20, 12
MODES = {
    "baseline": ("execution",),
    "preskill": ("skill_generation", "execution"),
    "postskill": ("first_execution", "skill_summary", "second_execution"),
}
RESOURCES = {
    "tokens": ("total_tokens", "token_efficiency_gain"),
    "cost_usd": ("total_cost_usd", "cost_efficiency_gain"),
    "seconds": ("total_execution_time_seconds", "time_efficiency_gain"),
}


def execution(rng: random.Random) -> dict[str, Any]:
    tokens = rng.randint(500, 5000)
    counts = {"input_tokens": tokens, "output_tokens": 0, "total_tokens": tokens}
    usage = {**counts, "cost_usd": rng.uniform(0.001, 0.1)}
    return {"status": "success", "execution_time": rng.uniform(1, 60), "usage": usage}


def usage(runs: list[dict[str, Any]]) -> dict[str, Any]:
    cost = sum(run["usage"]["cost_usd"] for run in runs)
    tokens = sum(run["usage"]["total_tokens"] for run in runs)
    return {
        "input_tokens": tokens,
        "output_tokens": 0,
        "total_tokens": tokens,
        "cost_usd": cost,
        "total_cost_usd": cost,
        "total_execution_time_seconds": sum(run["execution_time"] for run in runs),
    }


def entry(mode: str, rng: random.Random) -> dict[str, Any]:
    runs = {phase: execution(rng) for phase in MODES[mode]}
    last = list(runs.values())[-1]
    score, first = (rng.choice((0.25, 0.5, 0.75, 1.0)) for _ in range(2))
    made = rng.randint(0, 2) if mode != "baseline" else 0
    return {
        "grades": [{"score": score, "max_score": 1.0}],
        "results": [last],
        "usage": usage([last]),
        "mean_score": score,
        "phase_results": [{"phase": name, "result": run} for name, run in runs.items()],
        "phase_usage": {name: usage([run]) for name, run in runs.items()},
        "end_to_end_usage": usage(list(runs.values())),
        "created_skills": [{"name": "made", "content_length": 300}] * made,
        "skill_quality_score": 0.8 if made else 0.0,
        "first_pass_grades": [{"score": first, "max_score": 1.0}],
        "first_pass_mean_score": first,
        "second_pass_mean_score": score,
    }


def results(rng: random.Random, metrics: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        f"{mode}_results": {f"task_{n:02}": entry(mode, rng) for n in range(1, TASKS + 1)}
        for mode in MODES
    }
    told = metrics.aggregate_three_mode_metrics(**found)
    return {"model": "m", "runtime": "r", "timestamp": 1.0, "metrics": told, **found}


def figures(
    skill: SkillComparison, metrics: dict[str, Any], costs: dict[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Name of each figure, ours, and theirs."""
    mode = skill.mode
    assert skill.made is not None
    assert skill.score is not None
    alone, whole = metrics["execution_only"], metrics["end_to_end"]
    yield "R", skill.ratio, alone["ratios_vs_baseline"][mode]
    for name, (theirs, gain) in RESOURCES.items():
        ours = skill.resources[name]
        yield f"E {name}", ours.execution, alone["efficiency_vs_baseline"][mode][gain]
        yield f"E all {name}", ours.end_to_end, whole["efficiency_vs_baseline"][mode][gain]
        uses = None if ours.break_even == "never" else ours.break_even
        yield f"break-even {name}", uses, costs["break_even_reuse_count"][mode][theirs]
        for n, ratio in ours.amortised.items():
            yield (
                f"{name} after {n}",
                ratio,
                costs["amortized_ratio_vs_direct"][mode][str(n)][theirs],
            )
    row = next(each for each in costs["cost_rows"] if each["mode"] == mode)
    rounded = round(skill.score.after, 4) - round(skill.score.before, 4)
    points = per_million(rounded, skill.resources["tokens"].totals)
    yield "points", points, row["delta_score_per_1m_extra_tokens"]
    yield "made", skill.made.skills, metrics["created_skills"][f"{mode}_count"]
    yield "quality", skill.made.quality, metrics["skill_quality"][f"{mode}_mean"]
    if skill.first_to_second is not None:
        told = metrics["postskill"]
        yield "second", skill.first_to_second.change, told["second_vs_first_delta"]
        yield "second, ratio", skill.first_to_second_ratio, told["second_vs_first_ratio"]


def alike(ours: Any, theirs: Any) -> bool:
    """Their ratios are of scores that they rounded to four digits first."""
    if isinstance(ours, float) and isinstance(theirs, float):
        return abs(ours - theirs) <= 1e-3 * max(1.0, abs(theirs))
    return bool(ours == theirs)


def main(checkout: Path) -> int:
    sys.path.insert(0, str(checkout.resolve() / "evoclawbench" / "scripts"))
    metrics = importlib.import_module("lib_metrics")
    analysis = importlib.import_module("analyze_cost_and_amortization")
    count, different = 0, []
    for seed in range(FILES):
        with tempfile.TemporaryDirectory() as folder:
            file, run = Path(folder, "result.json"), Path(folder, "run")
            data = results(random.Random(seed), metrics)
            file.write_text(json.dumps(data))
            with redirect_stdout(StringIO()):
                assert agentbench(["import", str(file), "-o", str(run)]) == 0
            costs = analysis.summarize_result(file)
            with open_run(run) as opened:
                skills = opened.scoreboard().skills
        for skill in skills:
            for name, ours, theirs in figures(skill, data["metrics"], costs):
                count += 1
                if not alike(ours, theirs):
                    different.append(f"file {seed}, {skill.mode}, {name}: {ours}, theirs {theirs}")
    print("\n".join([*different, f"{count} skill metrics, {len(different)} differ"]))
    return bool(different)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
