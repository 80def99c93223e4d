"""A whole world in memory, and a node's ways to it: one adapter of every port.

Any number of nodes share a world. A node that dies is forgotten with `MemoryWorld.crash`, and one
that comes back is made anew with `MemoryWorld.node`; what it asked for before may still land.
"""

from collections.abc import Callable
from datetime import datetime

import attrs

from wsctl_adapters.memory.activity import MemoryActivity, MemoryActivityWorld
from wsctl_adapters.memory.archives import MemoryArchives, MemoryStorage
from wsctl_adapters.memory.database import MemoryDatabase
from wsctl_adapters.memory.feed import MemoryFeed
from wsctl_adapters.memory.housekeeping import MemoryHousekeeping
from wsctl_adapters.memory.leadership import MemoryLeadership
from wsctl_adapters.memory.line import DirectLine, Line
from wsctl_adapters.memory.runtime import (
    MemoryContainers,
    MemoryInventory,
    MemoryRuntime,
    MemoryVolumes,
)
from wsctl_adapters.memory.signals import MemoryBroadcast, MemoryHints, MemorySignals
from wsctl_adapters.memory.stores import (
    MemoryIntents,
    MemoryMonitor,
    MemoryReader,
    MemoryReconciler,
)
from wsctl_adapters.memory.streams import MemoryStreams
from wsctl_adapters.memory.system import CountingIds, LoopClock
from wsctl_adapters.memory.transfers import MemoryTransfers


@attrs.frozen(kw_only=True)
class MemoryNode:
    """One node's ways to the database, the runtime, the archives, and everyone else."""

    installation: str

    reader: MemoryReader
    intents: MemoryIntents
    monitor: MemoryMonitor
    reconciler: MemoryReconciler
    housekeeping: MemoryHousekeeping
    leadership: MemoryLeadership
    feed: MemoryFeed

    inventory: MemoryInventory
    containers: MemoryContainers
    volumes: MemoryVolumes
    transfers: MemoryTransfers
    storage: MemoryStorage

    activity: MemoryActivity
    hints: MemoryHints
    broadcast: MemoryBroadcast

    clock: LoopClock
    ids: CountingIds


class MemoryWorld:
    """Everything that nodes share. `now` is the database's clock, and every other's."""

    def __init__(self, *, now: Callable[[], datetime], installation: str = "memory") -> None:
        self.database = MemoryDatabase(now=now, installation=installation)
        self.runtime = MemoryRuntime(now=now)
        self.archives = MemoryArchives(now=now)
        self.activity = MemoryActivityWorld(now=now)
        self.signals = MemorySignals()
        self.ids = CountingIds()
        """One for all nodes: an identity is never given twice."""

    def node(self, node_id: str, line: Line | None = None) -> MemoryNode:
        """A node; without a line of its own, its calls take place at once."""
        line = line or DirectLine()
        database, runtime, installation = self.database, self.runtime, self.database.installation
        return MemoryNode(
            installation=installation,
            reader=MemoryReader(database, line),
            intents=MemoryIntents(database, line),
            monitor=MemoryMonitor(database, line),
            reconciler=MemoryReconciler(database, line),
            housekeeping=MemoryHousekeeping(database, line),
            leadership=MemoryLeadership(database, line, node_id),
            feed=MemoryFeed(database, line),
            inventory=MemoryInventory(runtime, line),
            containers=MemoryContainers(runtime, line, installation),
            volumes=MemoryVolumes(runtime, line, installation),
            transfers=MemoryTransfers(runtime, self.archives, line),
            storage=MemoryStorage(self.archives, line),
            activity=MemoryActivity(self.activity, line),
            hints=MemoryHints(self.signals, line),
            broadcast=MemoryBroadcast(self.signals, line),
            clock=LoopClock(),
            ids=self.ids,
        )

    def streams(self, line: Line | None = None) -> MemoryStreams:
        """A node's way to homes as streams, for transfers that are made of streams."""
        return MemoryStreams(self.runtime, line or DirectLine())

    def crash(self, node_id: str) -> None:
        """The process of that node has died, and its connections with it."""
        self.database.drop_session(node_id)
