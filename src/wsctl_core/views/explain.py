"""`explain` and `ways_out`: why a workspace is as it is, and what a person can do about it.

Both are made of the same verdicts that decide, so they can't drift from them.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any

import attrs

from wsctl_core.decisions.facts import Moment, restart_due_at
from wsctl_core.decisions.planning import PLAN, plan_facts
from wsctl_core.decisions.reconcile import MOVE, move_facts
from wsctl_core.decisions.recovery import RecoveryOutcome, recovery_decision
from wsctl_core.decisions.rules import Change, Rule, Table, Verdict
from wsctl_core.values.actions import Progress
from wsctl_core.values.reasons import Reason
from wsctl_core.values.states import Actor, DesiredState, Operation
from wsctl_core.values.workspace import Workspace, finished_deleting, in_error
from wsctl_core.views.display import display_status


@attrs.frozen(kw_only=True)
class LookedAt:
    """One rule that was looked at, and whether it was the one that decided."""

    rule: str
    says: str
    decided: bool


@attrs.frozen(kw_only=True)
class Explanation:
    """Why a workspace is as it is."""

    status: str
    because: str
    reason: Reason
    outcome: str
    looked_at: tuple[LookedAt, ...]
    would_differ: tuple[Change[Any], ...]
    """The smallest changes that would decide otherwise."""
    next_at: datetime | None
    """When the next thing happens; None when no clock decides that."""
    waits_for: str


_AWAITS = {
    Reason.DELETION_WAITS: "the next attempt at deletion",
    Reason.HEALTH_NOT_CLEARED: "the monitor's next look",
    Reason.OBSERVATION_DUE: "the monitor's next look",
    Reason.HOME_MISSING_ONCE: "the monitor's next look",
    Reason.STATUS_OF_NO_HOME: "the monitor's next look",
    Reason.RESTART_BACKS_OFF: "the end of the restart back-off",
    Reason.NO_FREE_PLACE: "a workspace that holds a place to stop",
    Reason.RETRY_WAITS: "the next attempt",
    Reason.ACTION_RUNS: "the running action to end",
    Reason.RESULT_AWAITED: "the monitor's next look",
    Reason.PERSON_NEEDED: "a person",
    Reason.CONVERGED: "a change of what is wanted",
    Reason.DELETION_FINISHED: "nothing",
    Reason.CONTRACT_VIOLATED: "a person",
}


def explain(ws: Workspace, moment: Moment, progress: Progress | None = None) -> Explanation:
    """Every rule that was looked at, which one decided, and what would change the outcome.

    >>> from datetime import UTC
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> ws = Workspace.created(id="w1", owner_id="o", name="n", image="i", at=at, seq=1)
    >>> why = explain(ws, Moment(now=at, fresh_id="op1"))
    >>> why.because
    'Nothing has been observed since the last operation ended.'
    >>> why.status, why.waits_for
    ('PENDING', "the monitor's next look")
    """
    if ws.operation is Operation.NONE:
        return _explained(ws, moment, PLAN, plan_facts(ws, moment))
    ours = progress is not None and progress.op_id == ws.op_id
    facts = move_facts(ws, moment, progress if ours else None)
    return _explained(ws, moment, MOVE, facts)


def _explained(ws: Workspace, moment: Moment, table: Table[Any, Any], facts: Any) -> Explanation:
    verdict = table.decide(facts)
    return Explanation(
        status=display_status(ws),
        because=verdict.sentence,
        reason=verdict.reason,
        outcome=str(verdict.outcome),
        looked_at=_looked_at(table.rules, verdict),
        would_differ=table.smallest_changes(facts),
        next_at=next_at(ws, moment, verdict),
        waits_for=_AWAITS.get(verdict.reason, "the reconciler's next step"),
    )


def _looked_at(rules: tuple[Rule[Any], ...], verdict: Verdict[Any]) -> tuple[LookedAt, ...]:
    seen = (*verdict.looked_at, verdict.rule)
    return tuple(
        LookedAt(rule=rule.name, says=rule.says, decided=rule.name == verdict.rule)
        for rule in rules
        if rule.name in seen
    )


def next_at(ws: Workspace, moment: Moment, verdict: Verdict[Any]) -> datetime | None:
    """The time at which the clock alone makes the next thing happen."""
    match verdict.reason:
        case Reason.DELETION_WAITS | Reason.RETRY_WAITS:
            return ws.next_attempt_at
        case Reason.RESTART_BACKS_OFF if ws.started_at is not None:
            return restart_due_at(ws, ws.started_at, moment.policy)
        case Reason.ACTION_RUNS | Reason.RESULT_AWAITED if ws.op_started_at is not None:
            return ws.op_started_at + moment.policy.timeouts[ws.operation]
        case _:
            return None


class Way(StrEnum):
    """Something a person can do."""

    START = "start"
    STOP = "stop"
    ARCHIVE = "archive"
    DELETE = "delete"
    RECOVER = "recover"
    ACCEPT_LOSS = "accept_loss"
    WAIT = "wait"
    NOTHING = "nothing"


@attrs.frozen(kw_only=True)
class WayOut:
    """One choice, who may make it, and what it leads to."""

    way: Way
    leads_to: str
    who: frozenset[Actor] = frozenset(Actor)
    gives_up: str | None = None
    """The incarnation or archive key that is accepted as lost."""


_INTENTS = {
    DesiredState.RUNNING: (Way.START, "a running container on the home"),
    DesiredState.STANDBY: (Way.STOP, "the home in its volume, no container"),
    DesiredState.PENDING: (Way.ARCHIVE, "the home in its archive, no volume"),
}


def ways_out(ws: Workspace) -> tuple[WayOut, ...]:
    """What a person can do now, and what each choice leads to. Never empty.

    >>> from datetime import UTC
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> ws = Workspace.created(id="w1", owner_id="o", name="n", image="i", at=at, seq=1)
    >>> [choice.way.value for choice in ways_out(ws)]
    ['stop', 'archive', 'delete']
    """
    if finished_deleting(ws):
        return (WayOut(way=Way.NOTHING, leads_to="the workspace is deleted"),)
    ways: list[WayOut] = []
    if in_error(ws):
        ways += _recoveries(ws)
    elif ws.deleted_at is None:
        ways += [
            WayOut(way=way, leads_to=leads_to)
            for wanted, (way, leads_to) in _INTENTS.items()
            if wanted is not ws.desired_state
        ]
    if ws.deleted_at is None:
        ways.append(WayOut(way=Way.DELETE, leads_to="nothing left of the workspace"))
    else:
        ways.append(WayOut(way=Way.WAIT, leads_to="the deletion goes on by itself"))
    return tuple(ways)


def _recoveries(ws: Workspace) -> list[WayOut]:
    who = frozenset(
        actor
        for actor in Actor
        if recovery_decision(ws, actor).verdict.outcome is RecoveryOutcome.RECOVERED
    )
    ways = []
    if who:
        ways.append(WayOut(way=Way.RECOVER, leads_to="the same again, from the start", who=who))
    named = {
        ws.home.incarnation: "a home made or restored anew",
        ws.archive_key: "an empty home",
    }
    for gives_up, leads_to in named.items():
        if gives_up is not None and who:
            ways.append(
                WayOut(
                    way=Way.ACCEPT_LOSS,
                    leads_to=f"{leads_to}; refused while {gives_up} is there",
                    who=frozenset({Actor.ADMINISTRATOR}),
                    gives_up=gives_up,
                )
            )
    return ways
