"""The clauses of the adaptation contract, in the order in which reports and docs show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_agentbench.conformance.faults import ENDINGS, FAULTS

#: The first word of a clause's id, and the layer of the contract that it belongs to.
LAYERS: Mapping[str, str] = {
    "state": "fresh isolated state",
    "identity": "identity and release binding",
    "dispatch": "model and dispatch",
    "trace": "normalised trace",
    "evidence": "evidence and order",
    "artefacts": "end state and artefacts",
    "safety": "safety labels",
    "skills": "skills",
    "parallel": "repeated trials side by side",
    "fault": "execution status",
    "ending": "the agent's own endings",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """What an adapter must do, and where to look when it does not."""

    id: str
    says: str
    look: str

    @property
    def layer(self) -> str:
        return LAYERS[self.id.partition(".")[0]]


def _clause(id: str, says: str, look: str) -> Clause:  # noqa: A002
    return Clause(id=id, says=says, look=look)


_PREPARE = "where `prepare` and `command` put HOME, state, sessions and caches: below `run`"
_PROMPT = "how `command` hands over `run.prompt`: as it is, never through a shell, a template or an option"
_COLLECT = "`collect`: how it makes events of the native transcript"
_SURFACE = "the table of native tools that `collect` uses (`pytest_agentbench.trace.surface`)"
_STATUS = (
    "the status that `collect` returns, against `pytest_agentbench/outcome.py`; and whether the "
    "program goes on by itself after such an answer"
)

_OWN: tuple[Clause, ...] = (
    _clause("state.files", "a run finds no file that an earlier run left", _PREPARE),
    _clause("state.memory", "nothing of an earlier run is in the requests of the next", _PREPARE),
    _clause(
        "identity.version",
        "`probe` tells version and digest of the program, the same each time",
        "`RuntimeInfo(version=…, digest=…)` in `probe`",
    ),
    _clause(
        "identity.model",
        "every request asks for the model that the run was given",
        "what `command` and `prepare` make of `run.model.name`, small and background models too",
    ),
    _clause(
        "identity.token",
        "every request carries the run's token",
        "what `command` and `prepare` make of `run.model.token`",
    ),
    *(
        _clause(
            f"dispatch.{name}", f"a prompt with {what} is in the first request as it is", _PROMPT
        )
        for name, what in (
            ("non_ascii", "letters beyond ASCII"),
            ("quotes", "quotes, backslashes and dollar signs"),
            ("newlines", "several lines"),
            ("dash", "a dash at its beginning"),
            ("slash", "a slash at its beginning"),
            ("long", "20 kB"),
        )
    ),
    _clause(
        "dispatch.workspace",
        "the agent's commands start in the workspace",
        "`Command.cwd` and what else tells the program its working folder",
    ),
    _clause(
        "dispatch.environment",
        "the agent's commands see nothing of the caller's environment",
        "`Command.env`: what the program needs, never a copy of os.environ",
    ),
    _clause(
        "trace.kinds",
        "the trace begins with the prompt, and has messages, calls and results of canonical tools",
        _COLLECT,
    ),
    _clause(
        "trace.arguments",
        "calls have the normalised arguments of their canonical tool",
        _SURFACE,
    ),
    _clause(
        "trace.ids", "each call has an id of its own, and each result that of its call", _COLLECT
    ),
    _clause("trace.results", "results hold the text that the tool gave", _COLLECT),
    _clause("trace.parallel", "calls of one turn are all there, each with its result", _COLLECT),
    _clause(
        "trace.failed",
        "the result of a command that failed has a status of 400 or more, others do not",
        f"{_COLLECT}; `result(…, failed=…)`",
    ),
    _clause("trace.times", "times do not go backwards", _COLLECT),
    _clause(
        "trace.native",
        "each call keeps its native name and, as `native` or `args`, what the model wrote",
        _COLLECT,
    ),
    _clause("trace.unicode", "an argument beyond ASCII is in the trace as it was sent", _COLLECT),
    _clause("trace.calls", "as many calls as the gateway saw", _COLLECT),
    _clause(
        "trace.tokens",
        "the runtime's own count of tokens and requests, where it has one, is the gateway's",
        "`Execution.usage`: cached tokens apart, failed requests left out, no call counted twice",
    ),
    _clause("evidence.read", "reading a file is evidence for `reads`", _SURFACE),
    _clause("evidence.write", "writing a file is evidence for `writes`", _SURFACE),
    _clause("evidence.edit", "editing a file is evidence for `writes`", _SURFACE),
    _clause("evidence.exec", "a command is evidence for `command`", _SURFACE),
    _clause(
        "evidence.order",
        "`happens_before` holds for what came first, and does not the other way round",
        _COLLECT,
    ),
    _clause(
        "artefacts.files",
        "what the agent writes lies in the workspace, byte for byte",
        "`Command.cwd` and what else tells the program its working folder",
    ),
    _clause(
        "artefacts.own",
        "what the runtime itself puts into the workspace is named by the adapter",
        "`own_files` of the adapter: globs, relative to the workspace",
    ),
    _clause("artefacts.answer", "the final answer is in the trace", _COLLECT),
    _clause(
        "safety.capabilities",
        "capabilities are those of the registry",
        "`RuntimeInfo.capabilities`, against `pytest_agentbench/scenario/capability.py`",
    ),
    _clause(
        "safety.enforced",
        "the record says what the sandbox enforced on the program",
        "`command`: what it returns is what runs, in the sandbox and nowhere else",
    ),
    _clause(
        "safety.processes",
        "nothing that the agent started outlives the run",
        "processes that the program or `prepare` starts elsewhere: servers, multiplexers, services",
    ),
    _clause(
        "safety.outside",
        "nothing but the run's own folders may be written",
        "`Command.view`: `writable` holds paths below `run.state`, `run.home` or `run.workspace`",
    ),
    _clause(
        "skills.announced",
        "a skill in the runtime's folder of skills is told to the model in the first request",
        "`skills_folder` of the adapter",
    ),
    _clause(
        "parallel.apart",
        "of eight runs at once, each transcript and each request names its own trial alone",
        f"{_PREPARE}; and how `collect` finds its transcript: by an id, never as the newest file",
    ),
    _clause(
        "fault.none",
        "without a fault the task ends as `completed` and scores 1.0",
        "the checks that failed; a fault's verdict counts for nothing without this one",
    ),
)

CLAUSES: Mapping[str, Clause] = {
    clause.id: clause
    for clause in (
        *_OWN,
        *(
            _clause(f"fault.{fault.id}", f"{fault.how}: the run ends as `{fault.status}`", _STATUS)
            for fault in FAULTS
        ),
        *(
            _clause(
                f"ending.{ending.id}",
                f"{ending.how}: the run ends as `{ending.status}` and is graded",
                _STATUS,
            )
            for ending in ENDINGS
        ),
    )
}
