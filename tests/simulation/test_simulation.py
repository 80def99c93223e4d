"""Whole fleets under crashes, late calls and storms: every contract after every call."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from wsctl_adapters.memory import (
    MemoryDatabase,
    MemoryInventory,
    MemoryVolumes,
)
from wsctl_app.coordinator import state_reconciler
from wsctl_app.coordinator.executor import NOTHING, Executor, Yielded
from wsctl_app.simulation import CALM, CRASHES, STORM, Faults, Outcome, Setting, simulate
from wsctl_app.simulation.virtual_time import StandsStill, run
from wsctl_core import (
    DeleteContainers,
    FoundVolume,
    Operation,
    Usage,
    Workspace,
    limit_decision,
)
from wsctl_core.contracts import Settled
from wsctl_core.ports import AdapterError

AT_REST = {Settled.CONVERGED, Settled.DELETED, Settled.WAITS_FOR_PLACE}


def story(outcome: Outcome) -> str:
    """What to read, and how to see it again, when a seed fails."""
    seed, weather = outcome.setting.seed, NAMES[outcome.setting.faults]
    command = f"python -m wsctl_app.simulation --seed {seed} --faults {weather}"
    return "\n".join((*outcome.story[-30:], f"replay: {command}"))


def false_alarms(outcome: Outcome) -> list[str]:
    """Homes that were called lost. In these worlds nobody destroys one (H16, H34)."""
    return [line for line in outcome.story if "reason=DataLost" in line]


NAMES = {CALM: "calm", CRASHES: "crashes", STORM: "storm"}


@pytest.mark.parametrize("seed", range(8))
def test_crashes_never_end_in_an_error(seed: int):
    """Contract 13: nodes die, stop and wake, calls land late, and all is as wanted in the end."""
    outcome = simulate(Setting(seed=seed, faults=CRASHES))
    assert outcome.broken is None, story(outcome)
    assert set(outcome.rests.values()) <= AT_REST, story(outcome)
    assert outcome.terms > 3


@pytest.mark.parametrize("seed", range(8))
def test_a_storm_loses_no_home(seed: int):
    """Contract 11: whatever fails, the newest data is kept, and everything comes to rest."""
    outcome = simulate(Setting(seed=seed, faults=STORM))
    assert outcome.broken is None, story(outcome)
    assert Settled.NOT not in outcome.rests.values(), story(outcome)
    assert false_alarms(outcome) == []


@pytest.mark.long
@pytest.mark.parametrize("weather", [CRASHES, STORM], ids=["crashes", "storm"])
@pytest.mark.parametrize("fifty", range(10))
def test_many_seeds(weather: Faults, fifty: int):
    """The same, for a thousand seeds."""
    for seed in range(50 * fifty + 100, 50 * fifty + 150):
        outcome = simulate(Setting(seed=seed, faults=weather))
        assert outcome.broken is None, story(outcome)
        assert Settled.NOT not in outcome.rests.values(), story(outcome)
        assert false_alarms(outcome) == []
        if weather is CRASHES:
            assert set(outcome.rests.values()) <= AT_REST, story(outcome)


def test_a_seed_tells_one_story():
    """The same seed, the same story, to the last line."""
    setting = Setting(seed=5, faults=STORM, chaos_seconds=300)
    assert simulate(setting) == simulate(setting)


def test_time_is_virtual():
    """A loop that would wait for ever says so instead."""

    async def nothing_happens() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(StandsStill):
        run(nothing_happens())


# Prove the guards by breaking them: each of these is found by some seed.

Breakage = Callable[[pytest.MonkeyPatch], None]


def old_leaders_write(patch: pytest.MonkeyPatch) -> None:
    """H1: the writes of an old leader are taken."""
    patch.setattr(MemoryDatabase, "fence", lambda self, epoch: None)


def volumes_go_by_workspace(patch: pytest.MonkeyPatch) -> None:
    """H4: a deletion takes every volume that the workspace has when it lands."""

    async def remove(self: MemoryVolumes, name: str) -> None:
        workspace_id = name.split("-")[1]

        def effect() -> None:
            for other in tuple(self._runtime.volumes):
                if other.startswith(f"ws-{workspace_id}-"):
                    del self._runtime.volumes[other]

        await self._line.call("remove_volume", effect)

    patch.setattr(MemoryVolumes, "remove", remove)


def operations_leave_containers(patch: pytest.MonkeyPatch) -> None:
    """H5: only STOPPING deletes containers."""
    perform = Executor.perform

    async def skipping(self: Executor, ws: Workspace, action: Any) -> Yielded:
        if isinstance(action, DeleteContainers) and ws.operation is not Operation.STOPPING:
            return NOTHING
        return await perform(self, ws, action)

    patch.setattr(Executor, "perform", skipping)


def places_are_not_counted(patch: pytest.MonkeyPatch) -> None:
    """H32: a claim of STARTING takes a place without asking, and so does the plan."""
    patch.setattr(MemoryDatabase, "places", lambda *_, **__: Usage(by_user=0, in_all=0))
    free = limit_decision(Usage(by_user=0, in_all=0))
    patch.setattr(state_reconciler, "limit_decision", lambda *_: free)


def failed_listings_are_empty(patch: pytest.MonkeyPatch) -> None:
    """H34: a listing that failed reads as absence."""
    volumes = MemoryInventory.volumes

    async def volumes_or_none(self: MemoryInventory) -> tuple[FoundVolume, ...]:
        try:
            return await volumes(self)
        except AdapterError:
            return ()

    patch.setattr(MemoryInventory, "volumes", volumes_or_none)


BREAKAGES: dict[Breakage, tuple[Faults, int]] = {
    old_leaders_write: (CRASHES, 23),
    volumes_go_by_workspace: (CRASHES, 13),
    operations_leave_containers: (CRASHES, 1),
    places_are_not_counted: (CRASHES, 6),
    failed_listings_are_empty: (STORM, 3),
}
"""Each with its weather, and a seed that noticed when it was written down: it is tried first."""


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.__name__)
def test_a_broken_rule_is_noticed(breakage: Breakage, monkeypatch: pytest.MonkeyPatch):
    """Without the rule, under some seed a contract breaks, or a home is called lost."""
    breakage(monkeypatch)
    weather, likely = BREAKAGES[breakage]
    for seed in (likely, *range(60)):
        outcome = simulate(Setting(seed=seed, faults=weather))
        if outcome.broken or false_alarms(outcome):
            return
    pytest.fail(f"no seed noticed: {breakage.__doc__}")
