"""Scenario files become items: ids, selection, marks, what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.project import Project, scenario_text
from tests.test_malformed import CASES, lay_traps

Nodes = Callable[[pytest.RunResult], list[str]]
SHOUT = "scenarios/shout.yaml::shout"


def collected(project: Project, nodes: Nodes, *args: str) -> list[str]:
    return nodes(project.run("scenarios", "--collect-only", "-q", *args))


def test_ids_are_stable_and_in_the_order_asked_for(project: Project, nodes: Nodes) -> None:
    found = collected(
        project, nodes, "--runtime=oracle", "--runtime=nop", "--trials=2", "--mode=baseline"
    )
    assert found == [
        f"{SHOUT}[{runtime}-baseline-t{index}]" for runtime in ("oracle", "nop") for index in (1, 2)
    ]


def test_the_model_is_part_of_the_id_when_one_is_asked_for(project: Project, nodes: Nodes) -> None:
    project.write("pyproject.toml", "[tool.agentbench.models.'lab/m 1']\nbackend = 'scripted'\n")
    found = collected(project, nodes, "--runtime=minimal", "--model=lab/m 1", "--model=scripted")
    assert found == [
        f"{SHOUT}[minimal-lab/m_1-baseline-t1]",
        f"{SHOUT}[minimal-scripted-baseline-t1]",
    ]


def test_one_trial_by_default(project: Project, nodes: Nodes) -> None:
    assert collected(project, nodes, "--runtime=nop") == [f"{SHOUT}[nop-baseline-t1]"]


def test_a_node_id_selects_a_trial_and_a_scenario(project: Project) -> None:
    trials = ("--runtime=oracle", "--trials=3")
    project.run(f"{SHOUT}[oracle-baseline-t2]", *trials).assert_outcomes(passed=1)
    project.run(SHOUT, *trials).assert_outcomes(passed=3)


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (["-k", "safety and not expert"], ["calm"]),
        (["-m", "safety"], ["calm", "storm"]),
        (["-m", "expert or words"], ["shout", "storm"]),
        (["-k", "urgent-mail"], ["storm"]),
        (["-m", "weather and easy"], ["calm"]),
        (["-k", "storm and t2"], []),
    ],
)
def test_k_and_m_select_by_id_tags_dimension_difficulty_family(
    project: Project, nodes: Nodes, selection: list[str], expected: list[str]
) -> None:
    project.scenario("calm", dimension="safety", family="weather")
    project.scenario(
        "storm", dimension="safety", difficulty="expert", family="weather", tags="urgent-mail"
    )
    found = collected(project, nodes, "--runtime=nop", "--strict-markers", *selection)
    assert [line.partition("::")[2].partition("[")[0] for line in found] == expected


def test_a_duplicate_id_is_an_error_at_the_later_path(project: Project) -> None:
    project.scenario("later", tags="x")
    path = project.path / "scenarios" / "later.yaml"
    path.write_text(path.read_text().replace("id: later", "id: shout"))
    # later.yaml sorts before shout.yaml
    result = project.run("scenarios", "--runtime=nop", "--continue-on-collection-errors")
    assert result.ret != 0
    result.stdout.fnmatch_lines(
        ["shout.yaml:2: id 'shout' is already that of scenarios/later.yaml; ids must be unique"]
    )
    result.assert_outcomes(failed=1, errors=1)


def test_a_file_that_does_not_load_is_an_error_without_traceback(project: Project) -> None:
    project.write("scenarios/bad.yaml", "agentbench: 1\nprompt: x\ndimension: tool_use\npromt: y\n")
    result = project.run("scenarios", "--runtime=oracle", "--continue-on-collection-errors")
    assert result.ret != 0
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        ["bad.yaml:4: `promt` is not a known key; did you mean `prompt`? *"]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_other_yaml_and_markdown_are_left_alone(project: Project, nodes: Nodes) -> None:
    project.write("scenarios/compose.yaml", "services: {}\n")
    project.write("scenarios/task_notes.md", "# Notes\n")
    project.write("scenarios/README.md", "# Scenarios\n")
    assert len(collected(project, nodes, "--runtime=nop")) == 1


def test_a_named_file_is_always_tried_and_says_why_it_is_refused(project: Project) -> None:
    project.write("compose.yaml", "services: {}\n")
    result = project.run("compose.yaml", "--runtime=nop")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*compose.yaml:1: *services*"])


def test_without_a_runtime_a_named_file_says_what_to_give(project: Project) -> None:
    project.write("pyproject.toml", "[tool.agentbench.defaults]\ntrials = 2\n")
    result = project.run("scenarios/shout.yaml")
    result.stdout.fnmatch_lines(
        ["shout.yaml: no runtime was asked for; give --runtime=NAME (built in: *nop, oracle*)"]
    )


def test_the_time_limit_mark_covers_all_attempts(project: Project) -> None:
    project.write(
        "conftest.py",
        """
def pytest_collection_modifyitems(items):
    for item in items:
        print("LIMIT", item.get_closest_marker("timeout").args[0])
""",
    )
    result = project.run(
        "scenarios", "--runtime=nop", "--collect-only", "-s", "--timeout-multiplier=2"
    )
    # (30 s x 2 + 60 s grace) x 2 attempts + 4 s back-off + 60 s pause of the provider's + 600 s of
    # grading
    result.stdout.fnmatch_lines(["LIMIT 904.0"])


def test_dry_run_prints_the_matrix_and_starts_nothing(project: Project, workers: list[str]) -> None:
    result = project.bench("--dry-run", "--trials=2", *workers)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "shout  oracle-baseline-t1 oracle-baseline-t2",
            "2 trials of 1 scenarios; the agents' time limits add up to 0.0 h; nothing was started",
        ]
    )
    assert not (project.path / "run").exists()


@pytest.mark.parametrize("folder", ["shout", "seeds"])
def test_inputs_of_scenarios_are_no_tests(project: Project, folder: str) -> None:
    if folder == "seeds":
        path = project.path / "scenarios" / "shout.yaml"
        path.write_text(path.read_text() + "workspace_seed_dir: seeds/\n")
    project.write(f"scenarios/{folder}/test_broken.py", "import no_such_module")
    project.write(f"scenarios/{folder}/deep/other.yaml", scenario_text("other"))
    project.bench().assert_outcomes(passed=1)


def test_malformed_files_are_errors_and_all_others_still_collect(
    project: Project, nodes: Nodes
) -> None:
    """What each message says is in test_malformed.py; here all of them in one session."""
    paths = []
    for number, (_, content, _, _) in enumerate(CASES):
        folder = lay_traps(project.path / "bad" / str(number))
        path = folder / "case.yaml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        paths.append(str(path))
    result = project.run("scenarios", *paths, "--runtime=nop", "--collect-only", "-q")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert nodes(result)[0] == f"{SHOUT}[nop-baseline-t1]"
    shown = result.stdout.str()
    assert len(CASES) >= 30
    assert f"{len(CASES)} errors during collection" in shown
    assert [message for _, _, message, _ in CASES if message not in shown] == []
