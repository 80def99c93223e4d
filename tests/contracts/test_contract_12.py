"""Contract 12, fencing: a process that is no longer the leader changes nothing."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from tests.contracts.written import patch_of
from tests.core.builders import row
from tests.strategies import attempts
from wsctl_core import (
    ActionKind,
    Moment,
    Operation,
    Progress,
    Workspace,
    apply,
    reconcile,
)
from wsctl_core.contracts import old_epoch_writes_nothing
from wsctl_core.decisions.operations import OPERATIONS

Attempt = tuple[Workspace, Moment, Progress | None]


def fenced(ws: Workspace, attempt: Attempt, writer_epoch: int, epoch: int) -> Workspace:
    """A leader's write as the database makes it: with the epoch and the guard, or not at all."""
    step = reconcile(*attempt)
    patch = patch_of(step)
    guard = getattr(step, "guard", None)
    if patch is None or guard is None or writer_epoch != epoch or not guard.holds(ws):
        return ws
    return apply(ws, patch, next_number=99)


@given(attempt=attempts(), writer_epoch=st.integers(1, 3), epoch=st.integers(1, 3))
def test_an_old_leader_writes_nothing(attempt: Attempt, writer_epoch: int, epoch: int) -> None:
    """Whatever step an old leader decides on, the row stays as it is."""
    ws, _, _ = attempt
    written = fenced(ws, attempt, writer_epoch, epoch)
    assert old_epoch_writes_nothing(ws, written, writer_epoch, epoch) is None


@given(attempt=attempts())
def test_a_late_write_finds_another_operation(attempt: Attempt) -> None:
    """Once a new leader has claimed anew, no write decided before the claim takes place (H8)."""
    ws, _, _ = attempt
    claimed = attrs.evolve(
        ws,
        operation=Operation.DELETING,
        op_id="op-of-the-new-leader",
        op_started_at=ws.created_at,
        op_acted_seq=None,
    )
    assert fenced(claimed, attempt, 1, 1) == claimed


def test_late_calls_touch_what_nothing_uses() -> None:
    """Every attempt at a home records an identity of its own before it makes a volume (H2)."""
    for plan in OPERATIONS.values():
        kinds = [stage.action for stage in plan.stages]
        if ActionKind.MAKE_VOLUME in kinds:
            assert kinds.index(ActionKind.RECORD_MAKING) < kinds.index(ActionKind.MAKE_VOLUME)


def test_a_write_of_an_old_leader_is_rejected() -> None:
    """A row that changed by a smaller epoch is rejected; by the present one it is not."""
    told = "a process that is no longer the leader changed the row"
    assert old_epoch_writes_nothing(row(), row(error_count=1), 1, 2) == told
    assert old_epoch_writes_nothing(row(), row(error_count=1), 2, 2) is None
    assert old_epoch_writes_nothing(row(), row(), 1, 2) is None
