"""Everything outside of the application, as ports. Bootstrap fills it, everyone else uses it."""

import attrs

from wsctl_core.ports import (
    ActivityStore,
    ArchiveStorage,
    Broadcast,
    ChangeFeed,
    Clock,
    Containers,
    Hints,
    Housekeeping,
    Ids,
    IntentStore,
    Inventory,
    Leadership,
    MonitorStore,
    ReconcilerStore,
    Transfers,
    Volumes,
    WorkspaceReader,
)


@attrs.frozen(kw_only=True)
class Outside:
    """One node's ways to the database, the runtime, the archives, and everyone else."""

    installation: str
    """What `Housekeeping.installation` said when the node began."""

    reader: WorkspaceReader
    intents: IntentStore
    monitor: MonitorStore
    reconciler: ReconcilerStore
    housekeeping: Housekeeping
    leadership: Leadership
    feed: ChangeFeed

    inventory: Inventory
    containers: Containers
    volumes: Volumes
    transfers: Transfers
    storage: ArchiveStorage

    activity: ActivityStore
    hints: Hints
    broadcast: Broadcast

    clock: Clock
    ids: Ids
