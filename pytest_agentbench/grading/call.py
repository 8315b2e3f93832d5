"""What a child of the checker server does with a request, and how it words what went wrong."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import linecache
import marshal
import re
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, signature
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pytest_agentbench.grading.bytecode import Compiler, Importer
from pytest_agentbench.grading.intrusion import watch
from pytest_agentbench.grading.writing import forbid

if TYPE_CHECKING:
    from pytest_agentbench.grading.judging.material import Budget
    from pytest_agentbench.scenario.model import CheckSpec, InputFile
    from pytest_agentbench.trace.events import Trace

MESSAGE_LIMIT = 500
_FOLDERS = re.compile(r"(?<![\w./:])/(?:[^\s/'\":]+/)+")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Python that checks: a file, or source that is embedded in ``name``.

    ``search`` is put in front of ``sys.path``. ``bytecode``, by file, spares children to compile.
    """

    path: Path | None = None
    source: str = ""
    name: str = ""
    search: tuple[Path, ...] = ()
    bytecode: Mapping[str, bytes] = field(default_factory=dict, compare=False)

    @property
    def file(self) -> str:
        return self.name if self.path is None else str(self.path)

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where modules are looked for first."""
        own = () if self.path is None else (self.path.parent,)
        return tuple(dict.fromkeys((*own, *self.search)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonCall:
    """``function(workspace, trace, **args)`` of a native scenario."""

    code: Code
    function: str
    workspace: Path
    trace: Mapping[str, Any]
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeCall:
    """``grade`` and ``grade_process`` of a published ``custom_check`` file.

    The verdict is ``{"grade": …, "process": …}``, ``process`` absent where there is none. With
    ``reads_only`` it is ended when it sets out to change a file that is not its own.
    """

    code: Code
    workspace: Path
    trace: Mapping[str, Any]
    tool_calls: Sequence[Mapping[str, Any]]
    reads_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptCall:
    """``grade(transcript, workspace_path)`` of a published task file; ``reads_only`` as above."""

    code: Code
    workspace: Path
    transcript: Sequence[Mapping[str, Any]]
    reads_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Declarative checks whose cost nobody can bound beforehand.

    The verdict is a list of check results, or ``{"fault": status, "message": text}`` where the
    harness itself is in trouble.
    """

    specs: tuple[CheckSpec, ...]
    workspace: Path
    trace: Trace
    inputs: tuple[InputFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """What a judge is to be shown of a trial, within ``budget``.

    The verdict is that of ``Material.to_json``, or a fault as in ``Evaluation``.
    ``opens_documents`` is off where to open them ended the child.
    """

    workspace: Path
    trace: Trace
    budget: Budget
    inputs: tuple[InputFile, ...] = ()
    opens_documents: bool = True


Request = PythonCall | GradeCall | TranscriptCall | Evaluation | Showing


def modules(request: Request) -> tuple[str, ...]:
    """What the server is to import before it forks: in a child that would cost ten forks."""
    if isinstance(request, Showing):
        return (f"{__package__}.judging.showing",)
    if not isinstance(request, Evaluation):
        return ()
    schema = any(spec.type == "json_schema" for spec in request.specs)
    return (f"{__package__}.check", *(("jsonschema",) if schema else ()))


def compiled(request: Request, compiler: Compiler) -> Request:
    """``request`` with the bytecode of its code, if it has any."""
    if isinstance(request, Evaluation | Showing):
        return request
    code = request.code
    bytecode = compiler.compiled(code.file, code.source, code.folders)
    return dataclasses.replace(request, code=dataclasses.replace(code, bytecode=bytecode))


def answer(
    request: Request, tell: Callable[[], None], end: Callable[[], None]
) -> tuple[bytes, bytes]:
    """Kind and payload of the verdict: JSON of what the checker returned, or what it raised.

    ``tell`` is called before code of the workspace first runs in a checker, ``end`` before one that
    should only read changes a file outside of the current folder; it does not return.
    """
    if not isinstance(request, Evaluation | Showing):
        watch(request.workspace, tell)
    if isinstance(request, GradeCall | TranscriptCall) and request.reads_only:
        forbid(Path.cwd(), end)
    try:
        value = _run(request)
    except BaseException as fault:  # noqa: BLE001 - SystemExit is no way out of a grade either
        return b"R", _describe(fault, request).encode("utf-8", "backslashreplace")
    try:
        return b"V", json.dumps(value, allow_nan=False, skipkeys=True, default=_plain).encode()
    except (ValueError, RecursionError, MemoryError) as fault:
        return b"I", f"the verdict is not JSON: {fault}".encode("utf-8", "backslashreplace")


def _run(request: Request) -> Any:
    if isinstance(request, Evaluation):
        return _evaluate(request)
    if isinstance(request, Showing):
        return _show(request)
    module = _load(request.code)
    if isinstance(request, PythonCall):
        function = _function(module, request.function, request.code)
        return function(request.workspace, request.trace, **request.args)
    grade = _function(module, "grade", request.code)
    if isinstance(request, TranscriptCall):
        return grade(list(request.transcript), str(request.workspace))
    verdict = {"grade": _fit(grade, str(request.workspace), request.trace, request.tool_calls)}
    graded = verdict["grade"]
    process = getattr(module, "grade_process", None)
    scored = isinstance(graded, dict) and graded.get("process_score") is not None
    if callable(process) and not scored:
        verdict["process"] = _fit(process, request.trace, request.tool_calls)
    return verdict


def _evaluate(request: Evaluation) -> Any:
    from pytest_agentbench.grading.check import evaluate
    from pytest_agentbench.grading.evidence import Evidence
    from pytest_agentbench.status import Status, TrialFault

    evidence = Evidence(
        workspace=request.workspace, trace=request.trace, inputs=request.inputs, sandbox=None
    )
    try:
        return [dataclasses.asdict(evaluate(spec, evidence)) for spec in request.specs]
    except TrialFault as fault:
        if fault.status is Status.CHECKER_ERROR:
            raise
        return {"fault": fault.status, "message": str(fault)}


def _show(request: Showing) -> Any:
    from pytest_agentbench.grading.judging.showing import show
    from pytest_agentbench.status import TrialFault

    try:
        return show(request).to_json()
    except TrialFault as fault:
        return {"fault": fault.status, "message": str(fault)}


def _load(code: Code) -> ModuleType:
    sys.path[:0] = map(str, code.folders)
    importer = Importer(code.bytecode)
    sys.meta_path.insert(0, importer)
    if code.path is None:
        module = ModuleType("embedded_checker")
        sys.modules[module.__name__] = module
        # So that tracebacks can show the line.
        linecache.cache[code.name] = (len(code.source), None, code.source.splitlines(True), "")
        known = code.bytecode.get(code.name)
        own = marshal.loads(known) if known else compile(code.source, code.name, "exec")
        exec(own, module.__dict__)
        return module
    spec = importlib.util.spec_from_file_location(f"checker_{code.path.stem}", code.path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{code.path.name} is not a Python file")
    module = importlib.util.module_from_spec(importer.equipped(spec))
    sys.modules[module.__name__] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


def _function(module: ModuleType, name: str, code: Code) -> Callable[..., Any]:
    function = getattr(module, name, None)
    if not callable(function):
        where = code.path.name if code.path else code.name
        raise AttributeError(f"{where} has no function {name}")  # noqa: TRY004 - the word for it
    return function  # type: ignore[no-any-return]


def _fit(function: Callable[..., Any], *values: Any) -> Any:
    """Call with as many of the values as the function takes by position."""
    kinds = [p.kind for p in signature(function).parameters.values()]
    if Parameter.VAR_POSITIONAL in kinds:
        return function(*values)
    by_position = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return function(*values[: sum(kind in by_position for kind in kinds)])


def _plain(value: Any) -> Any:
    """Numbers of other libraries as floats, everything else as short text."""
    return float(value) if hasattr(value, "__float__") else str(value)[:MESSAGE_LIMIT]


def _describe(fault: BaseException, request: Request) -> str:
    """The last line of the traceback, with the place in the checker's own file."""
    try:
        text = str(fault)
    except BaseException:  # noqa: BLE001 - it is the code of the checker that fails
        text = "(its message cannot be shown)"
    text = text.replace(f"{request.workspace}/", "")
    text = _ADDRESS.sub("0x…", _FOLDERS.sub("", text))
    if len(text) > MESSAGE_LIMIT:
        text = f"{text[:MESSAGE_LIMIT]}…"
    name = type(fault).__name__
    return f"{name}: {text}{_place(fault, request)}" if text else f"{name}{_place(fault, request)}"


def _place(fault: BaseException, request: Request) -> str:
    if isinstance(request, Evaluation | Showing):
        return ""
    own = request.code.file
    if isinstance(fault, SyntaxError) and fault.filename == own:
        return ""  # its message names file and line
    lines = [
        line
        for frame, line in traceback.walk_tb(fault.__traceback__)
        if frame.f_code.co_filename == own
    ]
    return f" ({Path(own).name}:{lines[-1]})" if lines else ""
