"""WHAT THE OUTSIDE MUST OFFER. Protocols, cut by what a caller may do.

Each promise is a sentence in a docstring, and a check in `wsctl_adapters.conformance`. A port knows
values and decisions, and takes and gives nothing else; it never knows who stands behind it. A wrong
call does not type-check: each store takes only its own writer's patches.
"""

from wsctl_core.ports.activity import ActivityStore
from wsctl_core.ports.archives import ArchiveStorage, HomeStreams, Transfers
from wsctl_core.ports.failures import AdapterError, LeadershipLost, StoreUnavailable
from wsctl_core.ports.leadership import Leadership, Term
from wsctl_core.ports.runtime import Containers, ContainerSpec, Inventory, Volumes
from wsctl_core.ports.signals import Broadcast, ChangeFeed, Event, Feed, Hint, Hints
from wsctl_core.ports.stores import (
    Changes,
    Findings,
    Housekeeping,
    IntentStore,
    MonitorStore,
    NewWorkspace,
    Page,
    PassStart,
    Reading,
    ReconcilerStore,
    Safeguard,
    Situation,
    Work,
    WorkspaceReader,
)
from wsctl_core.ports.system import Clock, Ids

__all__ = [
    "ActivityStore",
    "AdapterError",
    "ArchiveStorage",
    "Broadcast",
    "ChangeFeed",
    "Changes",
    "Clock",
    "ContainerSpec",
    "Containers",
    "Event",
    "Feed",
    "Findings",
    "Hint",
    "Hints",
    "HomeStreams",
    "Housekeeping",
    "Ids",
    "IntentStore",
    "Inventory",
    "Leadership",
    "LeadershipLost",
    "MonitorStore",
    "NewWorkspace",
    "Page",
    "PassStart",
    "Reading",
    "ReconcilerStore",
    "Safeguard",
    "Situation",
    "StoreUnavailable",
    "Term",
    "Transfers",
    "Volumes",
    "Work",
    "WorkspaceReader",
]
