"""`ttl_decision`: when a workspace steps down, to the second."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given

from tests.core import oracles
from tests.core.builders import T0, after, busy, row
from tests.strategies import activities, times, workspaces
from wsctl_core import (
    UNKNOWN_ACTIVITY,
    Activity,
    DesiredState,
    HealthStatus,
    ObservedStatus,
    Operation,
    Reason,
    Ttl,
    Workspace,
    archive_ttl_decision,
    standby_ttl_decision,
    ttl_decision,
)
from wsctl_core.decisions.ttl import ARCHIVE_TTL, STANDBY_TTL

STANDBY, RUNNING = ObservedStatus.STANDBY, ObservedStatus.RUNNING
LONG_AFTER = after(10_000_000)


def test_standby_ttl_is_the_specifications_for_all_facts() -> None:
    """Every combination of facts gets the answer of section 4.6's left column."""
    assert oracles.differing(STANDBY_TTL, oracles.standby_ttl) == []


def test_archive_ttl_is_the_specifications_for_all_facts() -> None:
    """Every combination of facts gets the answer of section 4.6's right column."""
    assert oracles.differing(ARCHIVE_TTL, oracles.archive_ttl) == []


def running(**columns: Any) -> Workspace:
    """A workspace that runs, is wanted to, and was started at the beginning."""
    return row(**{"observed_status": RUNNING, "started_at": T0, **columns})


def standing(**columns: Any) -> Workspace:
    """A workspace on standby that is wanted so."""
    return row(**{"observed_status": STANDBY, "desired_state": DesiredState.STANDBY, **columns})


@pytest.mark.parametrize(
    ("ws", "activity", "reason"),
    [
        (running(), Activity(), Reason.IDLE),
        (running(started_at=None), Activity(), Reason.IDLE),
        (running(observed_status=STANDBY), Activity(), Reason.NOT_RUNNING),
        (running(health_status=HealthStatus.ERROR), Activity(), Reason.TTL_IN_ERROR),
        (
            busy(Operation.STARTING, observed_status=RUNNING),
            Activity(),
            Reason.TTL_OPERATION_RUNS,
        ),
        (running(desired_state=DesiredState.STANDBY), Activity(), Reason.TTL_INTENT_DIFFERS),
        (running(desired_state=DesiredState.PENDING), Activity(), Reason.TTL_INTENT_DIFFERS),
        (running(deleted_at=T0), Activity(), Reason.TTL_INTENT_DIFFERS),
        (running(started_at=LONG_AFTER), Activity(), Reason.STARTED_RECENTLY),
        (running(), UNKNOWN_ACTIVITY, Reason.ACTIVITY_UNKNOWN),
        (running(), Activity(connections=1), Reason.CONNECTED),
        (running(), Activity(connections=2, idle_timer=True), Reason.CONNECTED),
        (running(), Activity(kept_alive=True), Reason.KEPT_ALIVE),
        (running(), Activity(idle_timer=True), Reason.IDLE_TIMER_RUNS),
    ],
)
def test_why_a_running_workspace_stays_or_steps_down(
    ws: Workspace, activity: Activity, reason: Reason
) -> None:
    """Each condition of the standby TTL has its own reason."""
    verdict = standby_ttl_decision(ws, activity, LONG_AFTER)
    assert verdict.reason is reason
    assert verdict.outcome is (Ttl.TO_STANDBY if reason is Reason.IDLE else Ttl.SKIP)


@pytest.mark.parametrize(("seconds", "expires"), [(299, False), (300, False), (301, True)])
def test_the_idle_time_at_its_limit(seconds: int, expires: bool) -> None:
    """At exactly the limit nothing expires; the length is the row's own."""
    verdict = standby_ttl_decision(running(), Activity(), after(seconds))
    assert (verdict.outcome is Ttl.TO_STANDBY) is expires
    shorter = running(standby_ttl_seconds=seconds - 1)
    assert standby_ttl_decision(shorter, Activity(), after(seconds)).outcome is Ttl.TO_STANDBY


@pytest.mark.parametrize(
    ("ws", "reason"),
    [
        (standing(), Reason.UNUSED),
        (standing(observed_status=RUNNING), Reason.NOT_STANDBY),
        (standing(observed_status=ObservedStatus.PENDING), Reason.NOT_STANDBY),
        (standing(health_status=HealthStatus.ERROR), Reason.TTL_IN_ERROR),
        (
            busy(Operation.STOPPING, observed_status=STANDBY, desired_state=DesiredState.STANDBY),
            Reason.TTL_OPERATION_RUNS,
        ),
        (standing(desired_state=DesiredState.RUNNING), Reason.TTL_INTENT_DIFFERS),
        (standing(desired_state=DesiredState.PENDING), Reason.TTL_INTENT_DIFFERS),
        (standing(deleted_at=T0), Reason.TTL_INTENT_DIFFERS),
        (standing(last_access_at=LONG_AFTER), Reason.ACCESSED_RECENTLY),
        (standing(intent_changed_at=LONG_AFTER), Reason.ACCESSED_RECENTLY),
    ],
)
def test_why_a_workspace_on_standby_stays_or_is_archived(ws: Workspace, reason: Reason) -> None:
    """Each condition of the archive TTL has its own reason."""
    verdict = archive_ttl_decision(ws, LONG_AFTER)
    assert verdict.reason is reason
    assert verdict.outcome is (Ttl.TO_PENDING if reason is Reason.UNUSED else Ttl.SKIP)


@pytest.mark.parametrize(("seconds", "expires"), [(604799, False), (604800, False), (604801, True)])
@pytest.mark.parametrize("newer", ["last_access_at", "intent_changed_at"])
def test_the_archive_time_at_its_limit(seconds: int, expires: bool, newer: str) -> None:
    """The newer of last use and last intent counts (H31); at the limit nothing expires."""
    ws = standing(**{newer: after(100)})
    verdict = archive_ttl_decision(ws, after(100 + seconds))
    assert (verdict.outcome is Ttl.TO_PENDING) is expires
    shorter = standing(**{newer: after(100), "archive_ttl_seconds": seconds - 1})
    assert archive_ttl_decision(shorter, after(100 + seconds)).outcome is Ttl.TO_PENDING


@given(ws=workspaces(), activity=activities, now=times)
def test_the_status_chooses_the_time_to_live(
    ws: Workspace, activity: Activity, now: datetime
) -> None:
    """What runs is judged by the standby TTL, everything else by the archive TTL."""
    verdict = ttl_decision(ws, activity, now)
    if ws.observed_status is RUNNING:
        assert verdict == standby_ttl_decision(ws, activity, now)
        assert verdict.outcome is not Ttl.TO_PENDING
    else:
        assert verdict == archive_ttl_decision(ws, now)
        assert verdict.outcome is not Ttl.TO_STANDBY
    if verdict.outcome is not Ttl.SKIP:
        assert ws.operation is Operation.NONE
        assert ws.deleted_at is None
