"""Scenarios in task markdown: front matter and ``##`` sections."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_agentbench.scenario import keys
from pytest_agentbench.scenario.build import Body, build
from pytest_agentbench.scenario.model import Form, GraderCode, Scenario, ScenarioError
from pytest_agentbench.scenario.source import decode
from pytest_agentbench.scenario.table import Table, hint
from pytest_agentbench.scenario.yaml_form import version
from pytest_agentbench.scenario.yamlfile import Document, KeyPath, kind, parse_text

#: Headings of the published form, then ours.
HEADINGS = (
    "Prompt",
    "Expected Behavior",
    "Sub-Problems",
    "Grading Criteria",
    "Automated Checks",
    "LLM Judge Rubric",
    "Checks",
    "Solution",
    "Probes",
    "Alternatives",
)
#: The category of a published task that asks whether the runtime answers at all.
_SANITY = "sanity"
GRADINGS = ("automated", "hybrid", "llm_judge")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """A fenced block. ``line`` is where it opens, 1-based."""

    language: str
    text: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What stands under a heading, and its blocks. ``line`` is the heading's, 1-based."""

    heading: str
    text: str
    line: int
    fences: tuple[Fence, ...] = ()

    def fence(self, *languages: str) -> Fence | None:
        return next((fence for fence in self.fences if fence.language in languages), None)


def load_markdown(data: bytes, path: Path) -> Scenario:
    """The scenario in a markdown file: native if its front matter says ``agentbench``."""
    lines = decode(data, path).replace("\r\n", "\n").split("\n")
    front, end = _front(lines, path)
    table = Table(front, front.value)
    native = "agentbench" in table.value
    if native:
        version(table)
    table.only(keys.TASK_NATIVE if native else keys.EVOCLAW, empty=not native)
    sections = {section.heading: section for section in _sections(lines, end, path)}
    if native:
        for section in sections.values():
            if section.heading not in HEADINGS:
                problem = f"`## {section.heading}` is not a known section"
                raise ScenarioError(
                    path, problem + hint(section.heading, HEADINGS), line=section.line
                )
    if "Prompt" not in sections:
        raise ScenarioError(path, "there is no section `## Prompt`")
    document = _merged(front, sections, native=native)
    body = _body(table, sections, native=native)
    return build(document, Form.NATIVE if native else Form.EVOCLAW, body=body)


def _front(lines: list[str], path: Path) -> tuple[Document, int]:
    """The front matter, and the number of lines that it takes."""
    if lines[0].rstrip() != "---":
        raise ScenarioError(path, "must begin with front matter between two lines `---`", line=1)
    ends = (number for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---")
    end = next(ends, None)
    if end is None:
        raise ScenarioError(path, "the front matter is not closed by a line `---`", line=1)
    front = parse_text("\n".join(lines[1:end]) + "\n", path, above=1)
    if not isinstance(front.value, dict):
        problem = f"the front matter must be a mapping, not {kind(front.value)}"
        raise ScenarioError(path, problem, line=2)
    return front, end + 1


def _sections(lines: list[str], start: int, path: Path) -> Iterator[Section]:
    """The ``##`` sections below line ``start``. Headings in fenced blocks are none."""
    heading, first = "", start
    fences: list[Fence] = []
    mark, opened, language = "", 0, ""
    seen: dict[str, int] = {}
    for number in range(start, len(lines) + 1):
        line = lines[number] if number < len(lines) else "## "
        if mark and number < len(lines):
            close = line.strip()
            if close.startswith(mark) and not close.strip(mark[0]):
                text = "\n".join(lines[opened + 1 : number]) + "\n"
                fences.append(Fence(language=language, text=text, line=opened + 1))
                mark = ""
        elif mark:
            raise ScenarioError(path, "the block that opens here is not closed", line=opened + 1)
        elif open_ := _FENCE.match(line):
            mark, opened, language = open_[1], number, open_[2].lower()
        elif line.startswith("## "):
            if heading:
                text = "\n".join(lines[first + 1 : number])
                yield Section(
                    heading=heading, text=_trim(text), line=first + 1, fences=tuple(fences)
                )
            heading, first, fences = line[3:].strip(), number, []
            if heading in seen:
                problem = f"`## {heading}` is there twice, first in line {seen[heading]}"
                raise ScenarioError(path, problem, line=number + 1)
            seen[heading] = number + 1


def _trim(text: str) -> str:
    """A section's text without the blank lines around it and the rule that ends it."""
    text = text.strip()
    return text.removesuffix("\n---").rstrip() if text != "---" else ""


def _merged(front: Document, sections: dict[str, Section], *, native: bool) -> Document:
    """The front matter with the sections as if they had been keys of it."""
    value = dict(front.value)
    lines: dict[KeyPath, int] = dict(front.lines)
    for heading, key in (("Prompt", "prompt"), ("LLM Judge Rubric", "rubric")):
        if heading in sections:
            value[key] = sections[heading].text
            lines[key,] = sections[heading].line
    for heading in HEADINGS[6:] if native else ():
        if heading not in sections:
            continue
        section, key = sections[heading], heading.lower()
        fence = section.fence("yaml", "yml")
        if fence is None:
            problem = f"`## {heading}` needs a block ```yaml that lists the {key}"
            raise ScenarioError(front.path, problem, line=section.line)
        part = parse_text(fence.text, front.path, above=fence.line)
        value[key] = part.value
        lines |= {(key, *at): line for at, line in part.lines.items()}
    return Document(path=front.path, value=value, lines=lines)


def _body(table: Table, sections: dict[str, Section], *, native: bool) -> Body:
    grading = table.choice("grading_type", "automated", GRADINGS)
    text = {heading: section.text for heading, section in sections.items()}
    return Body(
        grader=_grader(table, sections, grading),
        hybrid=_weights(table, grading),
        criteria=tuple(_CRITERION.findall(text.get("Grading Criteria", ""))),
        sub_problems=tuple(_SUB_PROBLEM.findall(text.get("Sub-Problems", ""))),
        expected=text.get("Expected Behavior", ""),
        official=native or table.value.get("category") != _SANITY,
    )


def _grader(table: Table, sections: dict[str, Section], grading: str) -> GraderCode | None:
    section = sections.get("Automated Checks")
    if section is None:
        return None
    fence = section.fence("python", "py")
    if fence is None or not _GRADE.search(fence.text):
        problem = "`## Automated Checks` needs a block ```python that defines grade"
        raise ScenarioError(table.document.path, problem, line=section.line)
    return GraderCode(source=fence.text, api="evoclaw")


def _weights(table: Table, grading: str) -> tuple[float, float] | None:
    """Weights of the automated and the judged part, as published: both default to one half."""
    weights = table.table("grading_weights")
    weights.only(("automated", "llm_judge"))
    pair = (
        weights.number("automated", 0.5, high=1000),
        weights.number("llm_judge", 0.5, high=1000),
    )
    if grading == "automated":
        return None
    if grading == "llm_judge":
        return (0.0, 1.0)
    return pair if sum(pair) > 0 else (0.5, 0.5)


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([\w+-]*)")
_CRITERION = re.compile(r"(?m)^\s*- \[[ xX]\] +(.+?)\s*$")
_SUB_PROBLEM = re.compile(r"(?m)^### Sub-Problem \d+: *(.+?)\s*$")
_GRADE = re.compile(r"(?m)^def grade\(")
