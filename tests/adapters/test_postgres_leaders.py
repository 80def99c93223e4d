"""H1 with real processes and real sessions: who leads no more changes nothing."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import Any

import attrs
import psycopg
import pytest

from tests.adapters.postgres_rows import insert
from tests.adapters.postgres_waiting import holding, waiting_for
from tests.core.builders import busy, row
from tests.servers import postgres, swept_database
from wsctl_adapters.postgres import Connections, PostgresStores, leadership, open_postgres
from wsctl_adapters.postgres.sessions import Sessions, Tally
from wsctl_app.joining import ended
from wsctl_core import OperationGuard, ReconcilerPatch
from wsctl_core.ports import Findings, LeadershipLost, StoreUnavailable
from wsctl_core.values.states import Operation

GUARD = OperationGuard(operation=Operation.STOPPING, op_id="op1")
SMALL = Connections(service=1, monitor=1, reconciler=1, reading=1)


@asynccontextmanager
async def opened(url: str, **options: Any) -> AsyncIterator[PostgresStores]:
    options = {"node_id": "here", "connections": SMALL, **options}
    async with open_postgres(url, **options) as stores:
        yield stores


@contextmanager
def stopping_workspace() -> Iterator[str]:
    """The address of a database with one workspace in the middle of an operation."""
    with swept_database() as url:
        with psycopg.connect(url) as owner:
            insert(owner, [busy(Operation.STOPPING)])
        yield url


@attrs.define
class Child:
    """A leader in a process of its own."""

    process: "subprocess.Popen[str]"

    def ask(self, line: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.hear()

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@contextmanager
def leading_child(url: str) -> Iterator[Child]:
    """A leader in a process of its own; it is killed in the end, if it was not before."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.adapters.postgres_leader", url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    with process:
        try:
            child = Child(process)
            assert child.hear() == "leads 1"
            yield child
        finally:
            process.kill()


async def successor(url: str, meanwhile: Any) -> int:
    """The epoch of one that was waiting while something happened to the leader."""
    async with opened(url) as stores:
        waiting = asyncio.ensure_future(stores.leadership.acquire())
        await asyncio.sleep(0.1)
        assert not waiting.done()
        meanwhile()
        term = await waiting
        assert term is not None
        await term.beat()
        await term.resign()
        return term.epoch


def test_a_leader_that_was_killed_is_followed_at_once():
    """kill -9 of the leader: one that waits in its call has the lock before the call ends."""
    with stopping_workspace() as url, leading_child(url) as child:
        assert child.ask("write") == "done"
        assert asyncio.run(successor(url, child.process.kill)) == 2


def test_a_leader_that_was_stopped_changes_nothing_when_it_wakes():
    """SIGSTOP: another leads within one call of five seconds; the old one's writes are refused."""
    with stopping_workspace() as url, leading_child(url) as child:
        assert child.ask("beat") == "done"
        stop = signal.SIGSTOP
        assert asyncio.run(successor(url, lambda: child.process.send_signal(stop))) == 2
        child.process.send_signal(signal.SIGCONT)
        assert child.ask("write") == "LeadershipLost"
        assert child.ask("beat") == "LeadershipLost"
        assert child.ask("write") == "LeadershipLost"
        with psycopg.connect(url) as owner:
            found = owner.execute("SELECT error_count FROM wsctl.workspaces").fetchall()
        assert found == [(0,)]


async def overtaken(url: str) -> tuple[int, int]:
    """A write that passed the fence and waits for the row, and a leader that comes meanwhile."""
    async with opened(url) as old, opened(url) as new:
        term = await old.leadership.acquire()
        assert term is not None
        async with await psycopg.AsyncConnection.connect(url) as other:
            await other.execute("SELECT FROM wsctl.workspaces FOR UPDATE")
            patch = ReconcilerPatch(error_count=7)
            write = asyncio.ensure_future(old.reconciler.write(term.epoch, "w1", GUARD, patch))
            await waiting_for(url, "transactionid")
            await term.resign()
            office = asyncio.ensure_future(new.leadership.acquire())
            await waiting_for(url, "tuple", "transactionid", sessions=2)
            assert not office.done()
            assert not write.done()
            await other.rollback()
        written, successor = await write, await office
        assert written is not None
        assert successor is not None
        await successor.resign()
        return written.error_count, successor.epoch


def test_a_write_that_passed_the_fence_holds_up_the_next_leader(monkeypatch: pytest.MonkeyPatch):
    """The epoch can't grow between a write's look at it and the write itself (H1)."""
    monkeypatch.setattr(leadership, "STALE_FOR", timedelta(seconds=8))
    with stopping_workspace() as url:
        assert asyncio.run(overtaken(url)) == (7, 2)


async def cut_short(url: str) -> int:
    """A leader that stopped while it spoke: the fence was heard, and nothing that follows it."""
    async with opened(url) as old, opened(url) as new:
        term = await old.leadership.acquire()
        assert term is not None
        mute = await psycopg.AsyncConnection.connect(url, autocommit=True)
        mute.pgconn.enter_pipeline_mode()
        mute.pgconn.send_query_params(b"SELECT wsctl.fence(1)", [])
        mute.pgconn.send_flush_request()
        mute.pgconn.flush()
        await holding(url, "wsctl.system_locks")
        await term.resign()
        successor = await new.leadership.acquire()
        assert successor is not None
        await successor.resign()
        await mute.close()
        return successor.epoch


def test_a_leader_that_stopped_while_it_spoke_is_cut_off():
    """For the server it is not idle, so no timeout ends it; the next leader does (H1)."""
    with stopping_workspace() as url:
        assert asyncio.run(cut_short(url)) == 2


async def outrun(url: str) -> None:
    """A new leader that is taking office, and writes of the old one that come meanwhile."""
    async with opened(url) as stores:
        term = await stores.leadership.acquire()
        assert term is not None
        async with await psycopg.AsyncConnection.connect(url) as new:
            await new.execute("SELECT wsctl.take_office('there')")
            patch = ReconcilerPatch(error_count=7)
            write = asyncio.ensure_future(stores.reconciler.write(term.epoch, "w1", GUARD, patch))
            await waiting_for(url, "transactionid")
            await new.commit()
        with pytest.raises(LeadershipLost, match="the epoch is 2, and the write was of 1"):
            await write
        await term.resign()


def test_a_write_waits_for_a_leader_that_takes_office():
    """A write that comes while the epoch grows is judged by the new one (H1)."""
    with stopping_workspace() as url:
        asyncio.run(outrun(url))


async def alternating(url: str) -> list[object]:
    """Writes with a good and with an old epoch, on one connection, in turns."""
    told: list[object] = []
    async with opened(url) as stores:
        term = await stores.leadership.acquire()
        assert term is not None
        for n in range(12):
            for epoch in (term.epoch, term.epoch - 1):
                patch = ReconcilerPatch(error_count=n)
                try:
                    after = await stores.reconciler.write(epoch, "w1", GUARD, patch)
                    told.append(after and after.error_count)
                except LeadershipLost:
                    told.append("lost")
        await term.resign()
    return told


def test_a_refused_write_spoils_nothing():
    """A connection on which a write was refused goes on, statement for statement."""
    with stopping_workspace() as url:
        told = asyncio.run(alternating(url))
    assert told == [each for n in range(12) for each in (n, "lost")]


async def cancelled(url: str) -> list[int]:
    """The counts of errors that are seen after each of several writes that were given up."""
    found = []
    async with opened(url) as stores, await psycopg.AsyncConnection.connect(url) as other:
        term = await stores.leadership.acquire()
        assert term is not None
        for n in range(1, 4):
            await other.execute("SELECT FROM wsctl.workspaces FOR UPDATE")
            patch = ReconcilerPatch(error_count=n)
            write = asyncio.ensure_future(stores.reconciler.write(term.epoch, "w1", GUARD, patch))
            await waiting_for(url, "transactionid")
            write.cancel()
            await asyncio.wait({write})
            assert write.cancelled()
            await other.rollback()
            after = await stores.reconciler.write(
                term.epoch, "w1", GUARD, ReconcilerPatch(restart_count=n)
            )
            assert after is not None
            assert after.restart_count == n
            found.append(after.error_count)
        await term.resign()
    return found


def test_a_write_that_is_given_up_leaves_nothing():
    """Who loses leadership gives up what is under way: it is not written, and spoils nothing."""
    with stopping_workspace() as url:
        assert asyncio.run(cancelled(url)) == [0, 0, 0]


async def beat_of_a_hung_server(url: str) -> None:
    async with opened(url) as stores:
        term = await stores.leadership.acquire()
        assert term is not None
        ((pid,),) = postgres().execute(
            "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = 12345"
        )
        os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(LeadershipLost):
                await term.beat()
        finally:
            os.kill(pid, signal.SIGCONT)
        await term.resign()


def test_a_beat_that_is_not_answered_is_a_lost_lock():
    """A server that is stopped, not gone, does not keep a leader in doubt."""
    with swept_database() as url:
        asyncio.run(beat_of_a_hung_server(url))


async def lock_of_nobody(url: str) -> None:
    """What a pooler of transactions does: the lock is held by another session than the beat's."""
    async with opened(url) as stores:
        term = await stores.leadership.acquire()
        assert term is not None
        await term._connection.execute("SELECT pg_advisory_unlock_all()")
        with pytest.raises(LeadershipLost, match="no longer holds the lock"):
            await term.beat()
        await term.resign()


def test_a_session_that_lives_without_the_lock_does_not_lead():
    """A beat asks for the lock itself, not only for an answer."""
    with swept_database() as url:
        asyncio.run(lock_of_nobody(url))


async def unanswered(url: str) -> None:
    sessions = Sessions(url, "wsctl_service", tally=Tally(), most=1)
    await sessions.open()
    try:
        with pytest.raises(StoreUnavailable):
            await sessions.rows(b"SELECT pg_sleep(30)", None, timedelta(seconds=0.2))
        assert await sessions.rows(b"SELECT 1") == [(1,)]
    finally:
        await sessions.close()


def test_a_statement_that_is_not_answered_is_given_up():
    """Nobody waits for ever: the connection is cut, and the next one is a new one."""
    with swept_database() as url:
        asyncio.run(unanswered(url))


async def outage(url: str) -> None:
    server = postgres()
    async with opened(url) as stores:
        term = await stores.leadership.acquire()
        assert term is not None
        await stores.reader.some(["w1"])
        server.stop()
        try:
            calls = [
                stores.reader.some(["w1"]),
                stores.reader.page(),
                stores.reconciler.work(),
                stores.monitor.begin_pass(),
                stores.feed.read(None),
                stores.housekeeping.safeguard(),
                stores.leadership.acquire(),
                stores.leadership.holder(),
                anext(aiter(stores.feed.wakes())),
            ]
            for told in await asyncio.gather(*calls, return_exceptions=True):
                assert isinstance(told, StoreUnavailable)
                assert "\n" not in str(told)
            with pytest.raises(LeadershipLost):
                await term.beat()
            await term.resign()
        finally:
            server.start()
        async with asyncio.timeout(20):
            for _ in range(3):
                assert len((await stores.reader.some(["w1"])).rows) == 1
                await stores.monitor.begin_pass()
                await stores.housekeeping.safeguard()


def test_a_database_that_went_away_is_told_and_found_again():
    """While it is away every call says so; when it is back, the same stores go on."""
    with swept_database() as url:
        with psycopg.connect(url) as owner:
            insert(owner, [row()])
        asyncio.run(outage(url))


async def listening_when_the_server_goes(url: str) -> None:
    async with opened(url) as stores:
        wakes = stores.feed.wakes()
        await anext(wakes)
        server = postgres()
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'wsctl feed'"
        )
        with pytest.raises(StoreUnavailable):
            await anext(wakes)


def test_a_broken_ear_is_told():
    """Whoever listens learns that the connection broke, and reads again from its mark."""
    with swept_database() as url:
        asyncio.run(listening_when_the_server_goes(url))


async def statements_of_a_pass(url: str, rows: int) -> int:
    async with opened(url) as stores:
        term = await stores.leadership.acquire()
        assert term is not None
        with psycopg.connect(url) as owner:
            insert(owner, [row(id=f"w{n}") for n in range(rows)])
        before = stores.statements
        number = (await stores.monitor.begin_pass()).number
        found = Findings(number=number, patches={}, alarms={}, complete=True)
        await stores.reader.changed(None)
        await stores.monitor.end_pass(term.epoch, found)
        await stores.reconciler.work()
        await term.resign()
        return stores.statements - before


def test_statements_do_not_grow_with_the_fleet():
    """A pass and a look for work take as many statements for many rows as for one."""
    counted = []
    for rows in (1, 40):
        with swept_database() as url:
            counted.append(asyncio.run(statements_of_a_pass(url, rows)))
    assert counted[0] == counted[1]


async def index_while_others_stand_by(url: str, retry_seconds: float) -> bool:
    """Whether an index can be made beside the tables' use, while somebody waits to lead."""
    async with opened(url) as leader, opened(url, retry_seconds=retry_seconds) as standby:
        term = await leader.leadership.acquire()
        assert term is not None

        async def stand_by() -> None:
            while await standby.leadership.acquire() is None:
                pass

        async def lead() -> None:
            while True:
                await term.beat()
                await asyncio.sleep(0.5)

        nodes = [asyncio.create_task(stand_by()), asyncio.create_task(lead())]
        await waiting_for(url, "advisory")
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as owner:
            try:
                async with asyncio.timeout(5):
                    await owner.execute("CREATE INDEX CONCURRENTLY ON wsctl.workspaces (image)")
            except TimeoutError:
                return False
            finally:
                assert await ended(nodes)
                await term.resign()
        return True


@pytest.mark.parametrize(("retry_seconds", "made"), [(0.5, True), (60.0, False)])
def test_a_standby_holds_nothing_back(retry_seconds: float, made: bool):
    """H36: one that waits a little at a time lets others pass; one that waits for long does not."""
    with stopping_workspace() as url:
        assert asyncio.run(index_while_others_stand_by(url, retry_seconds)) is made
