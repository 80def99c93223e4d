"""The promises of volumes: labelled, made once, removed by name, never from under a container."""

import asyncio

from wsctl_adapters.conformance.kit import Check, ensure, refused
from wsctl_adapters.conformance.runtime_kit import (
    GRACE,
    RuntimeUnderTest,
    created,
    names,
    spec_of,
    stamp_of,
)
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.stamps import Stamp


async def check_making_a_volume_twice_is_as_good(subject: RuntimeUnderTest) -> None:
    """A volume that is there already is left as it is, with what is in it."""
    stamp = stamp_of(subject)
    await subject.volumes.make(stamp)
    await subject.write("ws-w1-i1", "kept.txt", b"kept")
    await subject.volumes.make(stamp)
    await subject.volumes.make(stamp_of(subject, seq=99))
    ensure(await subject.read("ws-w1-i1", "kept.txt") == b"kept", "what is in it stays")
    (found,) = await subject.inventory.volumes()
    ensure(found.stamp == stamp, "it keeps the label it was made with")


async def check_makers_at_once_make_one_volume(subject: RuntimeUnderTest) -> None:
    """However many make the same volume at once, there is one, and none of them fails."""
    stamp = stamp_of(subject)
    await asyncio.gather(*(subject.volumes.make(stamp) for _ in range(8)))
    ensure(len(await subject.inventory.volumes()) == 1, "there is one volume")


async def check_a_volume_without_label_is_not_ours(subject: RuntimeUnderTest) -> None:
    """What carries no label is not listed, and not made ours (H3, H5)."""
    await subject.unlabelled_volume("ws-w1-i1")
    stamp = stamp_of(subject)
    ensure(await subject.inventory.volumes() == (), "it is not listed")
    ensure(await subject.volumes.of_workspace("w1") == (), "the workspace does not have it")
    async with refused(AdapterCode.VOLUME_CREATE_FAILED):
        await subject.volumes.make(stamp)
    async with refused(AdapterCode.VOLUME_MISSING):
        await subject.containers.create(spec_of(subject, stamp))
    ensure(await subject.inventory.containers() == (), "a refused create leaves nothing")


async def check_a_volume_of_another_installation_is_not_ours(subject: RuntimeUnderTest) -> None:
    """Another installation's volume is neither taken over nor run on (H33)."""
    theirs = Stamp(installation="elsewhere", workspace_id="w1", incarnation="i1", seq=1)
    await subject.volumes.make(theirs)
    async with refused(AdapterCode.VOLUME_CREATE_FAILED):
        await subject.volumes.make(stamp_of(subject))
    async with refused(AdapterCode.VOLUME_MISSING):
        await subject.containers.create(spec_of(subject, stamp_of(subject)))
    (found,) = await subject.inventory.volumes()
    ensure(found.stamp == theirs, "it keeps its label")


async def check_removing_a_volume_removes_that_one(subject: RuntimeUnderTest) -> None:
    """A removed volume is gone with what was in it, and no other; gone already is as good."""
    await subject.volumes.make(stamp_of(subject))
    await subject.volumes.make(stamp_of(subject, incarnation="i2"))
    await subject.write("ws-w1-i1", "old.txt", b"old")
    await subject.write("ws-w1-i2", "new.txt", b"new")
    await subject.volumes.remove("ws-w1-i1")
    await subject.volumes.remove("ws-w1-i1")
    await subject.volumes.remove("ws-w1-never")
    ensure(await names(subject) == {"ws-w1-i2"}, "the other incarnation stays")
    ensure(await subject.read("ws-w1-i1", "old.txt") is None, "what was in it is gone")
    ensure(await subject.read("ws-w1-i2", "new.txt") == b"new", "what is in the other stays")


async def check_a_volume_in_use_stays(subject: RuntimeUnderTest) -> None:
    """While a container is on a volume, in any state, it can't be removed (contract 8, H21)."""
    stamp = stamp_of(subject)
    container_id = await created(subject, stamp)
    for make_ready in (None, subject.containers.start, subject.container_ends):
        if make_ready is not None:
            await make_ready(container_id)
        async with refused(AdapterCode.VOLUME_IN_USE):
            await subject.volumes.remove("ws-w1-i1")
        ensure(await names(subject) == {"ws-w1-i1"}, "a refused removal changes nothing")
    await subject.containers.remove(container_id, GRACE)
    await subject.volumes.remove("ws-w1-i1")
    ensure(await names(subject) == set(), "then it goes")


CHECKS: tuple[Check[RuntimeUnderTest], ...] = (
    check_making_a_volume_twice_is_as_good,
    check_makers_at_once_make_one_volume,
    check_a_volume_without_label_is_not_ours,
    check_a_volume_of_another_installation_is_not_ours,
    check_removing_a_volume_removes_that_one,
    check_a_volume_in_use_stays,
)
