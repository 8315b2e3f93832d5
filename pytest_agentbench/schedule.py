"""Scheduling over xdist workers: one trial at a time, the next one to whoever is free."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from xdist.dsession import get_default_max_worker_restart
from xdist.scheduler import LoadScheduling
from xdist.workermanage import WorkerController

from pytest_agentbench.collect import REST
from pytest_agentbench.slots import Cap


class OneAtATime(LoadScheduling):
    """Gives each worker one item, and the ``Rest`` item as the one that follows.

    xdist's own strategies bind at least one further item to a busy worker, where it waits
    behind a long trial while other workers idle. Collections without a ``Rest`` item (no
    trials) are handed out as xdist does. Of a runtime whose ``caps`` are reached in this run no
    further trial is given to a worker that would wait with it, while another could be started.
    """

    rest: int | None = None

    def __init__(self, config: Any, log: Any, caps: Mapping[str, Cap]) -> None:
        super().__init__(config, log)
        self._cap_of = capped(caps)
        #: The caps of the collection's items that have one.
        self._caps: dict[int, Cap] = {}
        #: Workers lost, and how many of them xdist replaces; None is all.
        self._lost = 0
        self._restarts = get_default_max_worker_restart(config)

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
        caps = ((index, self._cap_of(self.collection[index])) for index in self.pending)
        self._caps = {index: cap for index, cap in caps if cap}
        for node in self.nodes:
            self.check_schedule(node)

    def check_schedule(self, node: WorkerController, duration: float = 0) -> None:
        if self.rest is None:
            super().check_schedule(node, duration)
        elif not node.shutting_down and not self._real(self.node2pending[node]):
            place = self._next()
            if place is not None:
                self._give(node, self.pending.pop(place))
            elif not self.pending:
                node.shutdown()

    def mark_test_complete(
        self, node: WorkerController, item_index: int, duration: float = 0
    ) -> None:
        super().mark_test_complete(node, item_index, duration)
        if self._caps and item_index != self.rest:
            for other in self.node2pending:  # they may have waited for this one's end
                self.check_schedule(other)

    def remove_node(self, node: WorkerController) -> str | None:
        if self.rest is None:
            crashed: str | None = super().remove_node(node)
            return crashed
        queue = self.node2pending.pop(node)
        given = self._real(queue)
        assert self.collection is not None
        begun = [] if given and queue[0] == self.rest else given[:1]
        self.pending[:0] = given[len(begun) :]
        for other in self.node2pending:
            self.check_schedule(other)
        self._lost += 1
        if self._restarts is not None and self._lost > self._restarts:
            self._hand_out_all()
        return self.collection[begun[0]] if begun else None

    def _hand_out_all(self) -> None:
        """Give the workers that are left all that is left: xdist gives nothing more after this.

        A worker that was lost once too often is not replaced, and the others are told to end after
        what they have: a host that is cut off must not end what others could still run.
        """
        nodes = [node for node in self.node2pending if not node.shutting_down]
        for place, node in enumerate(nodes):
            if batch := self.pending[place :: len(nodes)]:
                self._give(node, *batch)
        if nodes:
            self.pending.clear()

    def _next(self) -> int | None:
        """Where in what is pending the next item is that may be started."""
        given = (index for queue in self.node2pending.values() for index in self._real(queue))
        running = Counter(self._caps[index].name for index in given if index in self._caps)
        for place, index in enumerate(self.pending):
            cap = self._caps.get(index)
            if cap is None or running[cap.name] < cap.most:
                return place
        return None

    def _give(self, node: WorkerController, *indexes: int) -> None:
        assert self.rest is not None
        batch = [*indexes, self.rest]
        self.node2pending[node].extend(batch)
        node.send_runtest_some(batch)

    def _real(self, queue: list[int]) -> list[int]:
        return [index for index in queue if index != self.rest]

    def _resting(self) -> bool:
        collections: list[Any] = list(self.node2collection.values())
        return all(items and items[-1].rpartition("::")[2] == REST for items in collections)


def capped(caps: Mapping[str, Cap]) -> Callable[[str], Cap | None]:
    """What finds the cap of an item by its id, as far as that tells."""
    # The longer first: a name may end in another.
    names = sorted(caps, key=len, reverse=True)
    pattern = re.compile(rf"[\[-]({'|'.join(map(re.escape, names))})-t\d+[\]-]")

    def cap_of(node_id: str) -> Cap | None:
        found = pattern.search(node_id) if caps else None
        return caps[found[1]] if found else None

    return cap_of
