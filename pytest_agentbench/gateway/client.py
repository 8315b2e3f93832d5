"""A worker's side of the gateway: starts it where there is none, and asks it for lines."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pytest_agentbench.execution import ModelEndpoint
from pytest_agentbench.gateway.registry import make_model
from pytest_agentbench.gateway.report import LineReport
from pytest_agentbench.gateway.watch import Watch
from pytest_agentbench.plain import plain
from pytest_agentbench.sandbox import leftovers
from pytest_agentbench.scenario.model import Scenario, Step
from pytest_agentbench.spending import Budgets
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trial import ModelProfile, ProfileError, RuntimeProfile, Trial

#: Seconds for the gateway to answer a worker, on a machine that is busy.
_PATIENCE = 60.0


class Gateway:
    """A gateway process, known by the path of its control socket."""

    def __init__(self, control: Path, budgets: Budgets | None = None) -> None:
        self.control = control
        self.budgets = budgets or Budgets()

    @contextlib.contextmanager
    def open_line(
        self,
        profile: ModelProfile,
        trial: Trial,
        steps: tuple[Step, ...],
        *,
        url: str = "",
        watch: Watch | None = None,
    ) -> Iterator[OpenLine]:
        """Have the model of ``profile`` served to one run.

        ``url`` is where a sandbox forwards from; without one a port of the host's own is opened.
        ``watch`` is what to look for in the first request.
        Raises ``TrialFault`` for a bad profile and for a gateway that is not there.
        """
        try:
            spec = make_model(profile).spec(trial, steps)
        except ProfileError as error:
            raise TrialFault(Status.HARNESS_ERROR, str(error)) from None
        tape = _tape(profile, trial)
        seen = watch.to_json() if watch else None
        with self._line(profile, spec, url=url, tape=tape, watch=seen) as line:
            yield line

    @contextlib.contextmanager
    def open_judge(
        self, profile: ModelProfile, scenario: Scenario, *, places: int, seconds: float
    ) -> Iterator[OpenLine]:
        """Have the model of ``profile`` judge a trial of ``scenario``, metered apart from the agent.

        It draws on the run's budget.
        All judges of the host together have ``places`` calls under way, each for ``seconds``.
        Raises ``TrialFault`` as ``open_line`` does.
        """
        nobody = RuntimeProfile(name="judge", adapter="judge")
        trial = Trial(scenario=scenario, runtime=nobody, mode="judge", index=1, phases=())
        try:
            spec = make_model(profile).spec(trial, ())
        except ProfileError as error:
            raise TrialFault(Status.HARNESS_ERROR, str(error)) from None
        turns = {"places": places, "seconds": seconds}
        with self._line(profile, spec, url="", tape=None, judging=turns) as line:
            yield line

    @contextlib.contextmanager
    def _line(
        self, profile: ModelProfile, spec: Mapping[str, Any], *, url: str, **more: Any
    ) -> Iterator[OpenLine]:
        # Not below the trial's folder: the path of a socket has room for about 100 bytes.
        with leftovers.temporary("gw-") as base, self._connected() as channel:
            # What a sandbox shows of it, and may hand over to another user.
            folder = base / "g"
            folder.mkdir(mode=0o700)
            token = secrets.token_hex(16)
            opened = channel.ask(
                do="open",
                backend=profile.backend,
                spec=spec,
                model=profile.name,
                token=token,
                socket=str(folder / "s"),
                # Where no sandbox forwards; a judge is asked over the socket.
                tcp=not url and "judging" not in more,
                budgets=plain(self.budgets),
                price=dataclasses.asdict(profile.price) if profile.price else None,
                **more,
            )
            endpoint = ModelEndpoint(
                name=profile.name,
                socket=folder / "s",
                token=token,
                url=url or f"http://127.0.0.1:{opened['port']}",
                scripted=opened["scripted"],
            )
            yield OpenLine(endpoint, channel)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Channel]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_PATIENCE)
            try:
                self._await()
                connection.connect(str(self.control))
            except OSError as error:
                raise _gone(error) from error
            # Not for writing, which would be tried again when it is closed.
            with connection.makefile("rb") as answers:
                yield Channel(connection, answers)

    def _await(self) -> None:
        """Until it listens for the first time: it starts while workers collect."""
        deadline = time.monotonic() + _PATIENCE
        while not self.control.exists() and time.monotonic() < deadline:
            time.sleep(0.01)


@dataclass(frozen=True, slots=True)
class Channel:
    """Questions to the gateway, one after the other."""

    connection: socket.socket
    answers: IO[bytes]

    def ask(self, **message: Any) -> Mapping[str, Any]:
        try:
            self.connection.sendall(json.dumps(message).encode() + b"\n")
            text = self.answers.readline()
        except OSError as error:
            raise _gone(error) from error
        if not text:
            raise _gone("it ended")
        said: Mapping[str, Any] = json.loads(text)
        if "error" in said:
            problem = f"the model gateway cannot {message['do']}: {said['error']}"
            raise TrialFault(Status.HARNESS_ERROR, problem)
        return said


@dataclass(frozen=True, slots=True)
class OpenLine:
    """A run's connection to its model."""

    endpoint: ModelEndpoint
    _channel: Channel

    def report(self) -> LineReport:
        """What went over it so far. Raises ``TrialFault`` for a gateway that has gone."""
        return LineReport.from_json(self._channel.ask(do="report"))


@contextlib.contextmanager
def gateway(budgets: Budgets | None = None) -> Iterator[Gateway]:
    """Start a gateway, which ends with the block or with this process, whichever is first.

    It is not waited for: importing an HTTP server takes it half a second.
    """
    with leftovers.temporary("gw-") as folder:
        control = folder / "control"
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest_agentbench.gateway.service", str(control)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            # Out of reach of Ctrl-C, which the whole group of the terminal gets.
            start_new_session=True,
        )
        try:
            yield Gateway(control, budgets)
        finally:
            if process.stdin:
                process.stdin.close()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _tape(profile: ModelProfile, trial: Trial) -> Mapping[str, Any] | None:
    """Where the calls of ``trial`` are to be recorded, or to be had from."""
    if profile.tape is None:
        return None
    from pytest_agentbench.gateway.cassette import cassette_path

    names = {"runtime": trial.runtime.name, "model": profile.name, "mode": trial.mode}
    return {
        "path": str(cassette_path(profile.tape.folder, trial)),
        "replays": profile.tape.replays,
        "trial": {"scenario": trial.scenario.id, **names, "index": trial.index},
    }


def _gone(reason: object) -> TrialFault:
    return TrialFault(Status.HARNESS_ERROR, f"the model gateway is not there: {reason}")
