"""Images of the Docker sandbox: built here, never pulled."""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker  # type: ignore[import-untyped]

from pytest_agentbench.sandbox import engine, rootfs

BASE = "base"
LABEL = "agentbench.image"
#: Seconds between two signs of life of a build.
PATIENCE = 600.0
_NAME = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*")
_INSTRUCTION = re.compile(r"\s*(ARG|FROM|COPY|ADD)\s+(.*)", re.IGNORECASE)
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


class ImageError(Exception):
    """An image cannot be built; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image on the engine; ``size`` in bytes, ``created`` as the engine writes it."""

    reference: str
    id: str
    size: int
    created: str


@dataclass(frozen=True, slots=True)
class Recipe:
    """What an image is made from; without a Dockerfile, from the running system."""

    name: str
    dockerfile: Path | None = None

    @property
    def reference(self) -> str:
        return reference(self.name)


def reference(name: str) -> str:
    """The engine's name for an image of ours; what has a ``/`` or a tag is taken as it is."""
    return name if "/" in name or ":" in name else f"agentbench/{name}:local"


def find(text: str, root: Path) -> Recipe:
    """The recipe that a person means: a name, for ``docker/NAME/Dockerfile`` below ``root``, or
    the path of a Dockerfile or of the folder that holds one. Raises ``ImageError``.
    """
    own = root / "docker" / text / "Dockerfile"
    given = root / text
    if "/" not in text and own.is_file():
        return Recipe(text, own)
    if text == BASE:
        return Recipe(BASE)
    if "/" not in text and not given.exists():
        known = sorted(path.parent.name for path in root.glob("docker/*/Dockerfile"))
        raise ImageError(
            f"there is no docker/{text}/Dockerfile here; known images: "
            + ", ".join(sorted({BASE, *known}))
        )
    file = given / "Dockerfile" if given.is_dir() else given
    if not file.is_file():
        raise ImageError(f"there is no Dockerfile at {file}")
    name = file.resolve().parent.name.lower()
    if not _NAME.fullmatch(name):
        raise ImageError(
            f"{file}: its folder gives the image its name, and {name!r} is none; use a-z, 0-9 "
            "and single . _ - between them"
        )
    return Recipe(name, file)


def build(recipe: Recipe, *, network: str = "none", say: Callable[[str], object] = print) -> Image:
    """Build the image of ``recipe`` and hand each line of progress to ``say``.

    Steps of a Dockerfile have no network unless ``network`` is another mode of the engine.
    Raises ``ImageError`` and ``SandboxUnavailable``.
    """
    client = engine.connect(timeout=PATIENCE)
    try:
        before = _known(client, recipe.reference)
        if recipe.dockerfile is None:
            _import_base(client, recipe)
        else:
            _require_bases(client, recipe.dockerfile)
            _build(client, recipe, recipe.dockerfile, network, say)
        image = _image(client.api.inspect_image(recipe.reference), recipe.reference)
        if before not in ("", image.id):
            # In use, or the ground of another.
            with contextlib.suppress(docker.errors.APIError):
                client.api.remove_image(before)
        return image
    except docker.errors.DockerException as error:
        raise ImageError(f"docker cannot build {recipe.reference}: {error}") from None
    finally:
        client.close()


def images() -> tuple[Image, ...]:
    """The images that were built here, by name. Raises ``SandboxUnavailable``."""
    client = engine.connect()
    try:
        listed = client.api.images(filters={"label": LABEL})
        found = [client.api.inspect_image(each["Id"]) for each in listed]
    finally:
        client.close()
    return tuple(
        sorted(
            (_image(facts, tag) for facts in found for tag in facts["RepoTags"] or ()),
            key=lambda image: image.reference,
        )
    )


def bases(dockerfile: Path) -> Iterator[tuple[int, str]]:
    """Each image that a Dockerfile starts or copies from, with its line; stages are none.

    Raises ``ImageError`` for a name that only the builder could tell.
    """
    arguments: dict[str, str] = {}
    stages: list[str] = []
    text = dockerfile.read_text("utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        if (match := _INSTRUCTION.match(line)) is None:
            continue
        word, rest = match[1].upper(), match[2].split()
        if word == "ARG":
            if not stages:
                name, _, value = match[2].strip().partition("=")
                arguments[name] = value.strip("\"'")
            continue
        options = dict(part[2:].partition("=")[::2] for part in rest if part.startswith("--"))
        plain = [part for part in rest if not part.startswith("--")]
        source = plain[0] if word == "FROM" and plain else options.get("from", "")
        name = _VARIABLE.sub(lambda m: arguments.get(m[1] or m[2]) or m[0], source)
        if "$" in name:
            raise ImageError(
                f"{dockerfile}:{number}: cannot tell the image {source!r}; give its ARG a default "
                "above the first FROM"
            )
        if name and name != "scratch" and name.lower() not in (*stages, *_numbers(stages)):
            yield number, name
        if word == "FROM":
            named = len(plain) == 3 and plain[1].upper() == "AS"
            stages.append(plain[2].lower() if named else "")


def _numbers(stages: list[str]) -> Iterator[str]:
    return map(str, range(len(stages)))


def _require_bases(client: Any, dockerfile: Path) -> None:
    """The builder would pull what is missing."""
    for number, name in bases(dockerfile):
        if not _known(client, name):
            ours = name == reference(BASE)
            advice = f"agentbench image build {BASE}" if ours else f"docker pull {name}"
            raise ImageError(
                f"{dockerfile}:{number}: the image {name!r} is not on the engine, and a build "
                f"pulls none; run first: {advice}"
            )


def _known(client: Any, name: str) -> str:
    """The id of an image, or nothing."""
    try:
        return str(client.api.inspect_image(name)["Id"])
    except docker.errors.ImageNotFound:
        return ""


def _import_base(client: Any, recipe: Recipe) -> None:
    repository, _, tag = recipe.reference.partition(":")
    changes = [f"ENV PATH={rootfs.PATH}", f"LABEL {LABEL}={recipe.name}"]
    try:
        with tempfile.NamedTemporaryFile(prefix="agentbench-image-", suffix=".tar") as file:
            rootfs.write(file)
            file.flush()
            said = client.api.import_image(
                src=file.name, repository=repository, tag=tag, changes=changes
            )
    except (rootfs.RootfsError, OSError) as error:
        raise ImageError(f"cannot build {recipe.reference} from this system: {error}") from None
    for line in said.splitlines():
        _check(json.loads(line), recipe)


def _build(
    client: Any, recipe: Recipe, dockerfile: Path, network: str, say: Callable[[str], object]
) -> None:
    for part in client.api.build(
        path=str(dockerfile.parent.resolve()),
        dockerfile=dockerfile.name,
        tag=recipe.reference,
        labels={LABEL: recipe.name},
        network_mode=network,
        rm=True,
        forcerm=True,
        decode=True,
    ):
        _check(part, recipe)
        for line in str(part.get("stream", "")).splitlines():
            if line.strip():
                say(line)


def _check(part: dict[str, Any], recipe: Recipe) -> None:
    if error := part.get("error"):
        raise ImageError(f"docker cannot build {recipe.reference}: {str(error).strip()}")


def _image(facts: dict[str, Any], name: str) -> Image:
    return Image(reference=name, id=facts["Id"], size=facts["Size"], created=facts["Created"])
