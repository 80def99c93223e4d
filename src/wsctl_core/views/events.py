"""`event_of`: what a change of a row is worth telling (specification, 4.7)."""

from enum import StrEnum
from typing import NamedTuple

from wsctl_core.decisions.rules import ALWAYS, Rule, Table, Verdict, all_of
from wsctl_core.values.reasons import Reason
from wsctl_core.values.workspace import Workspace


class EventKind(StrEnum):
    """The kinds of events that the row's changes make."""

    STATE_CHANGED = "state_changed"
    ERROR = "error"


class EventFacts(NamedTuple):
    """What `event_of` reads."""

    error_changed: bool
    """error_info appeared or changed."""
    state_changed: bool
    """The operation, observed, health, intent or name changed."""


EVENT = Table[EventFacts, EventKind | None](
    name="event",
    facts=EventFacts,
    rules=(
        Rule(
            name="X1",
            says="error_info appeared or changed",
            when=(all_of(error_changed=True),),
            then=EventKind.ERROR,
            reason=Reason.ERROR_CHANGED,
        ),
        Rule(
            name="X2",
            says="an operation started or ended, or observed, health, intent or name changed",
            when=(all_of(state_changed=True),),
            then=EventKind.STATE_CHANGED,
            reason=Reason.STATE_CHANGED,
        ),
        Rule(
            name="X3",
            says="otherwise",
            when=(ALWAYS,),
            then=None,
            reason=Reason.NOTHING_CHANGED,
        ),
    ),
)


def _state(ws: Workspace) -> tuple[object, ...]:
    return (
        ws.operation,
        ws.op_id if ws.operation != "NONE" else None,
        ws.observed_status,
        ws.health_status,
        ws.desired_state,
        ws.deleted_at,
        ws.intent_version,
        ws.name,
    )


def event_of(before: Workspace | None, after: Workspace) -> Verdict[EventKind | None]:
    """The event that a change makes; `before` is None for a row that is new.

    >>> import attrs
    >>> from datetime import UTC, datetime
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> ws = Workspace.created(id="w1", owner_id="o", name="n", image="i", at=at, seq=1)
    >>> event_of(ws, attrs.evolve(ws, name="m")).outcome.value
    'state_changed'
    >>> event_of(ws, attrs.evolve(ws, observed_seq=9)).outcome is None
    True
    """
    error = after.error_info
    return EVENT.decide(
        EventFacts(
            error_changed=error is not None and (before is None or error != before.error_info),
            state_changed=before is None or _state(before) != _state(after),
        )
    )
