"""The runner: environment, retries, classification, and whose fault it is."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import Command, Completed, Execution, TimeLimit
from pytest_agentbench.gateway.client import Gateway
from pytest_agentbench.modes import MODES, Mode, Stage, phases
from pytest_agentbench.runner import RunFault, run_phase
from pytest_agentbench.runtimes.protocol import Runtime, RuntimeInfo
from pytest_agentbench.runtimes.registry import ADAPTERS
from pytest_agentbench.sandbox.subreaper import Subreaper
from pytest_agentbench.scenario.model import Scenario, Step
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trace.events import Event, EventKind, Trace
from pytest_agentbench.trial import AgentRun, ModelProfile, Phase, RuntimeProfile, Trial
from pytest_agentbench.workspace import Workspace

SAID = Trace(events=(Event(kind=EventKind.ASSISTANT, text="Done."),))


class Program:
    """Runs a line of shell, and reports what it is told to, whatever happened."""

    name = "program"

    def __init__(
        self,
        line: str = "true",
        status: Status = Status.COMPLETED,
        trace: Trace = SAID,
        **info: Any,
    ) -> None:
        self.line = line
        self.reported = Execution(status=status, trace=trace, message="as told")
        self.info = RuntimeInfo(version="1", **info)
        self.runs: list[AgentRun] = []

    def probe(self) -> RuntimeInfo:
        return self.info

    def prepare(self, run: AgentRun) -> None:
        self.runs.append(run)

    def command(self, run: AgentRun) -> Command | None:
        return Command(argv=("sh", "-c", self.line), cwd=run.workspace, env={"ADDED": "1"})

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        return self.reported


def trial(seconds: float = 20.0, attempts: int = 2, **fields: Any) -> Trial:
    return Trial(
        scenario=Scenario(
            id="demo",
            path=Path("demo.yaml"),
            prompt="Do it.",
            solution=(Step(verb="write", path="out", content="x"),),
        ),
        runtime=RuntimeProfile(name="mine", adapter="program"),
        mode="baseline",
        index=1,
        phases=(Phase(name="baseline", seconds=seconds, prompt_prefix="Hear: "),),
        max_attempts=attempts,
        **fields,
    )


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path / "ws")
    workspace.reset()
    return workspace


class Run:
    """Runs trials in one folder; ``slept`` are the pauses between attempts."""

    def __init__(self, root: Path, workspace: Workspace, gateway: Gateway) -> None:
        self.root = root
        self.workspace = workspace
        self.gateway = gateway
        self.slept: list[float] = []

    def __call__(self, runtime: Runtime, one: Trial | None = None, **others: Any) -> Execution:
        return run_phase(
            one or trial(),
            runtime=runtime,
            sandbox=Subreaper(),
            root=self.root,
            workspace=others.pop("workspace", self.workspace),
            sleep=self.slept.append,
            gateway=self.gateway,
            **others,
        )

    def fault(self, runtime: Runtime, one: Trial | None = None, **others: Any) -> RunFault:
        with pytest.raises(RunFault) as caught:
            self(runtime, one, **others)
        return caught.value


@pytest.fixture
def run(tmp_path: Path, workspace: Workspace, gateway: Gateway) -> Run:
    return Run(tmp_path, workspace, gateway)


def toy(**options: Any) -> ModelProfile:
    return ModelProfile(name="toy", backend="scripted", options=options)


def test_an_agent_gets_nothing_of_the_callers_environment(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "s")
    monkeypatch.setenv("HOME", "/home/caller")
    program = Program("env > env.txt")
    run(program)
    lines = run.workspace.read_text("env.txt").splitlines()
    env = dict(
        line.split("=", 1) for line in lines if not line.startswith(("PWD=", "_=", "OLDPWD"))
    )
    agent = program.runs[0]
    ours = ["AGENTBENCH_OWNER", "AGENTBENCH_TRIAL"]
    assert sorted(env) == ["ADDED", *ours, "HOME", "LANG", "PATH", "TMPDIR"]
    assert (env["HOME"], env["AGENTBENCH_TRIAL"]) == (str(agent.home), agent.id)
    assert "demo" not in agent.id
    assert Path(env["TMPDIR"]).is_dir()
    assert agent.prompt == "Hear: Do it."


class Astray(Program):
    """Starts its program in HOME."""

    def command(self, run: AgentRun) -> Command | None:
        return Command(argv=("true",), cwd=run.home, env={})


def test_an_agent_that_is_sent_elsewhere_did_not_fail(run: Run) -> None:
    astray = Astray()
    error = run.fault(astray, trial(attempts=1))
    assert error.status is Status.HARNESS_ERROR
    assert str(error) == (
        f"adapter 'program' starts its program in {astray.runs[0].home}, which is not the run's "
        f"workspace {run.workspace.root}: see `Command.cwd` in its `command`"
    )


def test_an_execution_says_what_was_seen(run: Run) -> None:
    execution = run(Program("echo hi; sleep 0.1"))
    assert (execution.status, execution.message) == (Status.COMPLETED, "as told")
    assert execution.trace == SAID
    assert execution.completed.stdout == b"hi\n"
    assert execution.enforced["sandbox"] == "subreaper"
    assert execution.seconds >= 0.1
    assert execution.started > 1_700_000_000
    assert (execution.attempts, execution.time_limit, execution.flags) == ((), None, ())


def test_the_time_limit_is_the_agents_result(run: Run) -> None:
    execution = run(Program("sleep 60"), trial(seconds=0.3))
    assert execution.status is Status.AGENT_TIMEOUT
    assert execution.message == "stopped at the time limit, after 0.3 s"
    assert execution.time_limit is not None
    assert execution.time_limit == TimeLimit(
        layer="phase", limit=0.3, elapsed=execution.completed.seconds
    )
    assert (execution.attempts, run.slept) == ((), [])


def test_output_and_processes_that_had_to_be_cut_are_flagged(run: Run) -> None:
    line = "head -c 2000000 /dev/zero; (setsid sleep 60 &) ; sleep 0.2"
    assert run(Program(line)).flags == ("left_processes", "output_cut")


def test_a_claim_without_any_trace_is_empty(run: Run) -> None:
    error = run.fault(Program(trace=Trace()))
    assert error.status is Status.EMPTY_TRACE
    assert str(error) == (
        "it ended as if all were well, but neither its transcript nor the gateway shows a model "
        "call"
    )
    assert len(error.execution.attempts) == 1
    assert run(Program(trace=Trace(), calls_model=False)).status is Status.COMPLETED


def test_a_transient_fault_is_tried_again_from_the_same_workspace(run: Run) -> None:
    (run.workspace / "given").write_text("as given")
    program = Program("cat given > seen; echo changed > given; touch extra")
    program.reported = dataclasses.replace(program.reported, status=Status.SANDBOX_ERROR)
    error = run.fault(program, trial(attempts=4))
    assert run.slept == [0.5, 1.0, 2.0]
    attempts = error.execution.attempts
    assert [(one.status, one.message) for one in attempts] == [
        (Status.SANDBOX_ERROR, "as told")
    ] * 3
    assert run.workspace.read_text("seen") == "as given"
    folders = {(agent.home, agent.state, agent.id) for agent in program.runs}
    assert len(folders) == 4


def test_the_workspace_is_filled_again_where_it_knows_how(run: Run, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "ws", lambda root: (root / "a").write_text("new"))
    workspace.reset()
    (workspace / "a").write_text("old")
    program = Program("cat a >> ../seen", status=Status.SANDBOX_ERROR)
    run.fault(program, workspace=workspace)
    assert (tmp_path / "seen").read_text() == "oldnew"


def test_a_second_attempt_may_succeed(run: Run, tmp_path: Path) -> None:
    class Flaky(Program):
        def collect(self, run: AgentRun, done: Completed) -> Execution:
            if len(self.runs) == 1:
                raise TrialFault(Status.PROVIDER_ERROR, "try later")
            return self.reported

    execution = run(Flaky())
    assert execution.status is Status.COMPLETED
    assert [(one.status, one.message) for one in execution.attempts] == [
        (Status.PROVIDER_ERROR, "try later")
    ]


def test_what_is_permanent_is_not_tried_again(run: Run) -> None:
    error = run.fault(Program(status=Status.AUTH_ERROR), trial(attempts=5))
    assert (error.status, error.execution.attempts, run.slept) == (Status.AUTH_ERROR, (), [])


@pytest.mark.parametrize("method", ["prepare", "command", "collect"])
def test_a_bug_in_an_adapter_is_the_harness_fault(run: Run, method: str) -> None:
    program = Program()

    def fail(*_: object) -> None:
        raise LookupError("oops")

    setattr(program, method, fail)
    error = run.fault(program, trial(attempts=1))
    assert error.status is Status.HARNESS_ERROR
    assert str(error) == f"adapter 'program' raised LookupError in {method}: oops"


def test_a_runtime_without_a_model_says_how_to_name_one(run: Run) -> None:
    error = run.fault(Program(endpoint=True), trial(attempts=1))
    assert error.status is Status.HARNESS_ERROR
    assert str(error) == (
        'runtime mine needs a model: give --model=NAME, or model = "NAME" in '
        "[tool.agentbench.runtimes.mine]"
    )


def test_a_full_disk_stops_a_run_before_it_starts(run: Run) -> None:
    program = Program()
    error = run.fault(program, trial(attempts=1), free_space=1 << 60)
    assert error.status is Status.NO_SPACE
    assert str(error).endswith(f" MiB are free for the trial's files; a run needs {1 << 40} MiB")
    assert program.runs == []


def minimal(**model: Any) -> tuple[Runtime, Trial]:
    one = dataclasses.replace(
        trial(), runtime=RuntimeProfile(name="minimal", adapter="minimal"), model=toy(**model)
    )
    return ADAPTERS["minimal"](one.runtime), one


def test_a_scripted_model_solves_the_scenario_over_a_socket(run: Run) -> None:
    execution = run(*minimal())
    assert execution.status is Status.COMPLETED
    assert run.workspace.read_text("out") == "x"
    assert execution.usage.requests == 2


def test_a_provider_that_fails_is_tried_again_and_never_graded(run: Run) -> None:
    error = run.fault(*minimal(faults={"demo-t1": 503}))
    assert error.status is Status.PROVIDER_ERROR
    assert [one.status for one in error.execution.attempts] == [Status.PROVIDER_ERROR]
    assert run.slept == [0.5]
    assert error.execution.usage.requests == 1


def test_a_model_that_never_answers_is_no_timeout_of_the_agents(run: Run) -> None:
    runtime, one = minimal(policy="stall")
    one = dataclasses.replace(one, phases=(Phase(name="baseline", seconds=2.0),), max_attempts=1)
    error = run.fault(runtime, one)
    assert error.status is Status.PROVIDER_ERROR
    assert re.fullmatch(
        r"stopped at the time limit, after 2\.\d s, of which the model left it waiting for "
        r"[12]\.\d s without a word",
        str(error),
    )


def test_an_agent_that_is_slow_by_itself_runs_into_its_time_limit(run: Run) -> None:
    one = trial(seconds=0.5, model=toy())
    assert run(Meddler("sleep 9", endpoint=True), one).status is Status.AGENT_TIMEOUT


class Meddler(Program):
    """Asks the model itself, from the adapter, and then reports what it was told to."""

    def prepare(self, run: AgentRun) -> None:
        import http.client
        import socket

        super().prepare(run)
        assert run.model is not None
        connection = http.client.HTTPConnection("gateway")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(run.model.socket))
        token = {"Authorization": f"Bearer {run.model.token}"}
        connection.request("POST", "/v1/chat/completions", '{"messages": []}', token)
        connection.getresponse().read()
        connection.close()


@pytest.mark.parametrize("claim", [Status.PROVIDER_ERROR, Status.AUTH_ERROR])
def test_an_agent_cannot_blame_a_provider_that_answered(run: Run, claim: Status) -> None:
    execution = run(Meddler(status=claim, endpoint=True), trial(model=toy(policy="refuse")))
    assert (execution.status, execution.message) == (Status.AGENT_ERROR, "as told")


def test_a_runtime_cannot_hide_that_the_provider_failed(run: Run) -> None:
    error = run.fault(
        Meddler(status=Status.COMPLETED, endpoint=True),
        trial(model=toy(policy="error:500"), attempts=1),
    )
    assert error.status is Status.PROVIDER_ERROR
    assert str(error) == "the model answered 500: the scripted model answers 500, as told"


def test_a_time_limit_reached_while_the_provider_failed_is_the_providers(run: Run) -> None:
    error = run.fault(
        Meddler("sleep 60", endpoint=True),
        trial(seconds=0.3, model=toy(policy="error:429"), attempts=1),
    )
    assert error.status is Status.PROVIDER_ERROR


def test_a_refusal_is_known_whatever_the_transcript_leaves_out(run: Run) -> None:
    silent = Meddler(trace=Trace(), endpoint=True)
    execution = run(silent, trial(model=toy(policy="refuse")))
    assert execution.status is Status.REFUSAL


def test_a_runtime_that_fails_before_it_asks_its_model_has_not_started(run: Run) -> None:
    program = Program("exit 2", Status.AGENT_ERROR, Trace(), endpoint=True)
    error = run.fault(program, trial(model=toy(), attempts=1))
    assert error.status is Status.SANDBOX_ERROR
    assert str(error) == (
        "it did not start: exit code 2 before it did anything; what it needs may be hidden by the "
        "sandbox: name it in `readable` of the runtime's profile, or try --sandbox=subreaper (as "
        "told)"
    )


def test_words_without_a_request_at_the_gateway_are_nobodys_answer(run: Run) -> None:
    """Some runtimes take a prompt for a command of their own, and answer it themselves."""
    error = run.fault(Program("true", endpoint=True), trial(model=toy(), attempts=1))
    assert error.status is Status.EMPTY_TRACE


def test_a_request_at_the_gateway_is_trace_enough(run: Run) -> None:
    execution = run(Meddler(trace=Trace(), endpoint=True), trial(model=toy()))
    assert execution.status is Status.COMPLETED


def test_a_setup_script_that_fails_is_tried_again(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "set_up.sh"
    script.write_text("test -e ../once || { touch ../once; exit 1; }; touch ready")
    one = trial()
    one = dataclasses.replace(one, scenario=dataclasses.replace(one.scenario, setup_script=script))
    execution = run(Program("test -e ready && touch seen"), one)
    assert (run.workspace / "seen").exists()
    assert [attempt.message for attempt in execution.attempts] == [
        "setup script set_up.sh of demo: exit 1"
    ]


def test_phases_of_a_mode() -> None:
    scenario = dataclasses.replace(trial().scenario, timeout_seconds=100.0)
    assert phases(MODES["baseline"], scenario, 1.5) == (Phase(name="baseline", seconds=150.0),)
    two = Mode(
        name="two",
        stages=(
            Stage(name="learn", graded=False, share=0.5, prompt_prefix="First: "),
            Stage(name="use"),
        ),
    )
    assert phases(two, scenario) == (
        Phase(name="learn", seconds=50.0, graded=False, prompt_prefix="First: "),
        Phase(name="use", seconds=100.0),
    )
