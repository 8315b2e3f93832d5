"""What programs need beside their own file."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.runtimes.installed import needed


def program(path: Path, first_line: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{first_line}\n")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_lone_file(tmp_path: Path) -> None:
    agent = program(tmp_path / "agent")
    assert needed(agent) == (agent,)


def test_a_script_of_a_virtual_environment(tmp_path: Path) -> None:
    base = program(tmp_path / "base/bin/python3.12")
    (tmp_path / "base/lib").mkdir()
    (tmp_path / "venv/lib").mkdir(parents=True)
    (tmp_path / "venv/pyvenv.cfg").write_text(f"home = {tmp_path}/base/bin\nversion = 3.12\n")
    (tmp_path / "venv/bin").mkdir()
    python = tmp_path / "venv/bin/python"
    python.symlink_to(base)
    agent = program(tmp_path / "venv/bin/agent", f"#!{python}")
    link = tmp_path / "home/.local/bin/agent"
    link.parent.mkdir(parents=True)
    link.symlink_to(agent)
    assert set(needed(link)) == {
        *(link, agent, python, base),
        *(tmp_path / "venv" / name for name in ("bin", "lib", "pyvenv.cfg")),
        *(tmp_path / "base" / name for name in ("bin", "lib")),
    }


def test_a_package_of_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = program(tmp_path / "node/bin/node")
    package = tmp_path / "node/lib/node_modules"
    entry = program(package / "agent/bin/agent.js", "#!/usr/bin/env -S node --no-warnings")
    link = tmp_path / "node/bin/agent"
    link.symlink_to(entry)
    monkeypatch.setenv("PATH", str(node.parent))
    found = needed(link)
    assert {link, entry, package, node, node.parent, tmp_path / "node/lib"} <= set(found)
    assert tmp_path not in found


def test_of_a_shared_prefix_only_the_file(home: Path) -> None:
    agent = program(home / ".local/bin/agent")
    (home / ".local/lib").mkdir()
    assert needed(agent) == (agent,)


@pytest.mark.parametrize("line", ["#!", "#!'", "#!/no/such/thing", "#!relative", "\0\1\2"])
def test_first_lines_that_name_nothing(tmp_path: Path, line: str) -> None:
    agent = program(tmp_path / "agent", line)
    assert needed(agent) == (agent,)


def test_scripts_that_name_each_other(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    program(one, f"#!{two}")
    program(two, f"#!{one}")
    assert needed(one) == (one, two)
