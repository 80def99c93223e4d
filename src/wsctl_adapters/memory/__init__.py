"""Memory adapters of every port: worlds that nodes share, and each node's ways to them.

They keep every promise of the ports, and time, chance and calls that land late are in the hands of
whoever made them: the simulator's world, a test's, or that of someone who tries the core. They know
the core alone, no clock but the event loop's, and no thread; and they keep nothing when they end.
"""

from wsctl_adapters.memory.activity import MemoryActivity, MemoryActivityWorld
from wsctl_adapters.memory.archives import MemoryArchives, MemoryStorage
from wsctl_adapters.memory.database import MemoryDatabase
from wsctl_adapters.memory.feed import MemoryFeed
from wsctl_adapters.memory.housekeeping import MemoryHousekeeping
from wsctl_adapters.memory.leadership import MemoryLeadership, MemoryTerm
from wsctl_adapters.memory.line import CALLS, DirectLine, Line, unreachable
from wsctl_adapters.memory.runtime import (
    Container,
    MemoryContainers,
    MemoryInventory,
    MemoryRuntime,
    MemoryVolumes,
    Volume,
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
from wsctl_adapters.memory.world import MemoryNode, MemoryWorld

__all__ = [
    "CALLS",
    "Container",
    "CountingIds",
    "DirectLine",
    "Line",
    "LoopClock",
    "MemoryActivity",
    "MemoryActivityWorld",
    "MemoryArchives",
    "MemoryBroadcast",
    "MemoryContainers",
    "MemoryDatabase",
    "MemoryFeed",
    "MemoryHints",
    "MemoryHousekeeping",
    "MemoryIntents",
    "MemoryInventory",
    "MemoryLeadership",
    "MemoryMonitor",
    "MemoryNode",
    "MemoryReader",
    "MemoryReconciler",
    "MemoryRuntime",
    "MemorySignals",
    "MemoryStorage",
    "MemoryStreams",
    "MemoryTerm",
    "MemoryTransfers",
    "MemoryVolumes",
    "MemoryWorld",
    "Volume",
    "unreachable",
]
