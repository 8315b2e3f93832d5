"""What a run is compared with: an earlier run, wherever its folder was put."""

from __future__ import annotations

from pathlib import Path

from pytest_agentbench.report.run import LEDGER, PLAN, Run, RunError, read_run

#: What the gate made of a run, in the run's folder.
GATE = "gate.json"


def read_baseline(path: Path) -> Run:
    """The run in the folder ``path``, or in the folder of the file ``path``.

    Two files of it are needed, plan and ledger. Raises ``RunError``.
    """
    folder = path if path.is_dir() else path.parent
    if not path.exists():
        raise RunError(
            f"{path.name!r} does not exist; give the folder of an earlier run, of which {PLAN} and "
            f"{LEDGER} are needed"
        )
    lacking = next((name for name in (PLAN, LEDGER) if not (folder / name).is_file()), "")
    if lacking and path.is_file():
        raise RunError(
            f"{path.name!r} is a file by itself, and a baseline is a run: report.json, wherever it was "
            "copied to, does not have the trials that are compared; give the folder of an earlier run, "
            f"of which {PLAN} and {LEDGER} are needed"
        )
    if lacking:
        raise RunError(
            f"{folder.name!r} has no {lacking}; give the folder of an earlier run, or a file in it: "
            f"{PLAN} and {LEDGER} are needed"
        )
    return read_run(folder)
