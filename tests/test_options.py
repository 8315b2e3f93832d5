"""Options and ``[tool.agentbench]``: what they mean and what is refused, as text."""

from __future__ import annotations

from fnmatch import fnmatch

import pytest

from pytest_agentbench.runtimes.registry import ADAPTERS
from tests.project import Project


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["--runtime=oracel"],
            (
                "ERROR: --runtime: 'oracel' is not known (did you mean 'oracle'?); "
                f"allowed: {', '.join(sorted(ADAPTERS))}; "
                "no pyproject.toml with [tool.agentbench] was found"
            ),
        ),
        (
            ["--runtime=nop", "--mode=basline"],
            (
                "ERROR: --mode: 'basline' is not known (did you mean 'baseline'?); "
                "allowed: baseline, discard-skill, empty-skill, irrelevant-skill, postskill, preskill, "
                "transfer, with-skill"
            ),
        ),
        (
            ["--runtime=nop", "--trials=0"],
            "ERROR: --trials must be a whole number from 1 to 10000, not 0",
        ),
        (
            ["--runtime=nop", "--gate=maybe"],
            (
                "ERROR: --gate: 'maybe' does not exist; give the folder of an earlier run, of which "
                "plan.json and ledger.jsonl are needed; or none, or trials"
            ),
        ),
        (
            ["--runtime=nop", "--timeout-multiplier=-1"],
            "ERROR: --timeout-multiplier must be a number above 0, not -1.0",
        ),
        *(
            (
                [f"--runtime={adapter}@7", "--model=scripted"],
                (
                    f"ERROR: --runtime={adapter}@7: {adapter} comes with pytest-agentbench and has no "
                    "version '7'; allowed: 1"
                ),
            )
            for adapter in ("nop", "oracle", "minimal")
        ),
        (["--runtime=nop", "--runtime=nop"], "ERROR: --runtime: nop is given twice"),
        (
            ["--runtime=nop", "--timeout-multiplier=nan"],
            "ERROR: --timeout-multiplier must be a number above 0, not nan",
        ),
    ],
)
def test_a_wrong_option_is_a_usage_error(project: Project, args: list[str], message: str) -> None:
    result = project.run("scenarios", *args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in result.errlines


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            "[tool.agentbench]\nruntime = 'nop'\n",
            (
                "ERROR: pyproject.toml: [tool.agentbench]: key: 'runtime' is not known (did you mean "
                "'runtimes'?); allowed: defaults, runtimes, models, prices, budget, gate, profiles"
            ),
        ),
        (
            "[tool.agentbench.runtimes.mine]\nversion = '1'\n",
            'ERROR: pyproject.toml: [tool.agentbench.runtimes.mine] needs adapter = "NAME"',
        ),
        (
            "[tool.agentbench.defaults]\nspeed = 3\n",
            (
                "ERROR: pyproject.toml: [tool.agentbench.defaults]: key: 'speed' is not known; "
                "allowed: runtime, model, mode, trials, sandbox, gate, timeout_multiplier, "
                "timeout_floor, max_attempts, checker_seconds, claim_seconds, keep_workspace, view, "
                "exposure, progress, scoring, skill_mutation, skill_check, skill_library, profile, "
                "selector, judge, judge_vote, judge_concurrency, judge_seconds, judge_cache"
            ),
        ),
        (
            "[tool.agentbench.runtimes.mine]\nadapter = 'own'\n",
            (
                "ERROR: [tool.agentbench.runtimes.mine]: adapter: 'own' is not known; "
                f"allowed: {', '.join(sorted(ADAPTERS))}"
            ),
        ),
    ],
)
def test_a_wrong_table_is_a_usage_error(project: Project, table: str, message: str) -> None:
    project.write("pyproject.toml", table)
    result = project.run("scenarios", "--runtime=mine")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in result.errlines


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            "[tool.agentbench.defaults]\ntrials = '3'\n",
            "[tool.agentbench.defaults]: trials must be a whole number from 1 to 10000, not '3'",
        ),
        (
            "[tool.agentbench.defaults]\nmode = 3\n",
            "[tool.agentbench.defaults]: mode must be a name or a list of names, not 3",
        ),
        (
            "[tool.agentbench.defaults]\njudge = ['none']\n",
            "[tool.agentbench.defaults]: judge: 'none' is not known; allowed: scripted; read: *",
        ),
        (
            "[tool.agentbench.defaults]\nsandbox = 'foo'\n",
            (
                "[tool.agentbench.defaults]: sandbox: unknown sandbox 'foo'; available: auto, bwrap, "
                "unshare, subreaper, docker, none"
            ),
        ),
        (
            "[tool.agentbench.defaults]\ngate = 'nowhere'\n",
            "[tool.agentbench.defaults]: gate: 'nowhere' does not exist; *",
        ),
        (
            "[tool.agentbench.gate]\nbaseline = 'nowhere'\n",
            "[tool.agentbench.gate]: baseline: 'nowhere' does not exist; *",
        ),
        (
            "[tool.agentbench.budget]\nday = {}\n",
            "[tool.agentbench.budget]: 'day' is not known; allowed: trial, run",
        ),
        (
            (
                "[tool.agentbench.defaults]\nmodel = 'scripted'\n"
                "[tool.agentbench.prices.scripted]\ninput = 1\n"
            ),
            '[tool.agentbench.prices."scripted"] needs as_of; write for example:',
        ),
    ],
)
def test_a_wrong_value_is_told_with_the_file_and_the_key_where_it_stands(
    project: Project, table: str, message: str
) -> None:
    project.write("pyproject.toml", table)
    result = project.run("scenarios", "--runtime=minimal")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert fnmatch(
        result.errlines[0].replace("[", "("), f"ERROR: pyproject.toml: {message}".replace("[", "(")
    )


def test_defaults_come_from_the_table_and_the_command_line_wins(project: Project) -> None:
    project.write(
        "pyproject.toml",
        "[tool.agentbench.defaults]\nruntime = ['oracle', 'nop']\ntrials = 2\n",
    )
    project.run("scenarios").assert_outcomes(passed=2, failed=2)
    project.run("scenarios", "--runtime=oracle", "--trials=1").assert_outcomes(passed=1)


def test_a_profile_names_a_configuration_of_an_adapter(project: Project) -> None:
    project.write(
        "pyproject.toml",
        "[tool.agentbench.runtimes.idle]\nadapter = 'command'\nargv = ['true']\n",
    )
    project.bench(runtime="idle").assert_outcomes(failed=1)
    (record,) = project.records()
    assert (record["runtime"], record["adapter"]) == ("idle", "command")


def test_a_model_of_the_profile_is_the_trials_model(project: Project) -> None:
    project.write(
        "pyproject.toml",
        "[tool.agentbench.runtimes.mine]\nadapter = 'minimal'\nmodel = 'quick'\n"
        "[tool.agentbench.models.quick]\nbackend = 'scripted'\n",
    )
    project.bench(runtime="mine").assert_outcomes(passed=1)
    assert [r["model"] for r in project.records()] == ["quick"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            "[tool.agentbench.runtimes.mine]\nadapter = 'command'\nargs = ['x']\n",
            (
                "ERROR: [tool.agentbench.runtimes.mine]: unknown option 'args'; allowed: argv, stdin, "
                "env, pass_env, install, calls_model, capabilities, readable, network"
            ),
        ),
        (
            (
                "[tool.agentbench.runtimes.mine]\nadapter = 'minimal'\nmodel = 'quick'\n"
                "[tool.agentbench.models.quick]\nbackend = 'scripted'\npolicy = 'win'\n"
            ),
            (
                "ERROR: [tool.agentbench.models.quick]: policy 'win' is not known; allowed: solve, "
                "solve-with-p, wrong, careless, apprentice, loop, refuse, stall, judge, drafter, error:STATUS"
            ),
        ),
    ],
)
def test_a_profile_with_wrong_options_is_a_usage_error(
    project: Project, table: str, message: str
) -> None:
    project.write("pyproject.toml", table)
    result = project.run("scenarios", "--runtime=mine")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in result.errlines


@pytest.mark.parametrize(
    ("table", "args", "message"),
    [
        (
            "",
            ["--runtime=minimal"],
            (
                "--runtime=minimal needs a model: give --model=NAME, or model = "
                '"NAME" in [tool.agentbench.runtimes.minimal]'
            ),
        ),
        (
            "[tool.agentbench.runtimes.mine]\nadapter = 'command'\nargv = ['true']\n",
            ["--runtime=mine", "--model=scripted"],
            (
                "[tool.agentbench.runtimes.mine]: the model scripted would change nothing: argv and "
                "env have neither {url} and {token}, which lead to it, nor {model}, its name"
            ),
        ),
        (
            "[tool.agentbench.runtimes.mine]\nadapter = 'command'\nargv = ['true', '{url}']\n",
            ["--runtime=mine"],
            (
                "--runtime=mine needs a model: give --model=NAME, or model = "
                '"NAME" in [tool.agentbench.runtimes.mine]'
            ),
        ),
        (
            (
                "[tool.agentbench.runtimes.mine]\nadapter = 'command'\nargv = ['true', '{url}']\n"
                "network = 'open'\n"
            ),
            ["--runtime=mine", "--model=scripted"],
            (
                "[tool.agentbench.runtimes.mine]: {url} and {token} are the way to a model that is a "
                'program\'s only network; drop them, or network = "open"'
            ),
        ),
        (
            "[tool.agentbench.models.quick]\nbackend = 'foo'\n",
            ["--runtime=minimal", "--model=quick"],
            (
                "[tool.agentbench.models.quick]: backend 'foo' is not known; there are: scripted, "
                "upstream"
            ),
        ),
    ],
)
def test_a_model_that_is_missing_or_wrong_is_a_usage_error_and_no_trial_starts(
    project: Project, workers: list[str], table: str, args: list[str], message: str
) -> None:
    project.write("pyproject.toml", table)
    result = project.run("scenarios", "--run-dir=run", *args, *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: {message}" in result.errlines
    assert not (project.path / "run").exists()


def test_a_default_runtime_without_a_model_stops_no_other_tests(project: Project) -> None:
    project.write("pyproject.toml", "[tool.agentbench.defaults]\nruntime = 'minimal'\n")
    project.write("test_own.py", "def test_one(): pass\n")
    project.run("test_own.py").assert_outcomes(passed=1)


@pytest.mark.parametrize("strict", [["--strict-markers"], ["-W", "error"]])
def test_without_pytest_timeout_its_mark_is_known(
    project: Project, workers: list[str], strict: list[str]
) -> None:
    project.bench("-p", "no:timeout", *strict, *workers).assert_outcomes(passed=1)


def test_the_table_is_found_beside_another_configuration_file(project: Project) -> None:
    project.write("pyproject.toml", "[tool.agentbench.runtimes.mine]\nadapter = 'oracle'\n")
    project.write("other.toml", "[tool.pytest.ini_options]\n")
    project.bench("-c", "other.toml", runtime="mine").assert_outcomes(passed=1)
