"""Check types about JSON files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_agentbench.grading.equality import fold, pair, same
from pytest_agentbench.grading.evidence import Evidence
from pytest_agentbench.grading.json_query import select
from pytest_agentbench.grading.verdict import Evaluator, Verdict, text

_TESTS = ("equals", "one_of", "approx", "unordered", "contains", "matches", "absent")


def json_path(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    """One test of what a JSONPath query (RFC 9535) selects in a JSON file.

    The leading ``$`` of the query may be left out: ``items[0].name``, ``[*].id``,
    ``orders[?@.state=="open"].total``, ``["key with.dots"]``. A query that can select one value
    at most (names and indices only) stands for that value; any other for the list of the
    values selected, in document order. Without a value every test but ``absent`` fails.

    ``equals`` compares as ``equality.same`` does; ``approx`` is the same with 1e-6, relative or
    absolute, in place of an exact comparison; ``tolerance`` is absolute and replaces either.
    ``one_of`` equals one of a list. ``unordered`` is a list with the same members in any order.
    ``contains`` is a substring of a string, a member of a list, or a key of an object.
    ``matches`` is a regular expression found somewhere in a string (or in a number as JSON).
    ``absent: true`` demands that nothing is selected, ``absent: false`` that something is.
    ``ignore_case`` holds for all of them. The score is 0 or 1.
    """
    (test,) = (name for name in _TESTS if name in params)
    document = evidence.read_json(params["path"])
    selected, single = select(params["query"], document)
    if test == "absent":
        passed = bool(params["absent"]) == (not selected)
        wanted = "no value" if params["absent"] else "a value"
        return Verdict(float(passed), "", f"{wanted} at {params['query']}", text(selected))
    if single and not selected:
        return Verdict(0.0, f"nothing is at {params['query']}", text(params[test]))
    value = selected[0] if single else selected
    passed = _holds(test, params[test], value, params)
    return Verdict(float(passed), "", f"{_WORDS[test]}{text(params[test])}", text(value))


_WORDS = {
    "equals": "",
    "one_of": "one of ",
    "approx": "about ",
    "unordered": "in any order ",
    "contains": "containing ",
    "matches": "matching ",
}


def _holds(test: str, wanted: Any, value: Any, params: Mapping[str, Any]) -> bool:
    fallback = None if test == "approx" else 0.0
    tolerance, ignore_case = params.get("tolerance", fallback), bool(params.get("ignore_case"))

    def equal(expected: Any, found: Any) -> bool:
        return same(expected, found, tolerance=tolerance, ignore_case=ignore_case)

    match test:
        case "one_of":
            return any(equal(each, value) for each in wanted)
        case "unordered":
            return (
                isinstance(value, list)
                and len(value) == len(wanted)
                and pair(wanted, value, equal) == len(wanted)
            )
        case "contains" if isinstance(value, str):
            return fold(text(wanted), ignore_case) in fold(value, ignore_case)
        case "contains" if isinstance(value, list | dict):
            return any(equal(wanted, member) for member in value)
        case "contains":
            return False
        case "matches":
            pattern = re.compile(wanted, re.IGNORECASE if ignore_case else re.NOFLAG)
            return isinstance(value, str | int | float) and bool(pattern.search(text(value)))
        case _:
            return equal(wanted, value)


def json_schema(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    """The file is valid by a JSON Schema (2020-12). No reference is ever fetched."""
    import jsonschema
    from referencing import Registry

    schema = params["schema"]
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema, registry=Registry())
    document = evidence.read_json(params["path"])
    error = jsonschema.exceptions.best_match(validator.iter_errors(document))
    if error is None:
        return Verdict(1.0)
    return Verdict(0.0, f"at {error.json_path}: {error.message}", "valid by the schema")


EVALUATORS: dict[str, Evaluator] = {
    evaluator.__name__: evaluator for evaluator in (json_path, json_schema)
}
