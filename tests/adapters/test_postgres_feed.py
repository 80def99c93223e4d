"""H35 on a real server: events that commit late, and out of order, are told once, and in order."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count, pairwise
from typing import Any

import attrs
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.postgres_rows import insert
from tests.core.builders import row
from tests.servers import database
from wsctl_adapters.postgres import Connections, PostgresStores, open_postgres
from wsctl_adapters.postgres.marks import Mark, joined
from wsctl_core import InvalidValue
from wsctl_core.ports import ChangeFeed, Event

WRITERS = 5
SMALL = Connections(service=1, monitor=1, reconciler=1, reading=1)
Connection = psycopg.AsyncConnection[Any]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of a database of this module's own, with one workspace for each writer."""
    with database() as made:
        with psycopg.connect(made) as owner:
            insert(owner, [row(id=f"w{n}") for n in range(WRITERS)])
        yield made


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[PostgresStores]:
    async with open_postgres(url, node_id="here", connections=SMALL) as stores:
        yield stores


async def follow(feed: ChangeFeed, mark: str, limit: int = 1000) -> tuple[list[Event], str]:
    events: list[Event] = []
    while True:
        read = await feed.read(mark, limit=limit)
        mark = read.mark
        if not read.events:
            return events, mark
        events += read.events


async def rename(connection: Connection, id: str, name: str) -> None:
    await connection.execute("UPDATE wsctl.workspaces SET name = %s WHERE id = %s", [name, id])


async def a_late_commit(url: str) -> list[list[str]]:
    """Event 1 is written, event 2 is written and committed, and then event 1 is committed."""
    told = []
    async with (
        opened(url) as stores,
        await psycopg.AsyncConnection.connect(url) as slow,
        await psycopg.AsyncConnection.connect(url) as quick,
    ):
        mark = (await stores.feed.read(None)).mark
        await rename(slow, "w0", "late")
        mark_between = (await stores.feed.read(None)).mark
        await rename(quick, "w1", "early")
        await quick.commit()
        mark_after = (await stores.feed.read(None)).mark
        events, mark = await follow(stores.feed, mark)
        told.append([event.row.name for event in events])
        await slow.commit()
        for each in (mark, mark_between, mark_after):
            events, _ = await follow(stores.feed, each)
            told.append([event.row.name for event in events])
    return told


def test_an_event_that_commits_late_is_told(url: str):
    """A reader that was told event 2 is told event 1 when it comes, and others by their marks."""
    assert asyncio.run(a_late_commit(url)) == [["early"], ["late"], ["late", "early"], ["late"]]


async def a_row_that_commits_late(url: str) -> list[set[str]]:
    told = []
    async with opened(url) as stores, await psycopg.AsyncConnection.connect(url) as slow:
        await rename(slow, "w0", "slow")
        mark = (await stores.reader.changed(None)).mark
        async with await psycopg.AsyncConnection.connect(url) as quick:
            await rename(quick, "w1", "quick")
        changes = await stores.reader.changed(mark)
        told.append({ws.name for ws in changes.rows})
        await slow.commit()
        changes = await stores.reader.changed(changes.mark)
        told.append({ws.name for ws in changes.rows})
        changes = await stores.reader.changed(changes.mark)
        told.append({ws.name for ws in changes.rows})
    return told


def test_a_row_that_commits_late_is_told_as_changed(url: str):
    """A row whose writer began before the mark, and committed after it, is left out by nobody."""
    first, second, third = asyncio.run(a_row_that_commits_late(url))
    assert "quick" in first
    assert "slow" not in first
    assert "slow" in second
    assert "slow" not in third, "and the mark moves on"


names_given = count()
"""A row that gets the name that it has is not changed: no name is given twice."""

writes = st.tuples(st.just("write"), st.integers(0, WRITERS - 1))
ends = st.tuples(st.sampled_from(["commit", "commit", "roll back"]), st.integers(0, WRITERS - 1))
reads = st.tuples(st.just("read"), st.integers(1, 3))


async def play(url: str, moves: list[tuple[str, int]]) -> None:
    """Writers that write, commit and give up in any order, and a reader that reads in between."""
    async with opened(url) as stores, AsyncExitStack() as stack:
        writers = [
            await stack.enter_async_context(await psycopg.AsyncConnection.connect(url))
            for _ in range(WRITERS)
        ]
        mark = (await stores.feed.read(None)).mark
        pending: dict[int, list[str]] = defaultdict(list)
        expected: dict[str, list[str]] = defaultdict(list)
        told: list[Event] = []
        for move, n in moves:
            id = f"w{n}"
            if move == "write":
                name = f"name {next(names_given)}"
                await rename(writers[n], id, name)
                pending[n].append(name)
            elif move == "read":
                feed = await stores.feed.read(mark, limit=n)
                assert len(feed.events) <= n
                told += feed.events
                mark = feed.mark
            else:
                names = pending.pop(n, [])
                if move == "commit":
                    await writers[n].commit()
                    expected[id] += names
                else:
                    await writers[n].rollback()
        for n, names in pending.items():
            await writers[n].commit()
            expected[f"w{n}"] += names
        rest, mark = await follow(stores.feed, mark, limit=2)
        told += rest
        found: dict[str, list[str]] = defaultdict(list)
        for event in told:
            found[event.workspace_id].append(event.row.name)
        assert found == {id: names for id, names in expected.items() if names}
        assert Mark.read(mark).told == (), "when all have ended, nothing needs to be listed"


@settings(max_examples=30)
@given(moves=st.lists(writes | writes | ends | reads, min_size=5, max_size=40))
def test_whatever_the_order_every_event_is_told_once(url: str, moves: list[tuple[str, int]]):
    """Committed events are told exactly once, those of a workspace in order; others never."""
    asyncio.run(play(url, moves))


def test_many_late_events_are_told_in_small_readings(url: str):
    """Events that commit late below what was told already fit through a narrow reading."""
    late = [("write", n) for n in (0, 0, 0, 1, 1, 1, 2, 2, 2)]
    early = [("write", 3), ("commit", 3), ("read", 3)]
    ends = [("commit", 0), ("read", 1), ("commit", 2), ("read", 2), ("commit", 1), ("read", 1)]
    asyncio.run(play(url, [*late, *early, *ends, ("read", 2), ("write", 4), ("read", 1)]))


numbers = st.integers(0, 30)
spans = st.tuples(numbers, numbers).map(lambda pair: (min(pair), max(pair)))


@given(pairs=st.lists(spans))
def test_spans_hold_the_same_numbers(pairs: list[tuple[int, int]]):
    """Joined spans hold what was in them, in order, apart from one another."""
    found = joined(pairs)
    held = {n for first, last in pairs for n in range(first, last + 1)}
    assert {n for first, last in found for n in range(first, last + 1)} == held
    assert all(b + 1 < c for (_, b), (c, _) in pairwise(found))


@given(
    mark=st.builds(
        Mark,
        xmin=st.integers(0, 10**18 - 1),
        top=st.integers(0, 10**18 - 1),
        told=st.lists(spans).map(joined),
    )
)
def test_a_mark_is_read_as_it_was_written(mark: Mark):
    """A mark survives being text."""
    assert Mark.read(mark.text) == mark


@pytest.mark.parametrize(
    "text", ["", "1", "1:2", "1:2:3", "-1:2:", "1:2:3-4;", "a:b:c", "1:2:3-4,x", "1:2:\n", "9" * 99]
)
def test_a_mark_from_outside_is_not_believed(text: str):
    """What is no mark is refused before the database sees it."""
    with pytest.raises(InvalidValue, match="is no mark"):
        Mark.read(text)


def test_a_mark_with_a_span_the_wrong_way_round():
    """A span that ends before it begins holds nothing."""
    assert Mark.read("1:2:9-3,4-5").told == ((4, 5),)
    assert attrs.evolve(Mark(xmin=1, top=2), told=((4, 5),)).text == "1:2:4-5"


async def strange_marks(url: str) -> None:
    async with opened(url) as stores:
        huge = "9" * 18
        for mark in (f"0:0:1-{huge}", f"{huge}:{huge}:"):
            assert (await stores.feed.read(mark)).events == ()
        with pytest.raises(InvalidValue):
            await stores.reader.changed("1; DROP TABLE workspaces")


def test_a_strange_mark_does_no_harm(url: str):
    """A mark that nobody gave costs no memory, and brings nothing that it says was told."""
    asyncio.run(strange_marks(url))


async def a_burst(url: str) -> int:
    async with opened(url) as stores:
        wakes = stores.feed.wakes()
        await anext(wakes)
        with psycopg.connect(url) as owner:
            owner.execute("UPDATE wsctl.workspaces SET name = 'burst', intent_version = 99")
        count = 0
        try:
            while True:
                async with asyncio.timeout(0.5):
                    await anext(wakes)
                count += 1
        except TimeoutError:
            return count


def test_a_burst_wakes_once(url: str):
    """Many changes in one transaction are one reason to look, not many."""
    assert asyncio.run(a_burst(url)) == 1
