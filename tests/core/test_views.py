"""What people are told: status, events, explanations and ways out."""

from itertools import combinations, product
from typing import Any

import attrs
import pytest
from hypothesis import given, settings

from tests.core import oracles
from tests.core.builders import (
    ARCHIVED,
    CLEAN,
    DIRTY,
    KEY,
    MAKING,
    T0,
    after,
    attempt,
    busy,
    error,
    moment,
    row,
)
from tests.strategies import attempts, workspaces
from wsctl_core import (
    Actor,
    DesiredState,
    ErrorReason,
    EventKind,
    Fail,
    HealthStatus,
    LastExit,
    Moment,
    ObservedStatus,
    Operation,
    Progress,
    Reason,
    RecoveryOutcome,
    Table,
    Way,
    WayOut,
    Workspace,
    display_status,
    event_of,
    explain,
    reconcile,
    recovery_decision,
    sentence,
    ways_out,
)
from wsctl_core.decisions.planning import PLAN, plan_facts
from wsctl_core.decisions.reconcile import MOVE, Move, move_facts
from wsctl_core.decisions.recovery import Evidence
from wsctl_core.views.display import DISPLAY, display_verdict
from wsctl_core.views.events import EVENT
from wsctl_core.views.explain import _AWAITS

Attempt = tuple[Workspace, Moment, Progress | None]


# Status.


def test_display_is_the_specifications_for_all_facts() -> None:
    """Every combination of facts is shown as section 2 says."""
    assert oracles.differing(DISPLAY, oracles.display) == []


@pytest.mark.parametrize(
    ("ws", "shown", "reason"),
    [
        (row(), "PENDING", Reason.SHOWN_OBSERVED),
        (row(observed_status=ObservedStatus.RUNNING), "RUNNING", Reason.SHOWN_OBSERVED),
        (row(observed_status=ObservedStatus.STANDBY, **ARCHIVED), "STANDBY", Reason.SHOWN_OBSERVED),
        (row(**ARCHIVED), "ARCHIVED", Reason.SHOWN_ARCHIVED),
        (busy(Operation.RESTORING, **ARCHIVED), "RESTORING", Reason.SHOWN_OPERATION),
        (
            busy(Operation.DELETING, health_status=HealthStatus.ERROR),
            "ERROR",
            Reason.SHOWN_ERROR,
        ),
    ],
)
def test_the_one_word_for_a_row(ws: Workspace, shown: str, reason: Reason) -> None:
    """Error before operation before archive before what was observed."""
    assert display_status(ws) == shown
    assert display_verdict(ws).reason is reason


# Events.


def test_events_are_the_specifications_for_all_facts() -> None:
    """Every combination of facts makes the event that section 4.7 says."""
    assert oracles.differing(EVENT, oracles.event) == []


CHANGED, ERROR = EventKind.STATE_CHANGED, EventKind.ERROR
BROKEN = {"error_info": error()}


@pytest.mark.parametrize(
    ("before", "after_", "event"),
    [
        (None, row(), CHANGED),
        (None, row(**BROKEN), ERROR),
        (row(), row(), None),
        (row(), row(observed_seq=9, restart_count=1, op_ended_seq=3), None),
        (row(), busy(Operation.STARTING), CHANGED),
        (busy(Operation.STARTING), row(), CHANGED),
        (busy(Operation.STARTING), busy(Operation.STARTING, op_id="op2"), CHANGED),
        (row(op_id="op1"), row(op_id=None), None),
        (row(), row(observed_status=ObservedStatus.RUNNING), CHANGED),
        (row(), row(health_status=HealthStatus.ERROR), CHANGED),
        (row(), row(desired_state=DesiredState.STANDBY), CHANGED),
        (row(), row(deleted_at=T0), CHANGED),
        (row(), row(intent_version=1), CHANGED),
        (row(), row(name="other"), CHANGED),
        (row(), row(**BROKEN), ERROR),
        (row(**BROKEN), row(**BROKEN), None),
        (row(**BROKEN), row(error_info=error(error_count=9)), ERROR),
        (row(**BROKEN), row(), None),
        (busy(Operation.STARTING), row(**BROKEN), ERROR),
        (row(**BROKEN), row(**BROKEN, name="other"), CHANGED),
    ],
)
def test_what_a_change_is_worth_telling(
    before: Workspace | None, after_: Workspace, event: EventKind | None
) -> None:
    """An error that appeared or changed, something that people see, or nothing."""
    assert event_of(before, after_).outcome is event


# Explanations.

DECIDED_BY_FAILURE = {
    Reason.HOME_LOST,
    Reason.RESTARTS_EXHAUSTED,
    Reason.OPERATION_TIMED_OUT,
    Reason.RESULT_MISMATCHES,
}


@given(given_attempt=attempts())
@settings(max_examples=60)
def test_an_explanation_is_what_reconcile_decides(given_attempt: Attempt) -> None:
    """The reason that is explained is the reason of the step that is taken."""
    ws, now, held = given_attempt
    why = explain(ws, now, held)
    step = reconcile(ws, now, held)
    if isinstance(step, Fail) and step.verdict.reason is not Reason.HEALTH_FORBIDS:
        assert why.reason in DECIDED_BY_FAILURE
    else:
        assert why.reason is step.verdict.reason
        assert why.outcome == str(step.verdict.outcome)
    assert why.because == sentence(why.reason)
    assert why.status == display_status(ws)
    assert why.waits_for
    *before, last = why.looked_at
    assert last.decided
    assert not any(each.decided for each in before)


@given(given_attempt=attempts())
@settings(max_examples=40)
def test_the_rules_looked_at_are_the_tables(given_attempt: Attempt) -> None:
    """An explanation lists the table's rows from the first to the one that decided."""
    ws, now, held = given_attempt
    rules = PLAN.rules if ws.operation is Operation.NONE else MOVE.rules
    looked_at = explain(ws, now, held).looked_at
    expected = [(rule.name, rule.says) for rule in rules[: len(looked_at)]]
    assert [(each.rule, each.says) for each in looked_at] == expected


def word(value: Any) -> str:
    """A fact's value as an explanation spells it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value.value)


def facts_of(ws: Workspace, now: Moment, held: Progress | None) -> tuple[Table[Any, Any], Any]:
    """The table that decides about a row, and the row's facts."""
    if ws.operation is Operation.NONE:
        return PLAN, plan_facts(ws, now)
    ours = held is not None and held.op_id == ws.op_id
    return MOVE, move_facts(ws, now, held if ours else None)


@given(given_attempt=attempts())
@settings(max_examples=40)
def test_the_smallest_changes_change_the_outcome_and_are_smallest(given_attempt: Attempt) -> None:
    """Each change that is offered decides otherwise, and no smaller one would."""
    table, facts = facts_of(*given_attempt)
    changes = explain(*given_attempt).would_differ
    domains = table.domains()
    outcome = table.decide(facts).outcome
    sizes = {len(change.facts) for change in changes}
    assert len(sizes) == 1
    for change in changes:
        new = {
            name: next(v for v in domains[name] if word(v) == told) for name, told in change.facts
        }
        assert all(getattr(facts, name) != value for name, value in new.items())
        other = table.decide(facts._replace(**new))
        assert other.outcome != outcome
        assert (change.outcome, change.reason) == (other.outcome, other.reason)
    for size in range(1, sizes.pop()):
        for names in combinations(domains, size):
            for values in product(*(domains[name] for name in names)):
                new = dict(zip(names, values, strict=True))
                assert table.decide(facts._replace(**new)).outcome == outcome


WAITS = [
    (
        row(deleted_at=T0, next_attempt_at=after(99)),
        None,
        after(99),
        "the next attempt at deletion",
    ),
    (row(health_status=HealthStatus.ERROR), None, None, "the monitor's next look"),
    (row(op_ended_seq=7), None, None, "the monitor's next look"),
    (row(home=DIRTY), None, None, "the monitor's next look"),
    (row(observed_status=ObservedStatus.STANDBY), None, None, "the monitor's next look"),
    (
        row(
            observed_status=ObservedStatus.STANDBY,
            home=DIRTY,
            started_at=T0,
            restart_count=2,
            last_exit=LastExit(exit_code=1, at=after(5)),
        ),
        None,
        after(25),
        "the end of the restart back-off",
    ),
    (row(error_info=error()), None, None, "a person"),
    (row(desired_state=DesiredState.PENDING), None, None, "a change of what is wanted"),
    (row(deleted_at=T0, observed_status=ObservedStatus.DELETED), None, None, "nothing"),
    (row(), None, None, "the reconciler's next step"),
    (busy(Operation.STOPPING, next_attempt_at=after(44)), attempt(), after(44), "the next attempt"),
    (
        busy(Operation.STOPPING),
        attempt(1, running=True),
        after(300),
        "the running action to end",
    ),
    (
        busy(Operation.RESTORING, op_acted_seq=7, **ARCHIVED),
        attempt(6),
        after(1800),
        "the monitor's next look",
    ),
    (busy(Operation.STOPPING), attempt(), None, "the reconciler's next step"),
    (busy(Operation.STOPPING), None, None, "the reconciler's next step"),
]


@pytest.mark.parametrize(("ws", "held", "when", "what"), WAITS)
def test_what_comes_next_and_when(
    ws: Workspace, held: Progress | None, when: Any, what: str
) -> None:
    """An explanation names what is waited for, and the time where a clock decides."""
    why = explain(ws, moment(10), held)
    assert (why.next_at, why.waits_for) == (when, what)


def test_a_start_without_a_place_waits_for_another_to_stop() -> None:
    """The explanation says what would have to happen."""
    ws = row(observed_status=ObservedStatus.STANDBY, home=CLEAN)
    why = explain(ws, moment(place_free=False))
    assert why.waits_for == "a workspace that holds a place to stop"
    assert why.next_at is None
    assert ("place_free", "yes") in {fact for change in why.would_differ for fact in change.facts}


def test_every_standstill_says_what_it_waits_for() -> None:
    """No row that settles or waits is explained as if the reconciler were about to act."""
    acting = explain(row(), moment()).waits_for
    still = {rule.reason for rule in PLAN.rules if rule.then in ("SETTLED", "WAITING")}
    still |= {rule.reason for rule in MOVE.rules if rule.then is Move.WAIT}
    assert set(_AWAITS) == still
    assert acting not in _AWAITS.values()


def test_progress_of_another_operation_is_not_ours() -> None:
    """An explanation, too, takes an operation that this process does not hold for a new one."""
    ws = busy(Operation.STOPPING)
    assert explain(ws, moment(), attempt(op_id="op2", running=True)).reason is Reason.LEADER_IS_NEW
    assert explain(ws, moment(), attempt(running=True)).reason is Reason.ACTION_RUNS


# Ways out.


@given(ws=workspaces())
def test_there_is_always_a_way_and_every_way_is_open(ws: Workspace) -> None:
    """Never empty; each recovery that is offered is allowed to those it is offered to."""
    ways = ways_out(ws)
    assert ways
    for choice in ways:
        assert choice.who
        assert choice.leads_to
        if choice.way in (Way.RECOVER, Way.ACCEPT_LOSS):
            for actor in Actor:
                answer = recovery_decision(
                    ws, actor, accept_loss=choice.gives_up, evidence=Evidence.GONE
                )
                open_to_them = answer.verdict.outcome is RecoveryOutcome.RECOVERED
                assert open_to_them is (actor in choice.who)
        else:
            assert choice.gives_up is None
    if ws.deleted_at is not None:
        assert not {c.way for c in ways} & {Way.DELETE, Way.START, Way.STOP, Way.ARCHIVE}


def ways(ws: Workspace) -> list[Way]:
    """The ways out of a row, in their order."""
    return [choice.way for choice in ways_out(ws)]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (DesiredState.RUNNING, [Way.STOP, Way.ARCHIVE, Way.DELETE]),
        (DesiredState.STANDBY, [Way.START, Way.ARCHIVE, Way.DELETE]),
        (DesiredState.PENDING, [Way.START, Way.STOP, Way.DELETE]),
    ],
)
def test_what_a_healthy_workspace_offers(wanted: DesiredState, expected: list[Way]) -> None:
    """Everything but what is wanted already, and deletion."""
    assert ways(row(desired_state=wanted)) == expected


GONE: dict[str, Any] = {"deleted_at": T0, "observed_status": ObservedStatus.DELETED}


@pytest.mark.parametrize(
    ("ws", "expected"),
    [
        (row(**GONE), [Way.NOTHING]),
        (row(deleted_at=T0), [Way.WAIT]),
        (row(error_info=error()), [Way.RECOVER, Way.DELETE]),
        (row(error_info=error(), home=DIRTY), [Way.RECOVER, Way.ACCEPT_LOSS, Way.DELETE]),
        (
            row(error_info=error(), home=DIRTY, **ARCHIVED),
            [Way.RECOVER, Way.ACCEPT_LOSS, Way.ACCEPT_LOSS, Way.DELETE],
        ),
        (row(error_info=error(), deleted_at=T0), [Way.RECOVER, Way.WAIT]),
        (busy(Operation.DELETING, error_info=error(), deleted_at=T0, home=DIRTY), [Way.WAIT]),
        (busy(Operation.STOPPING, error_info=error(), home=MAKING), [Way.DELETE]),
    ],
)
def test_what_other_workspaces_offer(ws: Workspace, expected: list[Way]) -> None:
    """In error a recovery, in deletion patience, and after it nothing."""
    assert ways(ws) == expected


def test_who_may_take_which_way() -> None:
    """Where data may be lost only an administrator recovers; a loss names what is given up."""
    lost = row(error_info=error(reason=ErrorReason.DATA_LOST), home=DIRTY, **ARCHIVED)
    recover, home, archive, delete = ways_out(lost)
    admin = frozenset({Actor.ADMINISTRATOR})
    assert recover == WayOut(way=Way.RECOVER, leads_to="the same again, from the start", who=admin)
    assert (home.gives_up, home.who) == ("i1", admin)
    assert home.leads_to == "a home made or restored anew; refused while i1 is there"
    assert (archive.gives_up, archive.who) == (KEY, admin)
    assert archive.leads_to == f"an empty home; refused while {KEY} is there"
    assert delete.who == frozenset(Actor)
    plain = ways_out(attrs.evolve(lost, error_info=error()))
    assert plain[0].who == frozenset(Actor)
