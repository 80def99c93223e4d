"""The promises of `Leadership`: one leader at a time, told from all before it by its epoch (H1).

A check takes a lock that nobody holds, as two nodes see it.
"""

import asyncio
from typing import Protocol

from wsctl_adapters.conformance.kit import Check, PromiseBroken, ensure, raises
from wsctl_adapters.conformance.stores_kit import acquired
from wsctl_core.ports import Leadership, LeadershipLost, Term


class LeadershipUnderTest(Protocol):
    """One lock, seen from two nodes, and a way to take it from its holder."""

    @property
    def here(self) -> Leadership:
        """The lock as the first node sees it."""

    @property
    def there(self) -> Leadership:
        """The same lock as a second node sees it."""

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two nodes, as `holder` tells them."""

    async def unseat(self, term: Term) -> None:
        """Take the lock from a term behind its back, as when its session or its process dies."""


async def check_one_node_leads(subject: LeadershipUnderTest) -> None:
    """While one holds the lock, whoever asks waits a while and gets None."""
    term = await acquired(subject.here)
    ensure(await subject.there.acquire() is None, "another node gets None")
    await term.beat()
    await term.resign()


async def check_of_many_that_ask_one_leads(subject: LeadershipUnderTest) -> None:
    """Of many that ask at once, exactly one gets the lock."""
    asked = [node.acquire() for node in (subject.here, subject.there) for _ in range(3)]
    terms = [term for term in await asyncio.gather(*asked) if term is not None]
    ensure(len(terms) == 1, f"{len(terms)} of six lead")
    await terms[0].resign()


async def check_the_epoch_grows(subject: LeadershipUnderTest) -> None:
    """Every leader's epoch is larger than all before it, whichever node it leads from."""
    epochs = []
    for node in (subject.here, subject.there, subject.there, subject.here):
        term = await acquired(node)
        epochs.append(term.epoch)
        await term.resign()
    ensure(epochs == sorted(set(epochs)), f"the epochs were {epochs}")
    ensure(epochs[0] > 0, "zero is nobody's epoch")


async def check_resigning_hands_over_at_once(subject: LeadershipUnderTest) -> None:
    """Who resigns lets one that is waiting lead; resigning twice is no error."""
    term = await acquired(subject.here)
    waiting = asyncio.ensure_future(subject.there.acquire())
    await asyncio.sleep(0.05)
    ensure(not waiting.done(), "the other node waits")
    await term.resign()
    successor = await waiting
    if successor is None:
        raise PromiseBroken("the lock was given back, and the one that waited did not get it")
    await term.resign()
    await successor.beat()
    ensure(successor.epoch > term.epoch, "the successor's epoch is larger")
    await successor.resign()


async def check_a_beat_proves_the_lock(subject: LeadershipUnderTest) -> None:
    """A beat is answered as long as the lock is held, however often."""
    term = await acquired(subject.here)
    for _ in range(5):
        await term.beat()
    await term.resign()


async def check_a_beat_fails_when_the_lock_is_gone(subject: LeadershipUnderTest) -> None:
    """One that lost the lock or gave it back learns it by its next beat, and by every later one."""
    term = await acquired(subject.here)
    await subject.unseat(term)
    for _ in range(2):
        async with raises(LeadershipLost):
            await term.beat()
    await term.resign()
    again = await acquired(subject.here)
    await again.resign()
    async with raises(LeadershipLost):
        await again.beat()


async def check_a_waiter_follows_one_that_was_unseated(subject: LeadershipUnderTest) -> None:
    """When the holder loses the lock, one that waits gets it, and the old one stays unseated."""
    term = await acquired(subject.here)
    waiting = asyncio.ensure_future(subject.there.acquire())
    await asyncio.sleep(0.05)
    await subject.unseat(term)
    successor = await waiting
    if successor is None:
        raise PromiseBroken("the holder is gone, and the one that waited did not get the lock")
    ensure(successor.epoch > term.epoch, "the successor's epoch is larger")
    async with raises(LeadershipLost):
        await term.beat()
    await term.resign()
    await successor.beat()
    await successor.resign()


async def check_the_last_holder_is_known(subject: LeadershipUnderTest) -> None:
    """The name of the node that led last is told, by whichever node is asked."""
    ensure(await subject.here.holder() is None, "at first nobody ever led")
    for node, name in zip((subject.here, subject.there), subject.names, strict=True):
        term = await acquired(node)
        ensure(await subject.here.holder() == name, "the one that leads is told")
        await term.resign()
        ensure(await subject.there.holder() == name, "and is still told when it has resigned")


async def check_waiting_can_be_given_up(subject: LeadershipUnderTest) -> None:
    """Who stops waiting leaves nothing behind: the lock is free for the next when it is free."""
    term = await acquired(subject.here)
    waiting = asyncio.ensure_future(subject.there.acquire())
    await asyncio.sleep(0.05)
    waiting.cancel()
    await asyncio.wait({waiting})
    ensure(waiting.cancelled(), "the wait has ended")
    await term.resign()
    successor = await acquired(subject.here)
    await successor.resign()


CHECKS: tuple[Check[LeadershipUnderTest], ...] = (
    check_one_node_leads,
    check_of_many_that_ask_one_leads,
    check_the_epoch_grows,
    check_resigning_hands_over_at_once,
    check_a_beat_proves_the_lock,
    check_a_beat_fails_when_the_lock_is_gone,
    check_a_waiter_follows_one_that_was_unseated,
    check_the_last_holder_is_known,
    check_waiting_can_be_given_up,
)
