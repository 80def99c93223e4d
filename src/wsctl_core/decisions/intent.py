"""`intent_decision`: what becomes of a wish (specification, section 8; H32).

The service asks it with the row and the places counted under one lock, and writes what it answers.
The newest intent is accepted during an operation too: it is acted on when the operation ends.
"""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

import attrs

from wsctl_core.decisions.limits import Usage, limit_decision, wants_place
from wsctl_core.decisions.rules import ALWAYS, Rule, Table, Verdict, all_of
from wsctl_core.values import validation as must
from wsctl_core.values.patches import UNSET, IntentPatch, Unset
from wsctl_core.values.policy import DEFAULT_POLICY, Policy
from wsctl_core.values.reasons import Reason
from wsctl_core.values.states import DesiredState
from wsctl_core.values.workspace import Workspace


class IntentOutcome(StrEnum):
    """What becomes of a wish."""

    WRITTEN = "WRITTEN"
    UNCHANGED = "UNCHANGED"
    REFUSED = "REFUSED"


class Place(StrEnum):
    """Whether the wish takes a place, and whether there is one."""

    NOT_TAKEN = "takes none"
    FREE = "free"
    USER_FULL = "the user's limit is reached"
    ALL_FULL = "the limit for everyone is reached"


class IntentFacts(NamedTuple):
    """What `intent_decision` reads."""

    stale: bool
    """The wish names a version of the intent that is not the row's."""
    too_late: bool
    """Deletion was asked for before, and the wish is another."""
    place: Place
    changes: bool


INTENT = Table[IntentFacts, IntentOutcome](
    name="intent",
    facts=IntentFacts,
    rules=(
        Rule(
            name="N1",
            says="intent_version is not the one that was named",
            when=(all_of(stale=True),),
            then=IntentOutcome.REFUSED,
            reason=Reason.INTENT_STALE,
        ),
        Rule(
            name="N2",
            says="deletion asked before",
            when=(all_of(too_late=True),),
            then=IntentOutcome.REFUSED,
            reason=Reason.DELETION_ASKED,
        ),
        Rule(
            name="N3",
            says="it is to run, and max_running_per_user is reached",
            when=(all_of(place=Place.USER_FULL),),
            then=IntentOutcome.REFUSED,
            reason=Reason.USER_LIMIT_REACHED,
        ),
        Rule(
            name="N4",
            says="it is to run, and max_running_global is reached",
            when=(all_of(place=Place.ALL_FULL),),
            then=IntentOutcome.REFUSED,
            reason=Reason.GLOBAL_LIMIT_REACHED,
        ),
        Rule(
            name="N5",
            says="nothing would change",
            when=(all_of(changes=False),),
            then=IntentOutcome.UNCHANGED,
            reason=Reason.INTENT_UNCHANGED,
        ),
        Rule(
            name="N6",
            says="otherwise",
            when=(ALWAYS,),
            then=IntentOutcome.WRITTEN,
            reason=Reason.INTENT_WRITTEN,
        ),
    ),
)


@attrs.frozen(kw_only=True)
class Wish:
    """What somebody wants of a workspace; what they do not speak of is UNSET."""

    desired_state: DesiredState | Unset = UNSET
    delete: bool = attrs.field(default=False, validator=must.truth)
    name: str | Unset = UNSET
    standby_ttl_seconds: int | Unset = UNSET
    archive_ttl_seconds: int | Unset = UNSET
    intent_version: int | None = attrs.field(default=None, validator=must.optional(must.whole()))
    """The version that the wish was made on; None takes any."""


@attrs.frozen(kw_only=True)
class IntentAnswer:
    """The verdict on a wish, and what it writes."""

    verdict: Verdict[IntentOutcome]
    patch: IntentPatch | None = None
    """None unless something is to be written to a row that exists."""
    ws: Workspace | None = None
    """The row as it stands after the answer; None while nobody has written it."""


_KEPT = ("name", "standby_ttl_seconds", "archive_ttl_seconds")


def _patch(ws: Workspace, wish: Wish, now: datetime) -> IntentPatch | None:
    changed = {
        field: value
        for field in _KEPT
        if (value := getattr(wish, field)) is not UNSET and value != getattr(ws, field)
    }
    moved = wish.desired_state not in (UNSET, ws.desired_state)
    if moved:
        changed["desired_state"] = wish.desired_state
    leaves = wish.delete and ws.deleted_at is None
    if leaves:
        changed["deleted_at"] = now
    if moved or leaves:
        changed |= {"intent_version": ws.intent_version + 1, "intent_changed_at": now}
    return IntentPatch(**changed) if changed else None


def _place(takes: bool, usage: Usage, policy: Policy) -> Place:
    if not takes:
        return Place.NOT_TAKEN
    reason = limit_decision(usage, policy).reason
    if reason is Reason.USER_LIMIT_REACHED:
        return Place.USER_FULL
    return Place.FREE if reason is Reason.PLACE_FREE else Place.ALL_FULL


def intent_decision(
    ws: Workspace, wish: Wish, *, usage: Usage, now: datetime, policy: Policy = DEFAULT_POLICY
) -> IntentAnswer:
    """Whether a wish is written, and what then. `usage` counts intents of others.

    >>> from datetime import UTC
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> ws = Workspace.created(id="w1", owner_id="o", name="n", image="i", at=at, seq=1)
    >>> wish = Wish(desired_state=DesiredState.STANDBY)
    >>> answer = intent_decision(ws, wish, usage=Usage(by_user=0, in_all=0), now=at)
    >>> answer.verdict.outcome.value, answer.patch.intent_version
    ('WRITTEN', 1)
    """
    patch = _patch(ws, wish, now)
    runs = wish.desired_state is DesiredState.RUNNING and not wish.delete
    verdict = INTENT.decide(
        IntentFacts(
            stale=wish.intent_version not in (None, ws.intent_version),
            too_late=ws.deleted_at is not None and not wish.delete,
            place=_place(runs and not wants_place(ws), usage, policy),
            changes=patch is not None,
        )
    )
    written = verdict.outcome is IntentOutcome.WRITTEN
    return IntentAnswer(verdict=verdict, patch=patch if written else None, ws=ws)


def creation_decision(
    desired_state: DesiredState, *, usage: Usage, policy: Policy = DEFAULT_POLICY
) -> IntentAnswer:
    """Whether a new workspace may be wanted so.

    >>> full = Usage(by_user=2, in_all=2)
    >>> creation_decision(DesiredState.RUNNING, usage=full).verdict.reason.value
    'user_limit_reached'
    >>> creation_decision(DesiredState.STANDBY, usage=full).verdict.outcome.value
    'WRITTEN'
    """
    verdict = INTENT.decide(
        IntentFacts(
            stale=False,
            too_late=False,
            place=_place(desired_state is DesiredState.RUNNING, usage, policy),
            changes=True,
        )
    )
    return IntentAnswer(verdict=verdict)
