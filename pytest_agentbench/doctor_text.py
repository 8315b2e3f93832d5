"""What the doctor found, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_agentbench.doctor import Finding, Tried
from pytest_agentbench.execution import Usage
from pytest_agentbench.text import escape

_WIDTH = 400


def render(findings: Sequence[Finding], sandbox: str) -> list[str]:
    """Lines without a final line end; ``sandbox`` is the one in use, and why."""
    lines = [f"sandbox {sandbox}", ""]
    for finding in findings:
        lines += [*_finding(finding), ""]
    usable = sum(finding.usable for finding in findings)
    return [*lines, f"{usable} of {len(findings)} usable"]


def _finding(finding: Finding) -> Iterator[str]:
    by = f" (adapter {finding.adapter})" if finding.adapter != finding.name else ""
    yield f"{finding.name}{by}: {'usable' if finding.usable else 'not usable'}"
    if finding.problem:
        yield from (f"  {escape(line, _WIDTH)}" for line in finding.problem.splitlines())
    elif finding.version:
        yield _fact("version", f"{finding.version}{_tested(finding)}")
    if finding.program:
        yield _fact("program", finding.program)
    if finding.digest:
        yield _fact("sha256", finding.digest)
    for need in finding.needs:
        what, *more = need.found.splitlines()
        yield _fact("needs", f"{need.what}: {what}")
        yield from (f"             {escape(line.strip(), _WIDTH)}" for line in more)
    if finding.problem and finding.install and finding.install not in finding.problem:
        yield _fact("install", finding.install)
    if finding.capabilities:
        yield _fact("able to", ", ".join(finding.capabilities))
    if finding.max_concurrent:
        yield _fact("at once", f"at most {finding.max_concurrent} on this machine")
    if finding.tried is not None:
        yield from _tried(finding.tried)
    elif finding.not_tried:
        yield _fact("trial", f"none: {finding.not_tried}")


def _tested(finding: Finding) -> str:
    if not finding.tested:
        return ""
    same = finding.tested == finding.version
    return (
        ", as the adapter was tested" if same else f"; the adapter was tested with {finding.tested}"
    )


def _tried(tried: Tried) -> Iterator[str]:
    solved = "solved" if tried.solved else "not solved"
    yield _fact("trial", f"{tried.status}, {solved}, {tried.seconds:.1f} s (the model is scripted)")
    for line in tried.message.splitlines():
        yield f"             {escape(line, _WIDTH)}"
    for line in tried.failed:
        yield f"             {escape(line, _WIDTH)}"
    requests = "?" if tried.usage.requests is None else tried.usage.requests
    yield _fact("seen", f"{requests} requests; {tried.calls} tool calls, {tried.results} results")
    tools = (
        tool if tool == native else f"{tool} ({native})" for native, tool in tried.tools.items()
    )
    yield _fact("tools", ", ".join(tools) or "none")
    verdict = {True: "the same", False: "not the same", None: "not comparable"}[tried.same_usage]
    yield _fact(
        "usage", f"gateway {_usage(tried.usage)}; transcript {_usage(tried.said)}: {verdict}"
    )


def _usage(usage: Usage) -> str:
    counts = (
        ("in", usage.input_tokens),
        ("out", usage.output_tokens),
        ("cache read", usage.cache_read_tokens),
        ("cache write", usage.cache_write_tokens),
    )
    known = [f"{value:,} {name}" for name, value in counts if value is not None]
    return " + ".join(known) or "says nothing"


def _fact(name: str, text: str) -> str:
    return f"  {name:<9}  {escape(text, _WIDTH)}"
