"""One call to a judge's model over its line, tried again where the provider is to blame."""

from __future__ import annotations

import http.client
import json
import socket
import time
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.execution import ModelEndpoint
from pytest_agentbench.grading.judge import JudgeError
from pytest_agentbench.grading.judging.wire import Prompt, Said, Wire
from pytest_agentbench.spending import RUN_SPENT

_LIMIT = 16 << 20
_LONGEST = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How often and how long a judge is asked.

    ``asked``: questions until every criterion has a verdict that can be used; ``unsupported``: those
    of them after which quotes that are not in the material are final. ``tries``: of one question, where
    the provider fails (429, 5xx, no answer in time); ``pause``: seconds before the second try, doubled
    for each further one, unless the provider says. ``seconds``: for one answer.
    """

    asked: int = 3
    unsupported: int = 2
    tries: int = 4
    pause: float = 0.5
    seconds: float = 120.0


class Refused(Exception):
    """The model declined to answer; the text is its own."""


class _Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self._path)


def say(endpoint: ModelEndpoint, wire: Wire, prompt: Prompt, patience: Patience) -> Said:
    """What the model answers. Raises ``JudgeError`` where there is no answer, and ``Refused``."""
    body = json.dumps(wire.body(endpoint.name, prompt)).encode("utf-8", "surrogatepass")
    for attempt in range(1, patience.tries + 1):
        status, pause, data = _post(endpoint, wire.path, body)
        if status == 200:
            return _said(wire, data)
        words = _words(data)
        if words.startswith(RUN_SPENT):  # the gateway's word, and no model's
            raise JudgeError(words)
        passing = status == 429 or status >= 500
        if not passing or attempt == patience.tries:
            times = f", {attempt} times" if attempt > 1 else ""
            raise JudgeError(f"its model answers {status}{times}: {words}")
        time.sleep(min(_LONGEST, pause or patience.pause * 2 ** (attempt - 1)))
    raise AssertionError("the last try returns or raises")


def _post(endpoint: ModelEndpoint, path: str, body: bytes) -> tuple[int, float, Any]:
    """Status, the seconds that the provider asks to wait, and the JSON of its answer or None."""
    headers = {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {endpoint.token}",
    }
    connection = _Connection(str(endpoint.socket))
    try:
        connection.request("POST", path, body, headers)
        response = connection.getresponse()
        text = response.read(_LIMIT)
    except (FileNotFoundError, ConnectionRefusedError):
        raise JudgeError("its line to the model has ended") from None
    except (OSError, http.client.HTTPException) as error:
        return 502, 0.0, {"error": {"message": f"the connection broke: {type(error).__name__}"}}
    finally:
        connection.close()
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    asked = response.getheader("Retry-After") or ""
    return response.status, float(asked) if asked.isdecimal() else 0.0, data


def _said(wire: Wire, data: Any) -> Said:
    try:
        said = wire.said(data)
    except (AttributeError, KeyError, IndexError, TypeError):
        return Said()  # an empty body, or one of another form: as good as no words
    if said.refusal:
        raise Refused(str(said.refusal)[:200])
    return said if isinstance(said.text, str) else Said()


def _words(data: Any) -> str:
    error = data.get("error") if isinstance(data, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return str(message or "no reason given")[:300]
