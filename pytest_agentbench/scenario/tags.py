"""Tags, dimensions and families become pytest marks: which of them may, and how they are spelled."""

from __future__ import annotations

import re

from pytest_agentbench.scenario.yamlfile import kind

#: Marks that pytest or a common plugin acts on, and words of ``-m`` expressions.
RESERVED = (
    "skip", "skipif", "xfail", "parametrize", "usefixtures", "filterwarnings", "timeout",
    "tryfirst", "trylast", "asyncio", "anyio", "flaky", "xdist_group", "no_cover", "order",
    "and", "or", "not", "None", "True", "False",
)  # fmt: skip


def safe(tag: str) -> str:
    r"""``tag`` as a mark: characters outside ``\w . + -`` become ``_``, leading ``_`` go.

    Raises ``ValueError`` for a tag that is reserved or that nothing remains of.
    """
    mark = _UNSAFE.sub("_", tag.strip()).lstrip("_")
    if not mark:
        raise ValueError(f"{kind(tag)} has no letter or digit to make a mark of")
    if mark in RESERVED:
        raise ValueError(f"{kind(tag)} is reserved: pytest would act on a mark of that name")
    return mark


_UNSAFE = re.compile(r"[^\w.+-]")
