from pathlib import Path

from pytest_agentbench.execution import View
from pytest_agentbench.sandbox.docker import covered, places


def test_folders_are_seen_at_their_own_paths(tmp_path: Path) -> None:
    work, script, gateway = tmp_path / "work", tmp_path / "agent.py", tmp_path / "gateway"
    view = View(writable=(work,), readable=(script, work), network="gateway", gateway=gateway)
    assert places(view) == [
        (work, work, False),
        (script, script, True),
        (gateway, gateway, True),
    ]


def test_the_gateway_is_seen_only_where_it_is_asked_for(tmp_path: Path) -> None:
    assert places(View(network="none", gateway=tmp_path)) == []


def test_a_linked_file_is_seen_where_it_is_asked_for_and_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "real").touch()
    (tmp_path / "link").symlink_to("real")
    real, link = tmp_path / "real", tmp_path / "link"
    assert places(View(readable=(link,))) == [(real, real, True), (real, link, True)]


def test_hidden_folders_are_covered_only_where_they_would_show(tmp_path: Path) -> None:
    project = tmp_path / "project"
    shown = [project, tmp_path / "work"]
    hidden = [project / "scenarios", tmp_path / "elsewhere", project]
    assert covered(shown, hidden) == [project / "scenarios"]
