"""Postgres keeps every promise of the stores, of leadership and of the feed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import attrs
import psycopg
import pytest

from tests.servers import swept_database
from wsctl_adapters.conformance import feed, leadership, stores
from wsctl_adapters.postgres import PostgresStores, open_postgres
from wsctl_core.ports import Leadership, Term


class Subject:
    """The stores of one database, which can be made older than they are."""

    def __init__(self, opened: PostgresStores, url: str) -> None:
        self.reader = opened.reader
        self.intents = opened.intents
        self.monitor = opened.monitor
        self.reconciler = opened.reconciler
        self.housekeeping = opened.housekeeping
        self.leadership = opened.leadership
        self.feed = opened.feed
        self._url = url

    async def elapse(self, seconds: float) -> None:
        async with await psycopg.AsyncConnection.connect(self._url) as connection:
            await connection.execute(
                "UPDATE wsctl.outbox SET at = at - make_interval(secs => %s)", [seconds]
            )


@asynccontextmanager
async def opened(url: str, node_id: str = "here") -> AsyncIterator[PostgresStores]:
    async with open_postgres(url, node_id=node_id, retry_seconds=0.4) as found:
        yield found


@pytest.mark.parametrize("check", [*stores.CHECKS, *feed.CHECKS], ids=lambda check: check.__name__)
def test_a_promise_of_the_stores(check):
    """What the port's docstring says holds on a real server."""

    async def run(url: str) -> None:
        async with opened(url) as found:
            await check(Subject(found, url))

    with swept_database() as url:
        asyncio.run(run(url))


@attrs.frozen
class Nodes:
    """One lock, as two nodes see it."""

    here: Leadership
    there: Leadership
    url: str
    names: tuple[str, str] = ("here", "there")

    async def unseat(self, term: Term) -> None:
        async with await psycopg.AsyncConnection.connect(self.url) as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks"
                " WHERE locktype = 'advisory' AND granted AND objid = 12345"
            )


@pytest.mark.parametrize("check", leadership.CHECKS, ids=lambda check: check.__name__)
def test_a_promise_of_leadership(check):
    """What the port's docstring says holds between two real sessions."""

    async def run(url: str) -> None:
        async with opened(url, "here") as here, opened(url, "there") as there:
            await check(Nodes(here.leadership, there.leadership, url))

    with swept_database() as url:
        asyncio.run(run(url))
