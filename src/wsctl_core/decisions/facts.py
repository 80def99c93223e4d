"""The finite words that tables are written in, and how a row is reduced to them."""

from datetime import datetime, timedelta
from enum import StrEnum

import attrs

from wsctl_core.values import validation as must
from wsctl_core.values.observation import SuspectKind
from wsctl_core.values.policy import DEFAULT_POLICY, Policy
from wsctl_core.values.states import HomeState, Operation
from wsctl_core.values.workspace import Home, Workspace, effective_seq


@attrs.frozen(kw_only=True)
class Moment:
    """What a decision needs beside the row: time, identity and chance are arguments.

    >>> from datetime import UTC
    >>> Moment(now=datetime(2026, 1, 1, tzinfo=UTC), fresh_id="op1").place_free
    True
    """

    now: datetime = attrs.field(validator=must.moment)
    """The database's clock: the one clock there is."""
    fresh_id: str = attrs.field(validator=must.identity)
    """An identity that nothing has used; it is used at most once, by a claim or an attempt."""
    pass_seq: int = attrs.field(default=0, validator=must.whole())
    """The number of the monitor's last complete pass."""
    place_free: bool = attrs.field(default=True, validator=must.truth)
    """`limit_decision` found a place for a start of this workspace."""
    policy: Policy = attrs.field(default=DEFAULT_POLICY, validator=must.one_of(Policy))


class HomeFact(StrEnum):
    """The home's state, with the one distinction that READY needs."""

    NONE = "NONE"
    MAKING = "MAKING"
    CLEAN = "READY and clean"
    DIRTY = "READY and dirty"
    CONDEMNED = "CONDEMNED"


class ErrorFact(StrEnum):
    """What the recorded error means for planning."""

    NONE = "none"
    PASSING = "passing"
    TERMINAL = "terminal"


class Sighting(StrEnum):
    """How often in a row an anomaly was seen, with no operation between."""

    NEVER = "never"
    ONCE = "once"
    TWICE = "twice"


class RestartFact(StrEnum):
    """Whether a container that ended by itself may be started again."""

    ALLOWED = "allowed"
    BACKS_OFF = "backs off"
    EXHAUSTED = "exhausted"


NO_HOME, MAKING, CLEAN, DIRTY, CONDEMNED = HomeFact
NEVER, ONCE, TWICE = Sighting
NO_ERROR, PASSING, TERMINAL = ErrorFact
ALLOWED, BACKS_OFF, EXHAUSTED = RestartFact

_READY = HomeState.READY
_HOME_FACT = {
    HomeState.NONE: NO_HOME,
    HomeState.MAKING: MAKING,
    HomeState.CONDEMNED: CONDEMNED,
}


def home_fact(home: Home) -> HomeFact:
    """The home's state as a fact.

    >>> home_fact(Home(state=HomeState.READY, incarnation="i1")).value
    'READY and clean'
    """
    if home.state is _READY:
        return DIRTY if home.dirty else CLEAN
    return _HOME_FACT[home.state]


def error_fact(ws: Workspace) -> ErrorFact:
    """The recorded error as a fact."""
    if ws.error_info is None:
        return NO_ERROR
    return TERMINAL if ws.error_info.is_terminal else PASSING


def attempt_due(ws: Workspace, now: datetime) -> bool:
    """The wait before the next attempt is over; no wait is a wait that is over (H29)."""
    return ws.next_attempt_at is None or ws.next_attempt_at <= now


def is_fresh(ws: Workspace, pass_seq: int) -> bool:
    """Something was observed since the last operation ended (H19)."""
    return effective_seq(ws, pass_seq) > ws.op_ended_seq


def sighting(ws: Workspace, what: SuspectKind, identity: str | None, seq: int) -> Sighting:
    """How often in a row an observation up to this number has seen that anomaly (H20).

    The suspicion in the row counts only if it arose at rest, after the last operation ended.
    """
    suspect = ws.suspect
    if suspect is None or suspect.what is not what or suspect.identity != identity:
        return NEVER
    if ws.operation is not Operation.NONE or suspect.seq <= ws.op_ended_seq:
        return NEVER
    return TWICE if seq > suspect.seq else ONCE


def starts_without_stable_run(ws: Workspace, now: datetime, policy: Policy) -> int:
    """How many starts count against the bound: none after a stable run or a newer intent (H28)."""
    started = ws.started_at
    if started is None or ws.intent_changed_at > started:
        return 0
    if now - started > timedelta(seconds=policy.stable_run_seconds):
        return 0
    return ws.restart_count


def restart_due_at(ws: Workspace, started_at: datetime, policy: Policy) -> datetime:
    """When the back-off before the next start ends."""
    ended_at = started_at if ws.last_exit is None else max(started_at, ws.last_exit.at)
    return ended_at + timedelta(seconds=policy.restart_delays_seconds[ws.restart_count])


def restart_fact(ws: Workspace, now: datetime, policy: Policy) -> RestartFact:
    """Whether a start is allowed, backs off, or has reached its bound."""
    starts = starts_without_stable_run(ws, now, policy)
    if ws.started_at is None or starts == 0:
        return ALLOWED
    if starts >= len(policy.restart_delays_seconds):
        return EXHAUSTED
    return BACKS_OFF if now < restart_due_at(ws, ws.started_at, policy) else ALLOWED
