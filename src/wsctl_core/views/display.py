"""`display_status`: the one word that a person is shown (specification, section 2)."""

from enum import StrEnum
from typing import NamedTuple

from wsctl_core.decisions.rules import ALWAYS, Rule, Table, Verdict, all_of
from wsctl_core.values.reasons import Reason
from wsctl_core.values.states import HealthStatus, ObservedStatus, Operation
from wsctl_core.values.workspace import Workspace


class Shown(StrEnum):
    """Which word is shown."""

    ERROR = "ERROR"
    OPERATION = "the operation's name"
    ARCHIVED = "ARCHIVED"
    OBSERVED = "the observed status"


class DisplayFacts(NamedTuple):
    """What `display_status` reads."""

    health: HealthStatus
    operation_runs: bool
    observed: ObservedStatus
    archived: bool


DISPLAY = Table[DisplayFacts, Shown](
    name="display",
    facts=DisplayFacts,
    rules=(
        Rule(
            name="V1",
            says="health ERROR",
            when=(all_of(health=HealthStatus.ERROR),),
            then=Shown.ERROR,
            reason=Reason.SHOWN_ERROR,
        ),
        Rule(
            name="V2",
            says="an operation runs",
            when=(all_of(operation_runs=True),),
            then=Shown.OPERATION,
            reason=Reason.SHOWN_OPERATION,
        ),
        Rule(
            name="V3",
            says="observed PENDING, archive_key set",
            when=(all_of(observed=ObservedStatus.PENDING, archived=True),),
            then=Shown.ARCHIVED,
            reason=Reason.SHOWN_ARCHIVED,
        ),
        Rule(
            name="V4",
            says="otherwise",
            when=(ALWAYS,),
            then=Shown.OBSERVED,
            reason=Reason.SHOWN_OBSERVED,
        ),
    ),
)


def display_verdict(ws: Workspace) -> Verdict[Shown]:
    """Which word is shown, and why."""
    return DISPLAY.decide(
        DisplayFacts(
            health=ws.health_status,
            operation_runs=ws.operation is not Operation.NONE,
            observed=ws.observed_status,
            archived=ws.archive_key is not None,
        )
    )


def display_status(ws: Workspace) -> str:
    """The one word that a person is shown.

    >>> from datetime import UTC, datetime
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> display_status(
    ...     Workspace.created(id="w1", owner_id="o", name="n", image="i", at=at, seq=1))
    'PENDING'
    """
    match display_verdict(ws).outcome:
        case Shown.OPERATION:
            return ws.operation.value
        case Shown.OBSERVED:
            return ws.observed_status.value
        case word:
            return word.value
