"""Passes calls on to a provider, and its answers back as they come."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

import aiohttp
from yarl import URL

from pytest_agentbench.gateway import failure
from pytest_agentbench.gateway.backend import Answer, HangUp, ModelCall, Unsent
from pytest_agentbench.gateway.chat import BackendError, Dialect
from pytest_agentbench.gateway.host import Host
from pytest_agentbench.gateway.speaker import EVENTS, JSON, each
from pytest_agentbench.gateway.upstream import Upstream, on_loopback

#: Bytes of an error's body that are passed on.
ERROR_LIMIT = 64 << 10
#: Headers of an answer that say when to try again.
_KEPT = ("retry-after", "retry-after-ms", "x-should-retry")
_VERSION = re.compile(r"^.*?/v\d\w*(?=/)")
_GEMINI_MODEL = re.compile(r"(?<=/models/)[^/:]+(?=:\w+$)")
_BREAK = re.compile(rb"(\r?\n\r?\n)")
_TROUBLE = (aiohttp.ClientError, OSError, TimeoutError)


class Provider:
    """The backend of one run, or of several. ``key`` goes to the provider and nowhere else."""

    name = "upstream"
    scripted = False

    def __init__(self, upstream: Upstream, key: str, host: Host) -> None:
        self._upstream = upstream
        self._key = key
        self._host = host
        self._place = urlsplit(upstream.base_url).netloc
        self._timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=upstream.timeout, sock_read=upstream.timeout
        )

    @property
    def facts(self) -> Mapping[str, Any]:
        """What is asked, as records show it."""
        said = self._upstream
        return {"base_url": said.base_url, "model": said.model, "params": dict(said.params)}

    async def answer(self, call: ModelCall) -> Answer:
        hides = _adds_usage(call)
        try:
            response = await self._host.session.post(
                self._url(call),
                data=json.dumps(self._body(call, hides)).encode(),
                headers=self._headers(call),
                timeout=self._timeout,
                allow_redirects=False,
                proxy=_proxy(self._upstream.base_url),
            )
        except _TROUBLE as error:
            raise BackendError(*self._trouble(error)) from None
        headers = {name: response.headers[name] for name in _KEPT if name in response.headers}
        if not 200 <= response.status < 300:
            body = await self._error(response, call.dialect)
            return Answer(
                status=response.status, content_type=JSON, pieces=each((body,)), headers=headers
            )
        kind = response.content_type
        pieces = self._pieces(response, streamed=kind == EVENTS)
        if hides and kind == EVENTS:
            pieces = without_usage(pieces)
        return Answer(status=response.status, content_type=kind, pieces=pieces, headers=headers)

    def _url(self, call: ModelCall) -> URL:
        path = _VERSION.sub("", call.path)
        if call.dialect.name == "gemini":
            path = _GEMINI_MODEL.sub(lambda _: quote(self._upstream.model), path)
        asked = [part for part in call.query.split("&") if part and part.partition("=")[0] != "key"]
        query = f"?{'&'.join(asked)}" if asked else ""
        return URL(f"{self._upstream.base_url}{path}{query}", encoded=True)

    def _body(self, call: ModelCall, adds_usage: bool) -> dict[str, Any]:
        data, params = dict(call.data), self._upstream.params
        if call.dialect.name == "gemini":
            if params:
                data["generationConfig"] = {**_mapping(data.get("generationConfig")), **params}
            return data
        data |= {"model": self._upstream.model, **params}
        if adds_usage:
            asked = _mapping(data.get("stream_options"))
            data["stream_options"] = {**asked, "include_usage": True}
        return data

    def _headers(self, call: ModelCall) -> dict[str, str]:
        key = call.dialect.key_headers(self._key) if self._key else {}
        # Compressed pieces would come when the compressor has enough, not when they are said.
        own = {"Content-Type": JSON, "Accept-Encoding": "identity"}
        return {**own, **call.headers, **self._upstream.headers, **key}

    async def _error(self, response: aiohttp.ClientResponse, dialect: Dialect) -> bytes:
        """The body of an error: the provider's own where it is JSON."""
        body = bytearray()
        try:
            async for piece in response.content.iter_any():
                body += piece
                if len(body) > ERROR_LIMIT:
                    break
        except _TROUBLE as error:
            raise BackendError(*self._trouble(error)) from None
        finally:
            response.close()
        if 300 <= response.status < 400:
            place = response.headers.get("Location", "nowhere")
            raise BackendError(
                502, f"{self._place} sends us on to {place}: base_url must be its final address"
            )
        said = bytes(body)
        if self._key:
            said = said.replace(self._key.encode(), b"[key]")
        try:
            json.loads(said)
        except (ValueError, RecursionError):
            pass
        else:
            if len(said) <= ERROR_LIMIT:
                return said
        message, code = failure.words(said)
        return json.dumps(dialect.error(response.status, message, code)).encode()

    async def _pieces(
        self, response: aiohttp.ClientResponse, *, streamed: bool
    ) -> AsyncIterator[bytes]:
        try:
            async for piece in response.content.iter_any():
                yield piece
        except _TROUBLE as error:
            status, message = self._trouble(error)
            # A stream has begun: there is no other way left to say it.
            raise (HangUp(message) if streamed else BackendError(status, message)) from None
        finally:
            response.close()

    def _trouble(self, error: Exception) -> tuple[int, str]:
        """HTTP status and words for a provider that cannot be reached, or that went away."""
        place = self._place
        match error:
            case aiohttp.ConnectionTimeoutError():
                return 504, f"{place} cannot be reached within {self._upstream.timeout:g} s"
            case TimeoutError():
                return 504, f"no word from {place} for {self._upstream.timeout:g} s"
            case aiohttp.ClientConnectorCertificateError():
                return 502, f"the certificate of {place} is not good: {error.certificate_error}"
            case aiohttp.ClientConnectorDNSError():
                return 502, f"{place} is no known name: {error.os_error.strerror or error.os_error}"
            case aiohttp.ClientConnectorError():
                reason = error.os_error.strerror or error.os_error
                return 502, f"{place} cannot be reached: {reason}"
            case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError() | OSError():
                return 502, f"{place} closed the connection before its answer was whole"
        return 502, f"{place} does not speak HTTP as it should: {type(error).__name__}"


async def without_usage(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """A stream in which the chunk that says nothing but usage is not sent."""
    rest = b""
    async for piece in pieces:
        *parts, rest = _BREAK.split(rest + piece)
        out = b""
        for event, end in zip(parts[::2], parts[1::2], strict=True):
            if _only_usage(event):
                if out:
                    yield out
                    out = b""
                yield Unsent(event + end)
            else:
                out += event + end
        if out:
            yield out
    if rest:
        yield rest


def _only_usage(event: bytes) -> bool:
    if b'"usage"' not in event or not event.startswith(b"data:"):
        return False
    try:
        data = json.loads(event[5:])
    except (ValueError, RecursionError):
        return False
    return isinstance(data, dict) and bool(data.get("usage")) and not data.get("choices")


def _adds_usage(call: ModelCall) -> bool:
    """Whether the provider must be asked for usage, because the client did not."""
    if call.dialect.name != "chat" or not call.request.stream:
        return False
    return not _mapping(call.data.get("stream_options")).get("include_usage")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _proxy(url: str) -> str | None:
    """The proxy that the environment names for ``url``. aiohttp itself would read .netrc too."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if on_loopback(host) or urllib.request.proxy_bypass(host):
        return None
    return urllib.request.getproxies().get(parts.scheme)
