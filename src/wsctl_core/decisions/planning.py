"""`plan_operation`: what to do next with a workspace at rest (specification, 4.3).

The first row that matches wins. Deletion comes before everything, an error before every other
operation, a fresh observation before any plan.
"""

from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

from wsctl_core.decisions.facts import (
    ALLOWED,
    BACKS_OFF,
    CONDEMNED,
    DIRTY,
    EXHAUSTED,
    MAKING,
    NEVER,
    NO_ERROR,
    NO_HOME,
    ONCE,
    PASSING,
    TERMINAL,
    TWICE,
    ErrorFact,
    HomeFact,
    Moment,
    RestartFact,
    Sighting,
    attempt_due,
    error_fact,
    home_fact,
    restart_fact,
    sighting,
)
from wsctl_core.decisions.rules import ALWAYS, Rule, Table, Verdict, all_of
from wsctl_core.values.errors import ErrorReason
from wsctl_core.values.observation import SuspectKind
from wsctl_core.values.reasons import Reason
from wsctl_core.values.states import DesiredState, HealthStatus, ObservedStatus, Operation
from wsctl_core.values.workspace import (
    Workspace,
    effective_home,
    effective_seq,
    is_terminal,
)


class Idle(StrEnum):
    """No operation: settled, or waiting for something that will happen by itself."""

    SETTLED = "SETTLED"
    WAITING = "WAITING"


Plan: TypeAlias = Operation | Idle | ErrorReason
"""An operation to claim, nothing, or an error that ends the workspace's peace."""


class PlanFacts(NamedTuple):
    """What `plan_operation` reads."""

    deletion_asked: bool
    observed: ObservedStatus
    error: ErrorFact
    attempt_due: bool
    health: HealthStatus
    fresh: bool
    home: HomeFact
    missing: Sighting
    """How often in a row the dirty home's volume was not seen."""
    desired: DesiredState
    archived: bool
    """There is an archive, and its loss was not accepted."""
    restart: RestartFact
    place_free: bool


D, O = DesiredState, ObservedStatus  # noqa: E741  # as in the specification's table

PLAN = Table[PlanFacts, Plan](
    name="plan",
    facts=PlanFacts,
    rules=(
        Rule(
            name="1",
            says="deletion asked, (observed not DELETED, or error_info set), "
            "next_attempt_at passed",
            when=(
                all_of(
                    deletion_asked=True,
                    observed={O.PENDING, O.STANDBY, O.RUNNING},
                    attempt_due=True,
                ),
                all_of(deletion_asked=True, error={PASSING, TERMINAL}, attempt_due=True),
            ),
            then=Operation.DELETING,
            reason=Reason.DELETION_DUE,
        ),
        Rule(
            name="2-finished",
            says="deletion asked, observed DELETED, no error",
            when=(all_of(deletion_asked=True, observed=O.DELETED, error=NO_ERROR),),
            then=Idle.SETTLED,
            reason=Reason.DELETION_FINISHED,
        ),
        Rule(
            name="2-waiting",
            says="deletion asked",
            when=(all_of(deletion_asked=True),),
            then=Idle.WAITING,
            reason=Reason.DELETION_WAITS,
        ),
        Rule(
            name="3-terminal",
            says="error_info terminal",
            when=(all_of(error=TERMINAL),),
            then=Idle.SETTLED,
            reason=Reason.PERSON_NEEDED,
        ),
        Rule(
            name="3-health",
            says="health ERROR, its error already reset",
            when=(all_of(health=HealthStatus.ERROR),),
            then=Idle.WAITING,
            reason=Reason.HEALTH_NOT_CLEARED,
        ),
        Rule(
            name="4",
            says="effective observed_seq not after op_ended_seq",
            when=(all_of(fresh=False),),
            then=Idle.WAITING,
            reason=Reason.OBSERVATION_DUE,
        ),
        Rule(
            name="5",
            says="home CONDEMNED",
            when=(all_of(home=CONDEMNED),),
            then=Operation.ARCHIVING,
            reason=Reason.CONDEMNED_VOLUME_REMAINS,
        ),
        Rule(
            name="6-once",
            says="home READY and dirty, observed PENDING, not yet seen twice in a row",
            when=(all_of(home=DIRTY, observed=O.PENDING, missing={NEVER, ONCE}),),
            then=Idle.WAITING,
            reason=Reason.HOME_MISSING_ONCE,
        ),
        Rule(
            name="6-twice",
            says="home READY and dirty, observed PENDING, seen twice in a row",
            when=(all_of(home=DIRTY, observed=O.PENDING, missing=TWICE),),
            then=ErrorReason.DATA_LOST,
            reason=Reason.HOME_LOST,
        ),
        Rule(
            name="7",
            says="home MAKING, observed not PENDING, desired PENDING",
            when=(
                all_of(home=MAKING, observed={O.STANDBY, O.RUNNING, O.DELETED}, desired=D.PENDING),
            ),
            then=Operation.ARCHIVING,
            reason=Reason.UNFINISHED_HOME_GIVEN_UP,
        ),
        Rule(
            name="8-restore",
            says="home MAKING, observed not PENDING, an archive to restore",
            when=(all_of(home=MAKING, observed={O.STANDBY, O.RUNNING, O.DELETED}, archived=True),),
            then=Operation.RESTORING,
            reason=Reason.UNFINISHED_HOME_RESTORED,
        ),
        Rule(
            name="8-provision",
            says="home MAKING, observed not PENDING",
            when=(all_of(home=MAKING, observed={O.STANDBY, O.RUNNING, O.DELETED}),),
            then=Operation.PROVISIONING,
            reason=Reason.UNFINISHED_HOME_PROVISIONED,
        ),
        Rule(
            name="9",
            says="home NONE, observed STANDBY or RUNNING",
            when=(all_of(home=NO_HOME, observed={O.STANDBY, O.RUNNING}),),
            then=Idle.WAITING,
            reason=Reason.STATUS_OF_NO_HOME,
        ),
        Rule(
            name="10",
            says="observed equals desired",
            when=(
                all_of(observed=O.PENDING, desired=D.PENDING),
                all_of(observed=O.STANDBY, desired=D.STANDBY),
                all_of(observed=O.RUNNING, desired=D.RUNNING),
            ),
            then=Idle.SETTLED,
            reason=Reason.CONVERGED,
        ),
        Rule(
            name="11-restore",
            says="observed PENDING, desired STANDBY or RUNNING, an archive to restore",
            when=(all_of(observed=O.PENDING, desired={D.STANDBY, D.RUNNING}, archived=True),),
            then=Operation.RESTORING,
            reason=Reason.ARCHIVE_RESTORED,
        ),
        Rule(
            name="11-provision",
            says="observed PENDING, desired STANDBY or RUNNING",
            when=(all_of(observed=O.PENDING, desired={D.STANDBY, D.RUNNING}),),
            then=Operation.PROVISIONING,
            reason=Reason.HOME_PROVISIONED,
        ),
        Rule(
            name="12",
            says="observed STANDBY, desired RUNNING, restart_count at its bound, no newer intent",
            when=(all_of(observed=O.STANDBY, desired=D.RUNNING, restart=EXHAUSTED),),
            then=ErrorReason.RETRY_EXCEEDED,
            reason=Reason.RESTARTS_EXHAUSTED,
        ),
        Rule(
            name="13-backoff",
            says="observed STANDBY, desired RUNNING, restart back-off not over",
            when=(all_of(observed=O.STANDBY, desired=D.RUNNING, restart=BACKS_OFF),),
            then=Idle.WAITING,
            reason=Reason.RESTART_BACKS_OFF,
        ),
        Rule(
            name="13-place",
            says="observed STANDBY, desired RUNNING, no free place",
            when=(all_of(observed=O.STANDBY, desired=D.RUNNING, place_free=False),),
            then=Idle.WAITING,
            reason=Reason.NO_FREE_PLACE,
        ),
        Rule(
            name="14",
            says="observed STANDBY, desired RUNNING",
            when=(all_of(observed=O.STANDBY, desired=D.RUNNING),),
            then=Operation.STARTING,
            reason=Reason.START_WANTED,
        ),
        Rule(
            name="15",
            says="observed STANDBY, desired PENDING",
            when=(all_of(observed=O.STANDBY, desired=D.PENDING),),
            then=Operation.ARCHIVING,
            reason=Reason.ARCHIVE_WANTED,
        ),
        Rule(
            name="16",
            says="observed RUNNING, desired STANDBY or PENDING",
            when=(all_of(observed=O.RUNNING, desired={D.STANDBY, D.PENDING}),),
            then=Operation.STOPPING,
            reason=Reason.STOP_WANTED,
        ),
        Rule(
            name="17",
            says="anything else",
            when=(ALWAYS,),
            then=Idle.SETTLED,
            reason=Reason.CONTRACT_VIOLATED,
        ),
    ),
)

_RUNNING = DesiredState.RUNNING
_STANDBY = ObservedStatus.STANDBY
_MISSING = SuspectKind.HOME_MISSING


def plan_facts(ws: Workspace, moment: Moment) -> PlanFacts:
    """The row reduced to what planning reads."""
    return PlanFacts(*_plan_values(ws, moment))


def _plan_values(ws: Workspace, moment: Moment) -> tuple[Any, ...]:
    home, observed, desired = effective_home(ws), ws.observed_status, ws.desired_state
    seq = effective_seq(ws, moment.pass_seq)
    restart, missing = ALLOWED, NEVER
    if observed is _STANDBY and desired is _RUNNING:
        restart = restart_fact(ws, moment.now, moment.policy)
    if ws.suspect is not None:
        missing = sighting(ws, _MISSING, home.incarnation, seq)
    return (
        ws.deleted_at is not None,
        observed,
        error_fact(ws) if ws.error_info is not None else NO_ERROR,
        ws.next_attempt_at is None or attempt_due(ws, moment.now),
        ws.health_status,
        seq > ws.op_ended_seq,
        home_fact(home),
        missing,
        desired,
        ws.archive_key is not None and ws.archive_key != ws.loss_accepted,
        restart,
        moment.place_free,
    )


def plan_operation(ws: Workspace, moment: Moment) -> Verdict[Plan]:
    """What to do next with a workspace whose operation is NONE.

    >>> from datetime import UTC, datetime
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> ws = Workspace.created(id="w1", owner_id="o", name="n", image="i", at=at, seq=1)
    >>> plan_operation(ws, Moment(now=at, fresh_id="op1")).sentence
    'Nothing has been observed since the last operation ended.'
    >>> plan_operation(ws, Moment(now=at, fresh_id="op1", pass_seq=2)).outcome.value
    'PROVISIONING'
    """
    return PLAN.recall(_plan_values(ws, moment))


def needs_work(ws: Workspace) -> bool:
    """A step may be due: every other row is settled until somebody writes it.

    It reads the row alone, so that a database can keep an index of the rows that need work.

    >>> from datetime import UTC, datetime
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> needs_work(Workspace.created(id="w1", owner_id="o", name="n", image="i", at=at, seq=1))
    True
    """
    if ws.operation is not Operation.NONE:
        return True
    if ws.deleted_at is not None:
        return ws.observed_status is not O.DELETED or ws.error_info is not None
    if is_terminal(ws):
        return False
    home, observed = home_fact(effective_home(ws)), ws.observed_status
    absent = observed is O.PENDING
    return (
        ws.health_status is HealthStatus.ERROR
        or home is CONDEMNED
        or (home is DIRTY and absent)
        or (home in (MAKING, NO_HOME) and not absent)
        or observed.value != ws.desired_state.value
    )
