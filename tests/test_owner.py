import os
import subprocess
import sys

from pytest_agentbench.sandbox import owner

TELL = "from pytest_agentbench.sandbox import owner; print(owner.labels())"


def test_a_living_owner_is_not_gone() -> None:
    labels = owner.labels()
    assert labels[owner.OWNER].startswith(f"{os.getpid()}:")
    assert labels[owner.RUN].partition(":")[2].isdecimal()
    assert not owner.gone(labels)


def test_an_owner_that_has_ended_is_gone() -> None:
    # The worker of a run is alive, its controller dead, and the other way round.
    with subprocess.Popen(["sleep", "60"]) as process:
        labels = owner.labels()
        start = labels[owner.OWNER].partition(":")[2]
        process.kill()
    for name in (owner.OWNER, owner.RUN):
        assert owner.gone(labels | {name: f"{process.pid}:{start}"})


def test_another_process_of_the_same_number_is_not_the_owner() -> None:
    assert owner.gone(owner.labels() | {owner.OWNER: f"{os.getpid()}:1"})


def test_of_owners_on_another_machine_nothing_is_known() -> None:
    assert not owner.gone(owner.labels() | {owner.OWNER: "1:1", owner.HOST: "another pid:[1]"})


def test_labels_of_others_are_nobodys() -> None:
    assert not owner.gone({})
    assert not owner.gone({"com.example.owner": "1:1"})
    assert not owner.gone(owner.labels() | {owner.OWNER: "x:y"})


def test_a_worker_belongs_to_the_run_of_its_parent() -> None:
    env = {**os.environ, "PYTEST_XDIST_WORKER": "gw0"}
    argv = [sys.executable, "-c", TELL]
    said = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
    assert f"'{owner.RUN}': '{os.getpid()}:" in said.stdout
