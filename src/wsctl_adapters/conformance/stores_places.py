"""The promises about places: counted as the core counts them, and never given twice (H32)."""

import asyncio
from collections import Counter

import attrs

from wsctl_adapters.conformance.kit import Check, ensure
from wsctl_adapters.conformance.stores_kit import (
    ENDS,
    StoresUnderTest,
    at_rest,
    begins,
    claimed,
    everything,
    leading,
    make,
    nothing_changes,
    observe,
    ours,
    row,
    situations,
    written,
)
from wsctl_core.decisions.limits import holds_place
from wsctl_core.ports import Findings
from wsctl_core.values.patches import NEXT_NUMBER, ReconcilerPatch
from wsctl_core.values.policy import Policy
from wsctl_core.values.states import ObservedStatus, Operation
from wsctl_core.values.workspace import Workspace

ONE_IN_ALL = Policy(max_running_per_user=1, max_running_global=1)
ONE_EACH = Policy(max_running_per_user=1)


async def check_held_places_are_counted(subject: StoresUnderTest) -> None:
    """Places held are counted by owner as `holds_place` counts them, before and after a pass."""
    async with leading(subject) as epoch:
        await situations(subject, epoch)
        for _ in range(2):
            rows, work = await everything(subject), await subject.reconciler.work()
            held = Counter(ws.owner_id for ws in rows.values() if holds_place(ws, work.pass_seq))
            counted = {owner: count for owner, count in work.held.items() if count}
            ensure(counted == dict(held), f"{counted} was counted, {dict(held)} are held")
            number = (await subject.monitor.begin_pass()).number
            found = Findings(number=number, patches={}, alarms={}, complete=True)
            await subject.monitor.end_pass(epoch, found)


async def _standing_by(subject: StoresUnderTest, epoch: int, **owners: str) -> None:
    for id, owner_id in owners.items():
        await make(subject, id, owner_id=owner_id)
    await observe(subject, epoch, ObservedStatus.STANDBY, *owners)


async def _start(subject: StoresUnderTest, epoch: int, id: str, policy: Policy) -> Workspace | None:
    guard = at_rest(await row(subject, id))
    patch = begins(Operation.STARTING, f"op-{id}")
    return await subject.reconciler.claim(epoch, id, guard, patch, policy)


async def check_a_start_takes_a_place_and_waits_for_one(subject: StoresUnderTest) -> None:
    """A claim of STARTING gets None while its owner's or everyone's places are held (H32)."""
    async with leading(subject) as epoch:
        await _standing_by(subject, epoch, w1="ann", w2="ann", w3="bob")
        ensure(await _start(subject, epoch, "w1", ONE_EACH) is not None, "a place is free")
        async with nothing_changes(subject, "a start without a place"):
            ensure(await _start(subject, epoch, "w2", ONE_EACH) is None, "the owner's is held")
            ensure(await _start(subject, epoch, "w3", ONE_IN_ALL) is None, "everyone's is held")
        ensure(await _start(subject, epoch, "w3", ONE_EACH) is not None, "another owner's is free")
        await subject.reconciler.write(epoch, "w1", ours(Operation.STARTING, "op-w1"), ENDS)
        await observe(subject, epoch, ObservedStatus.RUNNING, "w1")
        ensure(await _start(subject, epoch, "w2", ONE_EACH) is None, "what runs holds its place")
        await claimed(subject, epoch, Operation.STOPPING, "w1", "op-stop")
        await observe(subject, epoch, ObservedStatus.STANDBY, "w1")
        ensure(await _start(subject, epoch, "w2", ONE_EACH) is None, "and while it is stopped")
        ended = attrs.evolve(ENDS, op_ended_seq=NEXT_NUMBER)
        await subject.reconciler.write(epoch, "w1", ours(Operation.STOPPING, "op-stop"), ended)
        ensure(await _start(subject, epoch, "w2", ONE_EACH) is None, "and until it was looked at")
        await observe(subject, epoch, ObservedStatus.STANDBY, "w1")
        ensure(await _start(subject, epoch, "w2", ONE_EACH) is not None, "then it is free")


async def check_a_start_does_not_wait_for_itself(subject: StoresUnderTest) -> None:
    """A workspace that holds a place is given it again: a restart never loses its place."""
    async with leading(subject) as epoch:
        await _standing_by(subject, epoch, w1="ann")
        await written(subject, epoch, ReconcilerPatch(op_ended_seq=NEXT_NUMBER))
        again = await _start(subject, epoch, "w1", ONE_IN_ALL)
        ensure(again is not None, "its own place does not stand in its way")


async def check_only_a_start_needs_a_place(subject: StoresUnderTest) -> None:
    """Every other operation is claimed whether places are held or not."""
    async with leading(subject) as epoch:
        await _standing_by(subject, epoch, w0="ann")
        ensure(await _start(subject, epoch, "w0", ONE_IN_ALL) is not None, "the place is taken")
        for operation in Operation:
            if operation not in (Operation.NONE, Operation.STARTING):
                ws = await make(subject, f"x-{operation}")
                claim = await subject.reconciler.claim(
                    epoch, ws.id, at_rest(ws), begins(operation, "op1"), ONE_IN_ALL
                )
                ensure(claim is not None, f"{operation} needs no place")


async def check_one_of_many_starts_takes_the_last_place(subject: StoresUnderTest) -> None:
    """Of starts of different workspaces at once, the last place goes to exactly one (H32)."""
    async with leading(subject) as epoch:
        owners = {f"w{n}": f"user{n}" for n in range(10)}
        await _standing_by(subject, epoch, **owners)
        await asyncio.gather(*(_start(subject, epoch, id, ONE_IN_ALL) for id in owners))
        rows = (await everything(subject)).values()
        starting = [ws.id for ws in rows if ws.operation is Operation.STARTING]
        ensure(len(starting) == 1, f"{len(starting)} got the one place")


CHECKS: tuple[Check[StoresUnderTest], ...] = (
    check_held_places_are_counted,
    check_a_start_takes_a_place_and_waits_for_one,
    check_a_start_does_not_wait_for_itself,
    check_only_a_start_needs_a_place,
    check_one_of_many_starts_takes_the_last_place,
)
