"""The promises of a runtime: containers and volumes, listed whole and acted on by identity.

Late calls are part of them: a create that lands after its volume went, a start after the removal,
a removal that names a container of yesterday. A check takes a runtime with nothing in it.
"""

from wsctl_adapters.conformance import runtime_containers, runtime_volumes
from wsctl_adapters.conformance.kit import Check, ensure
from wsctl_adapters.conformance.runtime_kit import (
    RuntimeUnderTest,
    created,
    name_of,
    stamp_of,
)
from wsctl_core.values.observation import ContainerSeen, VolumeSeen
from wsctl_core.values.stamps import FoundVolume, Stamp
from wsctl_core.values.states import ContainerPhase

__all__ = ["CHECKS", "RuntimeUnderTest"]


async def check_an_empty_runtime_lists_nothing(subject: RuntimeUnderTest) -> None:
    """Where there is nothing, the listings are empty, and no error."""
    ensure(await subject.inventory.containers() == (), "no container is listed")
    ensure(await subject.inventory.volumes() == (), "no volume is listed")
    ensure(await subject.containers.of_workspace("w1") == (), "the workspace has no container")
    ensure(await subject.volumes.of_workspace("w1") == (), "the workspace has no volume")
    ensure(await subject.containers.address("w1") is None, "nothing answers")


async def check_listings_carry_stamps(subject: RuntimeUnderTest) -> None:
    """Whatever was made is listed with its stamp, whoever's it is (H33)."""
    ours = stamp_of(subject, seq=7)
    theirs = Stamp(installation="elsewhere", workspace_id="w2", incarnation="i9", seq=3)
    container_id = await created(subject, ours)
    await subject.volumes.make(theirs)
    listed = await subject.inventory.volumes()
    wanted = {
        FoundVolume(stamp=stamp, seen=VolumeSeen(name=name_of(stamp), incarnation=inc))
        for stamp, inc in ((ours, "i1"), (theirs, "i9"))
    }
    ensure(set(listed) == wanted and len(listed) == 2, "each volume is listed once, stamped")
    (found,) = await subject.inventory.containers()
    ensure(found.stamp == ours, "the container carries the stamp it was asked for with")
    seen = ContainerSeen(id=container_id, incarnation="i1", phase=ContainerPhase.CREATED)
    ensure(found.seen == seen, "a container that was never started is CREATED")


async def check_of_workspace_tells_only_ours(subject: RuntimeUnderTest) -> None:
    """A workspace's containers and volumes are its own and this installation's, all of them."""
    first, second = stamp_of(subject), stamp_of(subject, incarnation="i2")
    container_id = await created(subject, first)
    await subject.volumes.make(second)
    await created(subject, stamp_of(subject, workspace_id="w2"))
    theirs = Stamp(installation="elsewhere", workspace_id="w3", incarnation="i3", seq=1)
    await created(subject, theirs)
    told = await subject.volumes.of_workspace("w1")
    ensure(sorted(told) == ["ws-w1-i1", "ws-w1-i2"], "all incarnations, and no one else's")
    ensure(await subject.containers.of_workspace("w1") == (container_id,), "only its container")
    ensure(await subject.volumes.of_workspace("w3") == (), "another installation's is no volume")
    ensure(await subject.containers.of_workspace("w3") == (), "nor a container")


async def check_names_do_not_run_into_one_another(subject: RuntimeUnderTest) -> None:
    """A workspace whose identity begins another's is not taken for it."""
    long = await created(subject, stamp_of(subject, workspace_id="w1-i1"))
    short = await created(subject, stamp_of(subject, workspace_id="w1"))
    ensure(await subject.containers.of_workspace("w1") == (short,), "w1 has its own container")
    ensure(await subject.containers.of_workspace("w1-i1") == (long,), "w1-i1 has its own")
    ensure(await subject.volumes.of_workspace("w1") == ("ws-w1-i1",), "w1 has its own volume")


CHECKS: tuple[Check[RuntimeUnderTest], ...] = (
    check_an_empty_runtime_lists_nothing,
    check_listings_carry_stamps,
    check_of_workspace_tells_only_ours,
    check_names_do_not_run_into_one_another,
    *runtime_volumes.CHECKS,
    *runtime_containers.CHECKS,
)
