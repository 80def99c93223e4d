"""Opening: every store of one database, each behind sessions of its own role."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import attrs

from wsctl_adapters.postgres.feed import PostgresFeed
from wsctl_adapters.postgres.housekeeping import PostgresHousekeeping
from wsctl_adapters.postgres.intents import PostgresIntents
from wsctl_adapters.postgres.leadership import Election, PostgresLeadership
from wsctl_adapters.postgres.monitoring import PostgresMonitor
from wsctl_adapters.postgres.reading import PostgresReader
from wsctl_adapters.postgres.reconciling import PostgresReconciler
from wsctl_adapters.postgres.schema import ROLE_OF, require
from wsctl_adapters.postgres.sessions import Sessions, Tally
from wsctl_core.values.states import Writer


@attrs.frozen(kw_only=True)
class Connections:
    """How many connections each writer, and those who read, may have at most."""

    service: int = 4
    monitor: int = 2
    reconciler: int = 4
    reading: int = 4


@attrs.frozen(kw_only=True)
class PostgresStores:
    """The stores of one database."""

    reader: PostgresReader
    intents: PostgresIntents
    monitor: PostgresMonitor
    reconciler: PostgresReconciler
    housekeeping: PostgresHousekeeping
    leadership: PostgresLeadership
    feed: PostgresFeed
    tally: Tally

    @property
    def statements(self) -> int:
        """How many statements these stores have sent so far."""
        return self.tally.statements


@asynccontextmanager
async def open_postgres(
    conninfo: str,
    *,
    node_id: str,
    lock_id: int = 12345,
    retry_seconds: float = 5.0,
    beat_seconds: float = 1.0,
    connections: Connections | None = None,
) -> AsyncIterator[PostgresStores]:
    """The stores of a database whose schema is right, until the block ends.

    StoreUnavailable when it can't be reached, SchemaProblem when its schema is another.
    """
    await require(conninfo)
    most = connections or Connections()
    tally = Tally()
    async with AsyncExitStack() as stack:

        async def sessions(writer: Writer, at_most: int) -> Sessions:
            opened = Sessions(conninfo, ROLE_OF[writer], tally=tally, most=at_most)
            stack.push_async_callback(opened.close)
            await opened.open()
            return opened

        service = await sessions(Writer.SERVICE, most.service)
        reconciler = await sessions(Writer.RECONCILER, most.reconciler)
        monitor = await sessions(Writer.MONITOR, most.monitor)
        # Reads have sessions of their own, so that those who wait for a place hold up nobody.
        reading = await sessions(Writer.SERVICE, most.reading)
        reader = PostgresReader(reading)
        election = Election(
            node_id=node_id,
            lock_id=lock_id,
            retry_seconds=retry_seconds,
            beat_seconds=beat_seconds,
        )
        yield PostgresStores(
            reader=reader,
            intents=PostgresIntents(service),
            monitor=PostgresMonitor(monitor),
            reconciler=PostgresReconciler(reconciler, reader),
            housekeeping=PostgresHousekeeping(reconciler, service),
            leadership=PostgresLeadership(conninfo, reading, election),
            feed=PostgresFeed(reading, conninfo),
            tally=tally,
        )
