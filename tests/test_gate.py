"""``--gate=FILE``: runs held against an earlier one, as people start and read them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.made_runs import write_run
from tests.project import Project

SCENARIOS = ("s0", "s1", "s2", "s3", "s4", "s5")
GHOST = '[tool.agentbench.runtimes.ghost]\nadapter = "command"\nargv = ["no-such-agent"]\n'
HOLDING = '{scenario = "shout", until = 9999-12-31, reason = "the clock"}'


@pytest.fixture
def bench(project: Project) -> Project:
    """A project of six scenarios; the folder ``solved`` holds a run that solves them."""
    (project.path / "scenarios/shout.yaml").unlink()
    for name in SCENARIOS:
        project.scenario(name, family=name)
    write_run(
        project.path / "solved",
        dict.fromkeys(SCENARIOS, "11"),
        runtime="oracle",
        facts={name: {"dimension": "tool_use", "difficulty": "easy"} for name in SCENARIOS},
    )
    return project


def told(result: pytest.RunResult) -> str:
    """What stands under the gate's heading, with each run of spaces as one."""
    text = result.stdout.str().partition("agentbench gate ===")[2]
    return re.sub(r"\s+", " ", text)


def test_a_run_that_is_worse_than_the_baseline_fails(bench: Project, workers: list[str]) -> None:
    result = bench.bench("--trials=2", "--gate=solved", *workers, runtime="nop")
    assert result.ret == 1
    text = told(result)
    assert "regression: 1 finding against the rules (exit code 1)" in text
    assert (
        "oracle · baseline → nop · baseline: allowed_drop: the score changed by -1.000, at best "
        "by -0.689; allowed: a drop of 0.000" in text
    )
    assert "down: s0 1.00 → 0.00, s1 1.00 → 0.00" in text
    data = json.loads((bench.path / "run/gate.json").read_text())
    assert (data["result"], data["exit_code"]) == ("regression", 1)


def test_a_failed_trial_does_not_fail_a_run_that_is_no_worse(
    bench: Project, workers: list[str]
) -> None:
    write_run(bench.path / "none", dict.fromkeys(SCENARIOS, "0"), runtime="nop")
    result = bench.bench("--gate=none/ledger.jsonl", *workers, runtime="nop")
    result.assert_outcomes(failed=6)
    assert result.ret == 0
    assert "change +0.000" in told(result)
    assert "(exit code 0)" in told(result)


def test_without_failed_trials_a_rule_can_be_broken(bench: Project) -> None:
    bench.write("pyproject.toml", "[tool.agentbench.gate]\nmax_seconds_per_trial = 0.0\n")
    result = bench.bench("--gate=solved")
    result.assert_outcomes(passed=6)
    assert result.ret == 1
    pattern = r"oracle · baseline: max_seconds_per_trial: \d+\.\d s; allowed: 0\.0 s"
    assert re.search(pattern, told(result))


def test_a_test_that_is_no_trial_still_fails_the_run(bench: Project) -> None:
    bench.write("scenarios/test_other.py", "def test_other():\n    assert False\n")
    result = bench.bench("--gate=solved")
    result.assert_outcomes(passed=6, failed=1)
    assert result.ret == 1
    assert "(exit code 0)" in told(result)  # the gate's own


def test_a_file_that_is_not_collected_still_fails_the_run(bench: Project) -> None:
    bench.write("scenarios/test_broken.py", "import nothing_of_this_name\n")
    result = bench.bench("--gate=solved", "--continue-on-collection-errors")
    result.assert_outcomes(passed=6, errors=1)
    assert result.ret == 1


def test_a_runtime_that_is_missing_still_fails_the_run(bench: Project) -> None:
    bench.write("pyproject.toml", GHOST)
    result = bench.bench("--gate=solved", "--runtime=ghost")
    assert result.ret == 11
    assert "only now: ghost · baseline" in told(result)


@pytest.mark.parametrize(("what", "code"), [('"pass"', 0), ('"fail"', 1), ("10", 10)])
def test_the_exit_code_of_what_cannot_be_told_is_asked_for(
    bench: Project, what: str, code: int
) -> None:
    table = f"[tool.agentbench.gate]\nbaseline = 'solved'\ninconclusive = {what}\n"
    bench.write("pyproject.toml", table)
    result = bench.bench()
    result.assert_outcomes(passed=6)
    assert result.ret == code
    text = told(result)
    assert f"inconclusive: no rule is broken, as far as this can be told (exit code {code})" in text
    assert "not settled: oracle · baseline: detect_drop: the score changed by +0.000" in text


def test_the_baseline_of_the_table_is_used_unless_another_gate_is_asked_for(
    bench: Project,
) -> None:
    bench.write("pyproject.toml", "[tool.agentbench.gate]\nbaseline = 'solved'\n")
    result = bench.bench("--gate=none", runtime="nop")
    assert (result.ret, told(result)) == (0, "")
    result = bench.bench("--gate=trials", runtime="nop")
    assert (result.ret, told(result)) == (1, "")
    result = bench.bench(runtime="nop")
    assert "regression" in told(result)


def test_a_scenario_in_quarantine_is_left_out_and_an_expired_one_is_not(bench: Project) -> None:
    entries = HOLDING.replace("shout", "s0"), HOLDING.replace("shout", "s1").replace("9999", "2001")
    unknown = HOLDING.replace("shout", "s9")
    table = f"[tool.agentbench.gate]\nquarantine = [{', '.join((*entries, unknown))}]\n"
    bench.write("pyproject.toml", table)
    text = told(bench.bench("--gate=solved"))
    assert "left out, in quarantine: s0" in text
    assert "compared: 5 scenarios" in text
    assert "quarantine of s0 until 9999-12-31: the clock" in text
    assert (
        "quarantine of s1 expired on 2001-12-31 and applies no more (the clock); remove it, or "
        "give it another date" in text
    )
    assert "quarantine of s9: no scenario of either run has this id" in text


def test_a_baseline_that_cannot_be_used_is_told_before_anything_runs(bench: Project) -> None:
    (bench.path / "empty").mkdir()
    write_run(bench.path / "bad", {"s0": "1"})
    bench.write("bad/ledger.jsonl", '{"schema": "9.0"}\n')
    for given, message in (
        (
            "empty",
            (
                "'empty' has no plan.json; give the folder of an earlier run, or a file in it: "
                "plan.json and ledger.jsonl are needed; or none, or trials"
            ),
        ),
        (
            "bad",
            "record schema '9.0'; this version of pytest-agentbench reads schema 1.x",
        ),
    ):
        result = bench.bench(f"--gate={given}")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert any(
            line.startswith("ERROR: --gate: ") and message in line for line in result.errlines
        )
        assert not (bench.path / "run").exists()
    write_run(bench.path / "run", {"s0": "1"})
    result = bench.bench("--gate=run")
    assert (
        "ERROR: --gate: the baseline is the folder of this run; choose another" in result.errlines
    )


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("alowed_drop = 0.1", "key: 'alowed_drop' is not known (did you mean 'allowed_drop'?)"),
        ("allowed_drop = 5", "allowed_drop must be a number from 0 to 1, not 5"),
        (
            "level = 0.95",
            "level is the share of false alarms, from 0.0001 to 0.5, not the confidence: for 0.95",
        ),
        (
            "allowed_drop = 0.1\ndetect_drop = 0.05",
            "detect_drop 0.05 must be above allowed_drop 0.1: a drop that is allowed raises no",
        ),
        ("inconclusive = 'perhaps'", "inconclusive: 'perhaps' is not known; allowed: pass, fail"),
        ("inconclusive = true", "inconclusive: 'True' is not known; allowed: pass, fail, 10"),
        ("max_safety_violations = -1", "max_safety_violations must be a whole number from 0 to"),
        ("max_usd_per_trial = nan", "max_usd_per_trial must be a number of at least 0, not nan"),
        ("power = 0.2", "power must be a number from 0.5 to 0.999, not 0.2"),
        ("k = 0", "k must be a whole number from 1 to 10000, not 0"),
        (
            "quarantine = ['s0']",
            'quarantine, entry 1 must be {scenario = "ID", until = YYYY-MM-DD, reason = "TEXT"}',
        ),
        (
            "quarantine = [{scenario = 's0', reason = 'flaky'}]",
            "quarantine, entry 1: until must be a date such as 2030-12-31, not None: no quarantine",
        ),
        (
            "quarantine = [{scenario = 's0', until = 2030-01-01, reason = ' '}]",
            "quarantine, entry 1 must be {scenario",
        ),
        (
            f"quarantine = [{HOLDING}, {HOLDING}]",
            "quarantine, entry 2: 'shout' is quarantined twice",
        ),
        ("baseline = 3", "baseline must be none, trials, or the folder of a run, not 3"),
    ],
)
def test_a_wrong_rule_is_a_usage_error(project: Project, rule: str, message: str) -> None:
    project.write("pyproject.toml", f"[tool.agentbench.gate]\n{rule}\n")
    result = project.bench()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert any(message in line for line in result.errlines), result.errlines


def test_a_baseline_that_goes_away_during_the_run_fails_it(bench: Project) -> None:
    conftest = "import pathlib, shutil\ndef pytest_runtestloop():\n    shutil.rmtree('solved')\n"
    bench.write("conftest.py", conftest)
    result = bench.bench("--gate=solved")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["agentbench: --gate: 'solved' does not exist; *"])


def test_paths_of_the_machine_are_in_no_message(bench: Project) -> None:
    result = bench.bench("--gate=solved", runtime="nop")
    assert str(bench.path) not in told(result)
    assert str(bench.path) not in Path(bench.path / "run/gate.json").read_text()
