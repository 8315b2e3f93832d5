"""Scenarios in YAML: our own form, and that of the published composite suite."""

from __future__ import annotations

from pathlib import Path

from pytest_agentbench.scenario import keys
from pytest_agentbench.scenario.build import Published, build
from pytest_agentbench.scenario.capability import INFERRED_SURFACES, SURFACES
from pytest_agentbench.scenario.model import Form, Scenario
from pytest_agentbench.scenario.table import Table
from pytest_agentbench.scenario.yamlfile import Document, parse


def load_yaml(data: bytes, path: Path) -> Scenario:
    """The scenario in a YAML file: native if it says ``agentbench``, else published."""
    document = parse(data, path)
    table = Table(document, document.value)
    if "agentbench" in table.value:
        version(table)
        table.only(keys.NATIVE)
        return build(document, Form.NATIVE)
    return _clawpro(table)


def version(table: Table) -> None:
    """Refuse every version of the native form but ours."""
    value = table.value["agentbench"]
    if isinstance(value, bool) or value != keys.VERSION:
        raise table.refuse(
            "agentbench", f"must be {keys.VERSION}, the form that this version reads"
        )


def _clawpro(table: Table) -> Scenario:
    for key in table.value:
        if key in keys.NATIVE and key not in keys.CLAWPRO:
            raise table.refuse(key, f"belongs to the native form; add `agentbench: {keys.VERSION}`")
    table.only(keys.CLAWPRO, empty=True)
    table.need("id")
    table.need("dimension")
    table.need("benchmark_group")
    group = table.choice("benchmark_group", "", ("intelligence", "coverage"))
    status = table.choice("benchmark_status", "active", ("active", "incubating"))
    core = table.flag("benchmark_core")
    if core and group == "coverage":
        raise table.refuse("benchmark_core", "cannot be true in the group coverage")
    mode = table.choice("execution_mode", "replay", ("replay", "live"))
    surfaces = _surfaces(table)
    source = table.choice(
        "signal_source",
        "replay" if mode == "replay" else "openclaw_native" if surfaces else "workspace_live",
        ("replay", "workspace_live", "openclaw_native"),
    )
    derived = (
        f"benchmark-{group}",
        "benchmark-core" if core else "benchmark-extended",
        f"benchmark-{status}",
        f"signal-{source}",
    )
    written = [t for t in table.texts("tags") if not t.startswith(("benchmark-", "signal-"))]
    needed = [SURFACES.get(name, "gateway-services") for name in surfaces]
    published = Published(
        tags=tuple(dict.fromkeys((*written, *derived))),
        requires=tuple(dict.fromkeys(name for name in needed if name)),
    )
    return build(_flat(table), Form.CLAWPRO, published=published)


def _surfaces(table: Table) -> tuple[str, ...]:
    """The surfaces that the file lists, else those that its tools' names imply."""
    if given := table.texts("openclaw_surfaces"):
        return given
    tools = (*table.texts("tools"), *table.texts("expected_tools"))
    return tuple(s for s in INFERRED_SURFACES if any(t.startswith(f"{s}_") for t in tools))


def _flat(table: Table) -> Document:
    """The document with ``scoring.checks`` where ``checks`` would be."""
    if "scoring" not in table:
        return table.document
    scoring = table.table("scoring")
    scoring.only(("checks",))
    if "checks" in table:
        raise table.refuse("scoring", "gives checks that `checks` gives too; keep one of them")
    lines = {
        at[1:] if at[:2] == ("scoring", "checks") else at: line
        for at, line in table.document.lines.items()
    }
    value = table.value | {"checks": scoring.items("checks")}
    return Document(path=table.document.path, value=value, lines=lines)
