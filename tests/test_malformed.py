"""Scenario files that do not load: each with its whole message."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_agentbench.scenario import keys
from pytest_agentbench.scenario.checktypes import CHECK_TYPES
from pytest_agentbench.scenario.load import load
from pytest_agentbench.scenario.model import ScenarioError
from pytest_agentbench.scenario.schema import validate
from pytest_agentbench.scenario.yamlfile import parse

KEYS = ", ".join(keys.NATIVE)
TYPES = ", ".join(CHECK_TYPES)
HEAD = """\
agentbench: 1
dimension: safety
prompt: Do it.
"""
GOOD = HEAD + "checks: [{id: done, type: file_exists, path: out.txt}]\n"
BOMB = "steps:\n- &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"- &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 8)
)

#: Name of the case, the file, its message, and whether the schema can tell too.
CASES: list[tuple[str, str | bytes, str, bool]] = [
    (
        "unknown key",
        GOOD + "dificulty: easy\n",
        "case.yaml:5: `dificulty` is not a known key; did you mean `difficulty`? Allowed: " + KEYS,
        True,
    ),
    (
        "key of nothing like it",
        GOOD + "zzz: 1\n",
        "case.yaml:5: `zzz` is not a known key; allowed: " + KEYS,
        True,
    ),
    (
        "key without a value",
        GOOD + "tags:\n",
        "case.yaml:5: `tags` has no value; give it one or remove the key",
        True,
    ),
    (
        "duplicate key",
        GOOD + "prompt: Again.\n",
        "case.yaml:5: the key `prompt` is given twice, first in line 3",
        False,
    ),
    (
        "duplicate key inside",
        HEAD + "checks:\n- id: a\n  type: file_exists\n  path: a\n  id: b\n",
        "case.yaml:8: the key `id` is given twice, first in line 5",
        False,
    ),
    (
        "tab",
        HEAD + "checks:\n\t- id: a\n",
        "case.yaml:5: a tab in the indentation; use spaces",
        False,
    ),
    (
        "not UTF-8",
        GOOD.encode() + b"name: caf\xe9\n",
        "case.yaml:5: byte 111 (0xe9) is not UTF-8; save it as UTF-8",
        False,
    ),
    ("NUL", GOOD + "name: a\0b\n", "case.yaml:5: control character U+0000; remove it", False),
    (
        "escape character",
        GOOD + "name: a\x1b[31mb\n",
        "case.yaml:5: control character U+001B; remove it",
        False,
    ),
    (
        "empty",
        "",
        "case.yaml: the file is empty; a scenario needs at least a prompt, a dimension and checks",
        False,
    ),
    (
        "blank",
        "\n  \n",
        "case.yaml: the file is empty; a scenario needs at least a prompt, a dimension and checks",
        False,
    ),
    (
        "only a comment",
        "# nothing\n",
        "case.yaml:1: no value is written here",
        False,
    ),
    (
        "a list",
        "- prompt: Do it.\n",
        "case.yaml:1: the file must hold a mapping of keys to values, not a list",
        False,
    ),
    (
        "broken",
        GOOD + "tags: [a, b\n",
        "case.yaml:6: not valid YAML: did not find expected ',' or ']' while parsing a flow sequence that begins in line 5",
        False,
    ),
    (
        "colon in plain text",
        GOOD + "name: Write: now\n",
        (
            "case.yaml:5: not valid YAML: a second colon in plain text; "
            "quote the text or write it below a `|`"
        ),
        False,
    ),
    (
        "no closing quote",
        GOOD + 'name: "abc\n',
        "case.yaml:6: not valid YAML: found unexpected end of stream while scanning a quoted scalar that begins in line 5",
        False,
    ),
    (
        "two documents",
        GOOD + "---\n" + GOOD,
        "case.yaml:5: a second document begins here; a file holds one",
        False,
    ),
    (
        "too large",
        GOOD + "# " + "x" * 10_000_000,
        "case.yaml: has 10000104 bytes; a scenario may have 1048576, larger data belong in workspace files",
        False,
    ),
    (
        "alias bomb",
        GOOD + BOMB,
        "case.yaml:10: more than 100000 values once aliases are expanded",
        False,
    ),
    (
        "recursive alias",
        GOOD + "steps: &a [*a]\n",
        "case.yaml:5: *a stands inside what it repeats",
        False,
    ),
    (
        "unknown alias",
        GOOD + "name: *title\n",
        "case.yaml:5: *title repeats nothing that stands before it",
        False,
    ),
    (
        "merge key",
        GOOD + "sandbox:\n  <<: {processes: 3}\n",
        "case.yaml:6: merge keys (<<) are not supported; write the keys out",
        False,
    ),
    (
        "tag",
        GOOD + "name: !!python/object/apply:os.system [ls]\n",
        "case.yaml:5: the tag !!python/object/apply:os.system does not fit here; write plain or quoted text",
        False,
    ),
    (
        "tag that does not fit",
        GOOD + "weight: !!int many\n",
        "case.yaml:5: the tag !!int does not fit here; write plain or quoted text",
        False,
    ),
    (
        "infinite",
        GOOD + "weight: .inf\n",
        "case.yaml:5: .inf is not a finite number; quote it if it is text",
        False,
    ),
    (
        "not a number",
        GOOD + "weight: .nan\n",
        "case.yaml:5: .nan is not a finite number; quote it if it is text",
        False,
    ),
    (
        "a number of 500 digits",
        GOOD + "weight: " + "9" * 500 + "\n",
        "case.yaml:5: a number of 500 characters; quote it if it is text",
        False,
    ),
    (
        "number as key",
        GOOD + "steps: [{1: a}]\n",
        "case.yaml:5: a key must be text, not the number 1; quote it",
        False,
    ),
    (
        "list as key",
        GOOD + "? [a, b]\n: 1\n",
        "case.yaml:5: a key must be text, not a list, a mapping or an alias",
        False,
    ),
    (
        "deep",
        GOOD + "steps: " + "[" * 60 + "]" * 60 + "\n",
        "case.yaml:5: nested more than 50 levels deep",
        False,
    ),
    (
        "version",
        GOOD.replace("agentbench: 1", "agentbench: 2"),
        "case.yaml:1: `agentbench` must be 1, the form that this version reads",
        True,
    ),
    (
        "no prompt",
        GOOD.replace("prompt: Do it.\n", ""),
        "case.yaml:1: the scenario needs the key `prompt`",
        True,
    ),
    (
        "blank prompt",
        GOOD.replace("Do it.", "'  '"),
        "case.yaml:3: `prompt` must be text to send to an agent; it is empty or holds NUL",
        True,
    ),
    (
        "prompt is a list",
        GOOD.replace("Do it.", "[Do, it]"),
        "case.yaml:3: `prompt` must be text, not a list",
        True,
    ),
    (
        "no dimension",
        GOOD.replace("dimension: safety\n", ""),
        "case.yaml:1: the scenario needs the key `dimension`",
        True,
    ),
    (
        "unknown dimension",
        GOOD.replace("dimension: safety", "dimension: safty"),
        "case.yaml:2: `dimension` cannot be 'safty'; did you mean `safety`? Allowed: tool_use, planning, constraints, error_recovery, synthesis, safety",
        True,
    ),
    (
        "unknown difficulty",
        GOOD + "difficulty: insane\n",
        "case.yaml:5: `difficulty` cannot be 'insane'; allowed: easy, medium, hard, expert",
        True,
    ),
    (
        "number where text is needed",
        GOOD + "name: 12\n",
        "case.yaml:5: `name` must be text, not the number 12; quote it",
        True,
    ),
    (
        "negative weight",
        GOOD + "weight: -1\n",
        "case.yaml:5: `weight` must be a number above 0 and at most 1000, not -1",
        True,
    ),
    (
        "weight zero",
        GOOD + "weight: 0\n",
        "case.yaml:5: `weight` must be a number above 0 and at most 1000, not 0",
        True,
    ),
    (
        "weight as text",
        GOOD + "weight: '2'\n",
        "case.yaml:5: `weight` must be a number above 0 and at most 1000, not '2'",
        True,
    ),
    (
        "negative timeout",
        GOOD + "timeout_seconds: -30\n",
        "case.yaml:5: `timeout_seconds` must be a number above 0 and at most 86400, not -30",
        True,
    ),
    (
        "timeout with underscores",
        GOOD + "timeout_seconds: 1_000\n",
        "case.yaml:5: `timeout_seconds` must be a number above 0 and at most 86400, not '1_000'",
        True,
    ),
    (
        "threshold over one",
        GOOD + "pass_threshold: 60\n",
        "case.yaml:5: `pass_threshold` must be a number between 0 and 1, not 60",
        True,
    ),
    (
        "half a step",
        GOOD + "optimal_steps: 2.5\n",
        "case.yaml:5: `optimal_steps` must be a whole number from 1 to 10000, not 2.5",
        True,
    ),
    (
        "no steps",
        GOOD + "optimal_steps: 0\n",
        "case.yaml:5: `optimal_steps` must be a whole number from 1 to 10000, not 0",
        True,
    ),
    ("tags as text", GOOD + "tags: easy\n", "case.yaml:5: `tags` must be a list, not 'easy'", True),
    (
        "a tag that is a number",
        GOOD + "tags: [2024]\n",
        "case.yaml:5: `tags[0]` must be text, not the number 2024; quote it",
        True,
    ),
    (
        "reserved tag",
        GOOD + "tags: [office, xfail]\n",
        "case.yaml:5: `tags[1]` cannot be a tag: 'xfail' is reserved: pytest would act on a mark of that name",
        True,
    ),
    (
        "tag of nothing",
        GOOD + "tags: ['!!']\n",
        "case.yaml:5: `tags[0]` cannot be a tag: '!!' has no letter or digit to make a mark of",
        True,
    ),
    (
        "reserved family",
        GOOD + "family: skip\n",
        "case.yaml:5: `family` cannot be a family: 'skip' is reserved: pytest would act on a mark of that name",
        True,
    ),
    (
        "bad id",
        GOOD + "id: -x y\n",
        "case.yaml:5: `id` must be letters, digits, `_`, `.`, `-` after a letter or digit, not '-x y'",
        True,
    ),
    (
        "unknown capability",
        GOOD + "requires: [netwrk]\n",
        "case.yaml:5: `requires[0]` cannot be 'netwrk'; did you mean `network`? Allowed: network, browser, cron, memory, sessions, messages, directory, agents, skills, gateway-services",
        True,
    ),
    (
        "unknown policy",
        GOOD + "policy: rubrics\n",
        "case.yaml:5: `policy` cannot be 'rubrics'; did you mean `rubric`? Allowed: composite, mean, rubric",
        True,
    ),
    (
        "unknown limit",
        GOOD + "sandbox: {memory: 3}\n",
        "case.yaml:5: `sandbox.memory` is not a known key; did you mean `memory_mb`? Allowed: memory_mb, processes, file_mb, cpu_seconds, open_files",
        True,
    ),
    (
        "yes for true",
        HEAD + "checks: [{id: a, type: file_exists, path: a, guard: yes}]\n",
        "case.yaml:4: `checks[0].guard` must be true or false, not 'yes'",
        True,
    ),
    (
        "nothing grades",
        HEAD,
        "case.yaml: nothing grades this; give it `checks` or `custom_check`",
        True,
    ),
    (
        "check without id",
        HEAD + "checks: [{type: file_exists, path: a}]\n",
        "case.yaml:4: `checks[0]` needs the key `id`",
        True,
    ),
    (
        "check without type",
        HEAD + "checks: [{id: a, path: a}]\n",
        "case.yaml:4: `checks[0]` needs the key `type`",
        True,
    ),
    (
        "check with a bad id",
        HEAD + "checks: [{id: a b, type: file_exists, path: a}]\n",
        "case.yaml:4: `checks[0].id` must be letters, digits, `_`, `.`, `-`, not 'a b'",
        True,
    ),
    (
        "check is text",
        HEAD + "checks: [file_exists]\n",
        "case.yaml:4: `checks[0]` must be a mapping, not 'file_exists'",
        True,
    ),
    (
        "unknown check type",
        HEAD + "checks: [{id: a, type: file_exist, path: a}]\n",
        "case.yaml:4: `checks[0].type` cannot be 'file_exist'; did you mean `file_exists`? Allowed: "
        + TYPES,
        True,
    ),
    (
        "missing parameter",
        HEAD + "checks:\n- id: a\n  type: json_path\n  path: a.json\n  equals: 1\n",
        "case.yaml:5: `checks[0]` needs the key `query`",
        True,
    ),
    (
        "unknown parameter",
        HEAD + "checks:\n- id: a\n  type: file_exists\n  path: a\n  pth: b\n",
        "case.yaml:8: `checks[0].pth` is no parameter of file_exists; did you mean `path`? Allowed: path, id, type, points, category, severity, guard, description",
        True,
    ),
    (
        "parameter of the wrong kind",
        HEAD + "checks: [{id: a, type: tool_called, tool: read, min_count: -1}]\n",
        "case.yaml:4: `checks[0].min_count` must be a whole number from 0 up, not the number -1",
        True,
    ),
    (
        "exclusive parameters",
        HEAD + "checks:\n- {id: a, type: json_path, path: a, query: b, equals: 1, absent: true}\n",
        "case.yaml:5: `checks[0]` needs exactly one of equals, one_of, approx, unordered, contains, matches, absent; it has equals and absent",
        True,
    ),
    (
        "none of the exclusive",
        HEAD + "checks:\n- {id: a, type: regex, pattern: b}\n",
        "case.yaml:5: `checks[0]` needs exactly one of path, response; it has none",
        True,
    ),
    (
        "no regular expression",
        HEAD + "checks:\n- {id: a, type: regex, path: p, pattern: '(b'}\n",
        "case.yaml:5: `checks[0].pattern` is no regular expression: missing ), unterminated subpattern at position 0",
        False,
    ),
    (
        "points zero",
        HEAD + "checks: [{id: a, type: file_exists, path: a, points: 0}]\n",
        "case.yaml:4: `checks[0].points` must be a number above 0 and at most 1000, not 0",
        True,
    ),
    (
        "two checks of one id",
        HEAD
        + "checks:\n- {id: a, type: file_exists, path: a}\n- {id: a, type: file_exists, path: b}\n",
        "case.yaml:6: `checks[1].id` 'a' names two checks",
        False,
    ),
    (
        "check outside the workspace",
        HEAD + "checks: [{id: a, type: file_exists, path: ../a}]\n",
        "case.yaml:4: `checks[0].path` '../a' leaves the workspace; `..` is not allowed",
        True,
    ),
    (
        "python without a function",
        HEAD + "checks: [{id: a, type: python, function: checker.py}]\n",
        "case.yaml:4: `checks[0].function` must be FILE.py:NAME, not 'checker.py'",
        True,
    ),
    (
        "missing python checker",
        HEAD + "checks: [{id: a, type: python, function: 'checkers/none.py:grade'}]\n",
        "case.yaml:4: `checks[0].function` 'checkers/none.py' does not exist; looked in project/scenarios/, project/",
        False,
    ),
    (
        "missing checker",
        HEAD + "custom_check: checkers/none.py\n",
        "case.yaml:4: `custom_check` 'checkers/none.py' does not exist; looked in project/scenarios/, project/",
        False,
    ),
    (
        "checker that is no Python",
        HEAD + "custom_check: data/a.txt\n",
        "case.yaml:4: `custom_check` must be a Python file, not 'a.txt'",
        True,
    ),
    (
        "absolute checker",
        HEAD + "custom_check: /etc/passwd\n",
        "case.yaml:4: `custom_check` '/etc/passwd' is absolute; write it relative to the scenario file",
        True,
    ),
    (
        "checker outside the project",
        HEAD + "custom_check: ../../outside.py\n",
        "case.yaml:4: `custom_check` '../../outside.py' leaves project/, the root of the project",
        False,
    ),
    (
        "missing seed",
        GOOD + "workspace_seed_dir: nowhere\n",
        "case.yaml:5: `workspace_seed_dir` 'nowhere' does not exist; looked in project/scenarios/, project/",
        False,
    ),
    (
        "seed that is a file",
        GOOD + "workspace_seed_dir: data/a.txt\n",
        "case.yaml:5: `workspace_seed_dir` must be a folder; 'a.txt' is a file",
        False,
    ),
    (
        "absolute seed",
        GOOD + "workspace_seed_dir: /etc\n",
        "case.yaml:5: `workspace_seed_dir` '/etc' is absolute; write it relative to the scenario file",
        True,
    ),
    (
        "seed outside the project",
        GOOD + "workspace_seed_dir: ../..\n",
        "case.yaml:5: `workspace_seed_dir` '../..' leaves project/, the root of the project",
        False,
    ),
    (
        "seed with an escaping link",
        GOOD + "workspace_seed_dir: linked\n",
        "case.yaml:5: `workspace_seed_dir` 'b.txt' is a link out of its folder; copy what it stands for",
        False,
    ),
    (
        "seed with a pipe",
        GOOD + "workspace_seed_dir: piped\n",
        "case.yaml:5: `workspace_seed_dir` 'p' is neither a file nor a folder",
        False,
    ),
    (
        "seed that holds the scenario",
        GOOD + "workspace_seed_dir: .\n",
        "case.yaml:5: `workspace_seed_dir` would show the agent 'case.yaml', which grades it",
        False,
    ),
    (
        "link out of the project",
        GOOD + "workspace_files: [gate/passwd]\n",
        "case.yaml:5: `workspace_files[0]` 'gate/passwd' is a link out of project/",
        False,
    ),
    (
        "file outside the workspace",
        GOOD + "workspace_files: [{path: ../x, content: y}]\n",
        "case.yaml:5: `workspace_files[0].path` '../x' leaves the workspace; `..` is not allowed",
        True,
    ),
    (
        "absolute file",
        GOOD + "workspace_files: [{path: /tmp/x, content: y}]\n",
        "case.yaml:5: `workspace_files[0].path` '/tmp/x' must be relative to the workspace, with forward slashes",
        True,
    ),
    (
        "file without content",
        GOOD + "workspace_files: [{path: x}]\n",
        "case.yaml:5: `workspace_files[0]` needs `content` or `source`",
        True,
    ),
    (
        "file twice",
        GOOD + "workspace_seed_dir: data\nworkspace_files: [{path: a.txt, content: y}]\n",
        "case.yaml:6: `workspace_files[0]` puts a second file at 'a.txt'",
        False,
    ),
    (
        "file and folder",
        GOOD + "workspace_files: [{path: a, content: y}, {path: a/b, content: y}]\n",
        "case.yaml:5: `workspace_files` make 'a' both a file and a folder",
        False,
    ),
    (
        "missing skill",
        GOOD + "skills: [data]\n",
        "case.yaml:5: `skills[0]` must be a folder that holds SKILL.md",
        False,
    ),
    (
        "unknown verb",
        GOOD + "solution: [{wirte: a, content: b}]\n",
        "case.yaml:5: `solution[0]` has no verb; did you mean `write`? Allowed: read, write, edit, exec, call, say",
        True,
    ),
    (
        "two verbs",
        GOOD + "solution: [{read: a, say: b}]\n",
        "case.yaml:5: `solution[0]` has the verbs read and say; make a step of each",
        True,
    ),
    (
        "write without content",
        GOOD + "solution: [{write: a}]\n",
        "case.yaml:5: `solution[0]` needs the key `content`",
        True,
    ),
    (
        "number in argv",
        GOOD + "solution: [{exec: [sleep, 1]}]\n",
        "case.yaml:5: `solution[0].exec[1]` must be text, not the number 1; quote it",
        True,
    ),
    (
        "write outside",
        GOOD + "solution: [{write: /etc/x, content: y}]\n",
        "case.yaml:5: `solution[0].write` '/etc/x' must be relative to the workspace, with forward slashes",
        True,
    ),
    (
        "probe without fails",
        GOOD + "probes: [{name: p, steps: []}]\n",
        "case.yaml:5: `probes[0].fails` must list the checks that fail on this probe",
        True,
    ),
    (
        "probe of an unknown check",
        GOOD + "probes: [{name: p, fails: [dune], steps: []}]\n",
        "case.yaml:5: `probes[0].fails[0]` cannot be 'dune'; did you mean `done`? Allowed: done",
        False,
    ),
    (
        "probe twice",
        GOOD
        + "probes:\n- {name: p, fails: [done], steps: []}\n- {name: p, fails: [done], steps: []}\n",
        "case.yaml:7: `probes[1].name` 'p' is there twice",
        False,
    ),
    (
        "native key in a published file",
        "id: x\ndimension: safety\nbenchmark_group: coverage\nprompt: Do it.\nsolution: []\n",
        "case.yaml:5: `solution` belongs to the native form; add `agentbench: 1`",
        False,
    ),
    (
        "published file of no group",
        "id: x\ndimension: safety\nprompt: Do it.\n",
        "case.yaml:1: the scenario needs the key `benchmark_group`",
        False,
    ),
    (
        "published group",
        "id: x\ndimension: safety\nbenchmark_group: coverage\nbenchmark_core: true\nprompt: Do it.\n",
        "case.yaml:4: `benchmark_core` cannot be true in the group coverage",
        False,
    ),
    (
        "pattern and patterns",
        HEAD + "checks:\n- {id: a, type: response_contains, pattern: x, patterns: [y]}\n",
        "case.yaml:5: `checks[0]` needs exactly one of pattern, patterns; it has pattern and patterns",
        True,
    ),
    (
        "unknown key of an event",
        HEAD
        + "checks:\n- {id: a, type: happens_before, first: {read: a.txt}, then: {writes: '*'}}\n",
        "case.yaml:5: `checks[0].first.read` is not a known key; did you mean `reads`? Allowed: tool, path, reads, writes, command, text",
        True,
    ),
    (
        "event is text",
        HEAD + "checks:\n- {id: a, type: happens_before, first: read, then: {writes: '*'}}\n",
        "case.yaml:5: `checks[0].first` must be a mapping of any of tool, path, reads, writes, command, text, not 'read'",
        True,
    ),
    (
        "unchanged input that is none",
        HEAD
        + "workspace_seed_dir: data\n"
        + "checks:\n- {id: a, type: inputs_unchanged, paths: [b.txt]}\n",
        "case.yaml:6: `checks[0].paths[0]` cannot be 'b.txt'; did you mean `a.txt`? Allowed: a.txt",
        False,
    ),
    (
        "rows are lists",
        HEAD + "checks:\n- {id: a, type: table, path: t.csv, rows: [[1, 2]]}\n",
        "case.yaml:5: `checks[0].rows` must be a list of mappings, not a list",
        True,
    ),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return lay_traps(tmp_path)


def lay_traps(outside: Path) -> Path:
    """Make the folder ``scenarios`` of a project, beside folders that hold traps."""
    project = outside / "project"
    for name in ("scenarios", "data", "linked", "piped"):
        (project / name).mkdir(parents=True)
    (project / "pyproject.toml").touch()
    (project / "data/a.txt").write_text("a")
    (outside / "outside.py").write_text("")
    (outside / "passwd").write_text("secret")
    (project / "linked/b.txt").symlink_to(outside / "passwd")
    (project / "gate").symlink_to(outside)
    os.mkfifo(project / "piped/p")
    return project / "scenarios"


@pytest.mark.parametrize(
    ("content", "message"), [case[1:3] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_whole_message(folder: Path, content: str | bytes, message: str) -> None:
    path = folder / "case.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ScenarioError) as caught:
        load(path)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "content", [case[1] for case in CASES if case[3]], ids=[case[0] for case in CASES if case[3]]
)
def test_the_schema_refuses_it_too(content: str) -> None:
    assert validate(parse(content.encode(), Path("case.yaml")).value)


def test_the_cases_differ_from_a_file_that_loads(folder: Path) -> None:
    path = folder / "case.yaml"
    path.write_text(GOOD)
    assert load(path).id == "case"
    assert validate(parse(GOOD.encode(), path).value) == ()


def test_a_file_of_another_kind(folder: Path) -> None:
    path = folder / "case.json"
    path.write_text("{}")
    with pytest.raises(ScenarioError) as caught:
        load(path)
    assert str(caught.value) == "case.json: a scenario is a .yaml, .yml or .md file"


@pytest.mark.parametrize("name", ["none.yaml", "none.md", "none"])
def test_what_is_not_there(folder: Path, name: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load(folder / name)
    assert str(caught.value) == f"{name}: does not exist"


@pytest.mark.parametrize("name", ["folder.yaml", "pipe.yaml"])
def test_what_is_no_file(folder: Path, name: str) -> None:
    (folder / "folder.yaml").mkdir()
    os.mkfifo(folder / "pipe.yaml")
    with pytest.raises(ScenarioError) as caught:
        load(folder / name)
    assert str(caught.value) == f"{name}: is not a file"


def test_messages_show_no_more_than_a_line_of_the_file(folder: Path) -> None:
    path = folder / "case.yaml"
    path.write_text(GOOD + f'"{"k" * 5000}": 1\n')
    with pytest.raises(ScenarioError) as caught:
        load(path)
    assert len(str(caught.value)) < 1000


def test_messages_escape_what_a_terminal_would_act_on(folder: Path) -> None:
    path = folder / "case.yaml"
    path.write_text(GOOD + 'exposure: "\\e[31mred"\n')
    with pytest.raises(ScenarioError) as caught:
        load(path)
    assert str(caught.value) == (
        "case.yaml:5: `exposure` cannot be '\\x1b[31mred'; "
        "allowed: zero-shot, prompt-tuned-on-dev, benchmark-exposed, diagnostic-only"
    )
