"""Failure and retry: is a failed attempt repeated, or is it the end? (specification, 4.5)

Three attempts, 30 s apart, then a person is needed (contract 10). A timeout and lost data end it
at once. DELETING alone goes on for ever, with a back-off that doubles (H27). What a late call of a
dead leader left in the way is nobody's failure: it is removed and the attempt repeated without
being counted, within the operation's timeout; so crashes alone never end in an error (contract 13).
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from wsctl_core.decisions.facts import Moment
from wsctl_core.decisions.rules import ALWAYS, Rule, Table, Verdict, all_of
from wsctl_core.decisions.steps import Fail
from wsctl_core.values.actions import Progress
from wsctl_core.values.errors import IN_THE_WAY, ErrorInfo, ErrorReason, Failure, code_in
from wsctl_core.values.patches import (
    NEXT_NUMBER,
    ClaimGuard,
    Guard,
    OperationGuard,
    ReconcilerPatch,
)
from wsctl_core.values.policy import Policy
from wsctl_core.values.reasons import Reason
from wsctl_core.values.states import Operation
from wsctl_core.values.workspace import Workspace


class Retry(StrEnum):
    """What a failure leads to."""

    REPEAT = "REPEAT"
    REPEAT_UNCOUNTED = "REPEAT_UNCOUNTED"
    END = "END"
    END_FOR_NOW = "END_FOR_NOW"


class FailureFacts(NamedTuple):
    """What `retry_decision` reads."""

    reason: ErrorReason
    deleting: bool
    in_the_way: bool
    """Something that a late call left stood in the way of the action."""
    last_attempt: bool


AT_ONCE = {ErrorReason.TIMEOUT, ErrorReason.DATA_LOST, ErrorReason.RETRY_EXCEEDED}

FAILURE = Table[FailureFacts, Retry](
    name="failure",
    facts=FailureFacts,
    rules=(
        Rule(
            name="F-in-the-way",
            says="something that a late call left is in the way",
            when=(all_of(in_the_way=True),),
            then=Retry.REPEAT_UNCOUNTED,
            reason=Reason.SOMETHING_IN_THE_WAY,
        ),
        Rule(
            name="F-deleting",
            says="DELETING: out of time or of attempts",
            when=(
                all_of(deleting=True, last_attempt=True),
                all_of(deleting=True, reason=AT_ONCE),
            ),
            then=Retry.END_FOR_NOW,
            reason=Reason.DELETION_TRIES_LATER,
        ),
        Rule(
            name="F-timeout",
            says="Timeout: at once",
            when=(all_of(reason=ErrorReason.TIMEOUT),),
            then=Retry.END,
            reason=Reason.TIMEOUT_IS_TERMINAL,
        ),
        Rule(
            name="F-lost",
            says="DataLost: at once",
            when=(all_of(reason=ErrorReason.DATA_LOST),),
            then=Retry.END,
            reason=Reason.LOSS_IS_TERMINAL,
        ),
        Rule(
            name="F-exhausted",
            says="RetryExceeded, or the last attempt",
            when=(all_of(reason=ErrorReason.RETRY_EXCEEDED), all_of(last_attempt=True)),
            then=Retry.END,
            reason=Reason.ATTEMPTS_EXHAUSTED,
        ),
        Rule(
            name="F-repeat",
            says="otherwise",
            when=(ALWAYS,),
            then=Retry.REPEAT,
            reason=Reason.ATTEMPT_REPEATED,
        ),
    ),
)


def retry_decision(ws: Workspace, failure: Failure, policy: Policy) -> Verdict[Retry]:
    """Whether one more failure is repeated.

    >>> import attrs
    >>> from datetime import UTC
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> ws = Workspace.created(id="w1", owner_id="o", name="n", image="i", at=at, seq=1)
    >>> unreachable = Failure(reason=ErrorReason.UNREACHABLE, message="no route")
    >>> retry_decision(ws, unreachable, Policy()).outcome.value
    'REPEAT'
    >>> retry_decision(attrs.evolve(ws, error_count=2), unreachable, Policy()).outcome.value
    'END'
    """
    return FAILURE.decide(
        FailureFacts(
            reason=failure.reason,
            deleting=ws.operation is Operation.DELETING,
            in_the_way=code_in(failure.context) in IN_THE_WAY,
            last_attempt=ws.error_count + 1 >= policy.attempts,
        )
    )


def retry_wait(count: int, factor: int, policy: Policy) -> timedelta:
    """How long to wait after that many growths of the interval.

    >>> [retry_wait(n, 2, Policy()).seconds for n in (0, 1, 2, 7)]
    [30, 60, 120, 3600]
    """
    seconds = policy.retry_interval_seconds
    for _ in range(count):
        seconds = min(seconds * factor, policy.retry_longest_seconds)
    return timedelta(seconds=seconds)


def record_failure(ws: Workspace, failure: Failure, moment: Moment) -> Fail:
    """The step that records a failure: counted and repeated, or terminal.

    Terminal means, in one write: the operation ends, its op_id stays (it protects its archive
    from collection), and an observation newer than this is needed before anything is planned.

    >>> import attrs
    >>> from datetime import UTC
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> ws = attrs.evolve(
    ...     Workspace.created(id="w1", owner_id="o", name="n", image="i", at=at, seq=1),
    ...     operation=Operation.STARTING, op_id="op1", op_started_at=at, error_count=2)
    >>> failure = Failure(reason=ErrorReason.ACTION_FAILED, message="no such image")
    >>> step = record_failure(ws, failure, Moment(now=at, fresh_id="x"))
    >>> step.error.reason.value, step.error.is_terminal, step.patch.operation.value
    ('RetryExceeded', True, 'NONE')
    """
    verdict = retry_decision(ws, failure, moment.policy)
    if verdict.outcome is Retry.REPEAT_UNCOUNTED:
        return _repeat(ws, failure, moment, verdict, ws.error_count)
    count = ws.error_count + 1
    if verdict.outcome is Retry.REPEAT:
        return _repeat(ws, failure, moment, verdict, count)
    error = _terminal_error(ws, failure, moment, count)
    next_attempt_at = None
    if verdict.outcome is Retry.END_FOR_NOW:
        growths = max(0, count - moment.policy.attempts)
        next_attempt_at = moment.now + retry_wait(growths, 2, moment.policy)
    return end_in_error(ws, error, verdict, count, next_attempt_at)


def end_in_error(
    ws: Workspace,
    error: ErrorInfo,
    verdict: Verdict[object],
    count: int,
    next_attempt_at: datetime | None = None,
) -> Fail:
    """The one write that makes an error terminal."""
    patch = ReconcilerPatch(
        operation=Operation.NONE,
        op_started_at=None,
        op_acted_seq=None,
        op_ended_seq=NEXT_NUMBER,
        error_count=count,
        error_info=error,
        next_attempt_at=next_attempt_at,
        previous_status=ws.observed_status,
    )
    return Fail(verdict=verdict, guard=guard_of(ws), patch=patch, error=error, after=None)


def guard_of(ws: Workspace) -> Guard:
    """What a write on this row repeats: the operation is still ours, or all is still at rest."""
    if ws.operation is Operation.NONE or ws.op_id is None:
        return ClaimGuard(
            intent_version=ws.intent_version, observed_seq=ws.observed_seq, home=ws.home
        )
    return OperationGuard(operation=ws.operation, op_id=ws.op_id)


def _repeat(
    ws: Workspace, failure: Failure, moment: Moment, verdict: Verdict[Retry], count: int
) -> Fail:
    error = ErrorInfo(
        reason=failure.reason,
        message=failure.message,
        is_terminal=False,
        operation=ws.operation,
        error_count=count,
        context=failure.context,
        occurred_at=moment.now,
    )
    wait = retry_wait(max(0, count - 1), moment.policy.retry_factor, moment.policy)
    patch = ReconcilerPatch(
        op_acted_seq=None,
        error_count=count,
        error_info=error,
        next_attempt_at=moment.now + wait,
    )
    guard = guard_of(ws)
    again = Progress(op_id=guard.op_id) if isinstance(guard, OperationGuard) else None
    return Fail(verdict=verdict, guard=guard, patch=patch, error=error, after=again)


def _terminal_error(ws: Workspace, failure: Failure, moment: Moment, count: int) -> ErrorInfo:
    reason, context = failure.reason, failure.context
    if reason not in AT_ONCE:
        reason = ErrorReason.RETRY_EXCEEDED
        last_error = f"{failure.reason.value}: {failure.message}"
        context = (
            *context,
            ("max_retries", str(moment.policy.attempts)),
            ("last_error", last_error),
        )
    return ErrorInfo(
        reason=reason,
        message=failure.message,
        is_terminal=True,
        operation=ws.operation,
        error_count=count,
        context=context,
        occurred_at=moment.now,
    )
