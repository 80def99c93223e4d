"""Contract 10, retries are bounded; DELETING alone goes on, slower and slower."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contracts.written import reconciled
from tests.core.builders import T0, after, busy, error, row
from tests.strategies import attempts, failures, moments, policies, workspaces
from wsctl_core import (
    ErrorReason,
    Failure,
    Moment,
    Operation,
    Policy,
    Progress,
    Workspace,
    apply,
    record_failure,
)
from wsctl_core.contracts import deletion_backs_off, retries_are_bounded

COUNTED = [ErrorReason.MISMATCH, ErrorReason.UNREACHABLE, ErrorReason.ACTION_FAILED]
BOUNDED = [op for op in Operation if op not in (Operation.NONE, Operation.DELETING)]


def attempts_of(
    ws: Workspace, reasons: list[ErrorReason], policy: Policy
) -> tuple[list[datetime], Workspace]:
    """When each attempt begins that fails at once, until the operation ends."""
    at, now = [T0], T0
    for reason in reasons:
        moment = Moment(now=now, fresh_id="x", policy=policy)
        step = record_failure(ws, Failure(reason=reason, message="it failed"), moment)
        ws = apply(ws, step.patch, next_number=99)
        if ws.operation is Operation.NONE:
            break
        assert ws.next_attempt_at is not None
        now = ws.next_attempt_at
        at.append(now)
    return at, ws


@given(
    operation=st.sampled_from(BOUNDED),
    reasons=st.lists(st.sampled_from(ErrorReason), min_size=6, max_size=6),
    policy=policies,
)
def test_attempts_are_bounded_and_apart(
    operation: Operation, reasons: list[ErrorReason], policy: Policy
) -> None:
    """Whatever fails, an operation ends after its allowed attempts, with the waits between."""
    at, ended = attempts_of(busy(operation), reasons, policy)
    assert retries_are_bounded(at, policy) is None
    assert ended.operation is Operation.NONE
    assert ended.error_info is not None
    assert ended.error_info.is_terminal


@pytest.mark.parametrize("reason", COUNTED)
def test_the_default_is_three_attempts_thirty_seconds_apart(reason: ErrorReason) -> None:
    """Three attempts at 0, 30 and 60 seconds, and then a person."""
    at, _ = attempts_of(busy(Operation.STARTING), [reason] * 9, Policy())
    assert at == [T0, after(30), after(60)]


@given(failed=st.integers(0, 40), policy=policies)
def test_a_deletion_is_always_tried_again(failed: int, policy: Policy) -> None:
    """However often it failed, a deletion has a next attempt, within an hour (H27)."""
    ws = busy(Operation.DELETING, error_count=failed)
    failure = Failure(reason=ErrorReason.UNREACHABLE, message="it failed")
    step = record_failure(ws, failure, Moment(now=T0, fresh_id="x", policy=policy))
    assert isinstance(step.patch.next_attempt_at, datetime)
    wait = (step.patch.next_attempt_at - T0).total_seconds()
    assert policy.retry_interval_seconds <= wait <= policy.retry_longest_seconds


@given(given_attempt=attempts())
def test_no_step_ends_a_deletion_without_a_next_attempt(
    given_attempt: tuple[Workspace, Moment, Progress | None],
) -> None:
    """Whatever ends a deletion in an error also says when it is tried again (H27)."""
    ws, _, _ = given_attempt
    assert deletion_backs_off(ws, reconciled(*given_attempt)) is None


@given(ws=workspaces(operations=st.just(Operation.DELETING)), failure=failures, now=moments())
def test_no_failure_ends_a_deletion_without_a_next_attempt(
    ws: Workspace, failure: Failure, now: Moment
) -> None:
    """A failed deletion is repeated, or ends with the time at which it is tried again."""
    written = apply(ws, record_failure(ws, failure, now).patch, next_number=99)
    assert deletion_backs_off(ws, written) is None
    assert written.next_attempt_at is not None


def test_a_deletion_that_ends_for_good_is_rejected() -> None:
    """A terminal deletion without a next attempt would be claimed again at once."""
    ended = row(error_info=error(), deleted_at=T0)
    told = "a deletion ended in an error and would be tried again at once"
    assert deletion_backs_off(busy(Operation.DELETING), ended) == told
    assert deletion_backs_off(busy(Operation.STARTING), ended) is None
    waits = row(error_info=error(), deleted_at=T0, next_attempt_at=after(30))
    assert deletion_backs_off(busy(Operation.DELETING), waits) is None


def test_too_many_or_too_hasty_attempts_are_rejected() -> None:
    """A fourth attempt, or one before its wait was over, is rejected."""
    steady = [after(30 * n) for n in range(4)]
    assert retries_are_bounded(steady[:3], Policy()) is None
    assert retries_are_bounded(steady, Policy()) == "4 attempts, 3 are allowed"
    told = "an attempt began before its wait was over"
    assert retries_are_bounded([T0, after(29)], Policy()) == told
