"""The row: one workspace, as the database keeps it (specification, section 2).

Two independent axes say what is (`observed_status`, `health_status`), one what is wanted
(`desired_state`, with `deleted_at`), one what is being done (`operation`). `COLUMN_WRITER` says
who may write each column.
"""

from collections.abc import Mapping
from datetime import datetime

import attrs

from wsctl_core.values import validation as must
from wsctl_core.values.errors import ErrorInfo
from wsctl_core.values.observation import LastExit, Suspect
from wsctl_core.values.states import (
    DesiredState,
    HealthStatus,
    HomeState,
    ObservedStatus,
    Operation,
    Writer,
)


@attrs.frozen(kw_only=True)
class Home:
    """What the home is worth, and which volume holds it.

    >>> Home(state=HomeState.READY, incarnation="i1", dirty=True).dirty
    True
    >>> Home(state=HomeState.CONDEMNED, incarnation="i1", dirty=True)
    Traceback (most recent call last):
    wsctl_core.values.validation.InvalidValue: Home.dirty: only a READY home can be dirty
    """

    state: HomeState = attrs.field(default=HomeState.NONE, validator=must.one_of(HomeState))
    incarnation: str | None = attrs.field(default=None, validator=must.optional(must.identity))
    restore_marker: str | None = attrs.field(default=None, validator=must.optional(must.text))
    """The archive that the volume was fully restored from."""
    dirty: bool = attrs.field(default=False, validator=must.truth)
    """Set before a container is created: the volume may hold data that no archive has."""

    def __attrs_post_init__(self) -> None:
        if self.state is HomeState.NONE:
            if self.incarnation is not None:
                raise must.refuse(self, "incarnation", "a home in state NONE has none")
            if self.restore_marker is not None:
                raise must.refuse(self, "restore_marker", "a home in state NONE has none")
        elif self.incarnation is None:
            raise must.refuse(self, "incarnation", f"a home in state {self.state} has one")
        if self.dirty and self.state is not HomeState.READY:
            raise must.refuse(self, "dirty", "only a READY home can be dirty")


NO_HOME = Home()


@attrs.frozen(kw_only=True)
class Workspace:
    """One row.

    >>> from datetime import UTC
    >>> new = Workspace.created(
    ...     id="w1", owner_id="ann", name="work", image="ide:1",
    ...     at=datetime(2026, 1, 1, tzinfo=UTC), seq=1)
    >>> new.desired_state.value, new.observed_status.value, new.operation.value
    ('RUNNING', 'PENDING', 'NONE')
    """

    id: str = attrs.field(validator=must.identity)
    owner_id: str = attrs.field(validator=must.text)
    name: str = attrs.field(validator=must.text)
    image: str = attrs.field(validator=must.text)
    created_at: datetime = attrs.field(validator=must.moment)
    created_seq: int = attrs.field(validator=must.whole())

    desired_state: DesiredState = attrs.field(
        default=DesiredState.RUNNING, validator=must.one_of(DesiredState)
    )
    deleted_at: datetime | None = attrs.field(default=None, validator=must.optional(must.moment))
    intent_version: int = attrs.field(default=0, validator=must.whole())
    intent_changed_at: datetime = attrs.field(validator=must.moment)
    loss_accepted: str | None = attrs.field(default=None, validator=must.optional(must.text))
    """The incarnation or the archive key whose loss an administrator accepted (H25)."""
    standby_ttl_seconds: int = attrs.field(default=300, validator=must.whole(1))
    archive_ttl_seconds: int = attrs.field(default=604800, validator=must.whole(1))

    observed_status: ObservedStatus = attrs.field(
        default=ObservedStatus.PENDING, validator=must.one_of(ObservedStatus)
    )
    health_status: HealthStatus = attrs.field(
        default=HealthStatus.OK, validator=must.one_of(HealthStatus)
    )
    observed_at: datetime | None = attrs.field(default=None, validator=must.optional(must.moment))
    observed_seq: int = attrs.field(default=0, validator=must.whole())
    suspect: Suspect | None = attrs.field(
        default=None, validator=must.optional(must.one_of(Suspect))
    )
    last_exit: LastExit | None = attrs.field(
        default=None, validator=must.optional(must.one_of(LastExit))
    )

    operation: Operation = attrs.field(default=Operation.NONE, validator=must.one_of(Operation))
    op_id: str | None = attrs.field(default=None, validator=must.optional(must.identity))
    op_started_at: datetime | None = attrs.field(default=None, validator=must.optional(must.moment))
    op_acted_seq: int | None = attrs.field(default=None, validator=must.optional(must.whole()))
    """Where the attempt's last action ended; None while actions remain."""
    op_ended_seq: int = attrs.field(default=0, validator=must.whole())
    archive_key: str | None = attrs.field(default=None, validator=must.optional(must.text))
    archive_sha256: str | None = attrs.field(default=None, validator=must.optional(must.sha256))
    archive_size: int | None = attrs.field(default=None, validator=must.optional(must.whole()))
    home: Home = attrs.field(default=NO_HOME, validator=must.one_of(Home))
    error_count: int = attrs.field(default=0, validator=must.whole())
    error_info: ErrorInfo | None = attrs.field(
        default=None, validator=must.optional(must.one_of(ErrorInfo))
    )
    next_attempt_at: datetime | None = attrs.field(
        default=None, validator=must.optional(must.moment)
    )
    """When it may be tried again; None is past."""
    restart_count: int = attrs.field(default=0, validator=must.whole())
    started_at: datetime | None = attrs.field(default=None, validator=must.optional(must.moment))
    previous_status: ObservedStatus | None = attrs.field(
        default=None, validator=must.optional(must.one_of(ObservedStatus))
    )
    """What was observed when the error became terminal: for people, decides nothing."""
    last_access_at: datetime = attrs.field(validator=must.moment)

    def __attrs_post_init__(self) -> None:
        if self.operation is not Operation.NONE:
            if self.op_id is None:
                raise must.refuse(self, "op_id", "a running operation has one")
            if self.op_started_at is None:
                raise must.refuse(self, "op_started_at", "a running operation has one")
        elif self.op_acted_seq is not None:
            raise must.refuse(self, "op_acted_seq", "no operation runs that could have acted")
        for field in ("archive_sha256", "archive_size"):
            if (getattr(self, field) is None) is not (self.archive_key is None):
                raise must.refuse(self, field, "goes with archive_key: both or neither")
        if self.observed_status is ObservedStatus.DELETED and self.deleted_at is None:
            raise must.refuse(self, "observed_status", "DELETED, but nobody asked for deletion")

    @classmethod
    def created(
        cls,
        *,
        id: str,
        owner_id: str,
        name: str,
        image: str,
        at: datetime,
        seq: int,
        desired_state: DesiredState = DesiredState.RUNNING,
    ) -> "Workspace":
        """A new row: nothing exists, nothing is being done."""
        return cls(
            id=id,
            owner_id=owner_id,
            name=name,
            image=image,
            created_at=at,
            created_seq=seq,
            desired_state=desired_state,
            intent_changed_at=at,
            last_access_at=at,
        )


COLUMN_WRITER: Mapping[str, Writer] = {
    "id": Writer.SERVICE,
    "owner_id": Writer.SERVICE,
    "name": Writer.SERVICE,
    "image": Writer.SERVICE,
    "created_at": Writer.SERVICE,
    "created_seq": Writer.SERVICE,
    "desired_state": Writer.SERVICE,
    "deleted_at": Writer.SERVICE,
    "intent_version": Writer.SERVICE,
    "intent_changed_at": Writer.SERVICE,
    "loss_accepted": Writer.SERVICE,
    "standby_ttl_seconds": Writer.SERVICE,
    "archive_ttl_seconds": Writer.SERVICE,
    "observed_status": Writer.MONITOR,
    "health_status": Writer.MONITOR,
    "observed_at": Writer.MONITOR,
    "observed_seq": Writer.MONITOR,
    "suspect": Writer.MONITOR,
    "last_exit": Writer.MONITOR,
    "operation": Writer.RECONCILER,
    "op_id": Writer.RECONCILER,
    "op_started_at": Writer.RECONCILER,
    "op_acted_seq": Writer.RECONCILER,
    "op_ended_seq": Writer.RECONCILER,
    "archive_key": Writer.RECONCILER,
    "archive_sha256": Writer.RECONCILER,
    "archive_size": Writer.RECONCILER,
    "home": Writer.RECONCILER,
    "error_count": Writer.RECONCILER,
    "error_info": Writer.RECONCILER,
    "next_attempt_at": Writer.RECONCILER,
    "restart_count": Writer.RECONCILER,
    "started_at": Writer.RECONCILER,
    "previous_status": Writer.RECONCILER,
    "last_access_at": Writer.RECONCILER,
}
"""Contract 3: one writer per column. Its exceptions are values: `Alarm` and `Recovery`."""


def effective_home(ws: Workspace) -> Home:
    """The home that every rule reads: none, when its loss was accepted (H25).

    >>> from datetime import UTC
    >>> row = Workspace.created(id="w", owner_id="o", name="n", image="i",
    ...                         at=datetime(2026, 1, 1, tzinfo=UTC), seq=0)
    >>> lost = attrs.evolve(row, home=Home(state=HomeState.READY, incarnation="i1"))
    >>> effective_home(lost).state.value
    'READY'
    >>> effective_home(attrs.evolve(lost, loss_accepted="i1")).state.value
    'NONE'
    """
    home = ws.home
    if ws.loss_accepted is not None and ws.loss_accepted == home.incarnation:
        return NO_HOME
    return home


def usable_archive(ws: Workspace) -> str | None:
    """The archive that a restore would use: none, when its loss was accepted.

    >>> from datetime import UTC
    >>> row = Workspace.created(id="w", owner_id="o", name="n", image="i",
    ...                         at=datetime(2026, 1, 1, tzinfo=UTC), seq=3)
    >>> kept = attrs.evolve(row, archive_key="k", archive_sha256="0" * 64, archive_size=1)
    >>> usable_archive(kept)
    'k'
    >>> usable_archive(attrs.evolve(kept, loss_accepted="k")) is None
    True
    """
    return None if ws.archive_key == ws.loss_accepted else ws.archive_key


def effective_seq(ws: Workspace, pass_seq: int) -> int:
    """How fresh the row's observation is: its own number, or the last complete pass's.

    A pass stands for every row that it saw unchanged; it can't have seen one that was created
    after it began.

    >>> from datetime import UTC
    >>> row = Workspace.created(id="w", owner_id="o", name="n", image="i",
    ...                         at=datetime(2026, 1, 1, tzinfo=UTC), seq=3)
    >>> effective_seq(row, pass_seq=2), effective_seq(row, pass_seq=4)
    (0, 4)
    """
    if pass_seq > ws.observed_seq and ws.created_seq < pass_seq:
        return pass_seq
    return ws.observed_seq


def is_terminal(ws: Workspace) -> bool:
    """The last error is one that only a person ends (or, for DELETING, time).

    >>> from datetime import UTC
    >>> row = Workspace.created(id="w", owner_id="o", name="n", image="i",
    ...                         at=datetime(2026, 1, 1, tzinfo=UTC), seq=3)
    >>> is_terminal(row)
    False
    """
    return ws.error_info is not None and ws.error_info.is_terminal


def in_error(ws: Workspace) -> bool:
    """A person sees ERROR, or is about to.

    >>> from datetime import UTC
    >>> row = Workspace.created(id="w", owner_id="o", name="n", image="i",
    ...                         at=datetime(2026, 1, 1, tzinfo=UTC), seq=3)
    >>> in_error(attrs.evolve(row, health_status=HealthStatus.ERROR))
    True
    """
    return ws.health_status is HealthStatus.ERROR or is_terminal(ws)


def finished_deleting(ws: Workspace) -> bool:
    """Deletion was asked, done and seen; nothing of the workspace is needed any more.

    >>> from datetime import UTC
    >>> row = Workspace.created(id="w", owner_id="o", name="n", image="i",
    ...                         at=datetime(2026, 1, 1, tzinfo=UTC), seq=3)
    >>> finished_deleting(row)
    False
    """
    return (
        ws.observed_status is ObservedStatus.DELETED
        and ws.operation is Operation.NONE
        and ws.error_info is None
    )
