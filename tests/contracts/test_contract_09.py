"""Contract 9, collection is separate, and protects."""

from datetime import datetime
from typing import get_args

from hypothesis import given

from tests.core.builders import ARCHIVED, KEY, OTHER_KEY, T0, row
from tests.strategies import archive_keys, policies, times, workspaces
from wsctl_core import (
    Action,
    Keep,
    ObservedStatus,
    Policy,
    StoredArchive,
    Workspace,
    gc_decision,
)
from wsctl_core.contracts import deletion_of_archive_is_safe


@given(ws=workspaces(), key=archive_keys, now=times, policy=policies)
def test_nothing_that_is_needed_is_collected(
    ws: Workspace, key: str, now: datetime, policy: Policy
) -> None:
    """Whatever the row and the archive, what is collected is named by nothing any more."""
    found = StoredArchive(key=key, installation="here", stored_at=T0)
    verdict = gc_decision(found, ws, installation="here", now=now, policy=policy)
    if verdict.outcome is Keep.REMOVE:
        assert deletion_of_archive_is_safe(ws, key) is None


def test_no_action_of_an_operation_deletes_an_archive() -> None:
    """Operations have no action for it: only the collection does."""
    deleting = {kind.__name__ for kind in get_args(Action) if kind.__name__.startswith("Delete")}
    assert deleting == {"DeleteContainers", "DeleteVolume", "DeleteVolumes"}


def test_collecting_a_named_archive_is_rejected() -> None:
    """The archive of the home, or one given up, is not collected before the deletion is over."""
    told = "an archive that its workspace names is being collected"
    assert deletion_of_archive_is_safe(row(**ARCHIVED), KEY) == told
    assert deletion_of_archive_is_safe(row(loss_accepted=KEY), KEY) == told
    assert deletion_of_archive_is_safe(row(**ARCHIVED), OTHER_KEY) is None
    gone = row(**ARCHIVED, deleted_at=T0, observed_status=ObservedStatus.DELETED)
    assert deletion_of_archive_is_safe(gone, KEY) is None
