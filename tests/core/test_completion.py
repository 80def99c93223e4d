"""`check_completion`: only a fresh observation of the target completes an operation."""

from typing import Any

import pytest
from hypothesis import given

from tests.core import oracles
from tests.core.builders import (
    ARCHIVED,
    CLEAN,
    CONDEMNED,
    MAKING,
    OTHER_KEY,
    RESTORED,
    RUNNING_OPERATIONS,
    T0,
    busy,
    error,
)
from tests.strategies import numbers, workspaces
from wsctl_core import (
    Completion,
    Home,
    HomeState,
    ObservedStatus,
    Operation,
    Reason,
    Suspect,
    SuspectKind,
    Workspace,
    check_completion,
)
from wsctl_core.decisions.completion import COMPLETION, completion_facts

PENDING, STANDBY, RUNNING, DELETED = ObservedStatus
COMPLETE, MISMATCH = Completion.COMPLETE, Completion.MISMATCH


def test_completion_is_the_specifications_for_all_facts() -> None:
    """Every combination of facts gets the answer that section 4.4 says."""
    assert oracles.differing(COMPLETION, oracles.completion) == []


@given(ws=workspaces(at_rest=False), pass_seq=numbers)
def test_a_row_is_reduced_as_the_specification_says(ws: Workspace, pass_seq: int) -> None:
    """Numbers, marker and home become facts as section 4.4 words them."""
    facts = completion_facts(ws, pass_seq)
    number = max(ws.observed_seq, pass_seq if ws.created_seq < pass_seq else 0)
    lost = ws.loss_accepted is not None and ws.home.incarnation == ws.loss_accepted
    marker = None if lost else ws.home.restore_marker
    assert facts.operation is ws.operation
    assert facts.acted is (ws.op_acted_seq is not None)
    assert facts.fresh is (ws.op_acted_seq is not None and number > ws.op_acted_seq)
    assert facts.observed is ws.observed_status
    condemned = ws.home.state is HomeState.CONDEMNED and not lost
    assert (facts.home.value == "CONDEMNED") is condemned
    assert facts.in_progress is (
        ws.suspect is not None and ws.suspect.what is SuspectKind.IN_PROGRESS
    )
    if ws.operation is Operation.RESTORING:
        assert facts.marker_matches is (marker is not None and marker == ws.archive_key)


def ended(operation: Operation, observed: ObservedStatus, **columns: Any) -> Workspace:
    """All actions of an operation have ended, and this was observed afterwards."""
    deleted_at = T0 if observed is DELETED else None
    return busy(
        operation,
        **{
            "op_acted_seq": 6,
            "observed_seq": 7,
            "observed_status": observed,
            "deleted_at": deleted_at,
            **columns,
        },
    )


@pytest.mark.parametrize(
    ("ws", "expected"),
    [
        (ended(Operation.PROVISIONING, STANDBY, home=MAKING), COMPLETE),
        (ended(Operation.PROVISIONING, PENDING, home=MAKING), MISMATCH),
        (ended(Operation.RESTORING, STANDBY, home=RESTORED, **ARCHIVED), COMPLETE),
        (ended(Operation.RESTORING, STANDBY, home=MAKING, **ARCHIVED), MISMATCH),
        (ended(Operation.RESTORING, STANDBY, home=MAKING), MISMATCH),
        (
            ended(
                Operation.RESTORING,
                STANDBY,
                home=Home(state=HomeState.MAKING, incarnation="i1", restore_marker=OTHER_KEY),
                **ARCHIVED,
            ),
            MISMATCH,
        ),
        (ended(Operation.RESTORING, PENDING, home=RESTORED, **ARCHIVED), MISMATCH),
        (ended(Operation.STARTING, RUNNING, home=CLEAN), COMPLETE),
        (ended(Operation.STARTING, STANDBY, home=CLEAN), MISMATCH),
        (ended(Operation.STOPPING, STANDBY, home=CLEAN), COMPLETE),
        (ended(Operation.STOPPING, RUNNING, home=CLEAN), MISMATCH),
        (ended(Operation.ARCHIVING, PENDING, home=CONDEMNED, **ARCHIVED), COMPLETE),
        (ended(Operation.ARCHIVING, DELETED, home=CONDEMNED, **ARCHIVED), COMPLETE),
        (ended(Operation.ARCHIVING, PENDING, home=CLEAN, **ARCHIVED), MISMATCH),
        (ended(Operation.ARCHIVING, PENDING, home=CONDEMNED, loss_accepted="i1"), MISMATCH),
        (ended(Operation.ARCHIVING, STANDBY, home=CONDEMNED, **ARCHIVED), MISMATCH),
        (ended(Operation.DELETING, DELETED), COMPLETE),
        (ended(Operation.DELETING, PENDING), MISMATCH),
    ],
)
def test_each_operations_target(ws: Workspace, expected: Completion) -> None:
    """Each operation is complete at its own target, with its own proof, and at nothing else."""
    assert check_completion(ws, 0).outcome is expected


@pytest.mark.parametrize("operation", RUNNING_OPERATIONS)
def test_no_operation_completes_while_it_acts(operation: Operation) -> None:
    """Contract 1: until the last action has ended, no observation completes anything."""
    for observed in ObservedStatus:
        ws = ended(operation, observed, op_acted_seq=None, home=CONDEMNED)
        verdict = check_completion(ws, 99)
        assert verdict.outcome is Completion.ACTING
        assert verdict.reason is Reason.ACTIONS_REMAIN


@pytest.mark.parametrize(
    ("observed_seq", "pass_seq", "expected"),
    [
        (5, 0, "AWAITED"),
        (6, 0, "AWAITED"),
        (7, 0, "COMPLETE"),
        (5, 6, "AWAITED"),
        (5, 7, "COMPLETE"),
    ],
)
def test_only_a_later_number_completes(observed_seq: int, pass_seq: int, expected: str) -> None:
    """The observation must have begun after the last action ended, by number (H19)."""
    ws = ended(Operation.STOPPING, STANDBY, observed_seq=observed_seq)
    assert check_completion(ws, pass_seq).outcome == expected


def test_a_container_in_progress_is_awaited() -> None:
    """Neither the target nor a failure yet: it is neither complete nor a mismatch (H24)."""
    between = Suspect(what=SuspectKind.IN_PROGRESS, identity="c1", seq=7)
    verdict = check_completion(ended(Operation.STARTING, STANDBY, suspect=between), 0)
    assert (verdict.outcome, verdict.reason) == (Completion.AWAITED, Reason.STILL_IN_PROGRESS)
    other = Suspect(what=SuspectKind.HOME_MISSING, identity="i1", seq=7)
    assert (
        check_completion(ended(Operation.STARTING, STANDBY, suspect=other), 0).outcome is MISMATCH
    )


def test_an_error_of_an_earlier_attempt_does_not_matter() -> None:
    """Completion reads what was observed, not what went wrong on the way."""
    ws = ended(Operation.STOPPING, STANDBY, error_info=error(terminal=False), error_count=2)
    assert check_completion(ws, 0).outcome is COMPLETE
