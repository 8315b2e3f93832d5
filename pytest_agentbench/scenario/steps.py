"""Steps of solutions and probes."""

from __future__ import annotations

from pytest_agentbench.scenario.model import Probe, Step
from pytest_agentbench.scenario.paths import relative
from pytest_agentbench.scenario.table import Table, hint, refuse
from pytest_agentbench.scenario.yamlfile import kind

#: The keys of each verb's mapping, the verb first.
VERBS: dict[str, tuple[str, ...]] = {
    "read": ("read",),
    "write": ("write", "content"),
    "edit": ("edit", "old", "new"),
    "exec": ("exec",),
    "call": ("call", "args"),
    "say": ("say",),
}


def steps(table: Table, key: str) -> tuple[Step, ...]:
    """The steps listed at ``key``."""
    return tuple(_step(entry) for entry in table.tables(key))


def probes(table: Table, solution: tuple[Step, ...]) -> tuple[Probe, ...]:
    """The near-misses of a scenario, each with the checks that it fails."""
    return _answers(table, "probes", solution, ("fails", "plausible", "passes"))


def alternatives(table: Table, solution: tuple[Step, ...]) -> tuple[Probe, ...]:
    """The other right answers of a scenario."""
    return _answers(table, "alternatives", solution, ())


def _answers(
    table: Table, key: str, solution: tuple[Step, ...], more: tuple[str, ...]
) -> tuple[Probe, ...]:
    """Named lists of steps; one that extends the solution holds its steps too."""
    found: dict[str, Probe] = {}
    for entry in table.tables(key):
        entry.only(("name", "description", *more, "extends", "steps"))
        entry.need("name")
        name = entry.text("name")
        if name in found:
            raise entry.refuse("name", f"{kind(name)} is there twice")
        if "fails" in more and not entry.texts("fails"):
            raise entry.refuse("fails", "must list the checks that fail on this probe")
        before = solution if entry.choice("extends", "", ("solution",)) else ()
        entry.need("steps")
        found[name] = Probe(
            name=name,
            description=entry.text("description"),
            plausible=entry.flag("plausible"),
            passes=entry.flag("passes"),
            fails=entry.texts("fails"),
            steps=before + steps(entry, "steps"),
        )
    return tuple(found.values())


def _step(entry: Table) -> Step:
    verbs = [verb for verb in VERBS if verb in entry.value]
    if len(verbs) != 1:
        problem = f"has no verb{hint(next(iter(entry.value), ''), tuple(VERBS))}"
        if verbs:
            problem = f"has the verbs {' and '.join(verbs)}; make a step of each"
        raise refuse(entry.document, entry.at, problem)
    verb = verbs[0]
    entry.only(VERBS[verb])
    entry.need(verb)
    match verb:
        case "read":
            return Step(verb=verb, path=_path(entry, verb))
        case "write":
            return Step(verb=verb, path=_path(entry, verb), content=_given(entry, "content"))
        case "edit":
            old, new = _given(entry, "old"), _given(entry, "new")
            if not old:
                raise entry.refuse("old", "must not be empty: it is the text to replace")
            return Step(verb=verb, path=_path(entry, verb), old=old, new=new)
        case "exec":
            argv = entry.texts(verb)
            if not argv or not argv[0] or "\0" in "".join(argv):
                raise entry.refuse(verb, "must list a program and its arguments, without NUL")
            return Step(verb=verb, argv=argv)
        case "call":
            return Step(verb=verb, service=entry.text(verb), args=entry.table("args").value)
        case _:
            return Step(verb=verb, text=entry.text(verb))


def _path(entry: Table, key: str) -> str:
    try:
        return relative(entry.text(key))
    except ValueError as error:
        raise entry.refuse(key, str(error)) from None


def _given(entry: Table, key: str) -> str:
    entry.need(key)
    return entry.text(key)
