"""Contract 5, ordered: PENDING, STANDBY, RUNNING, one level per operation."""

import pytest
from hypothesis import given

from tests.contracts.runs import HAPPENING, anything
from tests.contracts.written import reconciled
from tests.core.builders import busy, row
from tests.core.tiny_world import TinyWorld
from tests.strategies import attempts
from wsctl_core import Moment, ObservedStatus, Operation, Progress, Workspace
from wsctl_core.contracts import one_level_at_a_time


@given(given_attempt=attempts())
def test_a_planned_operation_moves_one_level(
    given_attempt: tuple[Workspace, Moment, Progress | None],
) -> None:
    """Whatever the row, the operation that is claimed starts one level from its target."""
    ws, now, held = given_attempt
    if ws.home.state.value in ("MAKING", "CONDEMNED") and ws.observed_status.value == "RUNNING":
        return  # no container ever runs on such a home; the claim cleans up what contradicts it
    assert one_level_at_a_time(ws, reconciled(ws, now, held)) is None


@given(events=anything)
def test_no_run_skips_a_level(events: list[str]) -> None:
    """Through any events, every operation that begins is one level from where it leads."""
    world = TinyWorld()
    for event in events:
        before = world.ws
        HAPPENING[event](world)
        if event == "tick":
            assert one_level_at_a_time(before, world.ws) is None


@pytest.mark.parametrize(
    ("observed", "operation"),
    [(ObservedStatus.RUNNING, Operation.ARCHIVING), (ObservedStatus.PENDING, Operation.STARTING)],
)
def test_a_skipped_level_is_rejected(observed: ObservedStatus, operation: Operation) -> None:
    """RUNNING to PENDING at once, or PENDING to RUNNING at once, is rejected."""
    told = one_level_at_a_time(row(observed_status=observed), busy(operation))
    assert told == f"{operation} was begun at {observed}"
