"""`decide_observed`, `decide_health` and `assess`: what the monitor makes of what it saw."""

from typing import Any

import attrs
import pytest
from hypothesis import given

from tests.core import oracles
from tests.core.builders import (
    CLEAN,
    CONDEMNED,
    DIRTY,
    MAKING,
    T0,
    after,
    busy,
    container,
    error,
    row,
    seen,
    volume,
)
from tests.strategies import numbers, observations, workspaces
from wsctl_core import (
    UNKNOWN,
    AdapterCode,
    ContainerPhase,
    ErrorReason,
    HealthStatus,
    LastExit,
    Observation,
    ObservedStatus,
    Operation,
    Reason,
    Suspect,
    SuspectKind,
    Workspace,
    apply,
    assess,
    decide_health,
    decide_observed,
)
from wsctl_core.decisions.health import (
    HEALTH,
    anomaly,
    container_without_volume,
    decide_suspect,
)
from wsctl_core.decisions.observed import (
    OBSERVED,
    Seen,
    home_container,
    home_volume,
    observed_facts,
)

ENDED, RUNS, STARTS = ContainerPhase.ENDED, ContainerPhase.RUNNING, ContainerPhase.IN_PROGRESS
EXIT = LastExit(exit_code=137, out_of_memory=True, at=after(30))


def test_observed_is_the_specifications_for_all_facts() -> None:
    """Every combination of facts gets the status that section 4.1 says."""
    assert oracles.differing(OBSERVED, oracles.observed) == []


def test_health_is_the_specifications_for_all_facts() -> None:
    """Every combination of facts gets the health that section 4.2 says."""
    assert oracles.differing(HEALTH, oracles.health) == []


# What was seen, reduced to facts.


@pytest.mark.parametrize(
    ("ws", "observation", "expected"),
    [
        (row(home=CLEAN), seen(), ObservedStatus.PENDING),
        (row(home=CLEAN), seen(volumes=(volume(),)), ObservedStatus.STANDBY),
        (row(home=CLEAN), seen(volumes=(volume("i2"),)), ObservedStatus.PENDING),
        (row(home=CLEAN), seen(volumes=(volume("i2"), volume())), ObservedStatus.STANDBY),
        (row(home=CLEAN), seen(volumes=(volume(None),)), ObservedStatus.PENDING),
        (row(home=CLEAN), seen(containers=(container(),)), ObservedStatus.RUNNING),
        (row(home=CLEAN), seen(containers=(container(incarnation="i2"),)), ObservedStatus.PENDING),
        (
            row(home=CLEAN),
            seen(containers=(container(incarnation="i2"), container(id="c2"))),
            ObservedStatus.RUNNING,
        ),
        (row(), seen(containers=(container(incarnation=None),)), ObservedStatus.PENDING),
        (row(), seen(volumes=(volume(None),)), ObservedStatus.PENDING),
        (
            row(home=CLEAN),
            seen(containers=(container(ENDED),), volumes=(volume(),)),
            ObservedStatus.STANDBY,
        ),
        (
            row(home=CLEAN),
            seen(containers=(container(STARTS),), volumes=(volume(),)),
            ObservedStatus.STANDBY,
        ),
        (
            row(home=CLEAN),
            seen(containers=(container(ContainerPhase.CREATED),)),
            ObservedStatus.PENDING,
        ),
        (row(home=CLEAN, loss_accepted="i1"), seen(volumes=(volume(),)), ObservedStatus.PENDING),
        (row(home=CLEAN), seen(containers=UNKNOWN, volumes=(volume(),)), None),
        (row(home=CLEAN), seen(containers=(container(),), volumes=UNKNOWN), None),
        (row(deleted_at=T0), seen(), ObservedStatus.DELETED),
        (row(deleted_at=T0), seen(volumes=(volume("i9"),)), ObservedStatus.PENDING),
        (
            row(deleted_at=T0),
            seen(containers=(container(incarnation="i9"),)),
            ObservedStatus.PENDING,
        ),
        (row(deleted_at=T0), seen(containers=UNKNOWN), None),
        (busy(Operation.DELETING, deleted_at=T0), seen(), ObservedStatus.DELETED),
        (busy(Operation.ARCHIVING, deleted_at=T0), seen(), ObservedStatus.PENDING),
        (busy(Operation.STARTING, deleted_at=T0), seen(), ObservedStatus.PENDING),
    ],
)
def test_status_of_what_was_seen(
    ws: Workspace, observation: Observation, expected: ObservedStatus | None
) -> None:
    """Only the effective home's own counts; strays matter to deletion; unknown is no absence."""
    assert decide_observed(ws, observation).outcome is expected


@given(ws=workspaces(), observation=observations())
def test_facts_of_an_observation(ws: Workspace, observation: Observation) -> None:
    """Facts follow from the listings and the effective home as section 4.1 words it."""
    facts = observed_facts(ws, observation)
    own = None if ws.home.incarnation == ws.loss_accepted else ws.home.incarnation
    if observation.containers is UNKNOWN:
        assert facts.container is Seen.UNKNOWN
    else:
        phases = {c.phase for c in observation.containers if own and c.incarnation == own}
        assert (facts.container is Seen.RUNNING) is (RUNS in phases)
        assert (facts.container is Seen.ABSENT) is (not phases)
    if observation.volumes is UNKNOWN:
        assert facts.volume is Seen.UNKNOWN
    else:
        there = own is not None and own in {v.incarnation for v in observation.volumes}
        assert facts.volume is (Seen.PRESENT if there else Seen.ABSENT)
    if observation.complete:
        assert facts.anything is (observation.containers != () or observation.volumes != ())
    assert facts.deletion_asked is (ws.deleted_at is not None)
    assert facts.may_finish_deletion is (ws.operation.value in ("NONE", "DELETING"))


def test_what_belongs_to_the_home() -> None:
    """The home's container and volume are found by incarnation, and not in a failed listing."""
    ws = row(home=CLEAN)
    full = seen(containers=(container(),), volumes=(volume(),))
    assert home_container(ws, full) == container()
    assert home_volume(ws, full) == volume()
    assert home_container(ws, seen(containers=UNKNOWN)) is None
    assert home_volume(ws, seen(volumes=UNKNOWN)) is None
    unlabelled = seen(containers=(container(incarnation=None),), volumes=(volume(None),))
    assert home_container(row(), unlabelled) is None
    assert home_volume(row(), unlabelled) is None


# Anomalies and suspicions.

NO_VOLUME, MISSING, BETWEEN = (
    SuspectKind.CONTAINER_WITHOUT_VOLUME,
    SuspectKind.HOME_MISSING,
    SuspectKind.IN_PROGRESS,
)


@pytest.mark.parametrize(
    ("ws", "observation", "expected"),
    [
        (row(home=DIRTY), seen(), (MISSING, "i1")),
        (row(home=DIRTY), seen(volumes=(volume(),)), None),
        (row(home=DIRTY), seen(volumes=(volume("i2"),)), (MISSING, "i1")),
        (row(home=DIRTY, loss_accepted="i1"), seen(), None),
        (row(home=CLEAN), seen(), None),
        (row(home=MAKING), seen(), None),
        (row(home=CONDEMNED), seen(), None),
        (row(), seen(), None),
        (row(home=DIRTY), seen(containers=UNKNOWN), None),
        (row(home=DIRTY), seen(volumes=UNKNOWN), None),
        (row(home=CLEAN), seen(containers=(container(),)), (NO_VOLUME, "c1")),
        (row(home=CLEAN), seen(containers=(container(ENDED),)), (NO_VOLUME, "c1")),
        (row(home=DIRTY), seen(containers=(container(id="c7"),)), (NO_VOLUME, "c7")),
        (row(home=CLEAN), seen(containers=(container(incarnation="i2"),)), None),
        (row(home=CLEAN), seen(containers=(container(),), volumes=(volume(),)), None),
        (
            row(home=CLEAN),
            seen(containers=(container(STARTS),), volumes=(volume(),)),
            None,
        ),
        (
            busy(Operation.STARTING, home=DIRTY),
            seen(containers=(container(STARTS),)),
            (BETWEEN, "c1"),
        ),
        (
            busy(Operation.STOPPING, home=DIRTY),
            seen(containers=(container(STARTS, id="c2"),), volumes=(volume(),)),
            (BETWEEN, "c2"),
        ),
        (busy(Operation.STARTING, home=DIRTY), seen(containers=(container(),)), None),
        (busy(Operation.STARTING, home=DIRTY), seen(), None),
        (
            busy(Operation.STARTING, home=DIRTY),
            seen(containers=(container(STARTS, incarnation="i2"),)),
            None,
        ),
    ],
)
def test_what_is_odd(
    ws: Workspace, observation: Observation, expected: tuple[SuspectKind, str] | None
) -> None:
    """At rest something missing is odd; in an operation, a container between two states."""
    assert anomaly(ws, observation) == expected


def suspect(what: SuspectKind = NO_VOLUME, identity: str = "c1", seq: int = 7) -> Suspect:
    """A suspicion."""
    return Suspect(what=what, identity=identity, seq=seq)


@pytest.mark.parametrize(
    ("old", "ended", "expected_seq"),
    [
        (None, 0, 9),
        (suspect(), 0, 7),
        (suspect(), 6, 7),
        (suspect(), 7, 9),
        (suspect(identity="c2"), 0, 9),
        (suspect(what=MISSING), 0, 9),
    ],
)
def test_a_standing_suspicion_keeps_its_number(
    old: Suspect | None, ended: int, expected_seq: int
) -> None:
    """Of the same thing, after the last operation: the first number stays; else it begins anew."""
    ws = row(home=DIRTY, suspect=old, op_ended_seq=ended)
    look = seen(9, containers=(container(),))
    assert decide_suspect(ws, look) == suspect(seq=expected_seq)


def test_a_suspicion_that_was_not_confirmed_is_dropped() -> None:
    """When the volume is there again, nothing is suspected any more."""
    ws = row(home=DIRTY, suspect=suspect())
    assert decide_suspect(ws, seen(volumes=(volume(),))) is None


# Health.


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, HealthStatus.OK),
        ({"suspect": suspect()}, HealthStatus.ERROR),
        ({"suspect": suspect(seq=8)}, HealthStatus.ERROR),
        ({"suspect": suspect(seq=9)}, HealthStatus.OK),
        ({"suspect": suspect(identity="c2")}, HealthStatus.OK),
        ({"suspect": suspect(what=MISSING)}, HealthStatus.OK),
        ({"suspect": suspect(), "op_ended_seq": 6}, HealthStatus.ERROR),
        ({"suspect": suspect(), "op_ended_seq": 7}, HealthStatus.OK),
        ({"error_info": error()}, HealthStatus.ERROR),
        ({"error_info": error(terminal=False)}, HealthStatus.OK),
    ],
)
def test_a_container_without_its_volume_is_believed_when_seen_twice(
    columns: dict[str, Any], expected: HealthStatus
) -> None:
    """Same container, two observations after the last operation, and no earlier (H20)."""
    ws = row(home=DIRTY, **columns)
    assert decide_health(ws, seen(9, containers=(container(),))).outcome is expected


def test_a_missing_home_is_no_matter_of_health() -> None:
    """A home seen missing twice is for planning to judge, not for the monitor."""
    ws = row(home=DIRTY, suspect=suspect(MISSING, "i1"))
    assert decide_health(ws, seen(9)).outcome is HealthStatus.OK


def test_an_operation_suspends_the_suspicion() -> None:
    """While an operation runs, a container without its volume is not judged."""
    ws = busy(Operation.STOPPING, home=DIRTY, suspect=suspect())
    assert decide_health(ws, seen(9, containers=(container(),))).outcome is HealthStatus.OK


def test_a_failed_listing_of_volumes_is_no_absence() -> None:
    """A container was seen and volumes could not be listed: that is not contract 6 broken."""
    ws = row(home=DIRTY, suspect=suspect())
    look = seen(9, containers=(container(),), volumes=UNKNOWN)
    assert decide_health(ws, look).outcome is HealthStatus.OK


# The whole judgement.


def test_nothing_new_writes_nothing() -> None:
    """A row that is as it was seen needs no write: the pass number speaks for it."""
    ws = row(home=CLEAN, observed_status=ObservedStatus.STANDBY)
    judged = assess(ws, seen(volumes=(volume(),)))
    assert (judged.patch, judged.alarm) == (None, None)
    assert judged.observed.outcome is ObservedStatus.STANDBY
    assert judged.health.outcome is HealthStatus.OK


def test_a_change_is_written_with_its_number() -> None:
    """What changed is written with the number and the time at which the look began."""
    ws = row(home=CLEAN, last_exit=EXIT)
    patch = assess(ws, seen(9, volumes=(volume(),), seconds=61)).patch
    assert patch is not None
    written = apply(ws, patch)
    assert written == attrs.evolve(
        ws, observed_status=ObservedStatus.STANDBY, observed_seq=9, observed_at=after(61)
    )


@pytest.mark.parametrize(
    ("seq", "pass_seq", "writes"), [(5, 0, 0), (6, 0, 1), (8, 8, 0), (9, 8, 1)]
)
def test_an_old_observation_writes_nothing(seq: int, pass_seq: int, writes: int) -> None:
    """Only a number larger than the row's, and than the last pass's, may write (H19)."""
    judged = assess(row(home=CLEAN), seen(seq, volumes=(volume(),)), pass_seq)
    assert (judged.patch is not None) == bool(writes)


def test_the_very_first_observation_is_not_old() -> None:
    """Without a pass before it, the smallest number there is may write."""
    new = row(home=CLEAN, created_seq=0, observed_seq=0)
    assert assess(new, seen(1, volumes=(volume(),))).patch is not None


@pytest.mark.parametrize("failed", ["containers", "volumes"])
def test_an_incomplete_observation_writes_nothing(failed: str) -> None:
    """With one listing unknown neither patch nor alarm is written, whatever the other shows."""
    ws = row(home=DIRTY, observed_status=ObservedStatus.RUNNING, suspect=suspect())
    full: dict[str, Any] = {"containers": (container(),), "volumes": ()}
    incomplete = seen(9, **{**full, failed: UNKNOWN})
    judged = assess(ws, incomplete)
    assert (judged.patch, judged.alarm, judged.observed.outcome) == (None, None, None)
    assert judged.observed.reason is Reason.NOT_SEEN
    assert judged.health == decide_health(ws, incomplete)


def test_health_is_cleared_after_a_recovery() -> None:
    """With the error reset, the next look turns health to OK and leaves the rest."""
    ws = row(health_status=HealthStatus.ERROR)
    patch = assess(ws, seen()).patch
    assert patch is not None
    assert patch.health_status is HealthStatus.OK


def test_a_suspicion_alone_is_worth_a_write() -> None:
    """The first look at an anomaly changes the row by the suspicion, and nothing else."""
    ws = row(home=DIRTY)
    patch = assess(ws, seen(9)).patch
    assert patch is not None
    assert patch.suspect == suspect(MISSING, "i1", 9)
    assert apply(ws, patch).observed_status is ObservedStatus.PENDING


def test_the_second_look_at_a_missing_home_changes_nothing() -> None:
    """A standing suspicion is confirmed by the pass number, without another write."""
    ws = row(home=DIRTY, suspect=suspect(MISSING, "i1", 7), observed_seq=7)
    assert assess(ws, seen(9)).patch is None


def test_contract_six_is_reported_once() -> None:
    """Seen twice: health ERROR, and an alarm that names code, expectation and time."""
    ws = row(home=DIRTY, observed_status=ObservedStatus.RUNNING, suspect=suspect(), error_count=2)
    judged = assess(ws, seen(9, containers=(container(),), seconds=61))
    assert judged.patch is not None
    assert judged.patch.health_status is HealthStatus.ERROR
    assert judged.patch.observed_status is ObservedStatus.RUNNING
    assert judged.alarm is not None
    info = judged.alarm.error_info
    assert info == container_without_volume(ws, after(61))
    assert info.code is AdapterCode.CONTAINER_WITHOUT_VOLUME
    assert (info.reason, info.is_terminal) == (ErrorReason.MISMATCH, True)
    assert (info.operation, info.error_count, info.occurred_at) == (Operation.NONE, 2, after(61))
    assert info.message == "a container exists without its home volume"
    assert dict(info.context) == {
        "code": "CONTAINER_WITHOUT_VOLUME",
        "expected": "the volume of the container's home",
        "actual": "no volume",
    }


def test_a_recorded_error_is_not_overwritten_by_an_alarm() -> None:
    """The monitor sets error_info only while it is NULL."""
    ws = row(home=DIRTY, suspect=suspect(), error_info=error(terminal=False))
    judged = assess(ws, seen(9, containers=(container(),)))
    assert judged.health.reason is Reason.CONTAINER_WITHOUT_VOLUME
    assert judged.alarm is None


def test_a_terminal_error_raises_no_alarm() -> None:
    """Health ERROR for a recorded reason is nothing new to report."""
    judged = assess(row(error_info=error()), seen())
    assert judged.patch is not None
    assert judged.patch.health_status is HealthStatus.ERROR
    assert judged.alarm is None


@pytest.mark.parametrize(
    ("operation", "noted"),
    [(op, op in (Operation.NONE, Operation.STARTING)) for op in Operation],
)
def test_an_exit_is_noted_where_nobody_asked_for_it(operation: Operation, noted: bool) -> None:
    """A container that ended by itself leaves its exit; one that an operation ended does not."""
    ws = row(home=DIRTY) if operation is Operation.NONE else busy(operation, home=DIRTY)
    ws = attrs.evolve(ws, observed_status=ObservedStatus.RUNNING)
    look = seen(9, containers=(container(ENDED, exit=EXIT),), volumes=(volume(),))
    patch = assess(ws, look).patch
    assert patch is not None
    assert patch.last_exit == (EXIT if noted else None)


def test_an_exit_alone_is_worth_a_write() -> None:
    """The status is STANDBY already; the exit is still written, and stays when it is gone."""
    ws = row(home=DIRTY, observed_status=ObservedStatus.STANDBY)
    look = seen(9, containers=(container(ENDED, exit=EXIT),), volumes=(volume(),))
    patch = assess(ws, look).patch
    assert patch is not None
    later = apply(ws, patch)
    assert later.last_exit == EXIT
    assert assess(later, seen(10, volumes=(volume(),))).patch is None


def test_an_exit_of_a_stray_is_not_noted() -> None:
    """Only the home's own container tells how the workspace ended."""
    ws = row(home=DIRTY, observed_status=ObservedStatus.STANDBY)
    stray = container(ENDED, incarnation="i2", exit=EXIT)
    assert assess(ws, seen(9, containers=(stray,), volumes=(volume(),))).patch is None


@given(ws=workspaces(), observation=observations(), pass_seq=numbers)
def test_a_second_assessment_of_the_same_look_writes_nothing(
    ws: Workspace, observation: Observation, pass_seq: int
) -> None:
    """What was written settles it: the same observation finds nothing more to write."""
    patch = assess(ws, observation, pass_seq).patch
    if patch is not None:
        assert assess(apply(ws, patch), observation, pass_seq).patch is None
