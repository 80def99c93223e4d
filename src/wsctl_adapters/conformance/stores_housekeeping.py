"""The promises of `Housekeeping`: one installation, a latch that holds, tables that stay small."""

from wsctl_adapters.conformance.kit import Check, ensure, raises
from wsctl_adapters.conformance.stores_kit import (
    DAY,
    StoresUnderTest,
    claimed,
    everything,
    failed,
    finished,
    leading,
    make,
    nothing_changes,
    observe,
    succeeded,
    wishing,
    written,
)
from wsctl_core.ports import LeadershipLost
from wsctl_core.values.patches import ReconcilerPatch
from wsctl_core.values.states import ObservedStatus, Operation
from wsctl_core.values.validation import IDENTITY


async def check_an_installation_has_one_identity(subject: StoresUnderTest) -> None:
    """The identity is made once: it fits into labels, and never changes."""
    first = await subject.housekeeping.installation()
    ensure(IDENTITY.fullmatch(first) is not None, f"{first!r} does not fit into a label")
    ensure(await subject.housekeeping.installation() == first, "asked again, it is the same")


async def check_the_largest_number_is_known(subject: StoresUnderTest) -> None:
    """The safeguard tells the largest number that was given, and gives none itself (H33)."""
    for _ in range(3):
        number = await subject.reconciler.next_number()
        for _ in range(2):
            safeguard = await subject.housekeeping.safeguard()
            ensure(safeguard.number == number, "the largest number is the last one")
    ensure((await subject.housekeeping.safeguard()).latched is None, "at first all is well")


async def check_a_latch_holds_until_it_is_cleared(subject: StoresUnderTest) -> None:
    """A latch tells why, moves the sequence past what was found, and waits for a person (H33)."""
    async with leading(subject) as epoch:
        number = await subject.reconciler.next_number()
        await subject.housekeeping.latch(epoch, "storage knows 1000", number + 1000)
        safeguard = await subject.housekeeping.safeguard()
        ensure(safeguard.latched == "storage knows 1000", "the reason is kept")
        moved = await subject.reconciler.next_number()
        ensure(moved > number + 1000, "the sequence goes on behind the number")
        await subject.housekeeping.latch(epoch, "again", number)
        ensure(await subject.reconciler.next_number() > moved, "the sequence never goes back")
        ensure((await subject.housekeeping.safeguard()).latched is not None, "it is still latched")
    ensure(await subject.housekeeping.clear_latch(), "a person clears it")
    ensure((await subject.housekeeping.safeguard()).latched is None, "then nothing is latched")
    ensure(not await subject.housekeeping.clear_latch(), "and there is nothing more to clear")


async def check_only_finished_rows_are_purged(subject: StoresUnderTest) -> None:
    """Rows that are finished being deleted are removed, and no other, whoever asks."""
    for n in range(6):
        await make(subject, f"w{n}")
    async with leading(subject) as epoch:
        await finished(subject, epoch, "w0")
        await finished(subject, epoch, "w1")
        await finished(subject, epoch, "w2")
        await written(subject, epoch, ReconcilerPatch(error_info=failed()), "w1")
        await claimed(subject, epoch, Operation.DELETING, "w2")
        await subject.intents.change("w3", wishing(delete=True))
        await observe(subject, epoch, ObservedStatus.STANDBY, "w4")
        await finished(subject, epoch, "w5")
        ids = ["w0", "w1", "w2", "w3", "w4", "nobody"]
        ensure(await subject.housekeeping.purge(epoch, ids) == 1, "one of them was finished")
        left = sorted(await everything(subject))
        ensure(left == ["w1", "w2", "w3", "w4", "w5"], "what is not finished, or not named, stays")
        ensure(await subject.housekeeping.purge(epoch, ids) == 0, "purged once is purged")
        ensure(await subject.housekeeping.purge(epoch, []) == 0, "nobody is nobody")


async def check_events_are_kept_for_a_day(subject: StoresUnderTest) -> None:
    """Events are removed when they are older than a day, and not before."""
    mark = (await subject.feed.read(None)).mark
    async with leading(subject) as epoch:
        await make(subject, "w1")
        await make(subject, "w2")
        await subject.elapse(DAY / 2)
        ensure(await subject.housekeeping.trim_events(epoch) == 0, "half a day is not a day")
        ensure(len((await subject.feed.read(mark)).events) == 2, "both are still told")
        await subject.elapse(DAY / 2 + 60)
        await make(subject, "w3")
        ensure(await subject.housekeeping.trim_events(epoch) == 2, "the old ones are removed")
        told = [event.workspace_id for event in (await subject.feed.read(mark)).events]
        ensure(told == ["w3"], "and the young one stays")


async def check_housekeeping_of_an_old_leader_changes_nothing(subject: StoresUnderTest) -> None:
    """One that leads no more latches nothing, purges nothing and trims nothing (H1)."""
    mark = (await subject.feed.read(None)).mark
    await make(subject)
    async with succeeded(subject) as (old, epoch):
        await finished(subject, epoch, "w1")
        await subject.elapse(DAY + 60)
        number = (await subject.housekeeping.safeguard()).number
        async with nothing_changes(subject, "housekeeping of an old leader"):
            for wrong in (old, epoch + 1):
                async with raises(LeadershipLost):
                    await subject.housekeeping.latch(wrong, "why", number + 1000)
                async with raises(LeadershipLost):
                    await subject.housekeeping.purge(wrong, ["w1"])
                async with raises(LeadershipLost):
                    await subject.housekeeping.purge(wrong, [])
                async with raises(LeadershipLost):
                    await subject.housekeeping.trim_events(wrong)
        safeguard = await subject.housekeeping.safeguard()
        ensure(safeguard.number == number, "the sequence was not moved")
        ensure(len((await subject.feed.read(mark)).events) > 0, "the events are still there")
        ensure(await subject.housekeeping.purge(epoch, ["w1"]) == 1, "the new leader purges")


CHECKS: tuple[Check[StoresUnderTest], ...] = (
    check_an_installation_has_one_identity,
    check_the_largest_number_is_known,
    check_a_latch_holds_until_it_is_cleared,
    check_only_finished_rows_are_purged,
    check_events_are_kept_for_a_day,
    check_housekeeping_of_an_old_leader_changes_nothing,
)
