"""The world: reality, row, leaders and calls in flight, as one frozen value.

Everything in it is a tuple of small values: worlds compare, hash and change by being made anew.
"""

from typing import NamedTuple

from wsctl_core.model.abstraction import Row
from wsctl_core.model.faults import Budget
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.observation import SuspectKind
from wsctl_core.values.states import ContainerPhase, DesiredState, HealthStatus, ObservedStatus

EMPTY, PARTIAL, OLD, NEW = range(4)
"""What a volume or an archive holds, compared with the newest user data."""

ACTIVE, DEPOSED, NOBODY = range(3)
"""Who waits for a call: the leader, one that was the leader, or nobody any more."""


class Volume(NamedTuple):
    """A volume that exists."""

    inc: int
    content: int = EMPTY
    ours: bool = True
    """It carries our label; Docker makes a missing named volume without it."""


class Container(NamedTuple):
    """A container that exists."""

    cid: int
    inc: int
    phase: ContainerPhase = ContainerPhase.CREATED


class Archive(NamedTuple):
    """An object in storage."""

    op: int
    content: int
    corrupt: bool = False


class Call(NamedTuple):
    """A call to the outside that was issued and has not landed yet."""

    what: str
    inc: int | None = None
    op: int | None = None
    cids: tuple[int, ...] = ()
    incs: tuple[int, ...] = ()
    waits: int = NOBODY


class Attempt(NamedTuple):
    """What a process knows of the operation that it carries out."""

    op: int
    done: int = 0
    running: bool = False
    cid: int | None = None
    receipt: bool = False
    failed: AdapterCode | None = None
    """The last action failed, and this has not been recorded yet."""


class Look(NamedTuple):
    """A pass of the monitor that has listed containers, and not yet volumes."""

    number: int
    containers: tuple[Container, ...]
    row: Row | None = None
    """The row, where a monitor reads it too early."""


class Finding(NamedTuple):
    """A pass of the monitor that has judged, and not yet written."""

    number: int
    changed: bool
    observed: ObservedStatus
    health: HealthStatus
    suspect: tuple[SuspectKind, int, int] | None
    alarm: bool


class Process(NamedTuple):
    """A coordinator: what it has read and not yet acted on, and what it carries out."""

    seen: Row | None = None
    seen_pass: int = 0
    attempt: Attempt | None = None
    look: Look | None = None
    finding: Finding | None = None


IDLE = Process()


class World(NamedTuple):
    """Everything there is."""

    row: Row
    pass_seq: int = 0
    containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    archives: tuple[Archive, ...] = ()
    calls: tuple[Call, ...] = ()
    active: Process = IDLE
    deposed: Process | None = None
    gc: tuple[int, ...] | Row | None = None
    """What GC has listed (or, reading rows too early, the row), before it decides."""
    reap: tuple[tuple[int, ...], tuple[int, ...]] | Row | None = None
    """The containers and volumes that the reaper has listed, before it decides."""
    ttl: tuple[DesiredState, int] | None = None
    """What the TTL manager is about to ask for, and the version of the intent that it judged."""
    hidden: Volume | None = None
    """A volume that someone else removed, and that may come back."""
    written: bool = False
    """There is user data."""
    excused: bool = False
    """The outside destroyed the last copy of the newest data."""
    tampered: bool = False
    """Someone else removed a volume or spoilt an archive, at some time."""
    dies: bool = False
    """The container ends by itself soon after every start."""
    budget: Budget = Budget()
    broken: str | None = None
    """What this step broke."""
