"""JSONPath queries (RFC 9535) over a parsed document."""

from __future__ import annotations

from typing import Any


def select(query: str, document: Any) -> tuple[list[Any], bool]:
    """Values that the query selects, and whether it can select one at most."""
    import jsonpath
    from jsonpath.exceptions import JSONPathRecursionError

    if not query.startswith("$"):
        query = f"$.{query}" if query and not query.startswith("[") else f"${query}"
    compiled = jsonpath.compile(query, strict=True)
    single = isinstance(compiled, jsonpath.JSONPath) and compiled.singular_query()
    if isinstance(document, str):  # the library would take it for JSON text
        return ([document] if query == "$" else []), single
    try:
        return compiled.findall(document), single
    except JSONPathRecursionError:
        raise RecursionError from None
