"""`ttl_decision`: has a workspace been idle, or unused, for so long that it steps down? (4.6)

When in doubt, it stays up: an active user stopped as idle is worse than an idle hour.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from wsctl_core.decisions.rules import ALWAYS, Rule, Table, Verdict, all_of
from wsctl_core.values.activity import Activity
from wsctl_core.values.reasons import Reason
from wsctl_core.values.states import DesiredState, HealthStatus, ObservedStatus, Operation
from wsctl_core.values.workspace import Workspace


class Ttl(StrEnum):
    """Whether a time to live has run out, and what is wanted then."""

    SKIP = "SKIP"
    TO_STANDBY = "TO_STANDBY"
    TO_PENDING = "TO_PENDING"


class StandbyFacts(NamedTuple):
    """What the standby TTL reads."""

    observed: ObservedStatus
    health: HealthStatus
    operation_runs: bool
    still_wanted: bool
    """Desired is RUNNING and no deletion was asked for."""
    started_recently: bool
    activity_known: bool
    connected: bool
    kept_alive: bool
    idle_timer: bool


class ArchiveFacts(NamedTuple):
    """What the archive TTL reads."""

    observed: ObservedStatus
    health: HealthStatus
    operation_runs: bool
    still_wanted: bool
    """Desired is STANDBY and no deletion was asked for."""
    accessed_recently: bool


_NOT_RUNNING = {ObservedStatus.PENDING, ObservedStatus.STANDBY, ObservedStatus.DELETED}
_NOT_STANDBY = {ObservedStatus.PENDING, ObservedStatus.RUNNING, ObservedStatus.DELETED}


def _skip(name: str, says: str, reason: Reason, **facts: object) -> Rule[Ttl]:
    return Rule(name=name, says=says, when=(all_of(**facts),), then=Ttl.SKIP, reason=reason)


STANDBY_TTL = Table[StandbyFacts, Ttl](
    name="standby_ttl",
    facts=StandbyFacts,
    rules=(
        _skip("S1", "observed not RUNNING", Reason.NOT_RUNNING, observed=_NOT_RUNNING),
        _skip("S2", "health ERROR", Reason.TTL_IN_ERROR, health=HealthStatus.ERROR),
        _skip("S3", "operation not NONE", Reason.TTL_OPERATION_RUNS, operation_runs=True),
        _skip(
            "S4",
            "desired not RUNNING, or deletion asked",
            Reason.TTL_INTENT_DIFFERS,
            still_wanted=False,
        ),
        _skip(
            "S5",
            "now - started_at <= standby_ttl_seconds",
            Reason.STARTED_RECENTLY,
            started_recently=True,
        ),
        _skip("S6", "activity unknown", Reason.ACTIVITY_UNKNOWN, activity_known=False),
        _skip("S7", "ws_conn > 0", Reason.CONNECTED, connected=True),
        _skip("S8", "kept alive by request", Reason.KEPT_ALIVE, kept_alive=True),
        _skip("S9", "idle_timer present", Reason.IDLE_TIMER_RUNS, idle_timer=True),
        Rule(name="S10", says="otherwise", when=(ALWAYS,), then=Ttl.TO_STANDBY, reason=Reason.IDLE),
    ),
)

ARCHIVE_TTL = Table[ArchiveFacts, Ttl](
    name="archive_ttl",
    facts=ArchiveFacts,
    rules=(
        _skip("A1", "observed not STANDBY", Reason.NOT_STANDBY, observed=_NOT_STANDBY),
        _skip("A2", "health ERROR", Reason.TTL_IN_ERROR, health=HealthStatus.ERROR),
        _skip("A3", "operation not NONE", Reason.TTL_OPERATION_RUNS, operation_runs=True),
        _skip(
            "A4",
            "desired not STANDBY, or deletion asked",
            Reason.TTL_INTENT_DIFFERS,
            still_wanted=False,
        ),
        _skip(
            "A5",
            "now - max(last_access_at, intent_changed_at) <= archive_ttl_seconds",
            Reason.ACCESSED_RECENTLY,
            accessed_recently=True,
        ),
        Rule(
            name="A6", says="otherwise", when=(ALWAYS,), then=Ttl.TO_PENDING, reason=Reason.UNUSED
        ),
    ),
)


def standby_ttl_decision(ws: Workspace, activity: Activity, now: datetime) -> Verdict[Ttl]:
    """Whether a running workspace has been idle for its whole idle time.

    >>> from datetime import UTC
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> ws = Workspace.created(id="w1", owner_id="o", name="n", image="i", at=at, seq=1)
    >>> standby_ttl_decision(ws, Activity(), at).reason.value
    'not_running'
    """
    since_start = None if ws.started_at is None else now - ws.started_at
    return STANDBY_TTL.decide(
        StandbyFacts(
            observed=ws.observed_status,
            health=ws.health_status,
            operation_runs=ws.operation is not Operation.NONE,
            still_wanted=ws.desired_state is DesiredState.RUNNING and ws.deleted_at is None,
            started_recently=since_start is not None
            and since_start <= timedelta(seconds=ws.standby_ttl_seconds),
            activity_known=activity.known,
            connected=activity.connections > 0,
            kept_alive=activity.kept_alive,
            idle_timer=activity.idle_timer,
        )
    )


def archive_ttl_decision(ws: Workspace, now: datetime) -> Verdict[Ttl]:
    """Whether a workspace on standby has been unused for its whole archive time.

    >>> from datetime import UTC
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> ws = Workspace.created(id="w1", owner_id="o", name="n", image="i", at=at, seq=1)
    >>> archive_ttl_decision(ws, at).reason.value
    'not_standby'
    """
    # H31: a container that died by itself leaves an old last_access_at; the intent is newer.
    last_use = max(ws.last_access_at, ws.intent_changed_at)
    return ARCHIVE_TTL.decide(
        ArchiveFacts(
            observed=ws.observed_status,
            health=ws.health_status,
            operation_runs=ws.operation is not Operation.NONE,
            still_wanted=ws.desired_state is DesiredState.STANDBY and ws.deleted_at is None,
            accessed_recently=now - last_use <= timedelta(seconds=ws.archive_ttl_seconds),
        )
    )


def ttl_decision(ws: Workspace, activity: Activity, now: datetime) -> Verdict[Ttl]:
    """Whether the workspace steps down, by the time to live that its status calls for.

    The manager asks the service to change the intent, naming the `intent_version` it judged.

    >>> from datetime import UTC
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> ws = Workspace.created(id="w1", owner_id="o", name="n", image="i", at=at, seq=1)
    >>> ttl_decision(ws, Activity(), at).sentence
    'It is not on standby, so there is nothing to archive.'
    """
    if ws.observed_status is ObservedStatus.RUNNING:
        return standby_ttl_decision(ws, activity, now)
    return archive_ttl_decision(ws, now)
