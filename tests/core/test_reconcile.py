"""`reconcile`: one row in, one step out."""

from datetime import timedelta
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
    RESTORED,
    RUNNING_OPERATIONS,
    T0,
    after,
    attempt,
    busy,
    changed,
    error,
    moment,
    row,
)
from tests.strategies import attempts
from wsctl_core import (
    NO_HOME,
    UNSET,
    Act,
    Claim,
    ClaimGuard,
    Complete,
    CreateContainer,
    DeleteContainers,
    DesiredState,
    ErrorReason,
    Fail,
    HealthStatus,
    HomeState,
    InvalidValue,
    LastExit,
    Moment,
    ObservedStatus,
    Operation,
    OperationGuard,
    Policy,
    Progress,
    Reason,
    Record,
    Resume,
    Skip,
    StartContainer,
    Step,
    Suspect,
    SuspectKind,
    Wait,
    Workspace,
    apply,
    changes,
    reconcile,
)
from wsctl_core.decisions.health import container_without_volume
from wsctl_core.decisions.reconcile import MOVE, Move, move_facts

OURS = OperationGuard(operation=Operation.STARTING, op_id="op1")
STANDBY, RUNNING = ObservedStatus.STANDBY, ObservedStatus.RUNNING


def test_moves_are_the_specifications_for_all_facts() -> None:
    """Every combination of facts leads to the move that contract 4, 4.4 and 4.5 say."""
    assert oracles.differing(MOVE, oracles.move) == []


# At rest.


def test_a_settled_row_is_skipped() -> None:
    """What exists is what is wanted: nothing to do, with the reason."""
    step = reconcile(row(desired_state=DesiredState.PENDING), moment())
    assert isinstance(step, Skip)
    assert step.verdict.reason is Reason.CONVERGED


def test_a_row_that_waits() -> None:
    """A plan that waits becomes a wait without a time."""
    step = reconcile(row(op_ended_seq=5), moment())
    assert isinstance(step, Wait)
    assert (step.verdict.reason, step.until) == (Reason.OBSERVATION_DUE, None)


def claimed(ws: Workspace, **parts: Any) -> Claim:
    """The claim that the row leads to."""
    step = reconcile(ws, moment(50, **parts))
    assert isinstance(step, Claim)
    return step


def test_a_claim_repeats_what_it_was_planned_on() -> None:
    """The guard names intent, observation and home; the new op_id is the fresh identity."""
    ws = row(observed_status=STANDBY, home=CLEAN, intent_version=4, observed_seq=7)
    step = claimed(ws, fresh_id="new-op")
    assert step.guard == ClaimGuard(intent_version=4, observed_seq=7, home=CLEAN)
    assert step.operation is Operation.STARTING
    assert step.after == Progress(op_id="new-op")
    assert step.verdict.reason is Reason.START_WANTED
    assert changes(step.patch) == {
        "operation": Operation.STARTING,
        "op_id": "new-op",
        "op_started_at": after(50),
        "op_acted_seq": None,
        "next_attempt_at": None,
        "error_count": 0,
        "error_info": None,
    }


def test_a_claim_of_a_deletion_goes_on_counting() -> None:
    """DELETING keeps error_count and error_info, and clears the wait (H27)."""
    ws = row(deleted_at=T0, error_info=error(), error_count=4, next_attempt_at=after(50))
    step = claimed(ws)
    assert step.operation is Operation.DELETING
    assert step.patch.error_count is UNSET
    assert step.patch.error_info is UNSET
    written = apply(ws, step.patch)
    assert (written.error_count, written.error_info) == (4, ws.error_info)
    assert written.next_attempt_at is None


def test_a_claim_drops_a_passing_error() -> None:
    """Any other claim begins its count anew and clears an error that was not terminal."""
    ws = row(error_info=error(terminal=False), error_count=2)
    written = apply(ws, claimed(ws).patch)
    assert (written.error_count, written.error_info) == (0, None)


def test_provisioning_clears_an_archive_that_was_given_up() -> None:
    """An accepted archive is forgotten by the claim that goes on without it."""
    ws = row(**ARCHIVED, loss_accepted=KEY)
    step = claimed(ws)
    assert step.operation is Operation.PROVISIONING
    written = apply(ws, step.patch)
    gone = (written.archive_key, written.archive_sha256, written.archive_size)
    assert gone == (None, None, None)


@pytest.mark.parametrize(
    "ws",
    [
        row(**ARCHIVED),
        row(observed_status=STANDBY, home=CLEAN, **ARCHIVED),
        row(observed_status=STANDBY, home=CLEAN, **ARCHIVED, loss_accepted=KEY),
        row(deleted_at=T0, **ARCHIVED, loss_accepted=KEY),
    ],
    ids=["restoring", "starting", "starting, given up", "deleting, given up"],
)
def test_every_other_claim_leaves_the_archive(ws: Workspace) -> None:
    """Only a provisioning that goes on without the archive clears it."""
    assert apply(ws, claimed(ws).patch).archive_key == KEY


def test_a_lost_home_ends_at_rest() -> None:
    """A dirty home seen missing twice is DataLost, terminal, naming the incarnation."""
    suspect = Suspect(what=SuspectKind.HOME_MISSING, identity="i1", seq=4)
    ws = row(home=DIRTY, suspect=suspect)
    step = reconcile(ws, moment(5))
    assert isinstance(step, Fail)
    assert (step.error.reason, step.error.is_terminal) == (ErrorReason.DATA_LOST, True)
    assert step.error.message == "the home volume is gone, with data that no archive has"
    assert dict(step.error.context) == {
        "incarnation": "i1",
        "detail": "volume absent, seen twice",
    }
    assert step.error.operation is Operation.NONE
    assert step.guard == ClaimGuard(intent_version=0, observed_seq=5, home=DIRTY)
    assert (step.error.occurred_at, step.after) == (after(5), None)


@pytest.mark.parametrize("last_exit", [None, LastExit(exit_code=137, at=T0)])
def test_a_crash_loop_ends_at_rest(last_exit: LastExit | None) -> None:
    """The bound on starts is RetryExceeded, terminal, with the last exit in its context."""
    ws = row(
        observed_status=STANDBY, home=DIRTY, started_at=T0, restart_count=5, last_exit=last_exit
    )
    step = reconcile(ws, moment(5))
    assert isinstance(step, Fail)
    assert (step.error.reason, step.error.is_terminal) == (ErrorReason.RETRY_EXCEEDED, True)
    assert step.error.message == "the container ended by itself after every start"
    context = dict(step.error.context)
    assert set(context) == {"max_retries", "last_error"}
    assert context["max_retries"] == "5"
    if last_exit is None:
        assert context["last_error"] == "no exit was seen"
    else:
        assert "137" in context["last_error"]


# Inside an operation.


def step_of(ws: Workspace, held: Progress | None, seconds: float = 10, **parts: Any) -> Step:
    """The step for an operation under way."""
    return reconcile(ws, moment(seconds, **parts), held)


@pytest.mark.parametrize("held", [None, attempt(op_id="op-old", done=3, running=True)])
def test_an_operation_that_is_not_ours_is_taken_up(held: Progress | None) -> None:
    """Its clock starts anew and its attempt begins at the first action (H23, H37)."""
    ws = busy(Operation.STARTING, home=CLEAN, op_acted_seq=6)
    step = step_of(ws, held, 9999)
    assert isinstance(step, Resume)
    assert changes(step.patch) == {"op_started_at": after(9999)}
    assert (step.guard, step.after) == (OURS, attempt())
    assert step.verdict.reason is Reason.LEADER_IS_NEW


def test_a_resumed_operation_checks_completion_first() -> None:
    """With op_acted_seq set and the target observed, the next step after a resume completes."""
    ws = busy(Operation.STARTING, home=DIRTY, op_acted_seq=4, observed_status=RUNNING)
    taken = step_of(ws, None)
    assert isinstance(taken, Resume)
    assert isinstance(step_of(apply(ws, taken.patch), taken.after), Complete)


def test_a_resumed_operation_begins_at_its_first_action() -> None:
    """Without op_acted_seq, the next step after a resume is the first action."""
    ws = busy(Operation.STARTING, home=DIRTY)
    taken = step_of(ws, None)
    assert isinstance(taken, Resume)
    act = step_of(ws, taken.after)
    assert isinstance(act, Act)
    assert act.action == DeleteContainers(grace_seconds=10)


def test_an_action_is_due() -> None:
    """The step names the action, its guard, and the progress while it runs."""
    ws = busy(Operation.STARTING, home=DIRTY)
    step = step_of(ws, attempt(2))
    assert isinstance(step, Act)
    assert step.action == CreateContainer(incarnation="i1")
    assert (step.guard, step.after) == (OURS, attempt(3, running=True))
    assert step.verdict.reason is Reason.ACTION_DUE
    start = step_of(ws, attempt(3, container_id="c1"))
    assert isinstance(start, Act)
    assert start.action == StartContainer(container_id="c1")


def test_stages_that_the_home_does_not_call_for_are_passed_over() -> None:
    """Progress counts stages left out as done, so that none is looked at twice."""
    step = step_of(busy(Operation.ARCHIVING, home=CONDEMNED, **ARCHIVED), attempt())
    assert isinstance(step, Act)
    assert (step.action, step.after.done) == (DeleteContainers(grace_seconds=10), 6)


def test_an_incarnation_is_the_moments_fresh_identity() -> None:
    """An action that names something new names the moment's fresh identity."""
    step = step_of(busy(Operation.PROVISIONING), attempt(1), fresh_id="i-new")
    assert isinstance(step, Act)
    assert isinstance(step.action, Record)
    assert step.action.patch.home == attrs.evolve(MAKING, incarnation="i-new")


def test_a_running_action_is_waited_for() -> None:
    """While an action runs, no other one is begun."""
    step = step_of(busy(Operation.STARTING, home=DIRTY), attempt(2, running=True))
    assert isinstance(step, Wait)
    assert (step.verdict.reason, step.until) == (Reason.ACTION_RUNS, None)


def test_the_wait_before_a_retry() -> None:
    """A tick during the wait only waits, until the time in the row."""
    ws = busy(Operation.STARTING, home=DIRTY, next_attempt_at=after(40))
    step = step_of(ws, attempt(), 39)
    assert isinstance(step, Wait)
    assert (step.verdict.reason, step.until) == (Reason.RETRY_WAITS, after(40))
    assert isinstance(step_of(ws, attempt(), 40), Act)


def test_the_result_is_awaited() -> None:
    """After the last action only an observation can tell."""
    ws = busy(Operation.STARTING, home=DIRTY, op_acted_seq=5)
    step = step_of(ws, attempt(6))
    assert isinstance(step, Wait)
    assert (step.verdict.reason, step.until) == (Reason.RESULT_AWAITED, None)
    assert isinstance(step_of(ws, attempt(6), pass_seq=6), Fail)


def test_a_mismatch_is_a_failure_like_any_other() -> None:
    """All actions ended and something else is observed: counted, with what was expected (H24)."""
    ws = busy(Operation.STARTING, home=DIRTY, op_acted_seq=4, observed_status=STANDBY)
    step = step_of(ws, attempt(6))
    assert isinstance(step, Fail)
    assert (step.error.reason, step.error.is_terminal) == (ErrorReason.MISMATCH, False)
    assert step.error.message == "STARTING ended, and STANDBY is observed"
    ended = changed(ws, last_exit=LastExit(exit_code=7, at=T0))
    told = reconcile(ended, moment(60), attempt(6))
    assert isinstance(told, Fail)
    assert told.error.message == "the container ended by itself, with exit code 7"
    elsewhere = changed(ended, operation=Operation.DELETING, deleted_at=T0)
    told = reconcile(elsewhere, moment(60), attempt(3))
    assert isinstance(told, Fail)
    assert told.error.message == "DELETING ended, and STANDBY is observed"
    assert dict(step.error.context) == {"expected": "RUNNING", "actual": "STANDBY"}
    assert (step.after, step.patch.next_attempt_at) == (attempt(), after(40))
    assert apply(ws, step.patch).op_acted_seq is None


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (Operation.PROVISIONING, "STANDBY"),
        (Operation.RESTORING, "STANDBY"),
        (Operation.STARTING, "RUNNING"),
        (Operation.STOPPING, "STANDBY"),
        (Operation.ARCHIVING, "PENDING"),
        (Operation.DELETING, "DELETED"),
    ],
)
def test_a_mismatch_tells_the_operations_target(operation: Operation, expected: str) -> None:
    """What was expected is the target that section 4.4 gives the operation."""
    observed = ObservedStatus.RUNNING if expected != "RUNNING" else ObservedStatus.PENDING
    ws = busy(operation, home=DIRTY, op_acted_seq=4, observed_status=observed, **ARCHIVED)
    step = step_of(ws, attempt(7))
    assert isinstance(step, Fail)
    assert dict(step.error.context) == {"expected": expected, "actual": observed.value}


@pytest.mark.parametrize("operation", RUNNING_OPERATIONS)
def test_an_operation_past_its_timeout(operation: Operation) -> None:
    """At its timeout an operation goes on; a second later it ends, running action or not."""
    ws = busy(operation, home=MAKING, **ARCHIVED)
    limit = Policy().timeouts[operation].total_seconds()
    for held in (attempt(), attempt(running=True)):
        assert not isinstance(step_of(ws, held, limit), Fail)
        step = step_of(ws, held, limit + 1)
        assert isinstance(step, Fail)
        assert (step.error.reason, step.error.is_terminal) == (ErrorReason.TIMEOUT, True)
        assert step.error.message == f"{operation.value} did not finish in time"
        assert dict(step.error.context) == {
            "operation": operation.value,
            "elapsed_seconds": str(int(limit + 1)),
        }
        assert (step.patch.next_attempt_at is not None) is (operation is Operation.DELETING)


def test_a_fraction_past_the_timeout_is_past_it() -> None:
    """Elapsed seconds are told as whole ones, and compared as they are."""
    step = step_of(busy(Operation.STOPPING), attempt(), 300.5)
    assert isinstance(step, Fail)
    assert dict(step.error.context)["elapsed_seconds"] == "300"


def test_a_timeout_counts_while_a_retry_waits() -> None:
    """Waiting for the next attempt does not stop the operation's clock."""
    ws = busy(Operation.STOPPING, next_attempt_at=after(310))
    assert isinstance(step_of(ws, attempt(), 301), Fail)


def test_completion_goes_before_the_timeout() -> None:
    """An operation that reached its target late has still reached it."""
    ws = busy(Operation.STOPPING, op_acted_seq=4, observed_status=STANDBY)
    assert isinstance(step_of(ws, attempt(2), 99999), Complete)


@pytest.mark.parametrize("operation", RUNNING_OPERATIONS)
def test_health_forbids_every_operation_but_deletion(operation: Operation) -> None:
    """Contract 4: health ERROR ends any operation in one step, DELETING excepted."""
    ws = busy(
        operation, home=MAKING, health_status=HealthStatus.ERROR, error_info=error(), **ARCHIVED
    )
    step = step_of(ws, attempt(running=True))
    if operation is Operation.DELETING:
        assert isinstance(step, Wait)
        return
    assert isinstance(step, Fail)
    assert step.verdict.reason is Reason.HEALTH_FORBIDS
    assert step.guard == OperationGuard(operation=operation, op_id="op1")
    written = apply(ws, step.patch, next_number=9)
    assert written.operation is Operation.NONE
    assert (written.op_id, written.op_ended_seq, written.op_acted_seq) == ("op1", 9, None)
    assert written.error_info == ws.error_info
    assert (written.error_count, written.next_attempt_at) == (ws.error_count, None)


@pytest.mark.parametrize("known", [None, error(terminal=False)])
def test_a_cancelled_operation_always_leaves_a_terminal_error(known: Any) -> None:
    """A suspicion that was believed as the operation began is recorded by the cancellation."""
    ws = busy(Operation.STOPPING, health_status=HealthStatus.ERROR, error_info=known, error_count=2)
    step = step_of(ws, None, 7)
    assert isinstance(step, Fail)
    assert step.error == container_without_volume(ws, after(7))
    assert step.error.is_terminal
    assert (step.patch.error_count, step.patch.error_info) == (2, step.error)


# Completion.


def completed(ws: Workspace, seconds: float = 10, **parts: Any) -> Workspace:
    """The row after its operation completed."""
    step = step_of(ws, attempt(7), seconds, **parts)
    assert isinstance(step, Complete)
    assert step.guard == OperationGuard(operation=ws.operation, op_id="op1")
    assert step.verdict.reason is Reason.OPERATION_COMPLETE
    return apply(ws, step.patch)


def reached(operation: Operation, observed: ObservedStatus, **columns: Any) -> Workspace:
    """An operation whose target was observed, after one failed attempt."""
    return busy(
        operation,
        **{
            "observed_status": observed,
            "op_acted_seq": 4,
            "op_ended_seq": 2,
            "error_count": 1,
            "error_info": error(terminal=False),
            "next_attempt_at": after(3),
            **columns,
        },
    )


AT_REST = {
    "operation": Operation.NONE,
    "op_id": None,
    "op_started_at": None,
    "op_acted_seq": None,
    "op_ended_seq": 4,
    "error_count": 0,
    "error_info": None,
    "next_attempt_at": None,
}
READY_AGAIN = attrs.evolve(RESTORED, state=HomeState.READY)


@pytest.mark.parametrize(
    ("ws", "also"),
    [
        (reached(Operation.PROVISIONING, STANDBY, home=MAKING), {"home": CLEAN}),
        (
            reached(Operation.RESTORING, STANDBY, home=RESTORED, **ARCHIVED),
            {"home": READY_AGAIN},
        ),
        (
            reached(Operation.STARTING, RUNNING, home=DIRTY),
            {"restart_count": 1, "started_at": after(10)},
        ),
        (reached(Operation.STOPPING, STANDBY, home=DIRTY), {"last_access_at": after(10)}),
        (
            reached(Operation.ARCHIVING, ObservedStatus.PENDING, home=CONDEMNED, **ARCHIVED),
            {"home": NO_HOME},
        ),
        (
            reached(Operation.DELETING, ObservedStatus.DELETED, home=DIRTY, deleted_at=T0),
            {"home": NO_HOME},
        ),
    ],
    ids=lambda value: value.operation.value if isinstance(value, Workspace) else "",
)
def test_what_completion_writes(ws: Workspace, also: dict[str, Any]) -> None:
    """The operation ends without a trace of failures, and the row tells what it brought about."""
    assert completed(ws) == changed(ws, **AT_REST, **also)


@pytest.mark.parametrize(
    ("started", "intent", "count", "now", "expected"),
    [
        (None, 0, 3, 10, 1),
        (0, 0, 1, 10, 2),
        (0, 0, 4, 600, 5),
        (0, 0, 4, 601, 1),
        (5, 5, 4, 10, 5),
        (5, 6, 4, 10, 1),
    ],
)
def test_starts_without_a_stable_run_are_counted(
    started: int | None, intent: int, count: int, now: int, expected: int
) -> None:
    """Over ten minutes since the last start, or a newer intent, and the count is one again."""
    ws = reached(
        Operation.STARTING,
        RUNNING,
        home=DIRTY,
        started_at=None if started is None else after(started),
        intent_changed_at=after(intent),
        restart_count=count,
        op_started_at=after(now - 1),
    )
    written = completed(ws, now)
    assert (written.restart_count, written.started_at) == (expected, after(now))


def test_a_policy_says_what_a_stable_run_is() -> None:
    """The count follows the policy of the moment."""
    ws = reached(Operation.STARTING, RUNNING, home=DIRTY, started_at=T0, restart_count=2)
    short = Policy(stable_run_seconds=20, restart_delays_seconds=(0,))
    assert completed(ws, 20, policy=short).restart_count == 3
    assert completed(ws, 21, policy=short).restart_count == 1


# The reduction, and the whole.


@given(given_attempt=attempts())
def test_a_running_operation_is_reduced_as_the_specification_says(
    given_attempt: tuple[Workspace, Moment, Progress | None],
) -> None:
    """Times, ownership and progress become facts as sections 4.4 and 4.5 word them."""
    ws, now, held = given_attempt
    if ws.operation is Operation.NONE:
        return
    facts = move_facts(ws, now, held)
    assert facts.health is ws.health_status
    assert facts.deleting is (ws.operation.value == "DELETING")
    assert facts.ours is (held is not None)
    assert facts.action_runs is (held is not None and held.running)
    assert ws.op_started_at is not None
    limit = {
        "RESTORING": now.policy.restoring_timeout_seconds,
        "ARCHIVING": now.policy.archiving_timeout_seconds,
        "DELETING": now.policy.deleting_timeout_seconds,
    }.get(ws.operation.value, 300)
    assert facts.timed_out is (now.now - ws.op_started_at > timedelta(seconds=limit))
    assert facts.attempt_due is not (
        ws.next_attempt_at is not None and ws.next_attempt_at > now.now
    )


STEP_OF_MOVE: dict[object, type] = {
    Move.ACT: Act,
    Move.WAIT: Wait,
    Move.COMPLETE: Complete,
    Move.RESUME: Resume,
    Move.CANCEL: Fail,
    Move.TIME_OUT: Fail,
    Move.MISMATCH: Fail,
}


@given(given_attempt=attempts())
def test_every_move_becomes_its_step(
    given_attempt: tuple[Workspace, Moment, Progress | None],
) -> None:
    """The step for a running operation is of the kind that its facts call for."""
    ws, now, held = given_attempt
    if ws.operation is Operation.NONE:
        return
    attempted = held if held is not None and held.op_id == ws.op_id else None
    expected = STEP_OF_MOVE[oracles.move(move_facts(ws, now, attempted))[0]]
    assert type(reconcile(ws, now, held)) is expected


def test_progress_that_is_past_the_rows_stages_is_refused() -> None:
    """An executor that claims more than the row has recorded is told what is wrong."""
    ws = row(operation=Operation.STOPPING, op_id="op1", op_started_at=T0)
    with pytest.raises(InvalidValue, match=r"Progress\.done: 9 is past the stages of this row"):
        reconcile(ws, moment(), Progress(op_id="op1", done=9))
