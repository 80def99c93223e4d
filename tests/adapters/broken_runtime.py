"""Runtimes that break one promise each."""

import asyncio

import attrs

from tests.adapters.breaking import Breakage, breaker
from tests.adapters.memory_subjects import MemorySubject
from wsctl_adapters.conformance import (
    runtime,
)
from wsctl_adapters.conformance import (
    runtime_containers as containers,
)
from wsctl_adapters.conformance import (
    runtime_volumes as volumes,
)
from wsctl_adapters.conformance.runtime_kit import name_of
from wsctl_adapters.memory import Container, Volume
from wsctl_core import AdapterCode, ContainerPhase
from wsctl_core.ports import AdapterError

BREAKAGES: list[Breakage] = []
breaks = breaker(BREAKAGES, MemorySubject)


def _once(subject, code):
    if hasattr(subject, "done"):
        raise AdapterError(code, "somebody is at it already")
    subject.done = True


@breaks("containers", "address", runtime.check_an_empty_runtime_lists_nothing)
async def something_always_answers(subject, right, workspace_id):
    return "localhost:80"


@breaks("inventory", "containers", runtime.check_listings_carry_stamps)
async def labels_lose_their_numbers(subject, right):
    return tuple(
        attrs.evolve(found, stamp=attrs.evolve(found.stamp, seq=0)) for found in await right()
    )


@breaks("volumes", "of_workspace", runtime.check_of_workspace_tells_only_ours)
async def anyones_volume_is_ours(subject, right, workspace_id):
    found = subject.world.runtime.volumes.values()
    return tuple(v.name for v in found if v.stamp and v.stamp.workspace_id == workspace_id)


@breaks("volumes", "of_workspace", runtime.check_names_do_not_run_into_one_another)
async def names_are_compared_by_their_beginning(subject, right, workspace_id):
    found = subject.world.runtime.volumes
    return tuple(name for name in found if name.startswith(f"ws-{workspace_id}"))


# Volumes.


@breaks("volumes", "make", volumes.check_making_a_volume_twice_is_as_good)
async def a_volume_is_made_anew(subject, right, stamp):
    subject.world.runtime.volumes.pop(name_of(stamp), None)
    await right(stamp)


@breaks(
    "volumes",
    "make",
    volumes.check_makers_at_once_make_one_volume,
    fails_with=AdapterError,
)
async def a_second_maker_is_refused(subject, right, stamp):
    _once(subject, AdapterCode.VOLUME_CREATE_FAILED)
    await right(stamp)


@breaks(
    "volumes",
    "make",
    volumes.check_a_volume_without_label_is_not_ours,
    volumes.check_a_volume_of_another_installation_is_not_ours,
)
async def a_volume_is_taken_over(subject, right, stamp):
    there = subject.world.runtime.volumes.get(name_of(stamp))
    if there is not None:
        subject.world.runtime.bring_back(attrs.evolve(there, stamp=stamp))
    await right(stamp)


@breaks("volumes", "remove", volumes.check_removing_a_volume_removes_that_one)
async def all_volumes_are_removed(subject, right, name):
    subject.world.runtime.volumes.clear()


@breaks("volumes", "remove", volumes.check_a_volume_in_use_stays)
async def a_volume_is_removed_from_under(subject, right, name):
    subject.world.runtime.volumes.pop(name, None)


# Containers.


@breaks("containers", "create", containers.check_create_never_makes_a_volume)
async def a_missing_volume_is_made_silently(subject, right, spec):
    await subject.volumes.make(spec.stamp)
    return await right(spec)


@breaks(
    "containers",
    "create",
    containers.check_a_workspace_has_one_container,
    containers.check_creators_at_once_make_one_container,
)
async def a_workspace_may_have_many(subject, right, spec):
    there = subject.world.runtime
    made = Container(id=there.new_identity(), stamp=spec.stamp, image=spec.image)
    there.containers[made.id] = made
    return made.id


@breaks("containers", "create", containers.check_identities_are_used_once)
async def identities_are_used_again(subject, right, spec):
    subject.world.runtime._created = 0
    return await right(spec)


@breaks("containers", "start", containers.check_a_started_container_runs)
async def nothing_is_started(subject, right, container_id):
    pass


@breaks("containers", "start", containers.check_starters_at_once_start_one, fails_with=AdapterError)
async def a_second_starter_is_refused(subject, right, container_id):
    _once(subject, AdapterCode.CONTAINER_START_FAILED)
    await right(container_id)


@breaks("containers", "start", containers.check_a_late_start_is_refused)
async def whatever_is_there_is_started(subject, right, container_id):
    for there in tuple(subject.world.runtime.containers):
        await right(there)


@breaks("containers", "start", containers.check_no_start_without_a_volume)
async def a_start_needs_no_volume(subject, right, container_id):
    _runs(subject, container_id)


def _runs(subject, container_id):
    there = subject.world.runtime.containers
    there[container_id] = attrs.evolve(there[container_id], phase=ContainerPhase.RUNNING, exit=None)


@breaks("inventory", "containers", containers.check_a_container_without_its_volume_is_seen)
async def a_container_without_a_volume_is_hidden(subject, right):
    there = subject.world.runtime.volumes
    return tuple(found for found in await right() if name_of(found.stamp) in there)


@breaks("inventory", "containers", containers.check_an_end_is_told)
async def an_end_has_no_exit(subject, right):
    return tuple(
        attrs.evolve(found, seen=attrs.evolve(found.seen, exit=None)) for found in await right()
    )


@breaks("containers", "remove", containers.check_removing_ends_and_removes)
async def what_has_ended_stays(subject, right, container_id, grace_seconds):
    there = subject.world.runtime.containers.get(container_id)
    if there is None or there.phase is not ContainerPhase.ENDED:
        await right(container_id, grace_seconds)


@breaks(
    "containers", "remove", containers.check_removers_at_once_all_succeed, fails_with=AdapterError
)
async def a_second_remover_is_refused(subject, right, container_id, grace_seconds):
    _once(subject, AdapterCode.LOCAL_IO_ERROR)
    await right(container_id, grace_seconds)


@breaks("containers", "remove", containers.check_a_late_removal_touches_no_other)
async def whatever_is_there_is_removed(subject, right, container_id, grace_seconds):
    subject.world.runtime.containers.clear()


@breaks("containers", "start", containers.check_start_and_removal_at_once_leave_nothing)
async def a_start_brings_back_the_dead(subject, right, container_id):
    there = subject.world.runtime.containers[container_id]
    for _ in range(3):
        await asyncio.sleep(0)
    subject.world.runtime.containers[container_id] = there
    _runs(subject, container_id)


@breaks("containers", "remove", containers.check_a_home_outlives_its_containers)
async def a_home_goes_with_its_container(subject, right, container_id, grace_seconds):
    there = subject.world.runtime.containers[container_id]
    await right(container_id, grace_seconds)
    subject.world.runtime.volumes[there.volume] = Volume(name=there.volume, stamp=there.stamp)


@breaks("containers", "address", containers.check_an_address_is_of_what_runs)
async def what_was_only_made_answers(subject, right, workspace_id):
    there = subject.world.runtime.container_of(workspace_id)
    return None if there is None else "localhost:80"
