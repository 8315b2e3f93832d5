from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.grading.shell import Files, command_line, files
from pytest_agentbench.status import TrialFault
from pytest_agentbench.trace.events import Event, Trace
from tests.evaluating import call, check, result, said, trace_of

READ = call("read", path="policy.md")
WRITE = call("write", path="out/plan.md", content="x")


def sh(command: str) -> Event:
    return call("exec", command=command)


def before(
    *events: Event,
    first: Any = None,
    then: Any = None,
    workspace: Path = Path("/srv/run/workspace"),
) -> bool:
    params: dict[str, Any] = {
        "first": first or {"reads": "policy.md"},
        "then": then or {"writes": "*"},
    }
    return check("happens_before", workspace, trace=Trace(events=events), **params).passed


@pytest.mark.parametrize(
    "event",
    [
        READ,
        call("read", path="./policy.md"),
        call("read", path="/workspace/policy.md"),
        call("read", path="/srv/run/workspace/policy.md"),
        call("read", file_path="policy.md"),
        call("search", query="refund", path="policy.md"),
        call("search", query="grep refund policy.md"),
        call("exec", argv=["cat", "policy.md"]),
        call("exec", argv=["bash", "-lc", "head -n 20 policy.md | tail -n 3"]),
        sh("cat /workspace/policy.md"),
        sh("cd . && cat 'policy.md'"),
        sh("grep -n refund *.md"),
        sh("for f in *.md; do cat $f; done"),
        sh("wc -l < policy.md"),
        sh('echo "$(cat policy.md)"'),
        sh("python3 -c \"print(open('policy.md').read())\""),
        sh(
            "python3 - <<'EOF'\nfrom pathlib import Path\nprint(Path('policy.md').read_text())\nEOF"
        ),
        sh("cat policy.md > /dev/null 2>&1"),
        sh("find . -name policy.md | xargs cat"),
        sh("cd docs && cat ../policy.md"),
        sh("cd /workspace && cat *"),
    ],
)
def test_the_policy_is_read_by_whatever_route(event: Event) -> None:
    assert before(event, WRITE)
    assert not before(WRITE, event)


@pytest.mark.parametrize(
    "event",
    [
        call("read", path="other.md"),
        call("read", path="old/policy.md"),
        call("write", path="notes/policy.md", content="policy.md"),
        sh("ls -la policy.md"),
        sh("echo policy.md"),
        sh("true # cat policy.md"),
        sh("cat my-policy.md"),
        sh("python3 -c 'print(2 * 3)'"),
        sh("grep '*' other.md"),
        said("I have read policy.md"),
    ],
)
def test_what_does_not_read_the_policy(event: Event) -> None:
    assert not before(event, first={"reads": "policy.md"}, then={"tool": "schedule"})


@pytest.mark.parametrize(
    "event",
    [
        WRITE,
        call("edit", path="out/plan.md", old="a", new="b"),
        sh("echo x > out/plan.md"),
        sh("echo x >>out/plan.md"),
        sh("cat > out/plan.md <<EOF\nas policy.md says\nEOF"),
        sh("echo x | tee -a out/plan.md"),
        sh("cp template.md out/plan.md"),
        sh("cd out && mv draft.md plan.md"),
        sh("sed -i 's/a/b/' out/plan.md"),
        sh("rm -f out/plan.md"),
        sh("python3 -c \"open('out/plan.md', 'w').write('x')\""),
        sh("python3 <<EOF\nfrom pathlib import Path\nPath('out/plan.md').write_text('x')\nEOF"),
        sh("sudo env A=1 touch out/plan.md"),
        sh("curl -s http://x/y -o out/plan.md"),
        sh("dd if=/dev/zero of=out/plan.md"),
        call("exec", argv=["sh", "-c", "printf x 1> out/plan.md"]),
    ],
)
def test_the_plan_is_written_by_whatever_route(event: Event) -> None:
    assert not before(event, READ, then={"writes": "out/*"})
    assert not before(event, READ, then={"writes": "*"})
    assert before(READ, event, then={"writes": "out/*"})
    assert before(event, READ, then={"writes": "other/*"})


@pytest.mark.parametrize(
    "event",
    [
        call("read", path="out/plan.md"),
        sh("cat out/plan.md"),
        sh("cat x > /dev/null 2>&1"),
        sh("ls out && python3 report.py"),
        sh("echo '> out/plan.md'"),
        sh("test -f out/plan.md && echo yes >&2"),
        sh("python3 -c \"print(open('out/plan.md', 'r').read())\""),
        sh("sed -n 1,5p out/plan.md"),
        sh("cd out && ls"),
        sh("mkdir -p out"),
    ],
)
def test_what_does_not_write(event: Event) -> None:
    assert before(event, READ, then={"writes": "*"})


def test_a_long_document_hides_nothing_that_follows_it() -> None:
    line = "cat > notes.txt <<EOF\n" + "it's policy.md\n" * 10_000 + "EOF\ncat terms.md"
    assert before(sh(line), WRITE, first={"reads": "terms.md"})
    assert not before(sh(line), WRITE)


def test_one_event_that_reads_and_writes_is_in_order() -> None:
    assert before(sh("sed s/a/b/ policy.md > out/plan.md"))


def test_a_write_that_only_mentions_the_policy_has_not_read_it() -> None:
    assert not before(sh("cat > out/plan.md <<EOF\nby policy.md\nEOF"))


def test_nothing_done_and_nothing_read_fail() -> None:
    assert not before()
    assert not before(WRITE)
    assert before(READ)


def test_a_read_that_failed_did_not_happen() -> None:
    read, again = (
        call("read", path="policy.md", call_id="1"),
        call("read", path="policy.md", call_id="2"),
    )
    failed = result("no such file", call_id="1", status=500)
    assert not before(read, failed, WRITE)
    assert before(read, failed, again, result("text", call_id="2", status=200), WRITE)
    assert before(read, result(call_id="1"), WRITE)
    assert not before(READ, result(status=404), WRITE)


def test_a_line_of_several_commands_may_have_read_before_another_failed() -> None:
    line = call("exec", command="cat policy.md; python3 -m unittest", call_id="1")
    assert before(line, result("FAILED", call_id="1", status=500), WRITE)
    alone = call("exec", command="cat policy.md", call_id="1")
    assert not before(alone, result("no such file", call_id="1", status=500), WRITE)


def test_results_that_come_late_are_paired_by_their_id() -> None:
    one, two = call("read", path="policy.md", call_id="1"), call("read", path="b.md", call_id="2")
    answers = (result(call_id="2", status=200), result(call_id="1", status=500))
    assert not before(one, two, *answers, WRITE)


def test_a_write_that_failed_was_tried() -> None:
    write = call("write", path="a", content="", call_id="1")
    assert not before(write, result(call_id="1", status=500), READ)


def test_keys_of_a_pattern_must_all_hold_and_patterns_in_a_list_any() -> None:
    narrow = {"tool": "exec", "command": r"pytest( |$)"}
    assert before(sh("pytest -q"), WRITE, first=narrow)
    assert not before(call("read", path="pytest "), WRITE, first=narrow)
    assert not before(sh("pytestx"), WRITE, first=narrow)
    assert before(sh("make test"), WRITE, first=[narrow, {"text": "MAKE test"}])
    assert not before(sh("ls"), READ, first=narrow, then=[{"path": "policy.*"}, {"tool": "write"}])


def test_what_the_agent_said_is_text() -> None:
    ask = said("Which Account do you mean?")
    assert before(ask, WRITE, first={"text": "which account"})
    assert not before(WRITE, ask, first={"text": "which account"})
    assert not before(ask, WRITE, first={"text": "which account", "tool": "message"})


def test_the_verdict_names_what_came_first() -> None:
    verdict = check(
        "happens_before",
        Path("/x"),
        trace=trace_of(WRITE, READ),
        first={"reads": "policy.md"},
        then={"writes": "*"},
    )
    assert (verdict.detail, verdict.expected, verdict.found) == (
        'came before [{"reads": "policy.md"}]',
        '[{"reads": "policy.md"}]',
        'write {"path": "out/plan.md", "content": "x"}',
    )


def test_a_key_that_no_pattern_has_is_a_checker_error() -> None:
    with pytest.raises(TrialFault) as fault:
        before(READ, first={"raeds": "policy.md"})
    assert str(fault.value) == (
        "check 'c' of type happens_before cannot be evaluated: ValueError: "
        '["raeds"] in a pattern; known are ["command", "path", "reads", "text", "tool", "writes"]; '
        "mend its parameters in the scenario file"
    )


@pytest.mark.parametrize(
    "args",
    [
        {"path": ["policy.md", 3]},
        {"path": {"a": 1}},
        {"path": None},
        {"argv": "cat"},
        {"argv": [1, None]},
        {"command": ["cat"]},
        {"query": 5},
    ],
)
@pytest.mark.parametrize("tool", ["read", "write", "exec", "search"])
def test_arguments_of_any_shape_are_no_trouble(tool: str, args: dict[str, Any]) -> None:
    assert before(call(tool, **args), READ, then={"writes": "never"})


def test_a_bare_name_stands_for_one_file_in_any_folder_only() -> None:
    assert not before(sh("echo x > plan.md"), READ, then={"writes": "out/plan.md"})
    assert before(sh("echo x > scratch.md"), READ, then={"writes": "out/*"})
    assert before(sh("cat terms.md"), WRITE, first={"reads": "legal/terms.md"})
    assert before(sh('cat "legal/$f"'), WRITE, first={"reads": "legal/terms.md"})
    assert not before(sh("cat *"), WRITE, first={"reads": "legal/terms.md"})
    assert not before(sh('cat "$f"'), WRITE, first={"reads": "legal/terms.md"})


@pytest.mark.parametrize(
    ("line", "reads", "writes"),
    [
        ("sort -u 'in file' 2>err >|out", ("-u", "in file", "in", "file"), ("err", "out")),
        ("cp a b/c && cat d &>> log", ("a", "d"), ("b/c", "log")),
        ("cat a \\\n  b", ("a", "b"), ()),
        ("echo $((1 << x))\ncat b", ("b",), ()),
        ("if true; then cat a; fi <b >&2", ("a", "b"), ()),
        ("cd x && cat a > b; cd $HOME; cat c", ("x/a", "c"), ("x/b",)),
        ("cat <<A >out\nb c\nA\ncat d", ("A", "d"), ("out",)),
        (
            "cd x; timeout 9 bash -lc 'cat a mail/* > b'; cat c",
            ("x/a", "x/mail/*", "x/mail/", "x/c"),
            ("x/b",),
        ),
        ("sh -c \"bash -c 'cat a'\"", ("a",), ()),
    ],
)
def test_command_lines_are_taken_apart(
    line: str, reads: tuple[str, ...], writes: tuple[str, ...]
) -> None:
    assert files(line) == Files(reads, writes)


def test_the_text_of_an_argument_vector() -> None:
    assert command_line({"argv": ["echo", "a b", "it's"]}) == "echo 'a b' 'it'\\''s'"
    assert command_line({"argv": ["/bin/bash", "-lc", "cat a", "x"]}) == "cat a"
    assert command_line({"command": "cat a"}) == "cat a"
    assert command_line({}) == ""


@pytest.mark.parametrize("piece", ["'", '"', "<<A\n", "open('", "((", "\\", "a\n", "$(`"])
def test_hostile_command_lines_are_taken_apart_in_time(piece: str) -> None:
    files(piece * 100_000)
