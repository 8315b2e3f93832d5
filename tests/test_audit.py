"""What should not be published is found."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from tests.test_redaction import SAMPLES

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", "/home/amina")
    monkeypatch.setenv("LOGNAME", "amina")
    monkeypatch.setenv("SHOP_API_KEY", "correct horse battery")
    for name in list(SAMPLES):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "run"
    folder.mkdir()
    return folder


def looked(capsys: Capture, *args: str) -> tuple[int, list[str]]:
    capsys.readouterr()
    code = main(["audit", *args])
    return code, capsys.readouterr().out.splitlines()


def test_a_clean_folder(folder: Path, capsys: Capture) -> None:
    (folder / "a.txt").write_text("~/notes, /home/user/x and sk-learn\n")
    (folder / "b.bin").write_bytes(bytes(range(256)))
    assert looked(capsys, str(folder)) == (0, ["2 files looked at, 0 findings"])


def test_each_thing_is_named_with_its_line_and_never_shown(folder: Path, capsys: Capture) -> None:
    (folder / "log").write_text(f"one\nkey {SAMPLES['GitHub token']} end\n")
    (folder / "pem").write_text(f"x\n{SAMPLES['private key']}\n")
    (folder / "packed.gz").write_bytes(gzip.compress(b"said: correct horse battery!"))
    (folder / "paths").write_text("/home/amina/.ssh\n/Users/tove/x\nC:\\Users\\tove\n")
    (folder / "out").symlink_to("/etc")
    (folder / "in").symlink_to("log")
    (folder / "broken.gz").write_bytes(b"no")
    code, lines = looked(capsys, str(folder))
    assert code == 1
    assert lines == [
        "broken.gz: cannot be unpacked",
        "log:2: GitHub token: key […] end",
        "out: link that leads out of the folder",
        "packed.gz:1: SHOP_API_KEY: said: […]!",
        "paths:1: home folder of who runs this: […]/.ssh",
        "paths:2: home folder: […]/x",
        "paths:3: home folder: […]",
        "pem:2: private key: […]",
        "7 files looked at, 8 findings",
        (
            "remove them, or allow synthetic ones with --allow GLOB; what a run keeps is free of the "
            "secrets that were in the environment of its pytest"
        ),
    ]


def test_synthetic_secrets_may_stay_where_that_is_said(folder: Path, capsys: Capture) -> None:
    (folder / "fixtures").mkdir()
    (folder / "fixtures" / "vault.env").write_text(f"A={SAMPLES['AWS key id']}\n")
    assert looked(capsys, str(folder), "--allow", "fixtures/*") == (
        0,
        ["1 files looked at, 0 findings, 1 allowed"],
    )


def test_a_path_that_is_not_there(folder: Path, capsys: Capture) -> None:
    code, lines = looked(capsys, str(folder / "no"))
    assert (code, lines) == (2, [f"agentbench audit: {folder / 'no'}: No such file or directory"])


def test_one_file(folder: Path, capsys: Capture) -> None:
    (folder / "log").write_text(f"{SAMPLES['npm token']}\n")
    assert looked(capsys, str(folder / "log"))[1][0] == "log:1: npm token: […]"
