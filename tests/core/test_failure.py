"""Failure and retry: what is repeated, when, and what a terminal error writes."""

from typing import Any

import attrs
import pytest
from hypothesis import given

from tests.core import oracles
from tests.core.builders import CLEAN, RUNNING_OPERATIONS, after, busy, changed, error, moment, row
from tests.strategies import failures, moments, workspaces
from wsctl_core import (
    NEXT_NUMBER,
    Actor,
    AdapterCode,
    ClaimGuard,
    ErrorReason,
    Failure,
    Moment,
    ObservedStatus,
    Operation,
    OperationGuard,
    Policy,
    Progress,
    Reason,
    Retry,
    Workspace,
    apply,
    changes,
    record_failure,
    recovery_decision,
    retry_decision,
)
from wsctl_core.decisions.failure import FAILURE, guard_of, retry_wait

COUNTED = [ErrorReason.MISMATCH, ErrorReason.UNREACHABLE, ErrorReason.ACTION_FAILED]
AT_ONCE = [ErrorReason.TIMEOUT, ErrorReason.DATA_LOST, ErrorReason.RETRY_EXCEEDED]
NOT_DELETING = [operation for operation in RUNNING_OPERATIONS if operation != "DELETING"]


def failed(reason: ErrorReason = ErrorReason.UNREACHABLE, **details: object) -> Failure:
    """A failure, before anyone has counted it."""
    return Failure(reason=reason, message="no route", context=details)


def test_failure_is_the_specifications_for_all_facts() -> None:
    """Every combination of facts leads to what sections 4.5 and 5 say."""
    assert oracles.differing(FAILURE, oracles.failure) == []


@pytest.mark.parametrize("reason", COUNTED)
def test_the_third_failure_is_the_last(reason: ErrorReason) -> None:
    """Two failures are repeated, the third ends it; a policy may say another number."""
    answers = [
        retry_decision(busy(Operation.STARTING, error_count=n), failed(reason), Policy()).outcome
        for n in range(4)
    ]
    assert answers == [Retry.REPEAT, Retry.REPEAT, Retry.END, Retry.END]
    once = Policy(attempts=1)
    assert retry_decision(busy(Operation.STARTING), failed(reason), once).outcome is Retry.END


@pytest.mark.parametrize("reason", AT_ONCE)
def test_some_failures_are_never_repeated(reason: ErrorReason) -> None:
    """Timeout, lost data and exhausted restarts end an operation at once."""
    assert retry_decision(busy(Operation.STARTING), failed(reason), Policy()).outcome is Retry.END
    deleting = retry_decision(busy(Operation.DELETING), failed(reason), Policy())
    assert (deleting.outcome, deleting.reason) == (
        Retry.END_FOR_NOW,
        Reason.DELETION_TRIES_LATER,
    )


def test_a_deletion_is_repeated_like_any_other_at_first() -> None:
    """Two failures of a deletion are repeated; the third ends it for now."""
    answers = [
        retry_decision(busy(Operation.DELETING, error_count=n), failed(), Policy())
        for n in range(3)
    ]
    assert [a.outcome for a in answers] == [Retry.REPEAT, Retry.REPEAT, Retry.END_FOR_NOW]


IN_THE_WAY = [AdapterCode.CONTAINER_EXISTS, AdapterCode.VOLUME_IN_USE]


@pytest.mark.parametrize("code", AdapterCode)
@pytest.mark.parametrize("operation", [Operation.STARTING, Operation.DELETING])
def test_what_a_late_call_left_is_nobodys_failure(code: AdapterCode, operation: Operation) -> None:
    """Something in the way is removed by the next attempt, and not counted against this one."""
    ws = busy(operation, error_count=2)
    verdict = retry_decision(ws, Failure.of_code(code, "it failed"), Policy())
    assert (verdict.outcome is Retry.REPEAT_UNCOUNTED) is (code in IN_THE_WAY)


@pytest.mark.parametrize(
    ("count", "factor", "wait"), [(0, 1, 30), (0, 2, 30), (1, 2, 30), (2, 2, 60), (7, 1, 30)]
)
def test_an_uncounted_attempt(count: int, factor: int, wait: int) -> None:
    """The error is told and the attempt repeated after the usual wait; the count stays."""
    ws = busy(Operation.STARTING, error_count=count, op_acted_seq=6)
    failure = Failure.of_code(AdapterCode.CONTAINER_EXISTS, "name in use")
    step = record_failure(ws, failure, moment(5, policy=Policy(retry_factor=factor)))
    assert changes(step.patch) == {
        "op_acted_seq": None,
        "error_count": count,
        "error_info": step.error,
        "next_attempt_at": after(5 + wait),
    }
    assert (step.error.error_count, step.error.is_terminal) == (count, False)
    assert step.verdict.reason is Reason.SOMETHING_IN_THE_WAY
    assert step.after == Progress(op_id="op1")


@pytest.mark.parametrize(
    "failure",
    [
        failed(code="NoSuchKey"),
        Failure.of_code(AdapterCode.S3_ACCESS_ERROR, "no route", {"code": "403"}),
    ],
)
def test_a_vendors_code_does_not_keep_a_failure_from_being_counted(failure: Failure) -> None:
    """Whatever the details say, the failure is recorded and the error can be recovered from."""
    ws = busy(Operation.STARTING, error_count=2)
    step = record_failure(ws, failure, moment())
    ended = apply(ws, step.patch, next_number=9)
    assert recovery_decision(ended, Actor.OWNER).recovery is not None


@pytest.mark.parametrize("code", AdapterCode)
def test_a_vendors_code_does_not_hide_ours(code: AdapterCode) -> None:
    """The code that the adapter reported counts, whatever code its details name beside it."""
    failure = Failure.of_code(code, "it failed", {"code": "409"})
    info = error(reason=failure.reason, context=failure.context)
    assert info.code is code


# Waits.


def test_waits_grow_by_a_factor_up_to_the_longest() -> None:
    """A factor of one waits the same each time; a larger one grows, and stops growing."""
    policy = Policy(retry_interval_seconds=7, retry_longest_seconds=50)
    assert [retry_wait(n, 1, policy).total_seconds() for n in range(4)] == [7, 7, 7, 7]
    assert [retry_wait(n, 2, policy).total_seconds() for n in range(5)] == [7, 14, 28, 50, 50]
    assert retry_wait(10_000, 3, policy).total_seconds() == 50


@pytest.mark.parametrize(
    ("policy", "waits"),
    [
        (Policy(attempts=4), [30, 30, 30]),
        (Policy(attempts=5, retry_factor=2), [30, 60, 120, 240]),
        (Policy(attempts=4, retry_factor=3, retry_longest_seconds=100), [30, 90, 100]),
    ],
)
def test_the_wait_before_each_attempt(policy: Policy, waits: list[int]) -> None:
    """Thirty seconds each, or growing where the policy says so."""
    ws = busy(Operation.STARTING)
    for wait in waits:
        step = record_failure(ws, failed(), moment(5, policy=policy))
        ws = apply(ws, step.patch)
        assert ws.next_attempt_at == after(5 + wait)


# What is written.


def test_a_repeated_attempt() -> None:
    """The failure is counted, the wait set, and the next attempt begins at the first action."""
    ws = busy(Operation.STARTING, op_acted_seq=6, error_count=1, home=CLEAN)
    step = record_failure(ws, failed(endpoint="docker"), moment(5))
    assert changes(step.patch) == {
        "op_acted_seq": None,
        "error_count": 2,
        "error_info": step.error,
        "next_attempt_at": after(35),
    }
    assert step.guard == OperationGuard(operation=Operation.STARTING, op_id="op1")
    assert step.after == Progress(op_id="op1")
    assert step.verdict.reason is Reason.ATTEMPT_REPEATED
    assert attrs.asdict(step.error) == {
        "reason": ErrorReason.UNREACHABLE,
        "message": "no route",
        "is_terminal": False,
        "operation": Operation.STARTING,
        "error_count": 2,
        "context": (("endpoint", "docker"),),
        "occurred_at": after(5),
    }


@pytest.mark.parametrize("operation", NOT_DELETING)
def test_the_terminal_write(operation: Operation) -> None:
    """One write ends the operation, keeps its op_id, and asks for a new observation."""
    ws = busy(operation, op_acted_seq=6, error_count=2, observed_status=ObservedStatus.STANDBY)
    step = record_failure(ws, failed(endpoint="s3"), moment(5))
    assert changes(step.patch) == {
        "operation": Operation.NONE,
        "op_started_at": None,
        "op_acted_seq": None,
        "op_ended_seq": NEXT_NUMBER,
        "error_count": 3,
        "error_info": step.error,
        "next_attempt_at": None,
        "previous_status": ObservedStatus.STANDBY,
    }
    assert step.after is None
    assert step.verdict.reason is Reason.ATTEMPTS_EXHAUSTED
    assert step.guard == OperationGuard(operation=operation, op_id="op1")
    assert attrs.asdict(step.error) == {
        "reason": ErrorReason.RETRY_EXCEEDED,
        "message": "no route",
        "is_terminal": True,
        "operation": operation,
        "error_count": 3,
        "context": (
            ("endpoint", "s3"),
            ("last_error", "Unreachable: no route"),
            ("max_retries", "3"),
        ),
        "occurred_at": after(5),
    }
    ended = apply(ws, step.patch, next_number=8)
    assert (ended.operation, ended.op_id, ended.op_ended_seq) == (Operation.NONE, "op1", 8)


@pytest.mark.parametrize("reason", AT_ONCE)
def test_a_failure_that_ends_at_once_keeps_its_reason(reason: ErrorReason) -> None:
    """Timeout, DataLost and RetryExceeded are told as they are, with their own context."""
    step = record_failure(busy(Operation.RESTORING), failed(reason, detail="x"), moment())
    assert (step.error.reason, step.error.is_terminal) == (reason, True)
    assert step.error.context == (("detail", "x"),)
    assert step.error.error_count == 1
    assert step.patch.next_attempt_at is None


def test_a_failure_at_rest_repeats_what_it_was_judged_on() -> None:
    """Without an operation the write is guarded by intent, observation and home."""
    ws = row(intent_version=3, observed_seq=7, home=CLEAN, op_id="op-old")
    guard = ClaimGuard(intent_version=3, observed_seq=7, home=CLEAN)
    assert guard_of(ws) == guard
    step = record_failure(ws, failed(ErrorReason.DATA_LOST), moment())
    assert (step.guard, step.after) == (guard, None)
    repeated = record_failure(ws, failed(), moment())
    assert (repeated.guard, repeated.after) == (guard, None)


# DELETING goes on for ever (H27).


def deletion_waits(rounds: int, reason: ErrorReason, **columns: Any) -> list[float]:
    """The waits after which a deletion is planned again, round after round."""
    ws = busy(Operation.DELETING, **columns)
    waits = []
    for _ in range(rounds):
        step = record_failure(ws, failed(reason), moment(5))
        ended = apply(ws, step.patch, next_number=9)
        assert ended.next_attempt_at is not None
        waits.append((ended.next_attempt_at - after(5)).total_seconds())
        running = {"operation": Operation.DELETING, "op_id": "op2", "op_started_at": after(5)}
        ws = changed(ended, **running)
    return waits


def test_a_deletion_backs_off_to_an_hour() -> None:
    """From its last attempt on a deletion waits 30 s, doubling to an hour, and never stops."""
    waits = deletion_waits(10, ErrorReason.UNREACHABLE, error_count=2)
    assert waits == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]


def test_a_deletion_out_of_time_backs_off_as_well() -> None:
    """A timeout of a deletion is terminal with a wait, and the waits reach an hour."""
    waits = deletion_waits(12, ErrorReason.TIMEOUT)
    assert waits[0] == 30
    assert waits == sorted(waits)
    assert waits[-1] == 3600


def test_a_deletion_that_ends_for_now_writes_what_every_end_writes() -> None:
    """But for the time of the next attempt, the write is that of any terminal error."""
    step = record_failure(busy(Operation.DELETING, error_count=3), failed(), moment(5))
    assert step.error.is_terminal
    assert step.error.error_count == 4
    assert step.after is None
    written = changes(step.patch)
    assert written["operation"] is Operation.NONE
    assert written["next_attempt_at"] == after(5 + 60)


@given(ws=workspaces(), failure=failures, now=moments())
def test_every_failure_is_repeated_or_terminal(
    ws: Workspace, failure: Failure, now: Moment
) -> None:
    """A failure that is not repeated ends the operation; one that is, keeps it; both count."""
    step = record_failure(ws, failure, now)
    written = apply(ws, step.patch, next_number=99)
    assert written.error_info is step.error
    uncounted = step.verdict.reason is Reason.SOMETHING_IN_THE_WAY
    assert written.error_count == step.error.error_count
    assert written.error_count == ws.error_count + (not uncounted)
    assert written.op_id == ws.op_id
    assert written.op_acted_seq is None
    if step.error.is_terminal:
        assert (written.operation, written.op_ended_seq) == (Operation.NONE, 99)
        deleting = ws.operation is Operation.DELETING
        assert (written.next_attempt_at is not None) is deleting
    else:
        assert written.operation is ws.operation
        assert uncounted or written.error_count < now.policy.attempts
        assert written.next_attempt_at is not None
