"""`next_action`: the next stage of an attempt, as an action with everything it needs.

An attempt begins at the first stage and goes through those that the home's state calls for. The
state changes under way (saving the archive condemns the volume), so the stages left are always
chosen by the row as it is now.
"""

from typing import assert_never

import attrs

from wsctl_core.decisions.facts import Moment
from wsctl_core.decisions.operations import OPERATIONS
from wsctl_core.values.actions import (
    Action,
    ActionKind,
    ArchiveHome,
    ConfirmArchive,
    CreateContainer,
    DeleteContainers,
    DeleteVolume,
    DeleteVolumes,
    MakeVolume,
    Progress,
    Record,
    RestoreHome,
    SetIdleTimer,
    StartContainer,
)
from wsctl_core.values.archives import ArchiveReceipt
from wsctl_core.values.names import archive_key
from wsctl_core.values.patches import NEXT_NUMBER, ReconcilerPatch
from wsctl_core.values.states import HomeState
from wsctl_core.values.validation import InvalidValue
from wsctl_core.values.workspace import Home, Workspace, effective_home


def next_stage(ws: Workspace, progress: Progress) -> int | None:
    """The place of the next stage among the operation's, or None when all are behind it."""
    state = effective_home(ws).state
    for place, stage in enumerate(OPERATIONS[ws.operation].stages):
        if place >= progress.done and state in stage.home:
            return place
    return None


def next_action(ws: Workspace, progress: Progress, moment: Moment) -> Action | None:
    """The next action of the running operation, or None when every stage is behind it.

    >>> from datetime import UTC, datetime
    >>> from wsctl_core.values.states import Operation
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> ws = attrs.evolve(
    ...     Workspace.created(id="w1", owner_id="o", name="n", image="i", at=at, seq=1),
    ...     operation=Operation.STOPPING, op_id="op1", op_started_at=at)
    >>> moment = Moment(now=at, fresh_id="op2")
    >>> next_action(ws, Progress(op_id="op1"), moment)
    DeleteContainers(grace_seconds=10)
    >>> next_action(ws, Progress(op_id="op1", done=2), moment) is None
    True
    """
    place = next_stage(ws, progress)
    if place is None:
        return None
    return make_action(OPERATIONS[ws.operation].stages[place].action, ws, progress, moment)


def make_action(kind: ActionKind, ws: Workspace, progress: Progress, moment: Moment) -> Action:
    """One stage as an action, with the identities that the row and the attempt hold."""
    match kind:
        case ActionKind.DELETE_CONTAINERS:
            return DeleteContainers(grace_seconds=moment.policy.stop_grace_seconds)
        case ActionKind.RECORD_MAKING:
            # H2: every attempt names a volume that no attempt ever named. H15: no marker yet.
            return _record(kind, Home(state=HomeState.MAKING, incarnation=moment.fresh_id))
        case ActionKind.MAKE_VOLUME:
            return MakeVolume(incarnation=_incarnation(ws))
        case ActionKind.RESTORE_HOME:
            return RestoreHome(incarnation=_incarnation(ws), archive=_archive(ws))
        case ActionKind.SAVE_MARKER:
            return _record(kind, attrs.evolve(ws.home, restore_marker=_archive(ws).key))
        case ActionKind.RECORD_DIRTY:
            return _record(kind, attrs.evolve(ws.home, dirty=True))
        case ActionKind.CREATE_CONTAINER:
            return CreateContainer(incarnation=_incarnation(ws))
        case ActionKind.START_CONTAINER:
            return StartContainer(container_id=_container(progress))
        case ActionKind.SET_IDLE_TIMER:
            return SetIdleTimer(seconds=ws.standby_ttl_seconds)
        case ActionKind.ARCHIVE_HOME:
            return ArchiveHome(incarnation=_incarnation(ws), key=archive_key(ws.id, progress.op_id))
        case ActionKind.CONFIRM_ARCHIVE:
            return ConfirmArchive(archive=_receipt(progress))
        case ActionKind.SAVE_ARCHIVE:
            receipt = _receipt(progress)
            patch = ReconcilerPatch(
                archive_key=receipt.key,
                archive_sha256=receipt.sha256,
                archive_size=receipt.size,
                home=_condemned(ws),  # H4: in the same write
            )
            return Record(kind=kind, patch=patch)
        case ActionKind.RECORD_CONDEMNED:
            return _record(kind, _condemned(ws))
        case ActionKind.DELETE_VOLUME:
            return DeleteVolume(incarnation=_incarnation(ws))
        case ActionKind.DELETE_VOLUMES:
            return DeleteVolumes()
        case ActionKind.RECORD_ACTED:
            return Record(kind=kind, patch=ReconcilerPatch(op_acted_seq=NEXT_NUMBER))
    assert_never(kind)


def stage_done(
    progress: Progress,
    *,
    container_id: str | None = None,
    receipt: ArchiveReceipt | None = None,
) -> Progress:
    """The attempt after its running action succeeded, with what the action yielded.

    >>> under_way = Progress(op_id="op1", done=3, running=True)
    >>> stage_done(under_way, container_id="c1").container_id
    'c1'
    """
    return attrs.evolve(
        progress,
        running=False,
        container_id=container_id or progress.container_id,
        receipt=receipt or progress.receipt,
    )


def _record(kind: ActionKind, home: Home) -> Record:
    return Record(kind=kind, patch=ReconcilerPatch(home=home))


def _condemned(ws: Workspace) -> Home:
    return attrs.evolve(ws.home, state=HomeState.CONDEMNED, dirty=False)


def _incarnation(ws: Workspace) -> str:
    if ws.home.incarnation is None:
        raise InvalidValue("Workspace", "home", "this action needs an incarnation")
    return ws.home.incarnation


def _archive(ws: Workspace) -> ArchiveReceipt:
    if ws.archive_key is None or ws.archive_sha256 is None or ws.archive_size is None:
        raise InvalidValue("Workspace", "archive_key", "a restore needs an archive")
    return ArchiveReceipt(key=ws.archive_key, sha256=ws.archive_sha256, size=ws.archive_size)


def _receipt(progress: Progress) -> ArchiveReceipt:
    if progress.receipt is None:
        raise InvalidValue("Progress", "receipt", "the archive has not been written yet")
    return progress.receipt


def _container(progress: Progress) -> str:
    if progress.container_id is None:
        raise InvalidValue("Progress", "container_id", "no container has been created yet")
    return progress.container_id
