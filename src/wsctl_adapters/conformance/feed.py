"""The promises of `ChangeFeed`: every event once, those of one workspace in order, none late (H35).

A check takes the stores of one database that is empty, as those of `stores` do.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import cast

import attrs

from wsctl_adapters.conformance.kit import Check, ensure
from wsctl_adapters.conformance.stores_kit import (
    ENDS,
    StoresUnderTest,
    claimed,
    failed,
    leading,
    make,
    observe,
    ours,
    row,
    same,
    seen,
    wishing,
    written,
)
from wsctl_core.ports import Event, Findings
from wsctl_core.values.patches import ReconcilerPatch
from wsctl_core.values.states import DesiredState, HealthStatus, ObservedStatus, Operation
from wsctl_core.views.events import EventKind

CHANGED, ERROR = EventKind.STATE_CHANGED, EventKind.ERROR
PATIENCE_SECONDS = 10.0


async def _follow(
    subject: StoresUnderTest, mark: str, limit: int = 1000
) -> tuple[list[Event], str]:
    events: list[Event] = []
    while True:
        feed = await subject.feed.read(mark, limit=limit)
        ensure(len(feed.events) <= limit, "a reading brings no more than was asked for")
        mark = feed.mark
        if not feed.events:
            return events, mark
        events += feed.events


async def check_the_mark_of_now(subject: StoresUnderTest) -> None:
    """Without a mark there are no events, but the mark of now: what comes later is told."""
    await make(subject, "w1")
    feed = await subject.feed.read(None)
    ensure(feed.events == (), "what was before is not told")
    ensure((await subject.feed.read(feed.mark)).events == (), "nor with the mark of now")
    await make(subject, "w2")
    events, mark = await _follow(subject, feed.mark)
    ensure([event.workspace_id for event in events] == ["w2"], "what came later is told")
    ensure((await subject.feed.read(mark)).events == (), "and not again")
    again, _ = await _follow(subject, feed.mark)
    ensure(again == events, "a mark can be used again, as after a broken connection")


async def check_an_event_holds_the_row_after_the_change(subject: StoresUnderTest) -> None:
    """An event names its workspace, owner, time and kind, and holds the row after the change."""
    mark = (await subject.feed.read(None)).mark
    new = await make(subject)
    async with leading(subject) as epoch:
        after = await written(subject, epoch, ReconcilerPatch(error_info=failed(), error_count=1))
    events, _ = await _follow(subject, mark)
    ensure([event.kind for event in events] == [CHANGED, ERROR], "a creation, then an error")
    for event, ws in zip(events, (new, after), strict=True):
        same(event.row, ws, "the row of an event")
        ensure((event.workspace_id, event.owner_id) == (ws.id, ws.owner_id), "whose it is")
        ensure(event.at >= new.created_at, "and when it was")


async def check_what_is_told(subject: StoresUnderTest) -> None:
    """Told are changes of intent, name, observed, health, operation and error, and no others."""
    await make(subject)
    async with leading(subject) as epoch:
        mark = (await subject.feed.read(None)).mark
        told: list[tuple[str, list[EventKind]]] = []

        async def note(what: str) -> None:
            nonlocal mark
            events, mark = await _follow(subject, mark)
            told.append((what, [event.kind for event in events]))

        await subject.intents.change("w1", wishing(desired_state=DesiredState.RUNNING))
        await note("intent")
        await subject.intents.change("w1", wishing(name="other"))
        await note("name")
        await subject.intents.change("w1", wishing(standby_ttl_seconds=1))
        await note("a TTL")
        await observe(subject, epoch, ObservedStatus.STANDBY, "w1")
        await note("observed")
        await observe(subject, epoch, ObservedStatus.STANDBY, "w1")
        await note("observed so again")
        number = (await subject.monitor.begin_pass()).number
        ill = attrs.evolve(seen(ObservedStatus.STANDBY, number), health_status=HealthStatus.ERROR)
        found = Findings(number=number, patches={"w1": ill}, alarms={}, complete=False)
        await subject.monitor.end_pass(epoch, found)
        await note("health")
        await claimed(subject, epoch, Operation.STOPPING)
        await note("an operation begins")
        guard = ours(Operation.STOPPING)
        await subject.reconciler.write(epoch, "w1", guard, ReconcilerPatch(op_acted_seq=1))
        await note("progress")
        error = ReconcilerPatch(error_info=failed(terminal=False))
        await subject.reconciler.write(epoch, "w1", guard, error)
        await note("an error appears")
        await subject.reconciler.write(epoch, "w1", guard, error)
        await note("the same error")
        await subject.reconciler.write(epoch, "w1", guard, attrs.evolve(ENDS, error_info=None))
        await note("an operation ends")
        await subject.intents.change("w1", wishing(delete=True))
        await note("a deletion is asked for")
    silent = ("a TTL", "observed so again", "progress", "the same error")
    for what, kinds in told:
        expected = [] if what in silent else [ERROR if what == "an error appears" else CHANGED]
        ensure(kinds == expected, f"{what}: {kinds} was told, {expected} expected")


async def check_events_of_one_workspace_are_in_order(subject: StoresUnderTest) -> None:
    """Events of one workspace are told in the order of their identities and of their changes."""
    await make(subject)
    mark = (await subject.feed.read(None)).mark
    for n in range(7):
        await subject.intents.change("w1", wishing(name=f"name {n}"))
    for limit in (1, 2, 3, 1000):
        events, _ = await _follow(subject, mark, limit)
        names = [event.row.name for event in events]
        ensure(names == [f"name {n}" for n in range(7)], f"by {limit}, {names} was told")
        ids = [event.id for event in events]
        ensure(ids == sorted(set(ids)), "identities grow")


async def check_nothing_is_missed_under_load(subject: StoresUnderTest) -> None:
    """Whoever follows the marks is told every event once, in order, whatever happens meanwhile."""
    ids = [f"w{n}" for n in range(6)]
    for id in ids:
        await make(subject, id)
    mark = (await subject.feed.read(None)).mark
    told: list[Event] = []

    async def write(id: str) -> None:
        for n in range(6):
            await subject.intents.change(id, wishing(name=f"name {n}"))

    writers = asyncio.gather(*(write(id) for id in ids))
    while not writers.done():
        feed = await subject.feed.read(mark, limit=3)
        told, mark = [*told, *feed.events], feed.mark
        await asyncio.sleep(0)
    await writers
    rest, _ = await _follow(subject, mark, 3)
    told += rest
    for id in ids:
        names = [event.row.name for event in told if event.workspace_id == id]
        ensure(names == [f"name {n}" for n in range(6)], f"of {id}, {names} was told")


async def check_a_purged_workspace_was_told(subject: StoresUnderTest) -> None:
    """Events outlive their row."""
    mark = (await subject.feed.read(None)).mark
    await make(subject)
    async with leading(subject) as epoch:
        await subject.intents.change("w1", wishing(delete=True))
        await observe(subject, epoch, ObservedStatus.DELETED, "w1")
        last = await row(subject)
        await subject.housekeeping.purge(epoch, ["w1"])
    events, _ = await _follow(subject, mark)
    ensure(len(events) == 3, "creation, wish and end are told")
    same(events[-1].row, last, "the end is told with the last row")


async def check_wakes_come_soon(subject: StoresUnderTest) -> None:
    """A wake comes when listening has begun, and after each change, whose event is there then."""
    mark = (await subject.feed.read(None)).mark
    listening = cast(AsyncGenerator[None], subject.feed.wakes())
    async with aclosing(listening) as wakes:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await anext(wakes)
        for n in range(3):
            await make(subject, f"w{n}")
            async with asyncio.timeout(PATIENCE_SECONDS):
                events: list[Event] = []
                while not events:
                    await anext(wakes)
                    events, mark = await _follow(subject, mark)
            ensure([event.workspace_id for event in events] == [f"w{n}"], "what woke is told")


CHECKS: tuple[Check[StoresUnderTest], ...] = (
    check_the_mark_of_now,
    check_an_event_holds_the_row_after_the_change,
    check_what_is_told,
    check_events_of_one_workspace_are_in_order,
    check_nothing_is_missed_under_load,
    check_a_purged_workspace_was_told,
    check_wakes_come_soon,
)
