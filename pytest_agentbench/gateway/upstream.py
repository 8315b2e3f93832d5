"""A provider's model: what a profile may say of it. The key itself is read by the gateway alone."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from pytest_agentbench.gateway.backend import Backend
from pytest_agentbench.scenario.model import Step
from pytest_agentbench.trial import ModelProfile, Trial

if TYPE_CHECKING:
    from pytest_agentbench.gateway.host import Host

#: Public addresses, as far as what stands before ``/chat/completions`` and the like, and where
#: the key is looked for.
PROVIDERS: Mapping[str, tuple[str, str]] = {
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "gemini": ("https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY"),
}
OPTIONS = ("provider", "base_url", "model", "key_env", "headers", "timeout", "params")
#: Seconds without a word, after which a provider has failed.
TIMEOUT = 300.0
_SECRET = ("authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie")
#: What the runtime says, and no setting.
_NOT_FORCED = ("model", "messages", "input", "contents", "stream", "tools")
_LOOPBACK = re.compile(r"localhost|127\.[\d.]+|::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """``model`` is the provider's name; ``timeout`` is in seconds without a word.

    ``key_env`` names the environment variable that holds the key, none for a provider that wants
    none. ``params`` are put into every request.
    """

    base_url: str
    model: str
    key_env: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = TIMEOUT
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.key_env,) if self.key_env else ()

    def spec(self, trial: Trial, steps: tuple[Step, ...]) -> Mapping[str, Any]:
        return asdict(self)


def model(profile: ModelProfile) -> Upstream:
    """Raises ``ProfileError``."""
    options = profile.options
    profile.only((*OPTIONS, "fault", "faults"))
    provider = options.get("provider")
    if provider is not None and provider not in PROVIDERS:
        known = ", ".join(PROVIDERS)
        raise profile.refuse(f"provider {provider!r} is not known; allowed: {known}")
    default_url, default_key = PROVIDERS[provider] if provider else ("", "")
    base_url = options.get("base_url", default_url)
    if not base_url:
        raise profile.refuse(
            "it needs base_url, the address of the provider as far as what stands before "
            f"/chat/completions, or provider, one of {', '.join(PROVIDERS)}"
        )
    key_env = options.get("key_env", default_key)
    if not isinstance(key_env, str) or not re.fullmatch(r"\w*", key_env):
        raise profile.refuse(
            "key_env must be the name of the environment variable that holds the key, not the key"
        )
    name = options.get("model", profile.name)
    if not isinstance(name, str) or not name:
        raise profile.refuse(f"model must be the provider's name of a model, not {name!r}")
    timeout = options.get("timeout", TIMEOUT)
    if type(timeout) not in (int, float) or not 0 < timeout < math.inf:
        raise profile.refuse(f"timeout must be a number of seconds above 0, not {timeout!r}")
    return Upstream(
        base_url=_base_url(profile, base_url, key_env),
        model=name,
        key_env=key_env,
        headers=_headers(profile),
        timeout=float(timeout),
        params=_params(profile),
    )


def backend(spec: Mapping[str, Any], host: Host) -> Backend:
    """Raises ``ValueError`` where the gateway's environment has no key."""
    from pytest_agentbench.gateway.provider import Provider

    upstream = Upstream(**spec)
    key = os.environ.get(upstream.key_env, "").strip() if upstream.key_env else ""
    if upstream.key_env and not key:
        raise ValueError(f"the environment variable {upstream.key_env} is not set")
    return Provider(upstream, key, host)


def on_loopback(host: str | None) -> bool:
    return bool(host and _LOOPBACK.fullmatch(host))


def _base_url(profile: ModelProfile, said: Any, key_env: str) -> str:
    parts = _split(said)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise profile.refuse(f"base_url must be an address as https://HOST/v1, not {said!r}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise profile.refuse(
            "base_url must have neither user nor password, and nothing after the path; "
            "a key belongs into the environment variable that key_env names"
        )
    if parts.scheme == "http" and key_env and not on_loopback(parts.hostname):
        raise profile.refuse(
            f"base_url is http: the key in {key_env} would be sent in the clear; give an https "
            'address, or key_env = "" for a server that wants no key'
        )
    return str(said).rstrip("/")


def _split(said: Any) -> SplitResult | None:
    try:
        parts = urlsplit(str(said))
        return parts if parts.port != 0 else None
    except ValueError:
        return None


def _headers(profile: ModelProfile) -> Mapping[str, str]:
    headers = profile.options.get("headers", {})
    if not isinstance(headers, Mapping):
        raise profile.refuse(f"headers must be a table, not {headers!r}")
    for name, value in headers.items():
        if name.lower() in _SECRET:
            raise profile.refuse(
                f"headers.{name}: a key belongs into the environment variable that key_env names"
            )
        if not isinstance(value, str) or not value.isprintable() or not value.isascii():
            raise profile.refuse(f"headers.{name} must be a line of ASCII text, not {value!r}")
        if not re.fullmatch(r"[\w-]+", name, re.ASCII):
            raise profile.refuse(f"headers: {name!r} is no name of a header")
    return headers


def _params(profile: ModelProfile) -> Mapping[str, Any]:
    params = profile.options.get("params", {})
    if not isinstance(params, Mapping):
        raise profile.refuse(f"params must be a table, not {params!r}")
    for name in _NOT_FORCED:
        if name in params:
            raise profile.refuse(
                f"params.{name} is the runtime's to say; params are settings such as temperature"
            )
    return params
