"""The built-in runtimes, each driven through the runner with real processes."""

from __future__ import annotations

import dataclasses
import json
import os
import socketserver
import threading
import tomllib
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import Completed, Execution, ModelEndpoint
from pytest_agentbench.gateway import scripted
from pytest_agentbench.gateway.client import gateway
from pytest_agentbench.gateway.registry import make_model
from pytest_agentbench.runner import RunFault, run_phase
from pytest_agentbench.runtimes import command, hands
from pytest_agentbench.runtimes.protocol import Runtime, RuntimeUnavailable
from pytest_agentbench.runtimes.registry import ADAPTERS
from pytest_agentbench.sandbox.subreaper import Subreaper
from pytest_agentbench.scenario.model import InputFile, Scenario, Step
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import EventKind
from pytest_agentbench.trial import (
    AgentRun,
    ModelProfile,
    Phase,
    ProfileError,
    RuntimeProfile,
    Trial,
)
from pytest_agentbench.workspace import Workspace, materialise

STEPS = (
    Step(verb="read", path="in.txt"),
    Step(verb="write", path="out/copy.txt", content="two\none\n"),
    Step(verb="edit", path="out/copy.txt", old="two", new="zwei"),
    Step(verb="exec", argv=("sort", "-o", "out/sorted.txt", "out/copy.txt")),
    Step(verb="say", text="Sorted."),
)


def trial(adapter: str, *, model: dict[str, Any] | None = None, **options: Any) -> Trial:
    return Trial(
        scenario=Scenario(
            id="demo",
            path=Path("demo.yaml"),
            prompt="Sort it.",
            inputs=(InputFile(dest="in.txt", content=b"two\none\n"),),
            solution=STEPS,
        ),
        runtime=RuntimeProfile(name=f"my-{adapter}", adapter=adapter, options=options),
        model=None
        if model is None
        else ModelProfile(name="toy", backend="scripted", options=model),
        mode="baseline",
        index=1,
        phases=(Phase(name="baseline", seconds=20.0),),
        max_attempts=1,
    )


def run(tmp_path: Path, one: Trial, **others: Any) -> Execution:
    workspace = Workspace(tmp_path / "ws", lambda root: materialise(one.scenario.inputs, root))
    workspace.reset()
    with gateway() if one.model else nullcontext() as started:
        return run_phase(
            one,
            runtime=ADAPTERS[one.runtime.adapter](one.runtime),
            sandbox=Subreaper(),
            root=tmp_path,
            workspace=workspace,
            gateway=started,
            **others,
        )


def fault(tmp_path: Path, one: Trial, **others: Any) -> RunFault:
    with pytest.raises(RunFault) as caught:
        run(tmp_path, one, **others)
    return caught.value


def shown(execution: Execution) -> list[tuple[str, str, int | None]]:
    return [
        (event.kind, event.tool or event.text, event.status) for event in execution.trace.events
    ]


SOLVED = [
    ("user_message", "Sort it.", None),
    ("tool_call", "read", None),
    ("tool_result", "read", 200),
    ("tool_call", "write", None),
    ("tool_result", "write", 200),
    ("tool_call", "edit", None),
    ("tool_result", "edit", 200),
    ("tool_call", "exec", None),
    ("tool_result", "exec", 200),
    ("assistant_message", "Sorted.", None),
]


def test_nop_does_nothing(tmp_path: Path) -> None:
    execution = run(tmp_path, trial("nop"))
    assert (execution.status, execution.trace.events) == (Status.COMPLETED, ())
    assert [path.name for path in (tmp_path / "ws").iterdir()] == ["in.txt"]


@pytest.mark.parametrize("adapter", ["oracle", "minimal"])
def test_the_steps_are_done_in_the_workspace(tmp_path: Path, adapter: str) -> None:
    execution = run(tmp_path, trial(adapter, model={}))
    assert (execution.status, execution.message) == (Status.COMPLETED, "")
    assert shown(execution) == SOLVED
    assert (tmp_path / "ws/out/sorted.txt").read_text() == "one\nzwei\n"
    files = [path.name for path in sorted((tmp_path / "ws").rglob("*"))]
    assert files == ["in.txt", "out", "copy.txt", "sorted.txt"]
    assert execution.trace.results[0].text == "two\none\n"
    assert execution.trace.calls[3].args == {"argv": list(STEPS[3].argv)}


def test_the_oracle_needs_steps(tmp_path: Path) -> None:
    error = fault(tmp_path, trial("oracle"), steps=())
    assert error.status is Status.UNSUPPORTED
    assert str(error) == "oracle needs a solution: demo.yaml has no 'solution'"


def test_the_oracle_plays_other_steps_when_told(tmp_path: Path) -> None:
    execution = run(tmp_path, trial("oracle"), steps=(Step(verb="say", text="x"),))
    assert execution.trace.response == "x"


def test_the_oracle_cannot_call_services(tmp_path: Path) -> None:
    step = Step(verb="call", service="calendar")
    error = fault(tmp_path, trial("oracle"), steps=(STEPS[0], step))
    assert error.status is Status.UNSUPPORTED
    assert str(error) == "step 2: the oracle cannot call calendar"


def test_a_step_that_fails_is_a_result(tmp_path: Path) -> None:
    steps = (
        Step(verb="edit", path="in.txt", old="three", new="x"),
        Step(verb="exec", argv=("sh", "-c", "echo out; echo err >&2; exit 3")),
        Step(verb="exec", argv=("/no/such/program",)),
        Step(verb="read", path="gone.txt"),
    )
    execution = run(tmp_path, trial("oracle"), steps=steps)
    assert execution.status is Status.COMPLETED
    assert [(event.status, event.text) for event in execution.trace.results] == [
        (500, "the old text must occur once in in.txt; it occurs 0 times"),
        (500, "exit code 3\nstdout:\nout\n\nstderr:\nerr\n"),
        (500, "No such file or directory: /no/such/program"),
        (500, "No such file or directory: gone.txt"),
    ]


def test_hands_do_not_block_on_what_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    assert hands.perform("read", {"path": "pipe"}) == (500, "not a regular file: pipe")
    assert hands.perform("write", {"path": "pipe", "content": "x"})[0] == 500
    assert hands.perform("read", {"path": "."}) == (500, "not a regular file: .")


def test_hands_take_bad_arguments_for_bad_arguments() -> None:
    assert hands.perform("read", {}) == (400, "missing argument 'path'")
    assert hands.perform("read", {"path": 1}) == (400, "bad arguments: path must be a text")
    assert hands.perform("read", {"path": "a\0"})[0] == 400
    assert hands.perform("exec", {"argv": "ls"}) == (
        400,
        "bad arguments: argv must be a list of texts, with at least one",
    )
    assert hands.perform("fly", {}) == (
        404,
        "there is no tool 'fly'; there are: read, write, edit, exec",
    )


def test_hands_cap_output_and_do_not_wait_for_the_background(tmp_path: Path) -> None:
    line = "head -c 100000 /dev/zero | tr '\\0' x; sleep 5 & echo $! >&2"
    status, text = hands.perform("exec", {"command": line})
    assert status == 200
    out, _, err = text.partition("\nstderr:\n")
    assert out == "exit code 0\nstdout:\n" + "x" * 65536 + "\n[34464 more bytes]"
    os.kill(int(err), 9)


def test_a_daemon_of_the_agents_ends_with_the_run(tmp_path: Path) -> None:
    step = Step(verb="exec", argv=("sh", "-c", "setsid sleep 60 & echo $! > pid"))
    execution = run(tmp_path, trial("oracle"), steps=(step,))
    assert execution.flags == ("left_processes",)
    pid = int((tmp_path / "ws/pid").read_text())
    assert not Path(f"/proc/{pid}").exists()


def test_minimal_uses_tokens_as_the_gateway_counts_them(tmp_path: Path) -> None:
    execution = run(tmp_path, trial("minimal", model={}))
    assert execution.usage.requests == 5
    assert (execution.usage.input_tokens or 0) > (execution.usage.output_tokens or 0) > 0


def test_minimal_stops_at_max_turns(tmp_path: Path) -> None:
    execution = run(tmp_path, trial("minimal", model={}, max_turns=2))
    assert (execution.status, execution.flags) == (Status.COMPLETED, ("max_turns",))
    assert [event.tool for event in execution.trace.calls] == ["read", "write"]


def test_minimal_reports_a_refusal(tmp_path: Path) -> None:
    execution = run(tmp_path, trial("minimal", model={"policy": "refuse"}))
    assert (execution.status, execution.message) == (Status.REFUSAL, "I will not do that.")


@pytest.mark.parametrize(
    ("answer", "status"),
    [(503, Status.PROVIDER_ERROR), (429, Status.PROVIDER_ERROR), (401, Status.AUTH_ERROR)],
)
def test_minimal_reports_a_provider_that_fails(tmp_path: Path, answer: int, status: Status) -> None:
    error = fault(tmp_path, trial("minimal", model={"policy": f"error:{answer}"}))
    assert error.status is status
    assert (
        str(error) == f"the model answered {answer}: the scripted model answers {answer}, as told"
    )


class Answers(socketserver.UnixStreamServer):
    """A model that gives raw answers in turn, some of them chunked, and keeps what it was asked."""

    def __init__(self, path: Path, answers: list[tuple[int, Any]]) -> None:
        self.answers = answers
        self.asked: list[Any] = []
        self.tokens: list[str] = []
        super().__init__(str(path), Answer)


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Answers

    def address_string(self) -> str:
        return "test"

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        self.server.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.server.tokens.append(self.headers["Authorization"])
        status, answer = self.server.answers.pop(0)
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for start in range(0, len(body), 7):
            part = body[start : start + 7]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True


class Wired:
    """``minimal`` with an endpoint of the test's own."""

    name = "minimal"

    def __init__(self, inner: Runtime, endpoint: ModelEndpoint) -> None:
        self.inner = inner
        self.endpoint = endpoint

    def probe(self) -> Any:
        return type(self.inner.probe())(version="1")

    def prepare(self, run: AgentRun) -> None:
        self.inner.prepare(self._wired(run))

    def command(self, run: AgentRun) -> Any:
        return self.inner.command(self._wired(run))

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        return self.inner.collect(self._wired(run), done)

    def _wired(self, run: AgentRun) -> AgentRun:
        return dataclasses.replace(run, model=self.endpoint)


class Talk:
    """Runs ``minimal`` against given answers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[Any] = []
        self.tokens: list[str] = []

    def __call__(self, *answers: tuple[int, Any]) -> Execution:
        one = trial("minimal")
        endpoint = ModelEndpoint(name="toy", socket=self.folder / "s", token="secret")
        workspace = Workspace(self.folder / "ws")
        workspace.reset()
        with Answers(endpoint.socket, list(answers)) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.01,))
            thread.start()
            try:
                return run_phase(
                    one,
                    runtime=Wired(ADAPTERS["minimal"](one.runtime), endpoint),
                    sandbox=Subreaper(),
                    root=self.folder,
                    workspace=workspace,
                )
            finally:
                server.shutdown()
                thread.join()
                self.asked, self.tokens = server.asked, server.tokens


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    return Talk(tmp_path)


def message(text: str | None = None, *calls: tuple[Any, Any], **fields: Any) -> tuple[int, Any]:
    said: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        said["tool_calls"] = [
            {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": args}}
            for number, (name, args) in enumerate(calls)
        ]
    return 200, {"choices": [{"message": said, **fields}], "usage": {"prompt_tokens": 5}}


def test_minimal_runs_every_call_of_a_turn_and_feeds_back_the_results(talk: Talk) -> None:
    execution = talk(
        message(
            "Two at once.",
            ("write", '{"path": "a", "content": "1"}'),
            ("exec", '{"command": "cat a; echo no >&2; exit 4"}'),
        ),
        message("Done."),
    )
    assert execution.status is Status.COMPLETED
    assert [found["content"] for found in talk.asked[1]["messages"][-2:]] == [
        "wrote 1 bytes to a",
        "exit code 4\nstdout:\n1\nstderr:\nno\n",
    ]
    assert [found["tool_call_id"] for found in talk.asked[1]["messages"][-2:]] == ["c0", "c1"]
    assert [tool["function"]["name"] for tool in talk.asked[0]["tools"]] == [
        "read",
        "write",
        "edit",
        "exec",
    ]
    assert talk.tokens == ["Bearer secret"] * 2
    assert execution.usage.input_tokens == 10


def test_minimal_survives_calls_that_make_no_sense(talk: Talk) -> None:
    execution = talk(
        message(
            None,
            ("write", '{"path": '),
            ("write", "[1]"),
            ("teleport", "{}"),
            ("read", None),
            (None, 7),
        ),
        message("Sorry."),
    )
    assert execution.status is Status.COMPLETED
    assert [(event.tool, event.status, event.text) for event in execution.trace.results] == [
        ("write", 400, "the arguments are not a JSON object"),
        ("write", 400, "the arguments are not a JSON object"),
        ("other", 404, "there is no tool 'teleport'; there are: read, write, edit, exec"),
        ("read", 400, "the arguments are not a JSON object"),
        ("other", 400, "the arguments are not a JSON object"),
    ]
    assert execution.trace.calls[0].native == {"arguments": '{"path": '}
    assert execution.trace.calls[2].native_name == "teleport"


@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        (
            (400, {"error": {"message": "too long", "code": "context_length_exceeded"}}),
            Status.CONTEXT_EXHAUSTED,
            "the model answered 400: too long",
        ),
        (
            (400, {"error": {"message": "bad tool"}}),
            Status.AGENT_ERROR,
            "the model answered 400: bad tool",
        ),
        (
            message("", finish_reason="content_filter"),
            Status.REFUSAL,
            "the provider's content filter stopped the answer",
        ),
    ],
)
def test_minimal_says_how_the_model_ended_it(
    talk: Talk, answer: tuple[int, Any], status: Status, text: str
) -> None:
    execution = talk(answer)
    assert (execution.status, execution.message) == (status, text)


@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        (
            (200, b"<html>"),
            Status.PROVIDER_ERROR,
            "the model's answer makes no sense: TypeError: 'NoneType' object is not subscriptable",
        ),
        (
            (200, {"choices": []}),
            Status.PROVIDER_ERROR,
            "the model's answer makes no sense: IndexError: list index out of range",
        ),
        ((502, b"<html>"), Status.PROVIDER_ERROR, "the model answered 502: "),
    ],
)
def test_minimal_blames_the_provider_for_nonsense(
    talk: Talk, answer: tuple[int, Any], status: Status, text: str
) -> None:
    with pytest.raises(RunFault) as caught:
        talk(answer)
    assert (caught.value.status, str(caught.value)) == (status, text)


def test_minimal_blames_the_provider_when_nobody_listens(tmp_path: Path) -> None:
    one = trial("minimal")
    endpoint = ModelEndpoint(name="toy", socket=tmp_path / "none", token="t")
    (tmp_path / "ws").mkdir()
    with pytest.raises(RunFault) as caught:
        run_phase(
            one,
            runtime=Wired(ADAPTERS["minimal"](one.runtime), endpoint),
            sandbox=Subreaper(),
            root=tmp_path,
            workspace=Workspace(tmp_path / "ws"),
        )
    assert caught.value.status is Status.PROVIDER_ERROR
    assert str(caught.value) == (
        "the model cannot be reached: FileNotFoundError: [Errno 2] No such file or directory"
    )


def test_command_fills_its_placeholders_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "k")
    monkeypatch.setenv("OTHER", "o")
    script = 'printf "%s|" "$@"; cat; printf "|%s|%s|%s" "$MY_KEY" "$OTHER" "$WHERE"; pwd; cat "$2"'
    execution = run(
        tmp_path,
        trial(
            "command",
            argv=["sh", "-c", script, "x", "{prompt}", "{prompt_file}", "-m={model}", '{"a": 1}'],
            stdin="prompt",
            env={"WHERE": "{workspace}"},
            pass_env=["MY_KEY"],
            model={},
        ),
        prompt="A {home} b; $(touch pwned)",
    )
    ws = tmp_path / "ws"
    prompt = "A {home} b; $(touch pwned)"
    file = tmp_path / "baseline-1/state/prompt.txt"
    assert execution.trace.response == (
        f'{prompt}|{file}|-m=toy|{{"a": 1}}|{prompt}|k||{ws}{ws}\n{prompt}'
    )
    assert execution.trace.events[0].kind is EventKind.USER
    assert not (ws / "pwned").exists()


def test_command_reads_the_events_that_a_program_writes(tmp_path: Path) -> None:
    line = '{"kind": "tool_call", "tool": "read", "args": {"path": "x"}}'
    script = f'echo \'{line}\' > "$1"; echo nonsense >> "$1"; echo chatter'
    execution = run(tmp_path, trial("command", argv=["sh", "-c", script, "x", "{trace_file}"]))
    assert shown(execution) == [("user_message", "Sort it.", None), ("tool_call", "read", None)]
    assert execution.flags == ("trace_lines_unreadable",)


def test_command_that_fails_is_the_agents_error(tmp_path: Path) -> None:
    execution = run(tmp_path, trial("command", argv=["sh", "-c", "echo oh >&2; exit 9"]))
    assert (execution.status, execution.message) == (Status.AGENT_ERROR, "exit code 9: oh")


@pytest.mark.parametrize("code", [126, 127])
def test_command_that_does_not_start_is_no_result(tmp_path: Path, code: int) -> None:
    error = fault(tmp_path, trial("command", argv=["sh", "-c", f"echo gone >&2; exit {code}"]))
    assert error.status is Status.SANDBOX_ERROR
    assert str(error) == (
        f"it did not start: exit code {code} before it did anything; what it needs may be hidden "
        "by the sandbox: name it in `readable` of the runtime's profile, or try "
        f"--sandbox=subreaper (exit code {code}: gone)"
    )


def test_command_that_shows_nothing_is_an_empty_trace(tmp_path: Path) -> None:
    error = fault(tmp_path, trial("command", argv=["true"], calls_model=True))
    assert error.status is Status.EMPTY_TRACE
    execution = run(tmp_path, trial("command", argv=["true"]))
    assert execution.status is Status.COMPLETED


def test_command_that_is_not_installed(tmp_path: Path) -> None:
    one = trial("command", argv=["no-such-agent"], install="pip install no-such-agent")
    error = fault(tmp_path, one)
    assert error.status is Status.RUNTIME_MISSING
    assert str(error) == (
        "runtime my-command: no-such-agent is not on PATH; install it with: "
        "pip install no-such-agent"
    )


def test_command_whose_key_is_not_set() -> None:
    runtime = ADAPTERS["command"](trial("command", argv=["sh"], pass_env=["NO_SUCH_KEY"]).runtime)
    with pytest.raises(RuntimeUnavailable) as caught:
        runtime.probe()
    assert str(caught.value) == "NO_SUCH_KEY, which pass_env names, is not set; export it"


@pytest.mark.parametrize(
    ("adapter", "options", "problem"),
    [
        ("command", {}, "argv is needed: the program and its arguments"),
        ("command", {"argv": "ls"}, "argv must be a list of texts, not 'ls'"),
        (
            "command",
            {"argv": ["x", "{promt}"]},
            (
                "there is no placeholder {promt}; allowed: {prompt}, {prompt_file}, {workspace}, "
                "{home}, {state}, {trace_file}, {model}, {url}, {token}"
            ),
        ),
        ("command", {"argv": ["x"], "stdin": "yes"}, "stdin is 'yes'; allowed: none, prompt"),
        ("command", {"argv": ["x"], "env": {"A": 1}}, "env must be a table of texts"),
        ("command", {"argv": ["x"], "calls_model": 1}, "calls_model must be true or false"),
        (
            "command",
            {"argv": ["x"], "shell": True},
            (
                "unknown option 'shell'; allowed: argv, stdin, env, pass_env, install, calls_model, "
                "capabilities, readable, network"
            ),
        ),
        ("minimal", {"turns": 1}, "unknown option 'turns'; allowed: max_turns"),
        ("minimal", {"max_turns": 0}, "max_turns must be a whole number above 0, not 0"),
        ("nop", {"x": 1}, "nop takes no options, but has 'x'"),
        ("oracle", {"x": 1}, "oracle takes no options, but has 'x'"),
    ],
)
def test_options_that_make_no_sense(adapter: str, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ProfileError) as caught:
        ADAPTERS[adapter](trial(adapter, **options).runtime)
    assert str(caught.value) == f"[tool.agentbench.runtimes.my-{adapter}]: {problem}"


DOCS = (Path(__file__).parent.parent / "docs" / "runtimes.md").read_text()


def blocks(language: str) -> list[str]:
    return [part.partition("```")[0] for part in DOCS.split(f"```{language}\n")[1:]]


def test_the_profiles_in_the_docs_are_good() -> None:
    made = []
    for block in blocks("toml"):
        table = tomllib.loads(block)["tool"]["agentbench"]
        for name, options in table.get("runtimes", {}).items():
            adapter = options.pop("adapter")
            profile = RuntimeProfile(
                name=name,
                adapter=adapter,
                version=options.pop("version", ""),
                model=options.pop("model", None),
                options=options,
            )
            made.append(ADAPTERS[adapter](profile).name)
        for name, options in table.get("models", {}).items():
            backend = options.pop("backend")
            make_model(ModelProfile(name=name, backend=backend, options=options))
            made.append(backend)
    assert {"minimal", "scripted", "command"} <= set(made)


def test_the_adapter_in_the_docs_runs(tmp_path: Path) -> None:
    (source,) = blocks("python")
    names: dict[str, Any] = {}
    exec(source, names)
    adapters = names["pytest_agentbench_runtimes"](None)
    one = trial("shout", word="hey")
    (tmp_path / "ws").mkdir()
    execution = run_phase(
        one,
        runtime=adapters["shout"](one.runtime),
        sandbox=Subreaper(),
        root=tmp_path,
        workspace=Workspace(tmp_path / "ws"),
    )
    assert execution.trace.response == "hey\n"


def test_the_docs_name_every_option_and_placeholder() -> None:
    options = [*command.PLACEHOLDERS, *command.OPTIONS, *scripted.OPTIONS, *scripted.POLICIES]
    assert [
        name
        for name in options
        if f"`{name}" not in DOCS and f"{{{name}}}" not in DOCS and f"\n{name} = " not in DOCS
    ] == []
