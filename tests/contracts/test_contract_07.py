"""Contract 7: archive and restore are idempotent and crash-only."""

import attrs
from hypothesis import given

from tests.contracts.runs import HAPPENING, without_deletion
from tests.contracts.written import after
from tests.core.builders import (
    ARCHIVED,
    CLEAN,
    CONDEMNED,
    KEY,
    MAKING,
    OTHER_KEY,
    RESTORED,
    busy,
    changed,
    row,
)
from tests.core.tiny_world import TinyWorld
from tests.strategies import attempts
from wsctl_core import Moment, Operation, Progress, Workspace, archive_key, reconcile
from wsctl_core.contracts import (
    archives_never_change,
    restore_needs_marker,
    same_operation_same_key,
)


@given(given_attempt=attempts())
def test_an_archive_is_saved_under_its_operations_key(
    given_attempt: tuple[Workspace, Moment, Progress | None],
) -> None:
    """With the receipt of its own operation, a saved key names that operation; so do restores."""
    ws, now, held = given_attempt
    if held is not None and held.receipt is not None:
        own = attrs.evolve(held.receipt, key=archive_key(ws.id, held.op_id))
        held = attrs.evolve(held, receipt=own)
    written = after(ws, reconcile(ws, now, held))
    assert same_operation_same_key(ws, written) is None
    assert restore_needs_marker(ws, written) is None


@given(events=without_deletion)
def test_an_archive_never_changes(events: list[str]) -> None:
    """Through crashes, failures and changes of mind, what was archived stays as it was."""
    world = TinyWorld()
    for event in events:
        archives = dict(world.archives)
        HAPPENING[event](world)
        assert archives_never_change(archives, world.archives) is None


def test_a_foreign_key_is_rejected() -> None:
    """A key that is not the operation's own is rejected."""
    ws = busy(Operation.ARCHIVING, home=CLEAN)
    told = "an archive was saved under a key that is not its operation's"
    assert same_operation_same_key(ws, changed(ws, **ARCHIVED)) == told
    assert same_operation_same_key(row(), row(**ARCHIVED)) == told
    own = {**ARCHIVED, "archive_key": archive_key("w1", "op1")}
    assert same_operation_same_key(ws, changed(ws, **own)) is None


def test_a_restore_without_its_marker_is_rejected() -> None:
    """A home made READY with no marker, or with another archive's, is rejected (H15)."""
    told = "RESTORING was completed without the marker of its archive"
    ready = row(home=CLEAN, **ARCHIVED)
    assert restore_needs_marker(busy(Operation.RESTORING, home=MAKING, **ARCHIVED), ready) == told
    old = attrs.evolve(RESTORED, restore_marker=OTHER_KEY)
    assert restore_needs_marker(busy(Operation.RESTORING, home=old, **ARCHIVED), ready) == told
    whole = busy(Operation.RESTORING, home=RESTORED, **ARCHIVED)
    assert restore_needs_marker(whole, ready) is None
    assert restore_needs_marker(whole, row(home=CONDEMNED)) is None


def test_an_archive_that_changed_is_rejected() -> None:
    """Another content under the same key is rejected; a new or a collected key is not."""
    assert archives_never_change({KEY: "v1"}, {KEY: "v2"}) == f"archives changed: {KEY}"
    assert archives_never_change({KEY: "v1"}, {KEY: "v1", OTHER_KEY: "v2"}) is None
    assert archives_never_change({KEY: "v1"}, {}) is None
