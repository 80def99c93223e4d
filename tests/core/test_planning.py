"""`plan_operation`: the table against the specification's text, and the reduction of a row."""

from datetime import datetime
from typing import Any

import attrs
import pytest
from hypothesis import given

from tests.core import oracles
from tests.core.builders import (
    ARCHIVED,
    CLEAN,
    CONDEMNED,
    DIRTY,
    KEY,
    MAKING,
    OTHER_KEY,
    T0,
    after,
    busy,
    error,
    moment,
    row,
)
from tests.strategies import attempts, moments, workspaces
from wsctl_core import (
    NO_HOME,
    DesiredState,
    HealthStatus,
    LastExit,
    Moment,
    ObservedStatus,
    Operation,
    Policy,
    Reason,
    Skip,
    Suspect,
    SuspectKind,
    Workspace,
    needs_work,
    plan_operation,
    reconcile,
)
from wsctl_core.decisions.facts import (
    ErrorFact,
    HomeFact,
    RestartFact,
    Sighting,
    attempt_due,
    error_fact,
    home_fact,
    is_fresh,
    restart_due_at,
    restart_fact,
    sighting,
    starts_without_stable_run,
)
from wsctl_core.decisions.planning import PLAN, plan_facts


def test_plan_is_the_specifications_for_all_facts() -> None:
    """All hundred thousand combinations of facts get the outcome that section 4.3 says."""
    assert oracles.differing(PLAN, oracles.plan) == []


def test_impossible_states_are_reported() -> None:
    """Observed DELETED though nobody asked for deletion is the one case that row 17 reports."""
    reported = [f for f in PLAN.every_facts() if PLAN.decide(f).rule == "17"]
    assert reported
    assert {f.observed for f in reported} == {ObservedStatus.DELETED}
    assert {f.deletion_asked for f in reported} == {False}
    assert {PLAN.decide(f).reason for f in reported} == {Reason.CONTRACT_VIOLATED}


def test_planned_operations_move_one_level() -> None:
    """Contract 5: whatever the facts, an operation that is planned moves by at most one level."""
    target = {
        Operation.PROVISIONING: 1,
        Operation.RESTORING: 1,
        Operation.STARTING: 2,
        Operation.STOPPING: 1,
        Operation.ARCHIVING: 0,
    }
    for facts in PLAN.every_facts():
        outcome = PLAN.decide(facts).outcome
        if facts.home in (HomeFact.CLEAN, HomeFact.DIRTY) and outcome in target:
            level = oracles.LEVEL[facts.observed.value]
            assert abs(target[Operation(outcome)] - level) == 1, facts


# The reduction of a row to facts.


def spec_facts(ws: Workspace, now: Moment) -> dict[str, Any]:
    """What planning reads, computed from the columns in the specification's words."""
    lost = ws.loss_accepted is not None and ws.loss_accepted == ws.home.incarnation
    home = NO_HOME if lost else ws.home
    passed = now.pass_seq if ws.created_seq < now.pass_seq else 0
    number = max(ws.observed_seq, passed)
    word = {"READY": "READY and dirty" if home.dirty else "READY and clean"}
    suspected = (
        ws.suspect is not None
        and ws.suspect.what is SuspectKind.HOME_MISSING
        and ws.suspect.identity == home.incarnation
        and ws.suspect.seq > ws.op_ended_seq
    )
    again = ws.suspect is not None and number > ws.suspect.seq
    return {
        "deletion_asked": ws.deleted_at is not None,
        "observed": ws.observed_status,
        "error": "none"
        if ws.error_info is None
        else ("terminal" if ws.error_info.is_terminal else "passing"),
        "attempt_due": ws.next_attempt_at is None or ws.next_attempt_at <= now.now,
        "health": ws.health_status,
        "fresh": number > ws.op_ended_seq,
        "home": word.get(home.state.value, home.state.value),
        "missing": ("twice" if again else "once") if suspected else "never",
        "desired": ws.desired_state,
        "archived": ws.archive_key is not None and ws.archive_key != ws.loss_accepted,
        "restart": spec_restart(ws, now) if wants_start(ws) else "allowed",
        "place_free": now.place_free,
    }


def wants_start(ws: Workspace) -> bool:
    """The only case in which planning asks about restarts."""
    return (ws.observed_status, ws.desired_state) == ("STANDBY", "RUNNING")


def spec_restart(ws: Workspace, now: Moment) -> str:
    """Section 4.5 on containers that keep ending by themselves."""
    delays, count = now.policy.restart_delays_seconds, ws.restart_count
    if ws.started_at is None or ws.intent_changed_at > ws.started_at or count == 0:
        return "allowed"
    if (now.now - ws.started_at).total_seconds() > now.policy.stable_run_seconds:
        return "allowed"
    if count >= len(delays):
        return "exhausted"
    ended = ws.started_at if ws.last_exit is None else max(ws.started_at, ws.last_exit.at)
    return "backs off" if (now.now - ended).total_seconds() < delays[count] else "allowed"


@given(ws=workspaces(at_rest=True), now=moments())
def test_a_row_is_reduced_as_the_specification_says(ws: Workspace, now: Moment) -> None:
    """Every fact follows from the columns, times and numbers as section 4.3 words it."""
    assert plan_facts(ws, now)._asdict() == spec_facts(ws, now)


@given(ws=workspaces(at_rest=True), now=moments())
def test_a_plan_is_the_tables_answer_to_the_rows_facts(ws: Workspace, now: Moment) -> None:
    """The plan for a row is the specification's for its facts."""
    verdict = plan_operation(ws, now)
    assert (verdict.outcome, verdict.reason) == oracles.plan(plan_facts(ws, now))


STANDING = {"observed_status": ObservedStatus.STANDBY, "home": CLEAN}


@pytest.mark.parametrize(
    ("ws", "fact", "value"),
    [
        (row(), "deletion_asked", False),
        (row(deleted_at=T0), "deletion_asked", True),
        (row(observed_status=ObservedStatus.RUNNING), "observed", ObservedStatus.RUNNING),
        (row(), "error", ErrorFact.NONE),
        (row(error_info=error(terminal=False)), "error", ErrorFact.PASSING),
        (row(error_info=error()), "error", ErrorFact.TERMINAL),
        (row(), "attempt_due", True),
        (row(next_attempt_at=after(99)), "attempt_due", True),
        (row(next_attempt_at=after(100)), "attempt_due", True),
        (row(next_attempt_at=after(101)), "attempt_due", False),
        (row(health_status=HealthStatus.ERROR), "health", HealthStatus.ERROR),
        (row(op_ended_seq=4), "fresh", True),
        (row(op_ended_seq=5), "fresh", False),
        (row(op_ended_seq=6, observed_seq=7), "fresh", True),
        (row(home=NO_HOME), "home", HomeFact.NONE),
        (row(home=MAKING), "home", HomeFact.MAKING),
        (row(home=CLEAN), "home", HomeFact.CLEAN),
        (row(home=DIRTY), "home", HomeFact.DIRTY),
        (row(home=CONDEMNED), "home", HomeFact.CONDEMNED),
        (row(home=DIRTY, loss_accepted="i1"), "home", HomeFact.NONE),
        (row(home=DIRTY, loss_accepted="i2"), "home", HomeFact.DIRTY),
        (row(desired_state=DesiredState.STANDBY), "desired", DesiredState.STANDBY),
        (row(), "archived", False),
        (row(**ARCHIVED), "archived", True),
        (row(**ARCHIVED, loss_accepted=OTHER_KEY), "archived", True),
        (row(**ARCHIVED, loss_accepted=KEY), "archived", False),
        (row(**STANDING), "restart", RestartFact.ALLOWED),
        (row(**STANDING, started_at=T0, restart_count=5), "restart", RestartFact.EXHAUSTED),
        (
            row(observed_status=ObservedStatus.RUNNING, started_at=T0, restart_count=5),
            "restart",
            RestartFact.ALLOWED,
        ),
        (
            row(**STANDING, desired_state=DesiredState.STANDBY, started_at=T0, restart_count=5),
            "restart",
            RestartFact.ALLOWED,
        ),
    ],
)
def test_one_fact_of_a_row(ws: Workspace, fact: str, value: object) -> None:
    """Each fact, on rows that differ in what it reads, at the limit and beside it."""
    assert getattr(plan_facts(ws, moment(100)), fact) == value


def test_a_pass_number_makes_a_row_fresh() -> None:
    """A complete pass stands for rows created before it began, and for no others."""
    stale = row(op_ended_seq=6)
    assert not plan_facts(stale, moment(pass_seq=6)).fresh
    assert plan_facts(stale, moment(pass_seq=7)).fresh
    younger = attrs.evolve(stale, created_seq=7)
    assert not plan_facts(younger, moment(pass_seq=7)).fresh
    assert plan_facts(younger, moment(pass_seq=8)).fresh


def test_no_free_place_is_what_the_moment_says() -> None:
    """Whether a place is free is an argument, not something the row knows."""
    assert not plan_facts(row(), moment(place_free=False)).place_free
    assert plan_facts(row(), moment(place_free=True)).place_free


def suspicion(seq: int = 7, identity: str = "i1") -> Suspect:
    """The home was not seen."""
    return Suspect(what=SuspectKind.HOME_MISSING, identity=identity, seq=seq)


@pytest.mark.parametrize(
    ("columns", "pass_seq", "expected"),
    [
        ({}, 0, Sighting.NEVER),
        ({"suspect": suspicion(), "observed_seq": 7}, 0, Sighting.ONCE),
        ({"suspect": suspicion(), "observed_seq": 7}, 7, Sighting.ONCE),
        ({"suspect": suspicion(), "observed_seq": 7}, 8, Sighting.TWICE),
        ({"suspect": suspicion(), "observed_seq": 8}, 0, Sighting.TWICE),
        ({"suspect": suspicion(identity="i2"), "observed_seq": 8}, 9, Sighting.NEVER),
        ({"suspect": suspicion(), "op_ended_seq": 6}, 8, Sighting.TWICE),
        ({"suspect": suspicion(), "op_ended_seq": 7}, 8, Sighting.NEVER),
    ],
)
def test_a_missing_home_is_believed_when_seen_twice(
    columns: dict[str, Any], pass_seq: int, expected: Sighting
) -> None:
    """A suspicion counts for this home, after the last operation, and twice by a later number."""
    ws = row(home=DIRTY, **columns)
    assert plan_facts(ws, moment(pass_seq=pass_seq)).missing is expected


def test_another_suspicion_is_not_a_missing_home() -> None:
    """A container without its volume does not count as a home that was not seen."""
    other = Suspect(what=SuspectKind.CONTAINER_WITHOUT_VOLUME, identity="i1", seq=6)
    assert plan_facts(row(home=DIRTY, suspect=other), moment(pass_seq=9)).missing is Sighting.NEVER


@pytest.mark.parametrize("operation", [Operation.NONE, Operation.STARTING])
def test_a_sighting_counts_at_rest_alone(operation: Operation) -> None:
    """While an operation runs, nothing has been seen at rest."""
    running = {"op_id": "op1", "op_started_at": T0} if operation is not Operation.NONE else {}
    ws = row(home=DIRTY, suspect=suspicion(), operation=operation, **running)
    expected = Sighting.TWICE if operation is Operation.NONE else Sighting.NEVER
    assert sighting(ws, SuspectKind.HOME_MISSING, "i1", 8) is expected


def test_simple_facts() -> None:
    """Error, home, attempt and freshness as facts of their own."""
    assert error_fact(row()) is ErrorFact.NONE
    assert home_fact(CONDEMNED) is HomeFact.CONDEMNED
    assert attempt_due(row(next_attempt_at=after(5)), after(5))
    assert not attempt_due(row(next_attempt_at=after(5)), after(4))
    assert is_fresh(row(op_ended_seq=4), 0)
    assert not is_fresh(row(op_ended_seq=5), 5)


# Containers that keep ending by themselves (H28).


def crashed(restart_count: int, ended: float | None = 0, **columns: Any) -> Workspace:
    """A workspace whose container was started at the beginning and has ended since."""
    exit = None if ended is None else LastExit(exit_code=1, at=after(ended))
    return row(
        **{
            **STANDING,
            "started_at": T0,
            "restart_count": restart_count,
            "last_exit": exit,
            **columns,
        }
    )


@pytest.mark.parametrize(("count", "wait"), [(1, 10), (2, 20), (3, 40), (4, 80)])
def test_a_restart_backs_off_longer_each_time(count: int, wait: int) -> None:
    """After the n-th start without a stable run the next one waits, to the second."""
    ws = crashed(count, ended=5)
    assert restart_fact(ws, after(5 + wait - 1), Policy()) is RestartFact.BACKS_OFF
    assert restart_fact(ws, after(5 + wait), Policy()) is RestartFact.ALLOWED
    assert restart_due_at(ws, T0, Policy()) == after(5 + wait)
    assert plan_operation(ws, moment(5 + wait - 1)).reason is Reason.RESTART_BACKS_OFF
    assert plan_operation(ws, moment(5 + wait)).outcome is Operation.STARTING


def test_the_first_start_waits_for_nothing() -> None:
    """A workspace that was never started, or whose count is zero, starts at once."""
    assert restart_fact(crashed(0), T0, Policy()) is RestartFact.ALLOWED
    never = crashed(4, started_at=None)
    assert restart_fact(never, T0, Policy()) is RestartFact.ALLOWED


def test_the_fifth_start_is_the_bound() -> None:
    """Five starts without a stable run exhaust the default policy; more do as well."""
    assert restart_fact(crashed(5), after(600), Policy()) is RestartFact.EXHAUSTED
    assert restart_fact(crashed(6), after(600), Policy()) is RestartFact.EXHAUSTED
    assert restart_fact(crashed(4), after(600), Policy()) is RestartFact.ALLOWED


@pytest.mark.parametrize(
    ("now", "intent", "starts"),
    [
        (after(600), T0, 5),
        (after(601), T0, 0),
        (after(10), after(0), 5),
        (after(10), after(1), 0),
    ],
)
def test_starts_are_forgotten_after_a_stable_run_or_a_newer_intent(
    now: datetime, intent: datetime, starts: int
) -> None:
    """Exactly ten minutes are not yet over ten minutes; an intent of the same time is not newer."""
    ws = crashed(5, intent_changed_at=intent)
    assert starts_without_stable_run(ws, now, Policy()) == starts
    forgotten = restart_fact(ws, now, Policy()) is RestartFact.ALLOWED
    assert forgotten is (starts == 0)


def test_starts_of_a_workspace_that_never_started() -> None:
    """Without a start there is nothing to count."""
    assert starts_without_stable_run(crashed(3, started_at=None), T0, Policy()) == 0


def test_the_back_off_begins_when_the_container_ended() -> None:
    """An exit older than the last start, or none, leaves the start as the beginning."""
    assert restart_due_at(crashed(1, ended=None), T0, Policy()) == after(10)
    assert restart_due_at(crashed(1, ended=-50), T0, Policy()) == after(10)
    assert restart_due_at(crashed(1, ended=50), T0, Policy()) == after(60)


@given(attempts())
def test_a_row_that_needs_no_work_is_settled(given_row: Any) -> None:
    """What the index of rows leaves out has no step to take, until somebody writes it."""
    ws, moment_, held = given_row
    if needs_work(ws):
        return
    step = reconcile(ws, moment_, held)
    assert isinstance(step, Skip) or step.verdict.reason is Reason.OBSERVATION_DUE


@pytest.mark.parametrize(
    ("ws", "expected"),
    [
        (row(), True),
        (row(desired_state=DesiredState.PENDING), False),
        (row(observed_status=ObservedStatus.RUNNING, home=DIRTY), False),
        (
            row(
                observed_status=ObservedStatus.RUNNING,
                home=DIRTY,
                desired_state=DesiredState.STANDBY,
            ),
            True,
        ),
        (
            row(
                observed_status=ObservedStatus.STANDBY,
                home=CLEAN,
                desired_state=DesiredState.STANDBY,
            ),
            False,
        ),
        (
            row(
                observed_status=ObservedStatus.STANDBY,
                home=CONDEMNED,
                desired_state=DesiredState.STANDBY,
            ),
            True,
        ),
        (
            row(
                observed_status=ObservedStatus.STANDBY,
                home=MAKING,
                desired_state=DesiredState.STANDBY,
            ),
            True,
        ),
        (row(observed_status=ObservedStatus.STANDBY, desired_state=DesiredState.STANDBY), True),
        (row(home=MAKING, desired_state=DesiredState.PENDING), False),
        (row(home=CLEAN, desired_state=DesiredState.PENDING), False),
        (row(home=DIRTY, desired_state=DesiredState.PENDING), True),
        (row(health_status=HealthStatus.ERROR, desired_state=DesiredState.PENDING), True),
        (row(error_info=error()), False),
        (row(error_info=error(terminal=False), desired_state=DesiredState.PENDING), False),
        (row(deleted_at=T0, error_info=error()), True),
        (row(deleted_at=T0, observed_status=ObservedStatus.DELETED, error_info=error()), True),
        (row(deleted_at=T0, observed_status=ObservedStatus.DELETED), False),
        (busy(Operation.STOPPING, error_info=error()), True),
    ],
)
def test_which_rows_need_work(ws: Workspace, expected: bool) -> None:
    """Rows at rest as they are wanted, or in the hands of a person, need none."""
    assert needs_work(ws) is expected
