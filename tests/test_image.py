import io
import sys
import tarfile
from pathlib import Path

import pytest

from pytest_agentbench import cli
from pytest_agentbench.sandbox import rootfs
from pytest_agentbench.sandbox.image import ImageError, Recipe, bases, find, reference


def dockerfile(folder: Path, text: str, name: str = "mine") -> Path:
    path = folder / "docker" / name / "Dockerfile"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_names_of_ours_and_of_others() -> None:
    assert reference("base") == "agentbench/base:local"
    assert reference("debian:12") == "debian:12"
    assert reference("example/agent") == "example/agent"


def test_a_name_means_a_dockerfile_of_the_project(tmp_path: Path) -> None:
    path = dockerfile(tmp_path, "FROM scratch\n")
    assert find("mine", tmp_path) == Recipe("mine", path)
    assert find("docker/mine", tmp_path) == Recipe("mine", path)
    assert find("docker/mine/Dockerfile", tmp_path) == Recipe("mine", path)


def test_the_base_is_the_running_system_unless_the_project_has_one(tmp_path: Path) -> None:
    assert find("base", tmp_path) == Recipe("base")
    path = dockerfile(tmp_path, "FROM scratch\n", "base")
    assert find("base", tmp_path) == Recipe("base", path)


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    dockerfile(tmp_path, "FROM scratch\n")
    with pytest.raises(ImageError) as caught:
        find("other", tmp_path)
    assert str(caught.value) == (
        "there is no docker/other/Dockerfile here; known images: base, mine"
    )


def test_a_path_without_a_dockerfile(tmp_path: Path) -> None:
    with pytest.raises(ImageError) as caught:
        find("./other", tmp_path)
    assert str(caught.value) == f"there is no Dockerfile at {tmp_path}/other"


def test_a_folder_that_names_no_image(tmp_path: Path) -> None:
    dockerfile(tmp_path, "FROM scratch\n", "my agent")
    with pytest.raises(ImageError) as caught:
        find("docker/my agent", tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}/docker/my agent/Dockerfile: its folder gives the image its name, and 'my "
        "agent' is none; use a-z, 0-9 and single . _ - between them"
    )


def test_what_a_build_would_pull(tmp_path: Path) -> None:
    path = dockerfile(
        tmp_path,
        "ARG BASE=debian:12\n"
        "FROM --platform=linux/amd64 ${BASE} AS Tools\n"
        "# FROM commented:1\n"
        "RUN echo FROM nowhere\n"
        "from tools as work\n"
        "COPY --from=0 /a /b\n"
        "COPY --chown=1 --from=example/files:2 /a /c\n"
        "COPY here there\n"
        "FROM scratch\n"
        "COPY --from=work / /\n",
    )
    assert list(bases(path)) == [(2, "debian:12"), (7, "example/files:2")]


def test_an_image_that_only_the_builder_knows(tmp_path: Path) -> None:
    path = dockerfile(tmp_path, "ARG BASE\nFROM $BASE\n")
    with pytest.raises(ImageError) as caught:
        list(bases(path))
    assert str(caught.value) == (
        f"{path}:2: cannot tell the image '$BASE'; give its ARG a default above the first FROM"
    )


def test_the_command_says_why_it_cannot_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/s")
    advice = (
        f"no engine answers at unix://{tmp_path}/s (No such file or directory); start one, or "
        "set DOCKER_HOST to the address of its socket (unix://PATH)\n"
    )
    assert cli.main(["image", "build", "base"]) == 2
    assert capsys.readouterr().out == f"agentbench image build: {advice}"
    assert cli.main(["image", "list"]) == 2
    assert capsys.readouterr().out == f"agentbench image list: {advice}"
    assert cli.main(["image", "build", "other"]) == 2
    assert capsys.readouterr().out == (
        "agentbench image build: there is no docker/other/Dockerfile here; known images: base\n"
    )


def test_the_root_file_system_holds_the_running_python_and_a_shell() -> None:
    first, second = io.BytesIO(), io.BytesIO()
    assert rootfs.write(first) == rootfs.write(second)
    assert first.getvalue() == second.getvalue()
    first.seek(0)
    with tarfile.open(fileobj=first) as archive:
        names = archive.getnames()
        owners = {(entry.uid, entry.gid, entry.mtime) for entry in archive}
        tmp = archive.getmember("tmp")
    assert {"usr/bin/bash", "usr/bin/python3", "etc/passwd", "tmp", "proc"} <= set(names)
    assert len(names) == len(set(names))
    assert owners == {(0, 0, 0)}
    assert tmp.mode == 0o1777
    stdlib = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    assert any(name.endswith(f"{stdlib}/json/__init__.py") for name in names)
    assert not any("site-packages" in name or "/test/" in name for name in names)
