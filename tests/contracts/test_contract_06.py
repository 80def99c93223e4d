"""Contract 6, a container implies its volume: seen twice in a row, anything else is ERROR."""

import attrs
from hypothesis import given

from tests.core.builders import CLEAN, container, row, volume
from tests.strategies import observations, workspaces
from wsctl_core import (
    HealthStatus,
    Observation,
    Workspace,
    apply,
    assess,
)
from wsctl_core.contracts import Reality, container_implies_volume


def judged_twice(ws: Workspace, observation: Observation) -> Workspace:
    """The row after the monitor saw the same twice."""
    for seq in (11, 12):
        judged = assess(ws, attrs.evolve(observation, seq=seq))
        for patch in (judged.patch, judged.alarm):
            if patch is not None:
                ws = apply(ws, patch)
    return ws


@given(ws=workspaces(at_rest=True), observation=observations(complete=True))
def test_two_looks_suffice(ws: Workspace, observation: Observation) -> None:
    """At rest, after two looks at the same, a container without its volume is ERROR."""
    judged = judged_twice(ws, observation)
    assert isinstance(observation.containers, tuple)
    assert isinstance(observation.volumes, tuple)
    exists = Reality(containers=observation.containers, volumes=observation.volumes)
    assert container_implies_volume(judged, exists) is None


@given(ws=workspaces(at_rest=True), observation=observations(complete=True))
def test_one_look_does_not(ws: Workspace, observation: Observation) -> None:
    """One look alone never turns health to ERROR (H20)."""
    well = attrs.evolve(ws, suspect=None, error_info=None, health_status=HealthStatus.OK)
    patch = assess(well, attrs.evolve(observation, seq=11)).patch
    assert patch is None or patch.health_status is HealthStatus.OK


def test_a_container_without_its_volume_is_rejected() -> None:
    """The home's container without its volume, and health OK, breaks the contract."""
    ws = row(home=CLEAN)
    bare = Reality(containers=(container(),))
    told = "the home's container has no volume, and health is OK"
    assert container_implies_volume(ws, bare) == told
    other = Reality(containers=(container(),), volumes=(volume("i2"),))
    assert container_implies_volume(ws, other) == told
    assert container_implies_volume(attrs.evolve(ws, loss_accepted="i1"), bare) is None
    ill = attrs.evolve(ws, health_status=HealthStatus.ERROR)
    assert container_implies_volume(ill, bare) is None
    whole = Reality(containers=(container(),), volumes=(volume(),))
    assert container_implies_volume(ws, whole) is None
