from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_agentbench.grade import CheckResult
from pytest_agentbench.status import TrialFault
from tests.evaluating import check

ROWS = [
    {"region": "North", "sales": 1200.5},
    {"region": "South", "sales": 80},
    {"region": "East", "sales": "n/a"},
    {"region": "West", "sales": 0},
]
MARKDOWN = """\
# Sales

| region | sales |
|:---|---:|
| North | 1,200.50 |
| **South** | 80 |
| East | n/a |
| `West` | 0 |

Done | really
"""
GOOD = "region,sales\nNorth,1200.5\nSouth,80\nEast,n/a\nWest,0\n"


def table(workspace: Path, content: str, name: str = "out.csv", **params: Any) -> CheckResult:
    (workspace / name).write_bytes(content.encode())
    return check("table", workspace, path=name, **{"rows": ROWS, **params})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("out.csv", GOOD),
        ("out.csv", "\ufeff" + GOOD.replace("\n", "\r\n")),
        ("out.csv", 'note,sales,region\n,"1,200.50",North\nx,80.0,South\n,n/a,East\n,0,West\n\n'),
        ("out.csv", "region , sales\n North , 1200.50\nSouth,+80\n East,n/a \nWest,0.00"),
        ("out.csv", "region,sales\nWest,0\nEast,n/a\nSouth,8e1\nNorth,1200.5"),
        ("out.tsv", GOOD.replace(",", "\t")),
        ("out.md", MARKDOWN),
        (
            "out.md",
            "a | b\n--|--\n1 | 2\n\nregion | sales\n---|---\n" + GOOD[13:].replace(",", "|"),
        ),
    ],
)
def test_equal_tables_in_every_form(tmp_path: Path, name: str, content: str) -> None:
    result = table(tmp_path, content, name)
    assert (result.earned, result.detail) == (1.0, "4 of 4 rows right, 0 too many")


@pytest.mark.parametrize(
    ("content", "score"),
    [
        (GOOD.replace("80", "81"), 0.75),
        (GOOD.replace("South,80\n", ""), 0.75),
        (GOOD.replace("0\n", "0,1\n"), 0.5),
        (GOOD + "North,1200.5\n", 0.75),
        (GOOD + "a,1\nb,2\n", 0.5),
        (GOOD * 3, 0.0),
        (GOOD.replace("80", "81") + "a,1\n", 0.5),
        ("region,sales\n", 0.0),
        ("region,sales\nnorth,1200.5\n", 0.0),
        (GOOD.replace("n/a", ""), 0.75),
        (GOOD.replace("80", "080"), 0.75),
        (GOOD.replace("1200.5", "12,00.5"), 0.75),
    ],
)
def test_each_row_counts_and_rows_too_many_take_away(
    tmp_path: Path, content: str, score: float
) -> None:
    assert table(tmp_path, content).earned == score


def test_extra_rows_may_be_allowed(tmp_path: Path) -> None:
    assert table(tmp_path, GOOD + "a,1\n" * 10, extra_rows=True).passed


def test_case_counts_unless_ignored(tmp_path: Path) -> None:
    upper = GOOD.upper()
    assert table(tmp_path, upper).detail == 'no column ["region", "sales"]'
    assert table(tmp_path, upper, ignore_case=True).passed


def test_numbers_within_the_tolerance(tmp_path: Path) -> None:
    near = GOOD.replace("1200.5", "1200.46")
    assert table(tmp_path, near).earned == 0.75
    assert table(tmp_path, near, tolerance=0.05).passed
    assert table(tmp_path, near, tolerance=0.03).earned == 0.75


def test_long_identifiers_are_not_rounded(tmp_path: Path) -> None:
    rows = [{"id": "9007199254740993"}]
    assert table(tmp_path, "id\n9007199254740993\n", rows=rows).passed
    assert not table(tmp_path, "id\n9007199254740992\n", rows=rows).passed


def test_a_code_with_a_leading_zero_is_no_number(tmp_path: Path) -> None:
    assert not table(tmp_path, "zip\n1067\n", rows=[{"zip": "01067"}]).passed
    assert table(tmp_path, "zip\n01067\n", rows=[{"zip": "01067"}]).passed


def test_truth_and_nothing_in_cells(tmp_path: Path) -> None:
    rows = [{"a": True, "b": None}]
    assert table(tmp_path, "a,b\nTRUE,\n", rows=rows).passed
    assert table(tmp_path, "a,b\ntrue\n", rows=rows).passed
    assert not table(tmp_path, "a,b\n1,\n", rows=rows).passed
    assert not table(tmp_path, "a,b\ntrue,None\n", rows=rows).passed


def test_a_key_found_twice_is_wrong(tmp_path: Path) -> None:
    hedged = GOOD + "South,81\n"
    assert table(tmp_path, hedged, extra_rows=True).passed
    assert table(tmp_path, hedged, extra_rows=True, key="region").earned == 0.75
    assert table(tmp_path, hedged, extra_rows=True, key=["region", "sales"]).passed


def test_order_counts_when_asked_for(tmp_path: Path) -> None:
    swapped = "region,sales\nSouth,80\nNorth,1200.5\nEast,n/a\nWest,0\n"
    assert table(tmp_path, swapped).passed
    assert table(tmp_path, swapped, ordered=True).earned == 0.75
    assert table(tmp_path, GOOD, ordered=True).passed
    inserted = "region,sales\nx,1\n" + GOOD[13:]
    assert table(tmp_path, inserted, ordered=True, extra_rows=True).passed


def test_another_delimiter(tmp_path: Path) -> None:
    assert table(tmp_path, GOOD.replace(",", ";"), delimiter=";").passed
    assert table(tmp_path, GOOD.replace(",", "|"), "out.md", delimiter="|").passed


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("out.csv", "", 'no column ["region", "sales"]'),
        ("out.csv", "region,region,sales\n", 'the table names column ["region"] twice'),
        ("out.csv", 'region,sales\n"North', "out.csv is no table: unexpected end of data"),
        (
            "out.csv",
            "region,sales\n" + "x" * 200_000,
            "out.csv is no table: field larger than field limit (131072)",
        ),
        ("out.md", "region,sales\n", "out.md holds no table"),
    ],
)
def test_what_is_no_such_table_says_why(
    tmp_path: Path, name: str, content: str, reason: str
) -> None:
    result = table(tmp_path, content, name)
    assert (result.earned, result.detail) == (0.0, reason)


def test_pipes_within_cells(tmp_path: Path) -> None:
    content = "| a | b |\n|---|---|\n| x\\|y | 1\\| |\n"
    assert table(tmp_path, content, "out.md", rows=[{"a": "x|y", "b": "1|"}]).passed


def test_a_wrong_row_is_shown(tmp_path: Path) -> None:
    result = table(tmp_path, GOOD.replace("80", "81"))
    assert (result.detail, result.expected, result.found) == (
        "3 of 4 rows right, 0 too many",
        '{"region": "South", "sales": 80}',
        "4 rows",
    )


def test_a_check_without_rows_is_a_checker_error(tmp_path: Path) -> None:
    with pytest.raises(TrialFault, match="rows is empty"):
        table(tmp_path, GOOD, rows=[])


cells = st.text(alphabet="ab1,.0-", max_size=4)


@settings(
    max_examples=40,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(rows=st.lists(st.tuples(cells, cells), min_size=1, max_size=5), data=st.data())
def test_rows_in_any_order_score_the_same(
    tmp_path: Path, rows: list[tuple[str, str]], data: st.DataObject
) -> None:
    def written(order: list[tuple[str, str]]) -> str:
        return "a;b\n" + "".join(f'"{a}";"{b}"\n' for a, b in order)

    expected = [
        {"a": a, "b": b} for a, b in data.draw(st.lists(st.tuples(cells, cells), min_size=1))
    ]
    shuffled = data.draw(st.permutations(rows))
    scores = {
        table(tmp_path, written(order), rows=expected, delimiter=";").earned
        for order in (rows, shuffled)
    }
    assert len(scores) == 1
    assert 0 <= scores.pop() <= 1
