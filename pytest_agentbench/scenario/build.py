"""A scenario from the keys of its file, whichever form the file has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_agentbench.scenario import keys, paths, tags
from pytest_agentbench.scenario.capability import CAPABILITIES
from pytest_agentbench.scenario.checks import checks
from pytest_agentbench.scenario.inputs import find, inputs
from pytest_agentbench.scenario.model import (
    DIFFICULTIES,
    DIMENSIONS,
    SEVERITIES,
    CheckSpec,
    Form,
    GraderCode,
    InputFile,
    Probe,
    Scenario,
    ScenarioError,
)
from pytest_agentbench.scenario.rubric import Rubric
from pytest_agentbench.scenario.rubric_file import atomic_rubric
from pytest_agentbench.scenario.steps import alternatives, probes, steps
from pytest_agentbench.scenario.table import Table, refuse, unknown
from pytest_agentbench.scenario.yamlfile import Document, kind

MAX_TIMEOUT = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """What task markdown says outside its front matter."""

    grader: GraderCode | None = None
    hybrid: tuple[float, float] | None = None
    criteria: tuple[str, ...] = ()
    sub_problems: tuple[str, ...] = ()
    expected: str = ""
    official: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What a published composite file says in its own way: see ``clawpro``."""

    tags: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()


def build(
    document: Document,
    form: Form,
    *,
    body: Body | None = None,
    published: Published | None = None,
) -> Scenario:
    """The scenario. Raises ``ScenarioError`` for the first thing that is wrong with it."""
    table = Table(document, document.value)
    places = _places(form, document.path)
    identifier = table.text("id", document.path.stem)
    if not keys.IDENTIFIER.fullmatch(identifier):
        raise table.refuse(
            "id",
            f"must be letters, digits, `_`, `.`, `-` after a letter or digit, not {kind(identifier)}",
        )
    table.need("prompt")
    prompt = table.text("prompt").strip()
    if not prompt or "\0" in prompt:
        raise table.refuse("prompt", "must be text to send to an agent; it is empty or holds NUL")
    policy = table.choice("policy", "composite" if body is None else "mean", keys.POLICIES)
    if policy == "composite" and form is not Form.EVOCLAW:
        table.need("dimension")
    severity = table.choice("severity", "major", SEVERITIES)
    marks, tags_written = _marks(table, published)
    family_mark, family_written = family(table)
    solution = steps(table, "solution")
    specs = checks(table, places, severity=severity, strict=form is Form.NATIVE)
    grader = _grader(table, form, places) or (body.grader if body else None)
    found = probes(table, solution)
    rubric, atomic = _rubric(table), atomic_rubric(table, places, identifier, specs)
    if atomic is not None and body and body.hybrid:
        problem = "a hybrid is judged by its own text; it cannot have criteria beside it"
        raise ScenarioError(atomic.path, problem)
    if policy == "rubric" and atomic is None:
        problem = f"needs criteria: at `rubric`, or in {identifier}.rubric.yaml beside the file"
        raise table.refuse("policy", f"'rubric' {problem}")
    if grader is None and not specs and rubric is None and atomic is None:
        wanted = "`checks` or `custom_check`" if body is None else "a section that holds checks"
        raise ScenarioError(document.path, f"nothing grades this; give it {wanted}")
    if grader is None:
        _hold_probes(table, found, specs)
    files = inputs(table, places, keep_path=body is not None)
    if form is Form.NATIVE:
        _hold_paths(table, files, specs)
        _hide_answers(table, files, specs, grader, atomic)
    threshold = table.number("pass_threshold", -1.0, low=0, high=1)
    return Scenario(
        id=identifier,
        path=document.path,
        prompt=prompt,
        form=form,
        name=table.text("name", identifier),
        dimension=table.choice("dimension", "", tuple(DIMENSIONS)),
        difficulty=table.choice("difficulty", "medium", tuple(DIFFICULTIES)),
        weight=table.number("weight", 1.0, above=0, high=1000),
        family=family_mark,
        siblings=table.texts("siblings"),
        tags=marks,
        exposure=table.choice("exposure", "zero-shot", keys.EXPOSURES),
        severity=severity,
        official=body.official if body else True,
        requires=published.requires if published else requires(table),
        inputs=files,
        setup_script=_file(table, "setup_script", places),
        teardown_script=_file(table, "teardown_script", places),
        sandbox=_sandbox(table),
        skills=_skills(table, places),
        timeout_seconds=table.number(
            "timeout_seconds", 120.0 if form is Form.EVOCLAW else 180.0, above=0, high=MAX_TIMEOUT
        ),
        optimal_steps=table.whole(
            "optimal_steps", 5, low=1 if form is Form.NATIVE else 0, high=10_000
        ),
        policy=policy,
        pass_threshold=None if threshold < 0 else threshold,
        efficiency_penalty_cap=table.number("efficiency_penalty_cap", 0.30, high=1),
        efficiency_penalty_rate=table.number("efficiency_penalty_rate", 0.15, high=1000),
        tools=table.texts("tools"),
        expected_tools=table.texts("expected_tools"),
        ideal_tool_sequence=table.texts("ideal_tool_sequence"),
        checks=specs if form is not Form.CLAWPRO or grader is None else (),
        grader=grader,
        hybrid=body.hybrid if body else None,
        rubric=rubric if atomic is None or isinstance(rubric, str) else None,
        atomic_rubric=atomic,
        expected_outcome=table.text("expected_outcome", body.expected if body else ""),
        criteria=body.criteria if body else (),
        sub_problems=body.sub_problems if body else (),
        solution=solution,
        probes=found,
        alternatives=alternatives(table, solution),
        lines={str(at[0]): line for at, line in document.lines.items() if len(at) == 1},
        extra=_extra(table, form) | tags_written | family_written,
    )


def _extra(table: Table, form: Form) -> dict[str, Any]:
    kept: tuple[str, ...] = (*keys.DOCUMENTATION, *keys.SUITE, *keys.TASK)
    if form is Form.CLAWPRO and "custom_check" in table:
        # Where a published file names a checker, its declared checks count for nothing.
        kept = (*kept, "checks")
    return {key: value for key, value in table.value.items() if key in kept}


def _places(form: Form, path: Path) -> paths.Places:
    match form:
        case Form.CLAWPRO:
            return paths.published(path)
        case Form.EVOCLAW:
            return paths.tasks(path)
        case _:
            return paths.beside(path)


def _marks(
    table: Table, published: Published | None
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Tags as marks, and as written where one had to be spelled otherwise."""
    written = published.tags if published else table.texts("tags")
    marks: dict[str, None] = {}
    for index, tag in enumerate(written):
        try:
            marks[tags.safe(tag)] = None
        except ValueError as error:
            at = ("tags", index)
            raise refuse(table.document, at, f"cannot be a tag: {error}") from None
    return tuple(marks), {"tags": written} if tuple(marks) != written else {}


def family(table: Table) -> tuple[str, dict[str, str]]:
    """The family as a mark, and as written where it had to be spelled otherwise."""
    key = "family" if "family" in table else "task_family"
    written = table.text(key)
    try:
        mark = tags.safe(written) if written else ""
    except ValueError as error:
        raise table.refuse(key, f"cannot be a family: {error}") from None
    return mark, {"family": written} if mark != written else {}


def requires(table: Table) -> tuple[str, ...]:
    """Capabilities that a runtime must have."""
    for index, name in enumerate(table.texts("requires")):
        if name not in CAPABILITIES:
            raise unknown(table.document, ("requires", index), name, tuple(CAPABILITIES))
    return table.texts("requires")


def _rubric(table: Table) -> dict[str, Any] | str | None:
    rubric = table.value.get("rubric")
    if rubric is not None and not isinstance(rubric, str | dict):
        raise table.refuse("rubric", f"must be text or a mapping, not {kind(rubric)}")
    return rubric


def _sandbox(table: Table) -> dict[str, int]:
    limits = table.table("sandbox")
    limits.only(keys.SANDBOX)
    return {
        name: limits.whole(name, 0, low=1, high=1 << 20) for name in keys.SANDBOX if name in limits
    }


def _grader(table: Table, form: Form, places: paths.Places) -> GraderCode | None:
    if form is Form.CLAWPRO:
        places = paths.checkers(table.document.path)
    path = _file(table, "custom_check", places)
    if path is not None and path.suffix != ".py":
        raise table.refuse("custom_check", f"must be a Python file, not {path.name!r}")
    return GraderCode(path=path, api="clawpro") if path else None


def _file(table: Table, key: str, places: paths.Places) -> Path | None:
    if key not in table:
        return None
    path = find(table.document, (key,), table.text(key), places)
    if not path.is_file():
        raise table.refuse(key, f"must be a file; {path.name!r} is none")
    return path


def _skills(table: Table, places: paths.Places) -> tuple[Path, ...]:
    found = []
    for index, text in enumerate(table.texts("skills")):
        folder = find(table.document, ("skills", index), text, places)
        if not (folder / "SKILL.md").is_file():
            raise refuse(table.document, ("skills", index), "must be a folder that holds SKILL.md")
        found.append(folder)
    return tuple(found)


def _hold_probes(table: Table, found: tuple[Probe, ...], specs: tuple[CheckSpec, ...]) -> None:
    known = [spec.id for spec in specs]
    for number, probe in enumerate(found):
        for index, name in enumerate(probe.fails):
            if name not in known:
                at = ("probes", number, "fails", index)
                raise unknown(table.document, at, name, tuple(known))


def _hold_paths(table: Table, files: tuple[InputFile, ...], specs: tuple[CheckSpec, ...]) -> None:
    """Refuse ``inputs_unchanged`` for a path that is no input."""
    dests = tuple(file.dest for file in files)
    for number, spec in enumerate(specs):
        named = spec.params.get("paths", ()) if spec.type == "inputs_unchanged" else ()
        for index, path in enumerate(named):
            if path not in dests:
                raise unknown(table.document, ("checks", number, "paths", index), path, dests)


def _hide_answers(
    table: Table,
    files: tuple[InputFile, ...],
    specs: tuple[CheckSpec, ...],
    grader: GraderCode | None,
    rubric: Rubric | None,
) -> None:
    """Refuse inputs that would show the agent the scenario or what grades it."""
    secret = [table.document.path, *([rubric.path] if rubric else [])]
    specs = (*specs, *(rubric.checks if rubric else ()))
    secret += [Path(spec.params["file"]) for spec in specs if spec.type == "python"]
    secret += [grader.path] if grader is not None and grader.path is not None else []
    secrets = {_identity(path) for path in secret}
    for file in files:
        if file.source is not None and _identity(file.source) in secrets:
            key = "workspace_seed_dir" if "workspace_seed_dir" in table else "workspace_files"
            name = kind(file.source.name)
            raise table.refuse(key, f"would show the agent {name}, which grades it")


def _identity(path: Path) -> tuple[int, int]:
    """The same for a file by whatever name or link."""
    found = path.stat()
    return (found.st_dev, found.st_ino)
