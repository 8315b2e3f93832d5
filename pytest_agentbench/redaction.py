"""What must not leave the machine in a report: found in text, and replaced."""

from __future__ import annotations

import functools
import getpass
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

#: Kinds of secrets by the form that their makers give them: kind, a text that each of them holds, and
#: the form. What stands in the group, or else the whole, is the secret. No form spans a quotation mark,
#: so JSON stays JSON.
FORMS: tuple[tuple[str, str, str], ...] = (
    ("private key", "PRIVATE KEY-----", r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^\"]*?-----END [A-Z ]*KEY-----"),
    ("model provider key", "sk-", r"\bsk-[A-Za-z0-9_-]{20,}"),
    ("GitHub token", "ghp_", r"\bghp_[A-Za-z0-9]{36,}"),
    ("GitHub token", "gho_", r"\bgho_[A-Za-z0-9]{36,}"),
    ("GitHub token", "ghs_", r"\bghs_[A-Za-z0-9]{36,}"),
    ("GitHub token", "ghu_", r"\bghu_[A-Za-z0-9]{36,}"),
    ("GitHub token", "ghr_", r"\bghr_[A-Za-z0-9]{36,}"),
    ("GitHub token", "github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{22,}"),
    ("GitLab token", "glpat-", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("AWS key id", "AKIA", r"\bAKIA[A-Z0-9]{16}\b"),
    ("AWS key id", "ASIA", r"\bASIA[A-Z0-9]{16}\b"),
    ("Google key", "AIza", r"\bAIza[A-Za-z0-9_-]{35}"),
    ("Slack token", "xox", r"\bxox[abeprs]-[A-Za-z0-9-]{10,}"),
    ("Hugging Face token", "hf_", r"\bhf_[A-Za-z0-9]{30,}"),
    ("npm token", "npm_", r"\bnpm_[A-Za-z0-9]{36}"),
    ("JSON web token", "eyJ", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    ("bearer token", "earer ", r"\b[Bb]earer ([A-Za-z0-9._~+/-]{20,}=*)"),
    ("password in a URL", "://", r"://[^\s/:@\"]+:([^\s/:@\"]+)@"),
)  # fmt: skip
_NAMED_SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$")
#: Shorter values of such variables are words that would be found everywhere.
_LEAST = 8

#: One of them is in every text that has one of the forms.
_HINTS = tuple(hint for _, hint, _ in FORMS)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret stands in a text, and of what kind it is."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True)
class Redactor:
    """Replaces secrets by ``[redacted: KIND]``, a home folder by ``~``.

    ``known`` are exact texts with what they are replaced by: what this machine, this user and this
    run have. Beyond them, whatever has one of the ``FORMS`` is a secret.
    """

    known: tuple[tuple[str, str], ...] = ()

    @classmethod
    def here(cls) -> Redactor:
        """For who runs this process."""
        try:
            user = getpass.getuser()
        except (KeyError, OSError):  # a user id without a name
            user = ""
        return cls.of(os.environ, str(Path.home()), user)

    @classmethod
    def of(cls, environment: Mapping[str, str], home: str, user: str) -> Redactor:
        """For who runs this: values of variables that are named as secrets are, home, user."""
        known = {
            value: f"[redacted: {name}]"
            for name, value in sorted(environment.items())
            if len(value) >= _LEAST and _NAMED_SECRET.search(name.upper())
        }
        if home.strip("/"):
            known[home.rstrip("/")] = "~"
        for parent in ("/home/", "/Users/") if user else ():
            known.setdefault(parent + user, f"{parent}user")
        # The longest first: one may be the beginning of another.
        return cls(tuple(sorted(known.items(), key=lambda each: (-len(each[0]), each))))

    def text(self, text: str) -> str:
        """``text`` without what is secret in it."""
        if not text:  # as most fields of checks are
            return text
        for known, instead in self.known:
            if known in text:
                whole = rf"{re.escape(known)}(?![\w-])"
                text = re.sub(whole, instead.replace("\\", r"\\"), text)
        for secret in reversed(list(found(text))):
            text = f"{text[: secret.start]}[redacted: {secret.kind}]{text[secret.end :]}"
        return text

    def data(self, data: bytes) -> bytes:
        """The same for bytes, whatever their encoding is beyond ASCII."""
        text = data.decode("utf-8", "surrogateescape")
        clean = self.text(text)
        return data if clean == text else clean.encode("utf-8", "surrogateescape")

    def json(self, value: object) -> str:
        """``value`` as JSON without secrets. Raises what ``json.dumps`` does."""
        text = json.dumps(value)
        return json.dumps(self.value(value)) if self._suspects(text) else text

    def _suspects(self, text: str) -> bool:
        """Whether JSON may hold a secret: to go through all its texts takes much longer."""
        return any(each in text for each in (*self._written, *_HINTS))

    @functools.cached_property
    def _written(self) -> tuple[str, ...]:
        return tuple(json.dumps(known)[1:-1] for known, _ in self.known)

    def value(self, value: T) -> T:
        """The same for all texts in plain JSON; ``value`` itself where there is nothing in it."""
        clean: Any = value
        if isinstance(value, str):
            clean = self.text(value) if len(value) >= _LEAST or self.known else value
            return value if clean == value else clean
        if isinstance(value, dict):
            items = {self.value(key): self.value(item) for key, item in value.items()}
            same = all(
                old is new and key is name
                for (key, old), (name, new) in zip(value.items(), items.items(), strict=False)
            )
            return value if same and len(items) == len(value) else items  # type: ignore[return-value]
        if isinstance(value, list):
            listed = [self.value(item) for item in value]
            same = all(old is new for old, new in zip(value, listed, strict=True))
            return value if same else listed  # type: ignore[return-value]
        return value


def found(text: str) -> Iterator[Secret]:
    """What in ``text`` has the form of a secret, in order, none within another."""
    secrets = [
        Secret(*match.span(match.lastindex or 0), kind)
        for number, (kind, hint, _) in enumerate(FORMS)
        if hint in text
        for match in _form(number).finditer(text)
    ]
    end = 0
    for secret in sorted(secrets, key=lambda each: (each.start, -each.end)):
        if secret.start >= end:
            end = secret.end
            yield secret


@functools.cache
def _form(number: int) -> re.Pattern[str]:
    # On demand: in most texts there is nothing to look for.
    return re.compile(FORMS[number][2])
