"""Actions are data: what an operation asks the outside to do, one at a time.

Whoever carries out an action (the application, the model checker, the simulator, another control
plane) keeps its promise: it is idempotent, it acts on identities and never on names that could
be used again, and it reports a failure by a code. A `Record` is a write to the row itself.
"""

from enum import StrEnum
from typing import TypeAlias

import attrs

from wsctl_core.values import validation as must
from wsctl_core.values.archives import ArchiveReceipt
from wsctl_core.values.patches import ReconcilerPatch


class ActionKind(StrEnum):
    """The steps that operations are made of."""

    DELETE_CONTAINERS = "DELETE_CONTAINERS"
    RECORD_MAKING = "RECORD_MAKING"
    MAKE_VOLUME = "MAKE_VOLUME"
    RESTORE_HOME = "RESTORE_HOME"
    SAVE_MARKER = "SAVE_MARKER"
    RECORD_DIRTY = "RECORD_DIRTY"
    CREATE_CONTAINER = "CREATE_CONTAINER"
    START_CONTAINER = "START_CONTAINER"
    SET_IDLE_TIMER = "SET_IDLE_TIMER"
    ARCHIVE_HOME = "ARCHIVE_HOME"
    CONFIRM_ARCHIVE = "CONFIRM_ARCHIVE"
    SAVE_ARCHIVE = "SAVE_ARCHIVE"
    RECORD_CONDEMNED = "RECORD_CONDEMNED"
    DELETE_VOLUME = "DELETE_VOLUME"
    DELETE_VOLUMES = "DELETE_VOLUMES"
    RECORD_ACTED = "RECORD_ACTED"


@attrs.frozen(kw_only=True)
class DeleteContainers:
    """List every container of the workspace, then end and remove those, by identity (H5, H7)."""

    grace_seconds: int


@attrs.frozen(kw_only=True)
class MakeVolume:
    """Make the labelled volume of this incarnation; there already is as good as made."""

    incarnation: str


@attrs.frozen(kw_only=True)
class RestoreHome:
    """Fill the volume from the archive, and verify size and checksum before returning."""

    incarnation: str
    archive: ArchiveReceipt


@attrs.frozen(kw_only=True)
class CreateContainer:
    """Create, and do not start; refuse a missing or unlabelled volume (H5). Yields its id."""

    incarnation: str


@attrs.frozen(kw_only=True)
class StartContainer:
    """Start by the identity that create returned, never by name (H5)."""

    container_id: str


@attrs.frozen(kw_only=True)
class SetIdleTimer:
    """Give a workspace that nobody has opened yet its full idle time."""

    seconds: int


@attrs.frozen(kw_only=True)
class ArchiveHome:
    """Write the volume to this key; refuse to overwrite, and refuse an unlabelled volume (H3).

    An archive of this incarnation that is there already counts as written. Yields a receipt.
    """

    incarnation: str
    key: str


@attrs.frozen(kw_only=True)
class ConfirmArchive:
    """Confirm that what storage holds has the size and the checksum of the receipt."""

    archive: ArchiveReceipt


@attrs.frozen(kw_only=True)
class DeleteVolume:
    """Delete the volume of this incarnation and no other; gone already is as good as deleted."""

    incarnation: str


@attrs.frozen(kw_only=True)
class DeleteVolumes:
    """List every volume of the workspace, then delete those, by name."""


@attrs.frozen(kw_only=True)
class Record:
    """A write to the row, in its place among the actions."""

    kind: ActionKind
    patch: ReconcilerPatch


OutsideAction: TypeAlias = (
    DeleteContainers
    | MakeVolume
    | RestoreHome
    | CreateContainer
    | StartContainer
    | SetIdleTimer
    | ArchiveHome
    | ConfirmArchive
    | DeleteVolume
    | DeleteVolumes
)
"""What is done to the outside, and may land late."""

Action: TypeAlias = OutsideAction | Record


@attrs.frozen(kw_only=True)
class Progress:
    """How far the attempt has come: what its executor knows, and a crash forgets.

    `done` counts the stages that are behind it; `running` says that one is under way.
    """

    op_id: str = attrs.field(validator=must.identity)
    done: int = attrs.field(default=0, validator=must.whole())
    running: bool = attrs.field(default=False, validator=must.truth)
    container_id: str | None = attrs.field(default=None, validator=must.optional(must.identity))
    receipt: ArchiveReceipt | None = attrs.field(
        default=None, validator=must.optional(must.one_of(ArchiveReceipt))
    )
