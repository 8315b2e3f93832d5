from __future__ import annotations

import contextlib
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_agentbench.scenario.model import ScenarioError
from pytest_agentbench.scenario.yamlfile import parse, parse_text

HERE = Path("case.yaml")

#: What is written, what it means.
SCALARS: list[tuple[str, Any]] = [
    ("", None),
    ("~", None),
    ("null", None),
    ("Null", None),
    ("true", True),
    ("false", False),
    ("0", 0),
    ("7", 7),
    ("-12", -12),
    ("+12", 12),
    ("0.5", 0.5),
    (".5", 0.5),
    ("-3.25", -3.25),
    ("'7'", "7"),
    ('"true"', "true"),
    ('""', ""),
    ('"a\\tb"', "a\tb"),
    ("plain text", "plain text"),
    ("no", "no"),
    ("Yes", "Yes"),
    ("on", "on"),
    ("OFF", "OFF"),
    ("y", "y"),
    ("True", "True"),
    ("1_000", "1_000"),
    ("12:30", "12:30"),
    ("190:20:30", "190:20:30"),
    ("0o17", "0o17"),
    ("017", "017"),
    ("007.5", "007.5"),
    ("0x1F", "0x1F"),
    ("0b101", "0b101"),
    ("1e3", "1e3"),
    ("1.5e+3", "1.5e+3"),
    ("2026-11-30", "2026-11-30"),
    ("2026-11-30T10:00:00Z", "2026-11-30T10:00:00Z"),
    ("=", "="),
    ("1.2.3", "1.2.3"),
    ("!!str 12", "12"),
    ("!!int 12", 12),
    ("!!float 1.5", 1.5),
    ("!!null ''", None),
]


@pytest.mark.parametrize(("written", "meant"), SCALARS, ids=[repr(s[0]) for s in SCALARS])
def test_a_scalar_is_what_was_written(written: str, meant: Any) -> None:
    value = parse(f"key: {written}\n".encode(), HERE).value["key"]
    assert (type(value), value) == (type(meant), meant)


@pytest.mark.parametrize("key", ["no", "on", "y", "12:30", "2026-11-30", "'7'", "'true'", "'<<'"])
def test_a_key_is_what_was_written(key: str) -> None:
    assert parse(f"{key}: 1\n".encode(), HERE).value == {key.strip("'"): 1}


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        (".inf", ".inf is not a finite number; quote it if it is text"),
        ("-.INF", "-.INF is not a finite number; quote it if it is text"),
        (".NaN", ".NaN is not a finite number; quote it if it is text"),
        ("!!float 12", "the tag !!float does not fit here; write plain or quoted text"),
        ("!!bool yes", "the tag !!bool does not fit here; write plain or quoted text"),
        ("!!binary aGk=", "the tag !!binary does not fit here; write plain or quoted text"),
        ("!!set {a, b}", "the tag !!set does not fit here; write plain or quoted text"),
        ("!mine x", "the tag !mine does not fit here; write plain or quoted text"),
        ("{true: 1}", "a key must be text, not true; quote it"),
        ("{~: 1}", "a key must be text, not nothing; quote it"),
        ("{1.5: 1}", "a key must be text, not the number 1.5; quote it"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_line(written: str, problem: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(f"a: 1\nb:\n- {written}\n".encode(), HERE)
    assert str(caught.value) == f"case.yaml:3: {problem}"


def test_lines_of_keys_and_items() -> None:
    document = parse(b"# first\na: 1\nb:\n- x\n- {c: 1,\n   d: 2}\n", HERE)
    assert document.lines == {
        (): 2,
        ("a",): 2,
        ("b",): 3,
        ("b", 0): 4,
        ("b", 1): 5,
        ("b", 1, "c"): 5,
        ("b", 1, "d"): 6,
    }
    assert document.line(("b", 1, "d", "deeper")) == 6
    assert document.line(("nowhere",)) == 2


def test_lines_count_from_where_the_text_begins() -> None:
    assert parse_text("a: 1\nb: 2\n", HERE, above=10).line(("b",)) == 12
    with pytest.raises(ScenarioError, match=r"^case\.yaml:12: "):
        parse_text("a: 1\na: 2\n", HERE, above=10)


def test_an_alias_repeats_its_anchor() -> None:
    document = parse(b"a: &x {k: [1, 2]}\nb: *x\n", HERE)
    assert document.value == {"a": {"k": [1, 2]}, "b": {"k": [1, 2]}}


def test_an_alias_is_as_deep_as_its_anchor() -> None:
    deep = "[" * 40 + "]" * 40
    nested = "[" * 15 + "*x" + "]" * 15
    with pytest.raises(ScenarioError, match="nested more than 50 levels deep"):
        parse(f"a: &x {deep}\nb: {nested}\n".encode(), HERE)


def test_a_byte_order_mark_and_carriage_returns_are_no_part_of_it() -> None:
    assert parse(b"\xef\xbb\xbfa: 1\r\nb: x\r\n", HERE).value == {"a": 1, "b": "x"}


def test_without_libyaml_the_same_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"k{n}: {written}\n" for n, (written, _) in enumerate(SCALARS))
    with_it = parse(text.encode(), HERE)
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert parse(text.encode(), HERE) == with_it


@pytest.mark.parametrize("seed", range(20))
def test_any_bytes_are_read_or_refused(seed: int) -> None:
    rng = random.Random(seed)
    alphabet = b"ab01:-,[]{}&*!<>|'\"#?%@\\ \n\t.~\r\x00\xff\xc3\xa9"
    for _ in range(200):
        data = bytes(rng.choices(alphabet, k=rng.randrange(60)))
        with contextlib.suppress(ScenarioError):
            assert isinstance(parse(data, HERE).value, dict)


@pytest.mark.parametrize("seed", range(20))
def test_what_a_dumper_writes_is_read_back(seed: int) -> None:
    value = {"value": _value(random.Random(seed), 4)}
    text = yaml.safe_dump(value, default_style='"', allow_unicode=False)
    assert parse(text.encode(), HERE).value == value


def _value(rng: random.Random, depth: int) -> Any:
    text = "".join(rng.choices("no yes 1.5e3:#-é漢\0\t\n\u2028'\"", k=rng.randrange(12)))
    if depth and rng.random() < 0.6:
        items = [_value(rng, depth - 1) for _ in range(rng.randrange(4))]
        return items if rng.random() < 0.5 else {f"{text}{n}": v for n, v in enumerate(items)}
    return rng.choice([None, True, False, rng.randrange(-999, 999), 0.25, text])
