"""Contract 13, convergence: calm leads to rest, and a recovery leads out of every error."""

from typing import Any

import pytest
from hypothesis import given, settings

from tests.contracts.runs import HAPPENING, anything, benign, calm, rest_of
from tests.core.builders import ARCHIVED, CLEAN, T0, busy, error, moment, row
from tests.core.tiny_world import TinyWorld
from wsctl_core import (
    Actor,
    DesiredState,
    HealthStatus,
    ObservedStatus,
    Operation,
    Suspect,
    SuspectKind,
    Workspace,
)
from wsctl_core.contracts import Settled, recovery_leads_out, settled, settles

BOUND = 70


def lived(events: list[str]) -> TinyWorld:
    """A world to which all this has happened."""
    world = TinyWorld()
    for event in events:
        HAPPENING[event](world)
    return world


@given(events=anything)
@settings(max_examples=60)
def test_calm_leads_to_rest(events: list[str]) -> None:
    """After anything, once faults stop and intent stays, the workspace comes to rest and stays."""
    world = lived(events)
    assert settles(calm(world, BOUND + 30), BOUND) is None


@given(events=benign)
def test_crashes_and_changes_of_mind_are_no_errors(events: list[str]) -> None:
    """After crashes, changes of intent and deletion alone, the end is never an error."""
    world = lived(events)
    calm(world, BOUND)
    expected = Settled.DELETED if world.ws.deleted_at else Settled.CONVERGED
    assert rest_of(world) is expected
    if world.ws.deleted_at is None:
        assert world.ws.observed_status.value == world.ws.desired_state.value


@given(events=anything)
@settings(max_examples=60)
def test_a_recovery_leads_out(events: list[str]) -> None:
    """Whatever error it ended in, an administrator's recovery leads to what is wanted (H25)."""
    world = lived(events)
    calm(world, BOUND)
    if rest_of(world) is Settled.IN_ERROR:
        assert world.recover(Actor.ADMINISTRATOR)
        calm(world, BOUND)
    assert recovery_leads_out(rest_of(world)) is None


STANDING: dict[str, Any] = {"observed_status": ObservedStatus.STANDBY, "home": CLEAN}
ILL: dict[str, Any] = {"error_info": error(), "health_status": HealthStatus.ERROR}


@pytest.mark.parametrize(
    ("ws", "place_free", "expected"),
    [
        (row(**STANDING, desired_state=DesiredState.STANDBY), True, Settled.CONVERGED),
        (row(desired_state=DesiredState.PENDING, **ARCHIVED), True, Settled.CONVERGED),
        (row(**STANDING), True, Settled.NOT),
        (row(**STANDING), False, Settled.WAITS_FOR_PLACE),
        (busy(Operation.STARTING), True, Settled.NOT),
        (row(**ILL), True, Settled.IN_ERROR),
        (row(error_info=error()), True, Settled.NOT),
        (row(deleted_at=T0, observed_status=ObservedStatus.DELETED), True, Settled.DELETED),
        (row(deleted_at=T0), True, Settled.NOT),
        (
            row(desired_state=DesiredState.PENDING, health_status=HealthStatus.ERROR),
            True,
            Settled.NOT,
        ),
    ],
)
def test_what_rest_is(ws: Workspace, place_free: bool, expected: Settled) -> None:
    """As desired, deleted, in an error that people see, or waiting for a place: nothing else."""
    assert settled(ws, moment(place_free=place_free)) is expected


def test_a_run_that_does_not_settle_is_rejected() -> None:
    """Too late, never, or not for good: each is rejected, with what is wrong."""
    no, yes, bad = Settled.NOT, Settled.CONVERGED, Settled.IN_ERROR
    assert settles([no, no, yes, yes], bound=2) is None
    assert settles([no, no, no, yes], bound=2) == "not settled within 2 steps"
    assert settles([no, no], bound=5) == "not settled within 5 steps"
    assert settles([], bound=5) == "not settled within 5 steps"
    assert settles([yes, no], bound=2) == "settled, and did not stay so"
    assert settles([yes, bad], bound=2) == "settled, and did not stay so"


@pytest.mark.parametrize("end", Settled)
def test_a_recovery_that_leads_nowhere_is_rejected(end: Settled) -> None:
    """Still in error, or still not at rest, is no way out."""
    told = recovery_leads_out(end)
    if end in (Settled.NOT, Settled.IN_ERROR):
        assert told == f"after the recovery it is {end}"
    else:
        assert told is None


def test_a_standing_suspicion_is_no_rest() -> None:
    """While the monitor has to look again, nothing is settled, as desired as it may look."""
    up: dict[str, Any] = {"observed_status": ObservedStatus.RUNNING, "home": CLEAN}
    odd = Suspect(what=SuspectKind.CONTAINER_WITHOUT_VOLUME, identity="c1", seq=5)
    assert settled(row(**up), moment()) is Settled.CONVERGED
    assert settled(row(**up, suspect=odd), moment()) is Settled.NOT
