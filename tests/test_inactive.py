"""An installed plugin changes nothing for a project that does not use it."""

from __future__ import annotations

import pytest

IMPORTS = """
import sys

def test_nothing_is_imported():
    ours = sorted(name for name in sys.modules if name.startswith("pytest_agentbench"))
    assert ours == ["pytest_agentbench", "pytest_agentbench.hooks", "pytest_agentbench.plugin"]
"""


def test_nothing_is_imported_beyond_the_entry(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(IMPORTS)
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_nothing_is_collected_or_printed(pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("scenarios")
    (folder / "x.yaml").write_text("agentbench: 1\nprompt: hello\n")
    pytester.makepyfile("def test_one(): pass")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*agentbench:*")
    result.stdout.no_fnmatch_line("*scoreboard*")


def test_a_project_may_have_options_and_fixtures_of_the_same_names(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(
        """
        import pytest

        def pytest_addoption(parser):
            for name in ("--model", "--mode", "--trials", "--sandbox", "--gate", "--dry-run"):
                parser.addoption(name)

        @pytest.fixture
        def workspace(): return "mine"
        """
    )
    pytester.makepyfile(
        """
        def test_mine(workspace, request):
            assert workspace == "mine"
            assert request.config.getoption("--model") == "a"
        """
    )
    pytester.runpytest_subprocess("--model=a").assert_outcomes(passed=1)


def test_fixtures_are_not_listed(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("--fixtures")
    result.stdout.no_fnmatch_line("*pytest_agentbench*")


def test_help_shows_the_options(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("--help")
    result.stdout.fnmatch_lines(["*agent benchmarks:*", "*--runtime*NAME*"])


def test_a_conftest_with_our_hooks_loads_when_inactive(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("def pytest_agentbench_runtimes(config): return {}")
    pytester.makepyfile("def test_one(): pass")
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_a_table_alone_collects_no_scenarios(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml("[tool.agentbench.defaults]\ntrials = 2\n")
    folder = pytester.mkdir("scenarios")
    (folder / "x.yaml").write_text("agentbench: 1\nprompt: hello\n")
    pytester.makepyfile("def test_one(): pass")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*scoreboard*")
