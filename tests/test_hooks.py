"""What third parties offer through hooks, from a ``conftest.py``."""

from __future__ import annotations

from tests.project import Project


def test_a_section_of_a_report_stands_below_the_scoreboard(
    project: Project, workers: list[str]
) -> None:
    project.write(
        "conftest.py",
        "def pytest_agentbench_report_section(scoreboard):\n"
        "    return f'mine: {len(scoreboard.rows)} row\\nand a second line'\n",
    )
    result = project.bench(*workers)
    result.stdout.fnmatch_lines(
        ["*agentbench scoreboard*", "score *", "mine: 1 row", "and a second line"]
    )
