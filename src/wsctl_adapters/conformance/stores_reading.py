"""The promises of `WorkspaceReader`: rows of one moment, steady pages, and nothing left out."""

import asyncio

from wsctl_adapters.conformance.kit import Check, ensure
from wsctl_adapters.conformance.stores_kit import (
    StoresUnderTest,
    claimed,
    finished,
    leading,
    make,
    observe,
    same,
    seen,
    wishing,
)
from wsctl_core.ports import Changes, Findings
from wsctl_core.values.states import ObservedStatus, Operation
from wsctl_core.values.workspace import Workspace


async def check_some_reads_the_rows_that_exist(subject: StoresUnderTest) -> None:
    """The rows that are asked for and exist are read once each, with the time."""
    first, second = await make(subject, "w1"), await make(subject, "w2", owner_id="bob")
    await make(subject, "w3")
    reading = await subject.reader.some(["w2", "w1", "nobody", "w1"])
    read = {ws.id: ws for ws in reading.rows}
    ensure(len(reading.rows) == 2, "each row is read once, and what does not exist is left out")
    same(read["w1"], first, "a row is read as it was written")
    same(read["w2"], second, "a row is read as it was written")
    ensure(reading.now >= second.created_at, "the time is the store's, and does not go back")
    ensure((await subject.reader.some([])).rows == (), "who asks for nothing gets nothing")


async def check_a_reading_has_the_pass_number_of_its_rows(subject: StoresUnderTest) -> None:
    """Rows and pass number are of one moment: no pass is newer than the rows it stands for."""
    await make(subject)
    async with leading(subject) as epoch:

        async def look() -> None:
            for _ in range(10):
                number = (await subject.monitor.begin_pass()).number
                patches = {"w1": seen(ObservedStatus.PENDING, number)}
                found = Findings(number=number, patches=patches, alarms={}, complete=True)
                await subject.monitor.end_pass(epoch, found)

        async def read() -> None:
            last = 0
            for _ in range(20):
                for reading in (
                    await subject.reader.some(["w1"]),
                    await subject.reconciler.one("w1"),
                    await subject.reconciler.work(),
                    await subject.reader.changed(None),
                ):
                    (ws,) = reading.rows
                    ensure(ws.observed_seq == reading.pass_seq, "rows and number are of one pass")
                    ensure(last <= reading.pass_seq, "and do not go back")
                    last = reading.pass_seq

        await asyncio.gather(look(), read(), read())


ORDERED = ("A1", "B-2", "a.1", "a1", "b_0", "b1")
"""Identities in the order of their characters: capitals come first."""


async def _pages(
    subject: StoresUnderTest, limit: int, *, owner_id: str | None = None, deleted: bool = False
) -> list[str]:
    told: list[str] = []
    after = None
    while True:
        page = await subject.reader.page(
            owner_id=owner_id, deleted=deleted, after=after, limit=limit
        )
        ensure(len(page.rows) <= limit, "a page has no more rows than were asked for")
        told += [ws.id for ws in page.rows]
        if page.after is None:
            return told
        after = page.after


async def check_pages_are_in_order_and_complete(subject: StoresUnderTest) -> None:
    """Pages of any length tell every row once, in the order of the identities' characters."""
    for id in reversed(ORDERED):
        await make(subject, id)
    for limit in (1, 2, 3, 5, 6, 7):
        told = await _pages(subject, limit)
        ensure(told == sorted(ORDERED), f"in pages of {limit}, {told} was told")


async def check_pages_of_an_owner(subject: StoresUnderTest) -> None:
    """With an owner, only theirs are told; somebody unknown has none."""
    for n, owner_id in enumerate(("ann", "bob", "ann", "bob", "ann")):
        await make(subject, f"w{n}", owner_id=owner_id)
    ensure(await _pages(subject, 2, owner_id="ann") == ["w0", "w2", "w4"], "ann's, in order")
    ensure(await _pages(subject, 2, owner_id="bob") == ["w1", "w3"], "bob's, in order")
    ensure(await _pages(subject, 2, owner_id="eve") == [], "nobody's")


async def check_pages_leave_out_what_is_finished(subject: StoresUnderTest) -> None:
    """A workspace is told until its deletion is finished, and afterwards only when asked for."""
    for id in ("w1", "w2", "w3"):
        await make(subject, id)
    async with leading(subject) as epoch:
        await subject.intents.change("w1", wishing(delete=True))
        await finished(subject, epoch, "w2")
        ensure(await _pages(subject, 9) == ["w1", "w3"], "only the finished one is left out")
        told = await _pages(subject, 2, deleted=True)
        ensure(told == ["w1", "w2", "w3"], "when asked for, it is told with the others")


async def check_pages_stay_right_while_rows_come(subject: StoresUnderTest) -> None:
    """A row that comes while pages are turned neither hides nor repeats another."""
    for id in ("b", "d", "f"):
        await make(subject, id)
    first = await subject.reader.page(limit=2)
    await make(subject, "a")
    await make(subject, "e")
    second = await subject.reader.page(after=first.after, limit=9)
    ensure([ws.id for ws in first.rows] == ["b", "d"], "the first page begins at the beginning")
    ensure([ws.id for ws in second.rows] == ["e", "f"], "the second goes on behind the first")
    ensure(second.after is None, "there is no page after the last")


async def check_finished_rows_are_told_apart(subject: StoresUnderTest) -> None:
    """What is finished being deleted can be had alone, in pages, in the order of identities."""
    for id in ("w1", "w2", "w3", "w4", "w5"):
        await make(subject, id)
    async with leading(subject) as epoch:
        await subject.intents.change("w1", wishing(delete=True))
        for id in ("w5", "w2", "w3"):
            await finished(subject, epoch, id)
        first = await subject.reader.finished(limit=2)
        ensure([ws.id for ws in first.rows] == ["w2", "w3"], "only what is finished, in order")
        ensure(first.after is not None, "there is more")
        second = await subject.reader.finished(after=first.after, limit=2)
        ensure([ws.id for ws in second.rows] == ["w5"], "the next page goes on behind the first")
        ensure(second.after is None, "there is no page after the last")


async def check_changed_begins_with_every_row(subject: StoresUnderTest) -> None:
    """Without a mark, every row is told once, but those that are finished being deleted."""
    rows = [await make(subject, id) for id in ("w1", "w2", "w3")]
    async with leading(subject) as epoch:
        await finished(subject, epoch, "w3")
    changes = await subject.reader.changed(None)
    told = sorted(changes.rows, key=lambda ws: ws.id)
    ensure(told == rows[:2], "each row that is not finished, as it stands")


async def check_changed_tells_what_was_written_since(subject: StoresUnderTest) -> None:
    """After a mark, whatever any of the three writers wrote is told, as it stands."""
    for id in ("w1", "w2", "w3", "w4"):
        await make(subject, id)
    async with leading(subject) as epoch:
        changes = await subject.reader.changed(None)
        await subject.intents.change("w1", wishing(name="other"))
        await observe(subject, epoch, ObservedStatus.STANDBY, "w2")
        await claimed(subject, epoch, Operation.PROVISIONING, "w3")
        await make(subject, "w5")
        changes = await subject.reader.changed(changes.mark)
        told = {ws.id: ws for ws in changes.rows}
        ensure({"w1", "w2", "w3", "w5"} <= set(told), "every row that was written is told")
        ensure(len(told) == len(changes.rows), "and each once")
        ensure(told["w1"].name == "other", "the service's change")
        ensure(told["w2"].observed_status is ObservedStatus.STANDBY, "the monitor's change")
        ensure(told["w3"].operation is Operation.PROVISIONING, "the reconciler's change")
        await finished(subject, epoch, "w2")
        last = await subject.reader.changed(changes.mark)
        status = {ws.id: ws.observed_status for ws in last.rows}.get("w2")
        ensure(status is ObservedStatus.DELETED, "a deletion that was finished since is told")


async def check_changed_leaves_nothing_out_under_load(subject: StoresUnderTest) -> None:
    """Whoever follows the marks knows every row's last state, whatever happens meanwhile."""
    ids = [f"w{n}" for n in range(6)]
    for id in ids:
        await make(subject, id)
    known: dict[str, Workspace] = {}

    def learn(changes: Changes) -> str:
        known.update({ws.id: ws for ws in changes.rows})
        return changes.mark

    async def write(id: str) -> None:
        for n in range(5):
            await subject.intents.change(id, wishing(name=f"name {n}"))

    mark = learn(await subject.reader.changed(None))
    writers = asyncio.gather(*(write(id) for id in ids))
    while not writers.done():
        mark = learn(await subject.reader.changed(mark))
        await asyncio.sleep(0)
    await writers
    learn(await subject.reader.changed(mark))
    ensure({ws.name for ws in known.values()} == {"name 4"}, "the last write of each row is known")
    ensure(sorted(known) == ids, "and no row is missing")


CHECKS: tuple[Check[StoresUnderTest], ...] = (
    check_some_reads_the_rows_that_exist,
    check_a_reading_has_the_pass_number_of_its_rows,
    check_pages_are_in_order_and_complete,
    check_pages_of_an_owner,
    check_pages_leave_out_what_is_finished,
    check_pages_stay_right_while_rows_come,
    check_finished_rows_are_told_apart,
    check_changed_begins_with_every_row,
    check_changed_tells_what_was_written_since,
    check_changed_leaves_nothing_out_under_load,
)
