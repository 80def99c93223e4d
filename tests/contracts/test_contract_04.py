"""Contract 4, non-preemptive: one operation at a time, and none but DELETING in ERROR."""

import attrs
from hypothesis import given

from tests.contracts.written import after
from tests.core.builders import CLEAN, busy, error, moment, row
from tests.strategies import attempts
from wsctl_core import HealthStatus, Moment, Operation, Progress, Workspace, reconcile
from wsctl_core.contracts import (
    claims_are_from_rest,
    error_stops_operations,
    no_plan_while_terminal,
)


@given(given_attempt=attempts())
def test_operations_begin_from_rest(
    given_attempt: tuple[Workspace, Moment, Progress | None],
) -> None:
    """No step begins an operation while another runs, nor while a person is needed."""
    ws, _, _ = given_attempt
    written = after(ws, reconcile(*given_attempt))
    assert claims_are_from_rest(ws, written) is None
    assert no_plan_while_terminal(ws, written) is None


@given(given_attempt=attempts())
def test_health_stops_operations_within_one_step(
    given_attempt: tuple[Workspace, Moment, Progress | None],
) -> None:
    """With health ERROR the very next step makes any operation but DELETING terminal."""
    ws, now, held = given_attempt
    ill = attrs.evolve(ws, health_status=HealthStatus.ERROR)
    step = reconcile(ill, now, held)
    assert error_stops_operations(ill, step) is None
    assert after(ill, step).operation in (Operation.NONE, Operation.DELETING)


def test_pre_emption_is_rejected() -> None:
    """An operation that begins while another runs, or under a used identity, is rejected."""
    running = busy(Operation.STARTING)
    told = "STOPPING began while STARTING ran"
    assert claims_are_from_rest(running, busy(Operation.STOPPING, op_id="op2")) == told
    told = "a claim used an op_id again (H9)"
    assert claims_are_from_rest(row(op_id="op1"), running) == told
    assert claims_are_from_rest(row(op_id="op0"), running) is None


def test_a_plan_while_terminal_is_rejected() -> None:
    """Nothing but a deletion begins while a person is needed (H22)."""
    ended = row(error_info=error())
    told = "STARTING began although a person is needed"
    assert no_plan_while_terminal(ended, busy(Operation.STARTING)) == told
    assert no_plan_while_terminal(ended, busy(Operation.DELETING)) is None


def test_an_operation_that_goes_on_in_error_is_rejected() -> None:
    """An action while health is ERROR is rejected; the same in DELETING is not."""
    well = busy(Operation.STARTING, home=CLEAN)
    act = reconcile(well, moment(), Progress(op_id="op1"))
    ill = attrs.evolve(well, health_status=HealthStatus.ERROR)
    assert error_stops_operations(ill, act) == "STARTING goes on while health is ERROR"
    assert error_stops_operations(attrs.evolve(ill, operation=Operation.DELETING), act) is None
    assert error_stops_operations(well, act) is None
