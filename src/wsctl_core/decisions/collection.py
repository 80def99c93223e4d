"""`gc_decision` and `reap_decision`: what nobody needs any more (4.7, section 6).

Collection is separate from operations, and protects (contract 9). Both are asked about things
that were listed before the row was read: an archive saved in between would otherwise look
orphaned, and be the only copy (H13).
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from wsctl_core.decisions.rules import ALWAYS, Rule, Table, Verdict, all_of
from wsctl_core.values.archives import StoredArchive
from wsctl_core.values.names import parse_archive_key
from wsctl_core.values.observation import ContainerSeen, VolumeSeen
from wsctl_core.values.policy import DEFAULT_POLICY, Policy
from wsctl_core.values.reasons import Reason
from wsctl_core.values.states import ObservedStatus, Operation
from wsctl_core.values.workspace import Workspace, effective_home, finished_deleting, in_error


class Keep(StrEnum):
    """What happens to something that was found."""

    KEEP = "KEEP"
    REMOVE = "REMOVE"


class GcFacts(NamedTuple):
    """What `gc_decision` reads."""

    key_ours: bool
    installation_ours: bool
    has_row: bool
    young: bool
    finished: bool
    """The workspace is finished being deleted."""
    holds_home: bool
    """The row's archive_key names it."""
    given_up: bool
    """The row's loss_accepted names it."""
    operation_names_it: bool
    """It is under the prefix of the row's op_id."""
    protected_by_error: bool
    """The workspace is in ERROR, unless deletion was asked and observed is DELETED."""


def _keep(name: str, says: str, reason: Reason, **facts: object) -> Rule[Keep]:
    return Rule(name=name, says=says, when=(all_of(**facts),), then=Keep.KEEP, reason=reason)


GC = Table[GcFacts, Keep](
    name="gc",
    facts=GcFacts,
    rules=(
        _keep("G1", "the key is not ours", Reason.KEY_NOT_OURS, key_ours=False),
        _keep("G2", "of another installation", Reason.OTHER_INSTALLATION, installation_ours=False),
        _keep("G3", "its workspace has no row", Reason.NO_ROW, has_row=False),
        _keep("G4", "younger than the grace", Reason.TOO_YOUNG, young=True),
        _keep(
            "G5",
            "archive_key names it, and the workspace is not finished being deleted",
            Reason.HOLDS_THE_HOME,
            holds_home=True,
            finished=False,
        ),
        _keep(
            "G6",
            "loss_accepted names it, and the workspace is not finished being deleted",
            Reason.GIVEN_UP,
            given_up=True,
            finished=False,
        ),
        _keep(
            "G7",
            "under the prefix of an op_id that a row names",
            Reason.OPERATION_NAMES_IT,
            operation_names_it=True,
        ),
        _keep(
            "G8",
            "the workspace is in ERROR, unless deletion was asked and observed is DELETED",
            Reason.KEPT_IN_ERROR,
            protected_by_error=True,
        ),
        Rule(
            name="G9",
            says="otherwise",
            when=(ALWAYS,),
            then=Keep.REMOVE,
            reason=Reason.ARCHIVE_UNNEEDED,
        ),
    ),
)


def gc_decision(
    archive: StoredArchive,
    ws: Workspace | None,
    *,
    installation: str,
    now: datetime,
    policy: Policy = DEFAULT_POLICY,
) -> Verdict[Keep]:
    """Whether an archive that was found in storage is kept.

    `ws` is the row of the workspace that the key names, read after the listing.

    >>> from datetime import UTC
    >>> old = datetime(2026, 1, 1, tzinfo=UTC)
    >>> found = StoredArchive(
    ...     key="archives/w1/op9/home.tar.gz", installation="here", stored_at=old)
    >>> gc_decision(found, None, installation="here", now=old + timedelta(days=1)).sentence
    'No workspace is known for it; it is kept and reported.'
    """
    named = parse_archive_key(archive.key)
    ours = named is not None and (ws is None or named[0] == ws.id)
    return GC.decide(
        GcFacts(
            key_ours=ours,
            installation_ours=archive.installation == installation,
            has_row=ws is not None,
            young=now - archive.stored_at <= timedelta(seconds=policy.gc_grace_seconds),
            finished=ws is not None and finished_deleting(ws),
            holds_home=ws is not None and ws.archive_key == archive.key,
            given_up=ws is not None and ws.loss_accepted == archive.key,
            operation_names_it=ws is not None and named is not None and ws.op_id == named[1],
            protected_by_error=ws is not None and _protected_by_error(ws),
        )
    )


def _protected_by_error(ws: Workspace) -> bool:
    gone = ws.deleted_at is not None and ws.observed_status is ObservedStatus.DELETED
    return in_error(ws) and not gone


class ReapFacts(NamedTuple):
    """What `reap_decision` reads."""

    installation_ours: bool
    has_row: bool
    young: bool
    home: bool
    """It carries the incarnation of the row's home; for a container, of the effective home."""
    volume_given_up: bool
    """It is a volume that was accepted as lost; a container holds nothing to be kept."""
    operation_runs: bool


REAP = Table[ReapFacts, Keep](
    name="reap",
    facts=ReapFacts,
    rules=(
        _keep("R1", "of another installation", Reason.OTHER_INSTALLATION, installation_ours=False),
        _keep("R2", "its workspace has no row", Reason.NO_ROW, has_row=False),
        _keep("R3", "of the row's own incarnation", Reason.BELONGS_TO_HOME, home=True),
        _keep("R4", "a volume accepted as lost", Reason.GIVEN_UP, volume_given_up=True),
        _keep("R5", "operation not NONE", Reason.OPERATION_RUNS, operation_runs=True),
        _keep("R6", "younger than the grace", Reason.TOO_YOUNG, young=True),
        Rule(name="R7", says="otherwise", when=(ALWAYS,), then=Keep.REMOVE, reason=Reason.STRAY),
    ),
)


def reap_decision(
    thing: ContainerSeen | VolumeSeen,
    ws: Workspace | None,
    *,
    ours: bool,
    first_seen_at: datetime,
    now: datetime,
    policy: Policy = DEFAULT_POLICY,
) -> Verdict[Keep]:
    """Whether a container or volume that was found is removed, by its identity.

    `ours` says that it carries this installation's label; `ws` was read after the listing.

    >>> from datetime import UTC
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> found = VolumeSeen(name="ws-w1-i1", incarnation="i1")
    >>> reap_decision(found, None, ours=True, first_seen_at=at, now=at).reason.value
    'no_row'
    """
    is_volume = isinstance(thing, VolumeSeen)
    home = given_up = operation_runs = False
    if ws is not None:
        operation_runs = ws.operation is not Operation.NONE
        if thing.incarnation is not None:
            kept = ws.home if is_volume else effective_home(ws)
            home = kept.incarnation == thing.incarnation
            given_up = is_volume and ws.loss_accepted == thing.incarnation
    return REAP.decide(
        ReapFacts(
            installation_ours=ours,
            has_row=ws is not None,
            young=now - first_seen_at <= timedelta(seconds=policy.reaper_grace_seconds),
            home=home,
            volume_given_up=given_up,
            operation_runs=operation_runs,
        )
    )
