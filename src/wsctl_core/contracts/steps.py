"""What must hold of one change: of a write to the row, or of a call to the outside."""

import attrs

from wsctl_core.contracts.states import Broken
from wsctl_core.decisions.operations import OPERATIONS
from wsctl_core.decisions.steps import Fail, Step
from wsctl_core.values.names import archive_key
from wsctl_core.values.patches import Alarm, Patch, Recovery, apply
from wsctl_core.values.states import (
    HealthStatus,
    HomeState,
    ObservedStatus,
    Operation,
    Writer,
)
from wsctl_core.values.workspace import (
    COLUMN_WRITER,
    Workspace,
    effective_seq,
    finished_deleting,
    is_terminal,
)

_NONE = Operation.NONE
_LEVEL = {ObservedStatus.PENDING: 0, ObservedStatus.STANDBY: 1, ObservedStatus.RUNNING: 2}


def changed_columns(before: Workspace, after: Workspace) -> frozenset[str]:
    """The columns in which two versions of a row differ."""
    return frozenset(
        field.name
        for field in attrs.fields(Workspace)
        if getattr(before, field.name) != getattr(after, field.name)
    )


def only_own_columns(before: Workspace, after: Workspace, writer: Writer) -> Broken:
    """Contract 3, I12: each write changes only its writer's columns."""
    foreign = {c for c in changed_columns(before, after) if COLUMN_WRITER[c] is not writer}
    return f"{writer} wrote {', '.join(sorted(foreign))}" if foreign else None


def only_its_exception(before: Workspace, after: Workspace, patch: Patch) -> Broken:
    """Contract 3: an alarm or a recovery writes what it is for, in the state it is for."""
    if not isinstance(patch, Alarm | Recovery):
        return "not one of the named exceptions"
    if after != apply(before, patch):
        return f"{type(patch).__name__} wrote something else than it is for"
    return None


def claims_are_from_rest(before: Workspace, after: Workspace) -> Broken:
    """Contract 4: an operation begins only where none runs, and with an identity of its own."""
    if after.operation in (_NONE, before.operation):
        return None
    if before.operation is not _NONE:
        return f"{after.operation} began while {before.operation} ran"
    if after.op_id == before.op_id:
        return "a claim used an op_id again (H9)"
    return None


def error_stops_operations(ws: Workspace, step: Step) -> Broken:
    """Contract 4, I7: with health ERROR, any operation but DELETING is made terminal."""
    if ws.health_status is not HealthStatus.ERROR or ws.operation in (_NONE, Operation.DELETING):
        return None
    if isinstance(step, Fail) and step.error.is_terminal:
        return None
    return f"{ws.operation} goes on while health is ERROR"


def one_level_at_a_time(before: Workspace, after: Workspace) -> Broken:
    """Contract 5: an operation moves one level; RUNNING reaches PENDING only through STANDBY."""
    if before.operation is not _NONE or after.operation in (_NONE, Operation.DELETING):
        return None
    here, there = before.observed_status, OPERATIONS[after.operation].target
    # ARCHIVING and the making of a home may find that their level is already reached in part.
    if abs(_LEVEL.get(here, 0) - _LEVEL[there]) > 1:
        return f"{after.operation} was begun at {here}"
    return None


def completion_is_fresh(before: Workspace, after: Workspace, pass_seq: int) -> Broken:
    """Contract 1, I4: only an observation that began after the last action completes."""
    completed = before.operation is not _NONE and after.operation is _NONE and after.op_id is None
    if not completed:
        return None
    acted = before.op_acted_seq
    if acted is None:
        return f"{before.operation} was completed before its actions ended"
    if effective_seq(before, pass_seq) <= acted:
        return f"{before.operation} was completed by an observation that is too old"
    return None


def plan_is_fresh(before: Workspace, after: Workspace, pass_seq: int) -> Broken:
    """Contract 1, I4: nothing but a deletion is planned on an observation that is too old."""
    if before.operation is not _NONE or after.operation in (_NONE, Operation.DELETING):
        return None
    if effective_seq(before, pass_seq) <= before.op_ended_seq:
        return f"{after.operation} was planned on an observation that is too old"
    return None


def no_plan_while_terminal(before: Workspace, after: Workspace) -> Broken:
    """I6, H22: nothing but a deletion begins while the recorded error is terminal."""
    began = before.operation is _NONE and after.operation not in (_NONE, Operation.DELETING)
    if began and is_terminal(before):
        return f"{after.operation} began although a person is needed"
    return None


def deletion_backs_off(before: Workspace, after: Workspace) -> Broken:
    """Contract 10, H27: a deletion that ends in an error says when it is tried again."""
    ended = before.operation is Operation.DELETING and after.operation is _NONE
    if ended and is_terminal(after) and after.next_attempt_at is None:
        return "a deletion ended in an error and would be tried again at once"
    return None


def same_operation_same_key(before: Workspace, after: Workspace) -> Broken:
    """Contract 7: an archive is saved under the key of the operation that made it."""
    if after.archive_key in (None, before.archive_key):
        return None
    if before.op_id is None or after.archive_key != archive_key(before.id, before.op_id):
        return "an archive was saved under a key that is not its operation's"
    return None


def restore_needs_marker(before: Workspace, after: Workspace) -> Broken:
    """Contract 7: RESTORING completes only with the marker of the archive that the row names."""
    completed = before.operation is Operation.RESTORING and after.home.state is HomeState.READY
    if completed and before.home.restore_marker != before.archive_key:
        return "RESTORING was completed without the marker of its archive"
    return None


def key_is_saved_with_condemnation(before: Workspace, after: Workspace) -> Broken:
    """Contract 8, H4: saving the key of an archive condemns the volume in the same write."""
    if after.archive_key in (None, before.archive_key):
        return None
    if after.home.state is not HomeState.CONDEMNED:
        return "an archive was saved and its volume was not condemned"
    return None


def deletion_of_volume_is_safe(ws: Workspace, incarnation: str) -> Broken:
    """Contract 8: a volume is deleted when it is condemned, a stray, or of a deleted workspace."""
    if ws.deleted_at is not None or ws.home.incarnation != incarnation:
        return None
    if ws.home.state is HomeState.CONDEMNED:
        return None
    return f"the volume of a home that is {ws.home.state} is being deleted"


def deletion_of_archive_is_safe(ws: Workspace, key: str) -> Broken:
    """Contract 9: no archive is collected that the row names, until its deletion is finished."""
    if finished_deleting(ws) or key not in (ws.archive_key, ws.loss_accepted):
        return None
    return "an archive that its workspace names is being collected"


def old_epoch_writes_nothing(
    before: Workspace, after: Workspace, writer_epoch: int, epoch: int
) -> Broken:
    """Contract 12, I5: a process that is no longer the leader changes nothing."""
    if writer_epoch < epoch and before != after:
        return "a process that is no longer the leader changed the row"
    return None
