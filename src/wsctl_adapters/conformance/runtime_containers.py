"""The promises of containers: one per workspace, acted on by an identity that is used once.

A create, a start or a removal may land late; none then touches what is in use.
"""

import asyncio

from wsctl_adapters.conformance.kit import Check, ensure, refused
from wsctl_adapters.conformance.runtime_kit import (
    GRACE,
    RuntimeUnderTest,
    created,
    names,
    phases,
    running,
    spec_of,
    stamp_of,
)
from wsctl_core.ports import AdapterError
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.stamps import Stamp
from wsctl_core.values.states import ContainerPhase


async def check_create_never_makes_a_volume(subject: RuntimeUnderTest) -> None:
    """A create whose volume is not there, or no longer, is refused and makes nothing (H5)."""
    stamp = stamp_of(subject)
    async with refused(AdapterCode.VOLUME_MISSING):
        await subject.containers.create(spec_of(subject, stamp))
    await subject.volumes.make(stamp)
    await subject.volumes.remove("ws-w1-i1")
    async with refused(AdapterCode.VOLUME_MISSING):
        await subject.containers.create(spec_of(subject, stamp))
    await subject.volumes.make(stamp_of(subject, incarnation="i2"))
    async with refused(AdapterCode.VOLUME_MISSING):
        await subject.containers.create(spec_of(subject, stamp))
    ensure(await names(subject) == {"ws-w1-i2"}, "no volume was made silently")
    ensure(await subject.inventory.containers() == (), "no container was made")
    await subject.containers.create(spec_of(subject, stamp_of(subject, incarnation="i2")))


async def check_a_workspace_has_one_container(subject: RuntimeUnderTest) -> None:
    """A second create is refused while there is a container, on whichever volume (H5)."""
    container_id = await created(subject, stamp_of(subject))
    await subject.volumes.make(stamp_of(subject, incarnation="i2"))
    for incarnation in ("i1", "i2"):
        async with refused(AdapterCode.CONTAINER_EXISTS):
            await subject.containers.create(
                spec_of(subject, stamp_of(subject, incarnation=incarnation))
            )
    ensure(await subject.containers.of_workspace("w1") == (container_id,), "the first stays")


async def check_creators_at_once_make_one_container(subject: RuntimeUnderTest) -> None:
    """Of those who create at once, one gets the container; the others are refused."""
    stamp = stamp_of(subject)
    await subject.volumes.make(stamp)

    async def attempt() -> str | None:
        try:
            return await subject.containers.create(spec_of(subject, stamp))
        except AdapterError as error:
            ensure(error.code is AdapterCode.CONTAINER_EXISTS, f"refused with {error.code}")
            return None

    told = [made for made in await asyncio.gather(*(attempt() for _ in range(8))) if made]
    ensure(len(told) == 1, "exactly one create succeeds")
    ensure(await subject.containers.of_workspace("w1") == tuple(told), "and that is there")


async def check_identities_are_used_once(subject: RuntimeUnderTest) -> None:
    """A container that is made anew has an identity that none before it had."""
    stamp = stamp_of(subject)
    await subject.volumes.make(stamp)
    used: set[str] = set()
    for _ in range(3):
        container_id = await subject.containers.create(spec_of(subject, stamp))
        ensure(container_id not in used, "an identity was used again")
        used.add(container_id)
        await subject.containers.remove(container_id, GRACE)


async def check_a_started_container_runs(subject: RuntimeUnderTest) -> None:
    """A container runs once it was started; starting what runs is as good."""
    container_id = await running(subject, stamp_of(subject))
    ensure(await phases(subject) == {container_id: ContainerPhase.RUNNING}, "it runs")
    await subject.containers.start(container_id)
    ensure(await phases(subject) == {container_id: ContainerPhase.RUNNING}, "it still runs")


async def check_starters_at_once_start_one(subject: RuntimeUnderTest) -> None:
    """However many start the same container at once, it runs, and none of them fails."""
    container_id = await created(subject, stamp_of(subject))
    await asyncio.gather(*(subject.containers.start(container_id) for _ in range(4)))
    ensure(await phases(subject) == {container_id: ContainerPhase.RUNNING}, "it runs")


async def check_a_late_start_is_refused(subject: RuntimeUnderTest) -> None:
    """A start that lands after the removal starts nothing, and nobody else's container (H5)."""
    stamp = stamp_of(subject)
    old = await created(subject, stamp)
    await subject.containers.remove(old, GRACE)
    async with refused(AdapterCode.CONTAINER_START_FAILED):
        await subject.containers.start(old)
    ensure(await phases(subject) == {}, "nothing runs")
    new = await subject.containers.create(spec_of(subject, stamp))
    async with refused(AdapterCode.CONTAINER_START_FAILED):
        await subject.containers.start(old)
    ensure(await phases(subject) == {new: ContainerPhase.CREATED}, "the new one is not started")


async def check_no_start_without_a_volume(subject: RuntimeUnderTest) -> None:
    """A container whose volume went is not started, and no volume is made for it (H5, H14)."""
    container_id = await created(subject, stamp_of(subject))
    await subject.volume_vanishes("ws-w1-i1")
    async with refused(AdapterCode.VOLUME_MISSING):
        await subject.containers.start(container_id)
    ensure(ContainerPhase.RUNNING not in (await phases(subject)).values(), "nothing runs")
    ensure(await names(subject) == set(), "no volume was made silently")


async def check_a_container_without_its_volume_is_seen(subject: RuntimeUnderTest) -> None:
    """A container is listed and can be removed when its volume vanished (contract 6)."""
    container_id = await running(subject, stamp_of(subject))
    await subject.volume_vanishes("ws-w1-i1")
    ensure(list(await phases(subject)) == [container_id], "it is listed")
    ensure(await names(subject) == set(), "its volume is not")
    await subject.containers.remove(container_id, GRACE)
    ensure(await phases(subject) == {}, "it can be removed")


async def check_an_end_is_told(subject: RuntimeUnderTest) -> None:
    """A container that ended by itself is listed as ENDED, with how it ended."""
    container_id = await running(subject, stamp_of(subject))
    await subject.container_ends(container_id)
    (found,) = await subject.inventory.containers()
    ensure(found.seen.id == container_id, "it is still there")
    ensure(found.seen.phase is ContainerPhase.ENDED, "it is seen as ended")
    ensure(found.seen.exit is not None, "its exit is told")
    ensure(await subject.containers.of_workspace("w1") == (container_id,), "it is the workspace's")
    async with refused(AdapterCode.CONTAINER_EXISTS):
        await subject.containers.create(spec_of(subject, stamp_of(subject)))


async def check_removing_ends_and_removes(subject: RuntimeUnderTest) -> None:
    """A removed container is gone in whichever state it was; gone already is as good."""
    for number, prepare in enumerate((created, running, _ended)):
        container_id = await prepare(subject, stamp_of(subject, incarnation=f"i{number}"))
        await subject.containers.remove(container_id, GRACE)
        ensure(await phases(subject) == {}, "it is gone")
        await subject.containers.remove(container_id, GRACE)
    await subject.containers.remove("never-made", GRACE)
    ensure(len(await names(subject)) == 3, "volumes stay")


async def _ended(subject: RuntimeUnderTest, stamp: Stamp) -> str:
    container_id = await running(subject, stamp)
    await subject.container_ends(container_id)
    return container_id


async def check_removers_at_once_all_succeed(subject: RuntimeUnderTest) -> None:
    """However many remove the same container at once, it goes, and none of them fails."""
    container_id = await running(subject, stamp_of(subject))
    await asyncio.gather(*(subject.containers.remove(container_id, GRACE) for _ in range(4)))
    ensure(await phases(subject) == {}, "it is gone")


async def check_a_late_removal_touches_no_other(subject: RuntimeUnderTest) -> None:
    """A removal by an old identity leaves the workspace's new container alone (H7)."""
    stamp = stamp_of(subject)
    old = await running(subject, stamp)
    await subject.containers.remove(old, GRACE)
    new = await subject.containers.create(spec_of(subject, stamp))
    await subject.containers.start(new)
    await subject.containers.remove(old, GRACE)
    ensure(await phases(subject) == {new: ContainerPhase.RUNNING}, "the new one runs")


async def check_start_and_removal_at_once_leave_nothing(subject: RuntimeUnderTest) -> None:
    """When a start and a removal meet, nothing is left running once both are over (H5)."""
    stamp = stamp_of(subject)
    await subject.volumes.make(stamp)
    for _ in range(5):
        container_id = await subject.containers.create(spec_of(subject, stamp))
        starting = asyncio.gather(subject.containers.start(container_id), return_exceptions=True)
        await subject.containers.remove(container_id, GRACE)
        (met,) = await starting
        if isinstance(met, BaseException):
            refusal = isinstance(met, AdapterError) and met.code
            ensure(refusal is AdapterCode.CONTAINER_START_FAILED, f"the start raised {met!r}")
        ensure(await phases(subject) == {}, "nothing is left")
    await subject.volumes.remove("ws-w1-i1")


async def check_a_home_outlives_its_containers(subject: RuntimeUnderTest) -> None:
    """What is in a volume stays when containers on it come and go."""
    stamp = stamp_of(subject)
    container_id = await running(subject, stamp)
    await subject.write("ws-w1-i1", "notes.txt", b"written while it runs")
    await subject.containers.remove(container_id, GRACE)
    container_id = await subject.containers.create(spec_of(subject, stamp))
    await subject.containers.start(container_id)
    told = await subject.read("ws-w1-i1", "notes.txt")
    ensure(told == b"written while it runs", "what was written is there")


async def check_an_address_is_of_what_runs(subject: RuntimeUnderTest) -> None:
    """The address is told while the container runs, and not before or after."""
    container_id = await created(subject, stamp_of(subject))
    ensure(await subject.containers.address("w1") is None, "nothing answers before the start")
    await subject.containers.start(container_id)
    address = await subject.containers.address("w1")
    host, _, port = (address or "").rpartition(":")
    ensure(bool(host) and port.isdecimal(), f"host and port are told, not {address!r}")
    ensure(await subject.containers.address("w2") is None, "another workspace has none")
    await subject.container_ends(container_id)
    ensure(await subject.containers.address("w1") is None, "nothing answers after the end")


CHECKS: tuple[Check[RuntimeUnderTest], ...] = (
    check_create_never_makes_a_volume,
    check_a_workspace_has_one_container,
    check_creators_at_once_make_one_container,
    check_identities_are_used_once,
    check_a_started_container_runs,
    check_starters_at_once_start_one,
    check_a_late_start_is_refused,
    check_no_start_without_a_volume,
    check_a_container_without_its_volume_is_seen,
    check_an_end_is_told,
    check_removing_ends_and_removes,
    check_removers_at_once_all_succeed,
    check_a_late_removal_touches_no_other,
    check_start_and_removal_at_once_leave_nothing,
    check_a_home_outlives_its_containers,
    check_an_address_is_of_what_runs,
)
