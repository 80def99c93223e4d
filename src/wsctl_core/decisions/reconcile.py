"""`reconcile`: one row in, one step out. The composition of every other decision.

At rest, a plan. In an operation: does health forbid it, is it ours, has it reached its target, is
it out of time, does it wait, and else, what is the next action? Nothing here remembers anything:
every answer is a function of the row, the attempt's progress and the moment (contract 2).
"""

from datetime import timedelta
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple, assert_never, cast

import attrs

from wsctl_core.decisions.completion import Completion, check_completion
from wsctl_core.decisions.facts import Moment, attempt_due, starts_without_stable_run
from wsctl_core.decisions.failure import end_in_error, record_failure
from wsctl_core.decisions.health import container_without_volume
from wsctl_core.decisions.operations import OPERATIONS
from wsctl_core.decisions.planning import Idle, Plan, plan_operation
from wsctl_core.decisions.rules import ALWAYS, Rule, Table, Verdict, all_of
from wsctl_core.decisions.stepping import make_action, next_stage
from wsctl_core.decisions.steps import Act, Claim, Complete, Fail, Resume, Skip, Step, Wait
from wsctl_core.values.actions import Progress
from wsctl_core.values.errors import ErrorReason, Failure
from wsctl_core.values.patches import UNSET, ClaimGuard, OperationGuard, ReconcilerPatch
from wsctl_core.values.reasons import Reason
from wsctl_core.values.states import HealthStatus, HomeState, Operation
from wsctl_core.values.validation import InvalidValue
from wsctl_core.values.workspace import NO_HOME, Workspace


class Move(StrEnum):
    """What to do about a running operation."""

    CANCEL = "CANCEL"
    RESUME = "RESUME"
    COMPLETE = "COMPLETE"
    TIME_OUT = "TIME_OUT"
    WAIT = "WAIT"
    MISMATCH = "MISMATCH"
    ACT = "ACT"


class MoveFacts(NamedTuple):
    """What is read of a running operation."""

    health: HealthStatus
    deleting: bool
    ours: bool
    """This process carries the operation out: it holds its progress."""
    completion: Completion
    timed_out: bool
    attempt_due: bool
    action_runs: bool


MOVE = Table[MoveFacts, Move](
    name="move",
    facts=MoveFacts,
    rules=(
        Rule(
            name="M-health",
            says="health ERROR, operation not DELETING (contract 4)",
            when=(all_of(health=HealthStatus.ERROR, deleting=False),),
            then=Move.CANCEL,
            reason=Reason.HEALTH_FORBIDS,
        ),
        Rule(
            name="M-resume",
            says="an operation in the row with nothing in flight",
            when=(all_of(ours=False),),
            then=Move.RESUME,
            reason=Reason.LEADER_IS_NEW,
        ),
        Rule(
            name="M-complete",
            says="complete",
            when=(all_of(completion=Completion.COMPLETE),),
            then=Move.COMPLETE,
            reason=Reason.OPERATION_COMPLETE,
        ),
        Rule(
            name="M-timeout",
            says="past its timeout",
            when=(all_of(timed_out=True),),
            then=Move.TIME_OUT,
            reason=Reason.OPERATION_TIMED_OUT,
        ),
        Rule(
            name="M-retry",
            says="next_attempt_at not passed",
            when=(all_of(attempt_due=False),),
            then=Move.WAIT,
            reason=Reason.RETRY_WAITS,
        ),
        Rule(
            name="M-running",
            says="an action runs",
            when=(all_of(action_runs=True),),
            then=Move.WAIT,
            reason=Reason.ACTION_RUNS,
        ),
        Rule(
            name="M-mismatch",
            says="all actions ended, a fresh observation shows something else",
            when=(all_of(completion=Completion.MISMATCH),),
            then=Move.MISMATCH,
            reason=Reason.RESULT_MISMATCHES,
        ),
        Rule(
            name="M-awaited",
            says="all actions ended, the result is not seen yet",
            when=(all_of(completion=Completion.AWAITED),),
            then=Move.WAIT,
            reason=Reason.RESULT_AWAITED,
        ),
        Rule(
            name="M-act",
            says="actions remain",
            when=(ALWAYS,),
            then=Move.ACT,
            reason=Reason.ACTION_DUE,
        ),
    ),
)

_NONE = Operation.NONE
_DELETING = Operation.DELETING
_SETTLED = Idle.SETTLED


def reconcile(ws: Workspace, moment: Moment, progress: Progress | None = None) -> Step:
    """The one step that brings a workspace nearer to what is wanted.

    >>> from datetime import UTC, datetime
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> ws = Workspace.created(id="w1", owner_id="o", name="n", image="i", at=at, seq=1)
    >>> step = reconcile(ws, Moment(now=at, fresh_id="op1", pass_seq=2))
    >>> type(step).__name__, step.operation.value, step.patch.op_id
    ('Claim', 'PROVISIONING', 'op1')
    """
    if ws.operation is _NONE:
        return _at_rest(ws, moment)
    op_id = cast(str, ws.op_id)  # a row with an operation has one
    attempt = progress if progress is not None and progress.op_id == op_id else None
    verdict = MOVE.recall(_move_values(ws, moment, attempt))
    move = verdict.outcome
    if move is Move.WAIT:
        if verdict.reason is Reason.RETRY_WAITS:
            return Wait(verdict=verdict, until=ws.next_attempt_at)
        return _wait(verdict)
    guard = OperationGuard(operation=ws.operation, op_id=op_id)
    match move:
        case Move.ACT:
            return _act(ws, moment, cast(Progress, attempt), guard, verdict)
        case Move.COMPLETE:
            return Complete(verdict=verdict, guard=guard, patch=completion_patch(ws, moment))
        case Move.RESUME:
            patch = ReconcilerPatch(op_started_at=moment.now)  # H37: an outage is no slowness
            return Resume(verdict=verdict, guard=guard, patch=patch)
        case Move.CANCEL:
            return _cancel(ws, moment, verdict)
        case Move.TIME_OUT:
            return record_failure(ws, _timeout(ws, moment), moment)
        case Move.MISMATCH:
            return record_failure(ws, _mismatch(ws), moment)
    assert_never(move)


def move_facts(ws: Workspace, moment: Moment, attempt: Progress | None) -> MoveFacts:
    """What a running operation is judged by; `attempt` is None when nobody here carries it out."""
    return MoveFacts(*_move_values(ws, moment, attempt))


def _move_values(ws: Workspace, moment: Moment, attempt: Progress | None) -> tuple[Any, ...]:
    return (
        ws.health_status,
        ws.operation is _DELETING,
        attempt is not None,
        check_completion(ws, moment.pass_seq).outcome,
        _elapsed(ws, moment) > moment.policy.timeouts[ws.operation],
        attempt_due(ws, moment.now),
        attempt is not None and attempt.running,
    )


@cache
def _skip(verdict: Verdict[Plan]) -> Skip:
    return Skip(verdict=verdict)


@cache
def _wait(verdict: Verdict[Plan | Move]) -> Wait:
    return Wait(verdict=verdict)


def _at_rest(ws: Workspace, moment: Moment) -> Step:
    verdict = plan_operation(ws, moment)
    plan = verdict.outcome
    if plan is _SETTLED:
        return _skip(verdict)
    if isinstance(plan, Idle):
        return _wait(verdict)
    if isinstance(plan, Operation):
        return _claim(ws, plan, moment, verdict)
    return _end_at_rest(ws, plan, moment)


def _claim(ws: Workspace, operation: Operation, moment: Moment, verdict: Verdict[Plan]) -> Claim:
    deleting = operation is _DELETING
    forget = operation is Operation.PROVISIONING and ws.archive_key is not None
    return Claim(
        verdict=verdict,
        operation=operation,
        op_id=moment.fresh_id,
        guard=ClaimGuard(
            intent_version=ws.intent_version, observed_seq=ws.observed_seq, home=ws.home
        ),
        patch=ReconcilerPatch(
            operation=operation,
            op_id=moment.fresh_id,  # H9: never one that was used before
            op_started_at=moment.now,
            op_acted_seq=None,
            next_attempt_at=None,
            error_count=UNSET if deleting else 0,  # H27: a deletion goes on counting
            error_info=UNSET if deleting else None,
            # Provisioning with an archive at hand: its loss was accepted (H25).
            archive_key=None if forget else UNSET,
            archive_sha256=None if forget else UNSET,
            archive_size=None if forget else UNSET,
        ),
    )


def _end_at_rest(ws: Workspace, reason: ErrorReason, moment: Moment) -> Fail:
    if reason is ErrorReason.DATA_LOST:
        failure = Failure(
            reason=reason,
            message="the home volume is gone, with data that no archive has",
            context={"incarnation": ws.home.incarnation, "detail": "volume absent, seen twice"},
        )
    else:
        failure = Failure(
            reason=reason,
            message="the container ended by itself after every start",
            context={
                "max_retries": len(moment.policy.restart_delays_seconds),
                "last_error": "no exit was seen" if ws.last_exit is None else ws.last_exit,
            },
        )
    return record_failure(ws, failure, moment)


def _act(
    ws: Workspace,
    moment: Moment,
    attempt: Progress,
    guard: OperationGuard,
    verdict: Verdict[Move],
) -> Act:
    place = next_stage(ws, attempt)
    if place is None:  # the last stage gives op_acted_seq its number, and the row has none
        raise InvalidValue("Progress", "done", f"{attempt.done} is past the stages of this row")
    kind = OPERATIONS[ws.operation].stages[place].action
    action = make_action(kind, ws, attempt, moment)
    return Act(verdict=verdict, guard=guard, action=action, stage=place, attempt=attempt)


def completion_patch(ws: Workspace, moment: Moment) -> ReconcilerPatch:
    """What completion writes: the operation ends, and the row tells what it brought about."""
    return ReconcilerPatch(
        operation=Operation.NONE,
        op_id=None,
        op_started_at=None,
        op_acted_seq=None,
        # The observation that completed may plan the next step.
        op_ended_seq=cast(int, ws.op_acted_seq),
        error_count=0,
        error_info=None,
        next_attempt_at=None,
        **_brought_about(ws, moment),
    )


def _brought_about(ws: Workspace, moment: Moment) -> dict[str, Any]:
    match ws.operation:
        case Operation.PROVISIONING | Operation.RESTORING:
            return {"home": attrs.evolve(ws.home, state=HomeState.READY)}
        case Operation.STARTING:
            starts = starts_without_stable_run(ws, moment.now, moment.policy)
            return {"restart_count": starts + 1, "started_at": moment.now}
        case Operation.STOPPING:
            return {"last_access_at": moment.now}
        case _:
            return {"home": NO_HOME}


def _cancel(ws: Workspace, moment: Moment, verdict: Verdict[Move]) -> Fail:
    # Contract 4. The error that turned health to ERROR stands; only a suspicion that was
    # believed while the operation began has left none.
    if ws.error_info is not None and ws.error_info.is_terminal:
        return end_in_error(ws, ws.error_info, verdict, ws.error_count)
    return end_in_error(ws, container_without_volume(ws, moment.now), verdict, ws.error_count)


def _elapsed(ws: Workspace, moment: Moment) -> timedelta:
    return moment.now - (ws.op_started_at or moment.now)


def _timeout(ws: Workspace, moment: Moment) -> Failure:
    elapsed = int(_elapsed(ws, moment).total_seconds())
    return Failure(
        reason=ErrorReason.TIMEOUT,
        message=f"{ws.operation} did not finish in time",
        context={"operation": ws.operation, "elapsed_seconds": elapsed},
    )


def _mismatch(ws: Workspace) -> Failure:
    expected = OPERATIONS[ws.operation].target
    message = f"{ws.operation} ended, and {ws.observed_status} is observed"
    if ws.operation is Operation.STARTING and ws.last_exit is not None:
        message = f"the container ended by itself, with exit code {ws.last_exit.exit_code}"
    return Failure(
        reason=ErrorReason.MISMATCH,
        message=message,
        context={"expected": expected, "actual": ws.observed_status},
    )
