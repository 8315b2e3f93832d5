"""What of a request is the same in every run of the same thing.

Two runs differ in their folders, their clocks, and the numbers that programs draw, and the results
of parallel calls come in any order. All this is put aside: a folder of the run's own becomes
``{{agentbench-run-1}}``, numbered in the order in which such folders are named; ids are numbered
as well; times are only times.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pytest_agentbench.gateway.backend import ModelCall

#: What clients send to tell users and sessions apart.
_SESSION = ("client_metadata", "metadata", "prompt_cache_key", "safety_identifier", "user")
#: Where a client wants its cache to end: at the last result, whichever that is.
_CACHE = "cache_control"
_IDS = ("id", "call_id", "tool_call_id", "tool_use_id", "item_id")
_FOLDER = r"agentbench-[a-z0-9_]{8}"
#: A folder of the run's own, and what some programs make of the workspace's path for a name.
_RUN = re.compile(
    rf"(?:/[\w.+@~-]+)*/{_FOLDER}(?![\w-])|(?:-[A-Za-z0-9.]+)*-agentbench-[\w-]{{8}}(?=-ws)"
)
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_DAY = r"(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?"
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|"
    r"Sep(?:tember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:[AP]M|Z|UTC|GMT|[+-]\d\d:?\d\d)\b)?"
_DATE = (
    rf"(?:\d{{4}}-\d\d-\d\d|\d{{1,2}}/\d{{1,2}}/\d{{4}}|(?:{_DAY},? )?(?:{_MONTH} {{1,2}}\d{{1,2}}"
    rf"|\d{{1,2}} {_MONTH})(?:,? \d{{4}})?)"
)
#: Times, and what else programs say of the machine and the moment.
_MOMENT = re.compile(
    rf"(?<![\w.:/-])(?:{_DATE}(?:(?:T|,? ){_CLOCK})?(?: \d{{4}})?(?: \({_DAY}\))?|{_DAY}|{_CLOCK}"
    r"|\d+(?:\.\d+)? ?(?:milliseconds|seconds|secs?|ms|s))(?![\w/-])"
    r"|(?<=127\.0\.0\.1:)\d+|(?<=localhost:)\d+"
    r"|(?<=Chunk ID: )\w+|(?<=OS Version: )[^\n]+|(?<=<timezone>)[^<]+"
)
_KEPT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """``request`` is what is left of a request, ``key`` its SHA-256."""

    key: str
    request: Mapping[str, Any]


class Fingerprints:
    """Takes those of one run. ``folders`` are the run's own, and what stands for each."""

    def __init__(self, token: str) -> None:
        self.folders: dict[str, str] = {}
        self._token = token
        self._texts: dict[str, str] = {}

    def of(self, call: ModelCall) -> Fingerprint:
        body = {key: value for key, value in call.data.items() if key not in _SESSION}
        asked = [part for part in call.query.split("&") if not part.startswith("key=")]
        request = {
            "dialect": call.dialect.name,
            "path": "?".join(filter(None, (call.path, "&".join(asked)))),
            "body": self._same(_arranged(body, {}), {}),
        }
        text = json.dumps(request, sort_keys=True)
        return Fingerprint(key=hashlib.sha256(text.encode()).hexdigest(), request=request)

    def _same(self, value: Any, ids: dict[str, str]) -> Any:
        if isinstance(value, str):
            return self._text(value, ids)
        if isinstance(value, list):
            return [self._same(each, ids) for each in value]
        if not isinstance(value, Mapping):
            return value
        return {
            key: _numbered(each, ids)
            if key in _IDS and isinstance(each, str)
            else self._same(each, ids)
            for key, each in sorted(value.items())
            if key != _CACHE
        }

    def _text(self, text: str, ids: dict[str, str]) -> str:
        same = self._texts.get(text)
        if same is None:
            same = _RUN.sub(self._folder, text.replace(self._token, "{{token}}"))
            same = _MOMENT.sub("{{moment}}", same)
            if len(text) > _KEPT:
                # Conversations grow: most of a request was in the one before.
                self._texts[text] = same
        return _UUID.sub(lambda found: _numbered(found[0], ids), same)

    def _folder(self, found: re.Match[str]) -> str:
        named = f"{{{{agentbench-run-{len(self.folders) + 1}}}}}"
        return self.folders.setdefault(found[0], named)


def _numbered(number: str, ids: dict[str, str]) -> str:
    return ids.setdefault(number, f"{{{{id-{len(ids) + 1}}}}}")


def _arranged(value: Any, ranks: dict[str, int]) -> Any:
    """``value`` with results that follow one another in the order of their calls."""
    if isinstance(value, list):
        groups = groupby(value, key=lambda each: _result(each) is not None)
        ordered: list[Any] = []
        for results, group in groups:
            rows = list(group)
            if results:
                rows.sort(key=lambda each: ranks.get(_result(each) or "", len(ranks)))
            ordered += [_arranged(each, ranks) for each in rows]
        return ordered
    if not isinstance(value, Mapping):
        return value
    for key in _IDS:
        if isinstance(each := value.get(key), str):
            ranks.setdefault(each, len(ranks))
    return {key: _arranged(each, ranks) for key, each in value.items()}


def _result(value: Any) -> str | None:
    """The id of the call whose result this is."""
    if not isinstance(value, Mapping):
        return None
    inner = value.get("functionResponse")
    found = inner.get("id") if isinstance(inner, Mapping) else None
    found = found or value.get("tool_call_id") or value.get("tool_use_id")
    found = found or ("output" in value and value.get("call_id"))
    return found if isinstance(found, str) else None
