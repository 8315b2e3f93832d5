"""Scheduling over xdist workers: one trial at a time, the next one to whoever is free."""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadScheduling
from xdist.workermanage import WorkerController

from pytest_agentbench.collect import REST


class OneAtATime(LoadScheduling):
    """Gives each worker one item, and the ``Rest`` item as the one that follows.

    xdist's own strategies bind at least one further item to a busy worker, where it waits
    behind a long trial while other workers idle. Collections without a ``Rest`` item (no
    trials) are handed out as xdist does.
    """

    rest: int | None = None

    @property
    def tests_finished(self) -> bool:
        if self.rest is None:
            return bool(super().tests_finished)
        return (
            self.collection_is_completed
            and not self.pending
            and not any(self._real(queue) for queue in self.node2pending.values())
        )

    def schedule(self) -> None:
        if self.collection is not None or not self._resting():
            super().schedule()
            return
        if not self._check_nodes_have_same_collection():
            self.log("**Different tests collected, aborting run**")
            return
        self.collection = next(iter(self.node2collection.values()))
        self.rest = len(self.collection) - 1
        self.pending[:] = range(self.rest)
        for node in self.nodes:
            self.check_schedule(node)

    def check_schedule(self, node: WorkerController, duration: float = 0) -> None:
        if self.rest is None:
            super().check_schedule(node, duration)
        elif not node.shutting_down and not self._real(self.node2pending[node]):
            if self.pending:
                self._give(node, self.pending.pop(0))
            else:
                node.shutdown()

    def remove_node(self, node: WorkerController) -> str | None:
        if self.rest is None:
            crashed: str | None = super().remove_node(node)
            return crashed
        queue = self.node2pending.pop(node)
        given = self._real(queue)
        assert self.collection is not None
        if given and queue[0] == self.rest:  # it had not begun
            self.pending[:0] = given
            given = []
        for other in self.node2pending:
            self.check_schedule(other)
        return self.collection[given[0]] if given else None

    def _give(self, node: WorkerController, index: int) -> None:
        assert self.rest is not None
        batch = [index, self.rest]
        self.node2pending[node].extend(batch)
        node.send_runtest_some(batch)

    def _real(self, queue: list[int]) -> list[int]:
        return [index for index in queue if index != self.rest]

    def _resting(self) -> bool:
        collections: list[Any] = list(self.node2collection.values())
        return all(items and items[-1].rpartition("::")[2] == REST for items in collections)
