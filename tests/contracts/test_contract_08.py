"""Contract 8, order: save the key, then delete the volume; the container, then the volume."""

from datetime import datetime

import attrs
import pytest
from hypothesis import given

from tests.contracts.written import after
from tests.core.builders import (
    ARCHIVED,
    CLEAN,
    CONDEMNED,
    DIRTY,
    MAKING,
    T0,
    busy,
    changed,
    row,
    volume,
)
from tests.strategies import attempts, incarnations, maybe, times, workspaces
from wsctl_core import (
    Act,
    ActionKind,
    DeleteVolume,
    DeleteVolumes,
    Home,
    Keep,
    Moment,
    Operation,
    Progress,
    Workspace,
    reap_decision,
    reconcile,
)
from wsctl_core.contracts import deletion_of_volume_is_safe, key_is_saved_with_condemnation
from wsctl_core.decisions.operations import OPERATIONS


@given(given_attempt=attempts())
def test_keys_condemn_and_only_the_condemned_is_deleted(
    given_attempt: tuple[Workspace, Moment, Progress | None],
) -> None:
    """Whatever the row, saving a key condemns, and a volume that is deleted was condemned."""
    ws, _, _ = given_attempt
    step = reconcile(*given_attempt)
    assert key_is_saved_with_condemnation(ws, after(ws, step)) is None
    if isinstance(step, Act) and isinstance(step.action, DeleteVolume):
        assert deletion_of_volume_is_safe(ws, step.action.incarnation) is None
    if isinstance(step, Act) and isinstance(step.action, DeleteVolumes):
        assert ws.operation is Operation.DELETING


@given(ws=workspaces(), incarnation=maybe(incarnations), now=times)
def test_the_reaper_takes_no_volume_that_is_needed(
    ws: Workspace, incarnation: str | None, now: datetime
) -> None:
    """What the reaper removes is no home, in whatever state."""
    verdict = reap_decision(volume(incarnation), ws, ours=True, first_seen_at=T0, now=now)
    if verdict.outcome is Keep.REMOVE and incarnation is not None:
        assert deletion_of_volume_is_safe(ws, incarnation) is None


@pytest.mark.parametrize("operation", OPERATIONS)
def test_containers_go_before_volumes(operation: Operation) -> None:
    """In every operation, containers are deleted before a volume is, and the key saved before."""
    kinds = [stage.action for stage in OPERATIONS[operation].stages]
    for place, kind in enumerate(kinds):
        if kind in (ActionKind.DELETE_VOLUME, ActionKind.DELETE_VOLUMES):
            assert ActionKind.DELETE_CONTAINERS in kinds[:place]
        if kind is ActionKind.DELETE_VOLUME:
            assert ActionKind.SAVE_ARCHIVE in kinds[:place]


def test_a_key_without_condemnation_is_rejected() -> None:
    """A key that is saved while the volume stays in use is rejected (H4)."""
    ws = busy(Operation.ARCHIVING, home=DIRTY)
    saved = changed(ws, **ARCHIVED)
    told = "an archive was saved and its volume was not condemned"
    assert key_is_saved_with_condemnation(ws, saved) == told
    assert key_is_saved_with_condemnation(ws, attrs.evolve(saved, home=CONDEMNED)) is None


@pytest.mark.parametrize("home", [MAKING, CLEAN, DIRTY])
def test_a_volume_that_is_needed_is_not_deleted(home: Home) -> None:
    """Deleting a home that was not condemned is rejected, but for a deleted workspace."""
    told = f"the volume of a home that is {home.state} is being deleted"
    assert deletion_of_volume_is_safe(row(home=home), "i1") == told
    assert deletion_of_volume_is_safe(row(home=home), "i2") is None
    assert deletion_of_volume_is_safe(row(home=home, deleted_at=T0), "i1") is None
    assert deletion_of_volume_is_safe(row(home=CONDEMNED), "i1") is None
