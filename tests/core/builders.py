"""Rows, moments and errors for tests, with everything that a test does not care about filled in."""

from datetime import UTC, datetime, timedelta
from typing import Any

import attrs

from wsctl_core import (
    ArchiveReceipt,
    ContainerPhase,
    ContainerSeen,
    ErrorInfo,
    ErrorReason,
    Home,
    HomeState,
    LastExit,
    Moment,
    Observation,
    Operation,
    Progress,
    Unknown,
    VolumeSeen,
    Workspace,
    archive_key,
    volume_name,
)

T0 = datetime(2026, 1, 1, tzinfo=UTC)
SHA = "5e" * 32
KEY = archive_key("w1", "op-archive")
OTHER_KEY = archive_key("w1", "op-other")

MAKING = Home(state=HomeState.MAKING, incarnation="i1")
RESTORED = Home(state=HomeState.MAKING, incarnation="i1", restore_marker=KEY)
CLEAN = Home(state=HomeState.READY, incarnation="i1")
DIRTY = Home(state=HomeState.READY, incarnation="i1", dirty=True)
CONDEMNED = Home(state=HomeState.CONDEMNED, incarnation="i1")

ARCHIVED: dict[str, Any] = {"archive_key": KEY, "archive_sha256": SHA, "archive_size": 12}
RECEIPT = ArchiveReceipt(key=archive_key("w1", "op1"), sha256=SHA, size=34)

RUNNING_OPERATIONS = tuple(op for op in Operation if op is not Operation.NONE)


def after(seconds: float) -> datetime:
    """That many seconds after the tests' beginning of time."""
    return T0 + timedelta(seconds=seconds)


def row(**columns: Any) -> Workspace:
    """A new workspace, observed once, with these columns changed."""
    new = Workspace.created(
        id="w1", owner_id="ann", name="work", image="ide:1", at=T0, seq=1, **_wanted(columns)
    )
    return attrs.evolve(new, **{"observed_seq": 5, **columns})


def _wanted(columns: dict[str, Any]) -> dict[str, Any]:
    return {name: columns.pop(name) for name in ("desired_state",) if name in columns}


def changed(ws: Workspace, **columns: Any) -> Workspace:
    """The row with these columns changed, whatever their types."""
    return attrs.evolve(ws, **columns)


def busy(operation: Operation, **columns: Any) -> Workspace:
    """A workspace in the middle of an operation."""
    return row(**{"operation": operation, "op_id": "op1", "op_started_at": T0, **columns})


def moment(seconds: float = 0, **parts: Any) -> Moment:
    """A moment that many seconds after the beginning."""
    return Moment(now=after(seconds), **{"fresh_id": "fresh", **parts})


def error(*, terminal: bool = True, **parts: Any) -> ErrorInfo:
    """A recorded error."""
    given: dict[str, Any] = {
        "reason": ErrorReason.UNREACHABLE,
        "message": "no route",
        "operation": Operation.STARTING,
        "error_count": 1,
        "occurred_at": T0,
        **parts,
    }
    return ErrorInfo(is_terminal=terminal, **given)


def container(
    phase: ContainerPhase = ContainerPhase.RUNNING,
    *,
    id: str = "c1",
    incarnation: str | None = "i1",
    exit: LastExit | None = None,
) -> ContainerSeen:
    """A container of the tests' home, unless said otherwise."""
    return ContainerSeen(id=id, incarnation=incarnation, phase=phase, exit=exit)


def volume(incarnation: str | None = "i1") -> VolumeSeen:
    """A volume of the tests' home, unless said otherwise."""
    return VolumeSeen(name=volume_name("w1", incarnation or "plain"), incarnation=incarnation)


def seen(
    seq: int = 9,
    *,
    containers: tuple[ContainerSeen, ...] | Unknown = (),
    volumes: tuple[VolumeSeen, ...] | Unknown = (),
    seconds: float = 60,
) -> Observation:
    """What one pass of the monitor saw."""
    return Observation(seq=seq, began_at=after(seconds), containers=containers, volumes=volumes)


def attempt(done: int = 0, **parts: Any) -> Progress:
    """The progress of the tests' operation."""
    return Progress(**{"op_id": "op1", "done": done, **parts})
