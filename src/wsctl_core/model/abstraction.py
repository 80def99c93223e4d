"""The row, reduced to what decisions can tell apart, and back to a real row.

Times become the few distinctions that decisions make (over or not, recent or not), identities and
sequence numbers become small numbers. `workspace_of` makes a real `Workspace` from a `Row`, so
that the decisions of production judge it; `row_of` takes the result back.
"""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from wsctl_core.values.errors import AdapterCode, ErrorInfo, ErrorReason
from wsctl_core.values.names import archive_key, parse_archive_key
from wsctl_core.values.observation import Suspect, SuspectKind
from wsctl_core.values.states import (
    DesiredState,
    HealthStatus,
    HomeState,
    ObservedStatus,
    Operation,
)
from wsctl_core.values.workspace import Home, Workspace

NEW_NUMBER = 1_000_000
"""Larger than any identity or sequence number in a world: the next one to be given."""
FRESH = "fresh"
"""The identity that a step takes for what it makes."""

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=1)
_BEFORE_THE_START = NOW - timedelta(hours=1)
AFTER_THE_START = NOW - timedelta(seconds=1)
_STARTED = (None, NOW - timedelta(seconds=2), NOW - timedelta(seconds=200))
_WORKSPACE = "w"
_SHA = "0" * 64

Loss = tuple[str, int]
"""`('home', incarnation)` or `('archive', operation)`."""


class Error(NamedTuple):
    """The recorded error, as far as decisions and checks can tell one from another."""

    reason: ErrorReason
    terminal: bool
    code: AdapterCode | None = None
    operation: Operation = Operation.NONE


class Row(NamedTuple):
    """A row, as far as decisions can tell one from another."""

    desired: DesiredState = DesiredState.RUNNING
    deleted: bool = False
    version: int = 0
    intent_newer: bool = False
    """What is wanted changed after the last start."""
    loss: Loss | None = None
    observed: ObservedStatus = ObservedStatus.PENDING
    health: HealthStatus = HealthStatus.OK
    observed_seq: int = 0
    suspect: tuple[SuspectKind, int, int] | None = None
    operation: Operation = Operation.NONE
    op: int | None = None
    op_old: bool = False
    """The operation is past its timeout."""
    acted: int | None = None
    ended: int = 0
    archive: int | None = None
    """The operation whose archive the row names."""
    home: HomeState = HomeState.NONE
    inc: int | None = None
    marker: int | None = None
    dirty: bool = False
    errors: int = 0
    error: Error | None = None
    waiting: bool = False
    """The next attempt is not due yet."""
    restarts: int = 0
    started: int = 0
    """0: never, or long ago; 1: just now, the back-off runs; 2: recently, the back-off is over."""


def operation_name(op: int) -> str:
    """The identity of an operation in a real row."""
    return f"op{op}"


def incarnation_name(inc: int) -> str:
    """The incarnation in a real row."""
    return f"i{inc}"


def container_id(cid: int) -> str:
    """The identity of a container in a real observation."""
    return f"c{cid}"


def key_of(op: int) -> str:
    """The key of the archive that this operation makes."""
    return archive_key(_WORKSPACE, operation_name(op))


def number_of(identity: str) -> int:
    """The number in an identity; what is fresh gets the next one."""
    return NEW_NUMBER if identity == FRESH else int(identity.lstrip("iopc"))


def _op_of(key: str) -> int:
    parsed = parse_archive_key(key)
    return number_of("" if parsed is None else parsed[1])


def workspace_of(row: Row) -> Workspace:
    """A real row that decisions can't tell from this one."""
    return Workspace(
        id=_WORKSPACE,
        owner_id="owner",
        name="model",
        image="image",
        created_at=LONG_AGO,
        created_seq=0,
        desired_state=row.desired,
        deleted_at=NOW if row.deleted else None,
        intent_version=row.version,
        intent_changed_at=AFTER_THE_START if row.intent_newer else _BEFORE_THE_START,
        loss_accepted=_loss_text(row.loss),
        observed_status=row.observed,
        health_status=row.health,
        observed_seq=row.observed_seq,
        suspect=_suspect(row.suspect),
        operation=row.operation,
        op_id=None if row.op is None else operation_name(row.op),
        op_started_at=None
        if row.operation is Operation.NONE
        else (LONG_AGO if row.op_old else NOW),
        op_acted_seq=row.acted,
        op_ended_seq=row.ended,
        archive_key=None if row.archive is None else key_of(row.archive),
        archive_sha256=None if row.archive is None else _SHA,
        archive_size=None if row.archive is None else 1,
        home=Home(
            state=row.home,
            incarnation=None if row.inc is None else incarnation_name(row.inc),
            restore_marker=None if row.marker is None else key_of(row.marker),
            dirty=row.dirty,
        ),
        error_count=row.errors,
        error_info=_error_info(row),
        next_attempt_at=NOW + timedelta(seconds=30) if row.waiting else None,
        restart_count=row.restarts,
        started_at=_STARTED[row.started],
        last_access_at=LONG_AGO,
    )


def _loss_text(loss: Loss | None) -> str | None:
    if loss is None:
        return None
    kind, number = loss
    return incarnation_name(number) if kind == "home" else key_of(number)


def _suspect(suspect: tuple[SuspectKind, int, int] | None) -> Suspect | None:
    if suspect is None:
        return None
    what, number, seq = suspect
    of_home = what is SuspectKind.HOME_MISSING
    identity = incarnation_name(number) if of_home else container_id(number)
    return Suspect(what=what, identity=identity, seq=seq)


def _error_info(row: Row) -> ErrorInfo | None:
    if row.error is None:
        return None
    error = row.error
    return ErrorInfo(
        reason=error.reason,
        message="in the model",
        is_terminal=error.terminal,
        operation=error.operation,
        error_count=row.errors,
        context={} if error.code is None else {"code": error.code.value},
        occurred_at=NOW,
    )


def row_of(ws: Workspace, most_errors: int) -> Row:
    """What decisions can tell of a real row; failures beyond the bound count as one more."""
    started = _age(ws.started_at)
    suspect, error = ws.suspect, ws.error_info
    return Row(
        desired=ws.desired_state,
        deleted=ws.deleted_at is not None,
        version=ws.intent_version,
        intent_newer=ws.started_at is not None
        and started > 0
        and ws.intent_changed_at > ws.started_at,
        loss=_loss(ws.loss_accepted),
        observed=ws.observed_status,
        health=ws.health_status,
        observed_seq=ws.observed_seq,
        suspect=None
        if suspect is None
        else (suspect.what, number_of(suspect.identity), suspect.seq),
        operation=ws.operation,
        op=None if ws.op_id is None else number_of(ws.op_id),
        op_old=ws.op_started_at is not None and ws.op_started_at < NOW,
        acted=ws.op_acted_seq,
        ended=ws.op_ended_seq,
        archive=None if ws.archive_key is None else _op_of(ws.archive_key),
        home=ws.home.state,
        inc=None if ws.home.incarnation is None else number_of(ws.home.incarnation),
        marker=None if ws.home.restore_marker is None else _op_of(ws.home.restore_marker),
        dirty=ws.home.dirty,
        errors=min(ws.error_count, most_errors),
        error=None
        if error is None
        else Error(error.reason, error.is_terminal, error.code, error.operation),
        waiting=ws.next_attempt_at is not None and ws.next_attempt_at > NOW,
        restarts=ws.restart_count if started else 0,
        started=started,
    )


def _loss(text: str | None) -> Loss | None:
    if text is None:
        return None
    if parse_archive_key(text) is None:
        return "home", number_of(text)
    return "archive", _op_of(text)


def _age(started_at: datetime | None) -> int:
    if started_at is None:
        return 0
    return 1 if NOW - started_at < timedelta(seconds=100) else 2
