"""`gc_decision` and `reap_decision`: what is kept, and why."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given

from tests.core import oracles
from tests.core.builders import (
    ARCHIVED,
    CLEAN,
    KEY,
    OTHER_KEY,
    T0,
    after,
    busy,
    container,
    error,
    row,
    volume,
)
from tests.strategies import incarnations, maybe, times, workspaces
from wsctl_core import (
    ContainerSeen,
    HealthStatus,
    Keep,
    ObservedStatus,
    Operation,
    Policy,
    Reason,
    StoredArchive,
    Verdict,
    VolumeSeen,
    Workspace,
    archive_key,
    gc_decision,
    reap_decision,
)
from wsctl_core.decisions.collection import GC, REAP

OLD = after(100_000)
GONE: dict[str, Any] = {"deleted_at": T0, "observed_status": ObservedStatus.DELETED}
BAD: dict[str, Any] = {"health_status": HealthStatus.ERROR}


def test_collection_is_the_specifications_for_all_facts() -> None:
    """Every combination of facts is kept or removed as section 4.7 says."""
    assert oracles.differing(GC, oracles.gc) == []


def test_reaping_is_the_specifications_for_all_facts() -> None:
    """Every combination of facts is kept or removed as section 6 says."""
    assert oracles.differing(REAP, oracles.reap) == []


def judged(
    ws: Workspace | None, key: str = KEY, now: datetime = OLD, **parts: Any
) -> Verdict[Keep]:
    """The verdict on an archive that was stored at the beginning."""
    found = StoredArchive(**{"key": key, "installation": "here", "stored_at": T0, **parts})
    return gc_decision(found, ws, installation="here", now=now)


@pytest.mark.parametrize(
    ("ws", "key", "reason"),
    [
        (row(), KEY, Reason.ARCHIVE_UNNEEDED),
        (row(), "backups/home.tar.gz", Reason.KEY_NOT_OURS),
        (None, "backups/home.tar.gz", Reason.KEY_NOT_OURS),
        (row(), archive_key("w2", "op1"), Reason.KEY_NOT_OURS),
        (None, KEY, Reason.NO_ROW),
        (row(**ARCHIVED), KEY, Reason.HOLDS_THE_HOME),
        (row(**ARCHIVED), OTHER_KEY, Reason.ARCHIVE_UNNEEDED),
        (row(**ARCHIVED, deleted_at=T0), KEY, Reason.HOLDS_THE_HOME),
        (row(**ARCHIVED, **GONE), KEY, Reason.ARCHIVE_UNNEEDED),
        (row(**ARCHIVED, **GONE, error_info=error(terminal=False)), KEY, Reason.HOLDS_THE_HOME),
        (row(loss_accepted=KEY), KEY, Reason.GIVEN_UP),
        (row(loss_accepted=OTHER_KEY), KEY, Reason.ARCHIVE_UNNEEDED),
        (row(loss_accepted=KEY, **GONE), KEY, Reason.ARCHIVE_UNNEEDED),
        (row(op_id="op-archive"), KEY, Reason.OPERATION_NAMES_IT),
        (row(op_id="op-archive", **GONE), KEY, Reason.OPERATION_NAMES_IT),
        (row(op_id="op-archive"), OTHER_KEY, Reason.ARCHIVE_UNNEEDED),
        (busy(Operation.ARCHIVING), archive_key("w1", "op1"), Reason.OPERATION_NAMES_IT),
        (row(**BAD), KEY, Reason.KEPT_IN_ERROR),
        (row(error_info=error()), KEY, Reason.KEPT_IN_ERROR),
        (row(error_info=error(terminal=False)), KEY, Reason.ARCHIVE_UNNEEDED),
        (row(**BAD, deleted_at=T0), KEY, Reason.KEPT_IN_ERROR),
        (row(**BAD, **GONE), KEY, Reason.ARCHIVE_UNNEEDED),
        (row(error_info=error(), **GONE), KEY, Reason.ARCHIVE_UNNEEDED),
    ],
)
def test_why_an_archive_is_kept_or_not(ws: Workspace | None, key: str, reason: Reason) -> None:
    """An archive is removed only when no row, no operation and no error can need it."""
    verdict = judged(ws, key)
    assert verdict.reason is reason
    unneeded = reason is Reason.ARCHIVE_UNNEEDED
    assert verdict.outcome is (Keep.REMOVE if unneeded else Keep.KEEP)


@pytest.mark.parametrize("installation", [None, "there"])
def test_another_installations_archive_is_left_alone(installation: str | None) -> None:
    """What another installation wrote, or nobody signed, is not ours to judge (H33)."""
    assert judged(row(), installation=installation).reason is Reason.OTHER_INSTALLATION


@pytest.mark.parametrize(("seconds", "keep"), [(7199, True), (7200, True), (7201, False)])
def test_a_young_archive_is_kept(seconds: int, keep: bool) -> None:
    """Until the grace is over nothing is removed, to the second."""
    verdict = judged(row(), now=after(seconds))
    assert (verdict.outcome is Keep.KEEP) is keep
    assert (verdict.reason is Reason.TOO_YOUNG) is keep
    found = StoredArchive(key=KEY, installation="here", stored_at=T0)
    longer = Policy(gc_grace_seconds=9000)
    patient = gc_decision(found, row(), installation="here", now=after(seconds), policy=longer)
    assert patient.reason is Reason.TOO_YOUNG


@given(ws=workspaces(), now=times)
def test_the_archive_that_holds_the_home_is_never_removed(ws: Workspace, now: datetime) -> None:
    """Contract 9: whatever the row, its archive goes only after the deletion is finished."""
    if ws.archive_key is None:
        return
    verdict = judged(ws, ws.archive_key, now)
    if verdict.outcome is Keep.REMOVE:
        assert ws.observed_status is ObservedStatus.DELETED
        assert ws.error_info is None


def reaped(
    thing: ContainerSeen | VolumeSeen, ws: Workspace | None, seconds: float = 601, **parts: Any
) -> Verdict[Keep]:
    """The verdict on something that was first seen at the beginning."""
    given_parts = {"ours": True, "first_seen_at": T0, "now": after(seconds), **parts}
    return reap_decision(thing, ws, **given_parts)


def of(incarnation: str | None) -> tuple[ContainerSeen, VolumeSeen]:
    """A container and a volume of an incarnation."""
    return container(incarnation=incarnation), volume(incarnation)


@pytest.mark.parametrize(
    ("incarnation", "ws", "of_container", "of_volume"),
    [
        ("i2", row(home=CLEAN), Reason.STRAY, Reason.STRAY),
        ("i1", row(), Reason.STRAY, Reason.STRAY),
        (None, row(home=CLEAN), Reason.STRAY, Reason.STRAY),
        (None, row(), Reason.STRAY, Reason.STRAY),
        ("i1", None, Reason.NO_ROW, Reason.NO_ROW),
        (None, None, Reason.NO_ROW, Reason.NO_ROW),
        ("i1", row(home=CLEAN), Reason.BELONGS_TO_HOME, Reason.BELONGS_TO_HOME),
        ("i1", row(home=CLEAN, loss_accepted="i1"), Reason.STRAY, Reason.BELONGS_TO_HOME),
        ("i2", row(home=CLEAN, loss_accepted="i2"), Reason.STRAY, Reason.GIVEN_UP),
        ("i3", row(home=CLEAN, loss_accepted="i2"), Reason.STRAY, Reason.STRAY),
        (
            "i2",
            busy(Operation.STARTING, home=CLEAN),
            Reason.OPERATION_RUNS,
            Reason.OPERATION_RUNS,
        ),
    ],
)
def test_why_something_is_reaped_or_not(
    incarnation: str | None, ws: Workspace | None, of_container: Reason, of_volume: Reason
) -> None:
    """Only what belongs to a home that the row has left goes, at rest; a lost volume is left."""
    found_container, found_volume = of(incarnation)
    for verdict, reason in (
        (reaped(found_container, ws), of_container),
        (reaped(found_volume, ws), of_volume),
    ):
        assert verdict.reason is reason
        assert verdict.outcome is (Keep.REMOVE if reason is Reason.STRAY else Keep.KEEP)


def test_what_another_installation_made_is_left_alone() -> None:
    """Without this installation's label nothing is touched (H33)."""
    for thing in of("i2"):
        assert reaped(thing, row(home=CLEAN), ours=False).reason is Reason.OTHER_INSTALLATION


@pytest.mark.parametrize(("seconds", "keep"), [(599, True), (600, True), (601, False)])
def test_a_young_stray_is_left(seconds: int, keep: bool) -> None:
    """A stray is removed when it is older than the grace, to the second."""
    assert (reaped(volume("i2"), row(home=CLEAN), seconds).reason is Reason.TOO_YOUNG) is keep
    longer = Policy(reaper_grace_seconds=700)
    patient = reaped(volume("i2"), row(home=CLEAN), seconds, policy=longer)
    assert patient.reason is Reason.TOO_YOUNG


@given(ws=workspaces(), incarnation=maybe(incarnations), now=times)
def test_the_rows_own_home_is_never_reaped(
    ws: Workspace, incarnation: str | None, now: datetime
) -> None:
    """The reaper never removes the row's own volume, nor one that was given up (H6, H16)."""
    for thing in of(incarnation):
        verdict = reap_decision(thing, ws, ours=True, first_seen_at=T0, now=now)
        if verdict.outcome is Keep.REMOVE:
            assert ws.operation is Operation.NONE
            if incarnation is not None and isinstance(thing, VolumeSeen):
                assert incarnation not in (ws.home.incarnation, ws.loss_accepted)
