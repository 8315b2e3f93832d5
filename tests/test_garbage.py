"""Whatever an agent leaves at the expected path is graded, and hurts nothing."""

from __future__ import annotations

import pytest

from tests.project import Project

AGENTS = {
    "truncated": "printf '{\"a\": ' > out/answer.json",
    "list": "echo '[1, 2]' > out/answer.json",
    "binary": "head -c 5000 /dev/urandom > out/answer.json",
    "huge": "truncate -s 200M out/answer.json",
    "folder": "mkdir out/answer.json",
    "fifo": "mkfifo out/answer.json",
    "link": "ln -s /etc/passwd out/answer.json",
    "loop": "ln -s answer.json out/answer.json",
    "deep": "python3 -c 'print(\"[\" * 100000)' > out/answer.json",
    "nan": "echo '{\"word\": NaN}' > out/answer.json",
}
CHECKER = """
import json, pathlib

def word(workspace, trace):
    return json.loads((workspace / "out" / "answer.json").read_text())["word"] == "LOWER"
"""


@pytest.mark.parametrize("kind", ["declarative", "python"])
def test_garbage_is_a_graded_failure(project: Project, kind: str, workers: list[str]) -> None:
    if kind == "python":
        path = project.path / "scenarios" / "shout.yaml"
        check = "{id: word, type: json_path, path: out/answer.json, query: $.word, equals: LOWER}"
        assert check in path.read_text()
        path.write_text(
            path.read_text().replace(
                check, '{id: word, type: python, function: "checkers/c.py:word"}'
            )
        )
        project.write("checkers/c.py", CHECKER)
    profiles = "".join(
        f"[tool.agentbench.runtimes.{name}]\nadapter = 'command'\n"
        f"argv = ['sh', '-c', '''mkdir out; {command}''']\n"
        for name, command in AGENTS.items()
    )
    project.write("pyproject.toml", profiles)
    chosen = [f"--runtime={name}" for name in AGENTS]
    result = project.run("scenarios", *chosen, "--run-dir=run", *workers)
    result.assert_outcomes(failed=len(AGENTS))
    records = {r["runtime"]: r for r in project.records()}
    assert records.keys() == AGENTS.keys()
    assert {r["status"] for r in records.values()} == {"completed"}
    for record in records.values():
        word = next(c for c in record["grade"]["checks"] if c["id"] == "word")
        assert (word["earned"], word["passed"]) == (0, False)
    written = (project.path / "run" / "ledger.jsonl").read_text()
    assert "root:x:0:0" not in written + result.stdout.str()


REPLACED = {
    "link": "mv $PWD $PWD.old; ln -s OUTER/ws $PWD",
    "outer link": "cd ..; mv $PWD $PWD.old; ln -s OUTER $PWD",
    "file": "mv $PWD $PWD.old; echo LOWER > $PWD",
    "nothing": "rm -rf $PWD",
}


@pytest.mark.parametrize("how", REPLACED)
def test_a_workspace_that_was_replaced_is_empty_to_everybody(project: Project, how: str) -> None:
    path = project.path / "scenarios" / "shout.yaml"
    checks = "checks:\n  - {id: run, type: command, argv: [grep, -q, LOWER, out/answer.json]}\n"
    checks += "  - {id: code, type: python, function: 'c.py:word'}\n"
    text = path.read_text().replace("checks:\n", checks)
    path.write_text(text + "teardown_script: down.sh\n")
    project.write("scenarios/c.py", CHECKER)
    project.write("scenarios/down.sh", "touch was_here\n")
    project.write("elsewhere/ws/out/answer.json", '{"word": "LOWER"}')
    outer = project.path / "elsewhere"
    line = REPLACED[how].replace("OUTER", str(outer))
    project.write(
        "pyproject.toml",
        "[tool.agentbench.runtimes.mover]\nadapter = 'command'\n"
        f"argv = ['sh', '-c', '''{line}''']\n",
    )
    sandbox = "--sandbox=subreaper"  # in others the folder is a mount, and stays
    project.bench(sandbox, runtime="mover").assert_outcomes(failed=1)
    (record,) = project.records()
    assert record["flags"] == ["workspace_replaced"]
    assert [c["id"] for c in record["grade"]["checks"] if c["passed"]] == []
    assert sorted(p.name for p in outer.rglob("*")) == ["answer.json", "out", "ws"]
