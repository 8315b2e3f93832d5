"""What a criterion may say: one behaviour, in few words, without giving anything away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.scenario.model import CheckSpec, Scenario
from pytest_agentbench.scenario.rubric import Criterion, Rubric

#: Limits of a statement (SkillForgeBench E.4).
MAX_WORDS, MAX_CHARACTERS = 30, 400
#: Shorter texts, and numbers of fewer digits, stand in statements by chance.
_LEAST_TEXT, _LEAST_NUMBER = 4, 2

_SUFFIXES = (
    *("bib", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "db", "docx", "env", "go", "h"),
    *("hpp", "html", "ini", "ipynb", "java", "js", "json", "jsonl", "jsx", "kt", "lock", "log"),
    *("md", "parquet", "pdf", "php", "png", "pptx", "py", "r", "rb", "rs", "sh", "sql", "sqlite"),
    *("swift", "tex", "toml", "ts", "tsv", "tsx", "txt", "xlsx", "xml", "yaml", "yml"),
)
#: What E.4 calls specifics of one run, and what each looks like.
_SPECIFICS = (
    ("a backtick", re.compile("`")),
    ("a file name", re.compile(rf"[\w*-]+\.(?:{'|'.join(_SUFFIXES)})\b|(?<!\w)\.(?:{'|'.join(_SUFFIXES)})\b")),
    ("a path", re.compile(r"(?:(?<![\w/])(?:~|\.{1,2})?/\w|\w/\w+/\w|\w\\\w)")),
    ("a line number", re.compile(r"(?i)\blines?\s+\d+|[\w)]:\d+\b|\bL\d+\b")),
    ("a numbered response", re.compile(r"(?i)\bresponse[- ]\d+")),
)  # fmt: skip
_SENTENCES = re.compile(r"[\w)][\w)][.!?]\s+[A-Z]|;\s")


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a criterion, or with the whole rubric where ``criterion`` is empty."""

    criterion: str
    text: str

    def __str__(self) -> str:
        return f"{self.criterion}: {self.text}" if self.criterion else self.text


def wording(rubric: Rubric, scenario: Scenario | None = None) -> Iterator[Problem]:
    """What is wrong with the statements, and with guidance that names a run's specifics.

    With the scenario, statements may not name its files and its answers either; guidance may,
    since a judge has to know what is right.
    """
    files = _file_names(scenario) if scenario else ()
    secrets = answers(scenario) if scenario else ()
    for each in rubric.criteria:
        for text in _statement(each.statement):
            yield Problem(each.id, text)
        named = [name for name in files if stands(name, each.statement)]
        named += [word for word in secrets if stands(word, each.statement)]
        for word in dict.fromkeys(named):
            yield Problem(each.id, f"its statement gives away {word!r}, which the scenario holds")
        for place, text in guidance(each):
            for what in specifics(text):
                yield Problem(each.id, f"its {place} names {what}; say what to look for")


def specifics(text: str) -> list[str]:
    """What of one run the text names: files, paths, lines, numbered responses."""
    return [f"{what} ({match[0]!r})" for what, form in _SPECIFICS if (match := form.search(text))]


def answers(scenario: Scenario) -> tuple[str, ...]:
    """Values that the scenario's checks expect and its solution computes, if no prompt has them."""
    found = [text for check in scenario.checks for text in _expected(check)]
    for step in scenario.solution:
        found += re.findall(r"(?<![\w.])\d[\d.,:-]*\d(?![\w])", step.content)
    return tuple(dict.fromkeys(text for text in found if not stands(text, scenario.prompt)))


def _statement(text: str) -> Iterator[str]:
    if not text.startswith("The agent "):
        yield "its statement must start with 'The agent'"
    words = len(text.split())
    if words > MAX_WORDS:
        yield f"its statement has {words} words; it may have {MAX_WORDS}"
    if len(text) > MAX_CHARACTERS:
        yield f"its statement has {len(text)} characters; it may have {MAX_CHARACTERS}"
    if _SENTENCES.search(text):
        yield "its statement is more than one sentence; a criterion is about one behaviour"
    for what in specifics(text):
        yield f"its statement names {what}; say what holds of every good run"


def guidance(criterion: Criterion) -> Iterator[tuple[str, str]]:
    """What a judge is told beside the statement: where it stands, and the text."""
    yield "look_for", criterion.look_for
    yield "negative_anchor", criterion.negative_anchor
    yield from (("ladder", rung.statement) for rung in criterion.ladder)
    yield from (("positive_evidence", text) for text in criterion.positive_evidence)
    yield from (("false_positives", text) for text in criterion.false_positives)


def _file_names(scenario: Scenario) -> tuple[str, ...]:
    inputs = [entry.dest for entry in scenario.inputs]
    written = [step.path for step in scenario.solution if step.verb in ("write", "edit")]
    paths = [path for path in (*inputs, *written) if path]
    names = [*paths, *(path.rpartition("/")[2] for path in paths)]
    return tuple(dict.fromkeys(name for name in names if "." in name or "_" in name))


def _expected(check: CheckSpec) -> Iterator[str]:
    for key in ("equals", "approx", "unordered", "one_of", "contains", "rows"):
        yield from _scalars(check.params.get(key))


def _scalars(value: Any) -> Iterator[str]:
    """Texts and numbers in ``value`` that would say something in a statement."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _scalars(one)
    elif isinstance(value, str):
        if len(value) >= _LEAST_TEXT:
            yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from (t for t in _spellings(value) if sum(c.isdigit() for c in t) >= _LEAST_NUMBER)


def _spellings(value: float) -> Iterable[str]:
    return (f"{value}", f"{value:,}", f"{value:.2f}", f"{value:,.2f}")


def stands(word: str, text: str) -> bool:
    """Whether ``word`` stands in ``text`` by itself, in whatever case."""
    return bool(re.search(rf"(?i)(?<![\w.]){re.escape(word)}(?!\w|\.\d)", text))
