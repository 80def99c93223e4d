"""What each writer may change: one patch type per writer (contract 3), and the guards of writes.

A patch holds only what changes; everything else is `UNSET`. A guard is the condition under which
the write takes place, repeated in the statement that writes: a write that finds another state
changes nothing and is no error.
"""

from datetime import datetime
from enum import Enum
from typing import Final, Literal, TypeAlias, TypeVar

import attrs

from wsctl_core.values.errors import ErrorInfo
from wsctl_core.values.observation import LastExit, Suspect
from wsctl_core.values.states import DesiredState, HealthStatus, ObservedStatus, Operation
from wsctl_core.values.validation import InvalidValue
from wsctl_core.values.workspace import Home, Workspace

T = TypeVar("T")


class Mark(Enum):
    """Stand-ins that a patch may hold in place of a value."""

    UNSET = "UNSET"
    """This column is not written."""
    NEXT_NUMBER = "NEXT_NUMBER"
    """The database's sequence gives the number, when the write takes place (H19)."""


UNSET: Final = Mark.UNSET
NEXT_NUMBER: Final = Mark.NEXT_NUMBER
Unset: TypeAlias = Literal[Mark.UNSET]
NextNumber: TypeAlias = Literal[Mark.NEXT_NUMBER]


@attrs.frozen(kw_only=True)
class IntentPatch:
    """What the service may write."""

    name: str | Unset = UNSET
    desired_state: DesiredState | Unset = UNSET
    deleted_at: datetime | Unset = UNSET
    intent_version: int | Unset = UNSET
    intent_changed_at: datetime | Unset = UNSET
    loss_accepted: str | Unset = UNSET
    standby_ttl_seconds: int | Unset = UNSET
    archive_ttl_seconds: int | Unset = UNSET


@attrs.frozen(kw_only=True)
class MonitorPatch:
    """What the health monitor may write. Its guard: a larger number than the row's (H19)."""

    observed_status: ObservedStatus
    health_status: HealthStatus
    observed_at: datetime
    observed_seq: int
    suspect: Suspect | None
    last_exit: LastExit | None


@attrs.frozen(kw_only=True)
class ReconcilerPatch:
    """What the state reconciler may write."""

    operation: Operation | Unset = UNSET
    op_id: str | None | Unset = UNSET
    op_started_at: datetime | None | Unset = UNSET
    op_acted_seq: int | None | Unset | NextNumber = UNSET
    op_ended_seq: int | Unset | NextNumber = UNSET
    archive_key: str | None | Unset = UNSET
    archive_sha256: str | None | Unset = UNSET
    archive_size: int | None | Unset = UNSET
    home: Home | Unset = UNSET
    error_count: int | Unset = UNSET
    error_info: ErrorInfo | None | Unset = UNSET
    next_attempt_at: datetime | None | Unset = UNSET
    restart_count: int | Unset = UNSET
    started_at: datetime | Unset = UNSET
    previous_status: ObservedStatus | Unset = UNSET
    last_access_at: datetime | Unset = UNSET


@attrs.frozen(kw_only=True)
class Alarm:
    """The monitor's one exception: it reports a broken invariant, while no error is recorded."""

    error_info: ErrorInfo


@attrs.frozen(kw_only=True)
class Recovery:
    """The service's one exception: it resets an error, while no operation runs."""


Patch: TypeAlias = IntentPatch | MonitorPatch | ReconcilerPatch | Alarm | Recovery

_RECOVERED = ReconcilerPatch(error_info=None, error_count=0, next_attempt_at=None, restart_count=0)


def changes(patch: IntentPatch | MonitorPatch | ReconcilerPatch) -> dict[str, object]:
    """The columns that a patch writes, with their values.

    >>> changes(IntentPatch(desired_state=DesiredState.STANDBY, intent_version=4))
    {'desired_state': <DesiredState.STANDBY: 'STANDBY'>, 'intent_version': 4}
    """
    return {
        field.name: value
        for field in attrs.fields(type(patch))
        if (value := getattr(patch, field.name)) is not UNSET
    }


def apply(ws: Workspace, patch: Patch, next_number: int | None = None) -> Workspace:
    """The row after a write. `next_number` is what the sequence gives, where the patch asks.

    An alarm leaves an error that is already recorded; a recovery leaves a running operation.

    >>> from datetime import UTC
    >>> row = Workspace.created(id="w", owner_id="o", name="n", image="i",
    ...                         at=datetime(2026, 1, 1, tzinfo=UTC), seq=1)
    >>> apply(row, ReconcilerPatch(op_ended_seq=NEXT_NUMBER), next_number=7).op_ended_seq
    7
    """
    if isinstance(patch, Alarm):
        return ws if ws.error_info is not None else attrs.evolve(ws, error_info=patch.error_info)
    if isinstance(patch, Recovery):
        if ws.operation is not Operation.NONE:
            return ws
        patch = _RECOVERED
    values = changes(patch)
    for column, value in values.items():
        if value is NEXT_NUMBER:
            if next_number is None:
                raise InvalidValue("apply", "next_number", f"{column} asks for a number")
            values[column] = next_number
    return attrs.evolve(ws, **values)  # type: ignore[arg-type]  # names come from the patch type


@attrs.frozen(kw_only=True)
class ClaimGuard:
    """A write that starts from rest: nothing it was planned on has changed."""

    intent_version: int
    observed_seq: int
    home: Home

    def holds(self, ws: Workspace) -> bool:
        """The row is still the one that was planned on."""
        return (
            ws.operation is Operation.NONE
            and ws.intent_version == self.intent_version
            and ws.observed_seq == self.observed_seq
            and ws.home == self.home
        )


@attrs.frozen(kw_only=True)
class OperationGuard:
    """A write inside an operation: it is still the same operation."""

    operation: Operation
    op_id: str

    def holds(self, ws: Workspace) -> bool:
        """The operation is still ours."""
        return ws.operation is self.operation and ws.op_id == self.op_id


Guard: TypeAlias = ClaimGuard | OperationGuard
