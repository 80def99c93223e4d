"""Sessions: pools of connections that act as one role each, and never wait without an end.

A statement runs as the role of its writer, so that Postgres itself refuses another's columns
(contract 3). A server that is gone is told within seconds; one that no longer answers has its
connection cut. Statements are counted at the client, for whoever wants to know what a tick costs.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from os import dup
from typing import Any, TypeAlias

import attrs
import psycopg
from psycopg import AsyncConnection, AsyncCursor, pq
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool

from wsctl_adapters.postgres.failures import place_of, translated
from wsctl_adapters.postgres.statements import statements

SQL = statements("sessions")

Connection: TypeAlias = AsyncConnection[tuple[Any, ...]]
Cursor: TypeAlias = AsyncCursor[tuple[Any, ...]]
Rows: TypeAlias = list[tuple[Any, ...]]
Parameters: TypeAlias = Mapping[str, object] | None
Call: TypeAlias = tuple[bytes, Parameters]
"""A statement and its parameters."""

ANSWER_WITHIN = timedelta(seconds=10)
"""How long one use of a connection may take before it is cut."""
FLEET_WITHIN = timedelta(seconds=60)
"""The same for what concerns every row at once."""
CONNECT_WITHIN_SECONDS = 3.0
"""How long to wait for a connection: for a new one, or for one that is free."""

CONNECTING: dict[str, Any] = {
    "connect_timeout": 3,
    # Nothing is prepared at the server: of a batch that was refused half-way, psycopg would take
    # statements for prepared that were never sent.
    "prepare_threshold": None,
    # A peer that vanished is noticed by the network: nothing is sent to it for ever.
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


@attrs.define
class Tally:
    """How many statements were sent."""

    statements: int = 0


def counting(tally: Tally) -> type[Cursor]:
    """A kind of cursor that counts what it sends."""

    class CountingCursor(AsyncCursor[tuple[Any, ...]]):
        async def execute(self, *args: Any, **options: Any) -> "CountingCursor":
            tally.statements += 1
            return await super().execute(*args, **options)

    return CountingCursor


def cut(connection: Connection) -> None:
    """End a connection from outside, so that whoever waits for it stops waiting."""
    if connection.pgconn.status == pq.ConnStatus.OK:
        with socket.socket(fileno=dup(connection.pgconn.socket)) as line:
            line.shutdown(socket.SHUT_RDWR)


@asynccontextmanager
async def bounded(connection: Connection, within: timedelta) -> AsyncIterator[None]:
    """Cut the connection when what is done inside takes longer than that."""
    alarm = asyncio.get_running_loop().call_later(within.total_seconds(), cut, connection)
    try:
        yield
    finally:
        alarm.cancel()


async def assume(connection: Connection, role: str) -> None:
    """Make a session one of wsctl's, that acts as a role."""
    # JSON is read by `rows`, which knows what it should be.
    set_json_loads(lambda raw: raw, connection)
    await connection.set_autocommit(True)
    await connection.execute(SQL["assume"], {"role": role})


async def rows(connection: Connection, statement: bytes, parameters: Parameters = None) -> Rows:
    """What one statement answers; nothing, when it answers with no rows."""
    return await _answer(await connection.execute(statement, parameters))


async def batch(connection: Connection, *calls: Call) -> list[Rows]:
    """What each of several statements answers; they are sent at once.

    Outside of a transaction they are one, because nothing is told to end between them: all of them
    stand, or none. Each sees what was committed before it began, not before the first one did.
    """
    cursors: list[Cursor] = []
    failure: psycopg.Error | None = None
    try:
        async with connection.pipeline():
            try:
                for statement, parameters in calls:
                    cursors.append(await connection.execute(statement, parameters))
            except psycopg.Error as error:
                failure = error
    except psycopg.Error as error:
        # What failed first may be told while the others are still being sent, or at the end.
        raise failure or error from None
    if failure is not None:
        raise failure
    return [await _answer(cursor) for cursor in cursors]


async def _answer(cursor: Cursor) -> Rows:
    return await cursor.fetchall() if cursor.description else []


def _configuring(role: str) -> Callable[[Connection], Any]:
    async def configure(connection: Connection) -> None:
        async with bounded(connection, ANSWER_WITHIN):
            await assume(connection, role)

    return configure


class Sessions:
    """A pool of sessions that act as one role."""

    def __init__(self, conninfo: str, role: str, *, tally: Tally, most: int) -> None:
        self._place = place_of(conninfo)
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            conninfo,
            kwargs={
                **CONNECTING,
                "application_name": f"wsctl {role.removeprefix('wsctl_')}",
                "cursor_factory": counting(tally),
            },
            configure=_configuring(role),
            min_size=1,
            max_size=most,
            timeout=CONNECT_WITHIN_SECONDS,
            # A short patience: whoever asks next tries again, so a server that is back is found.
            reconnect_timeout=CONNECT_WITHIN_SECONDS,
            open=False,
        )

    async def open(self) -> None:
        """Make the first connection."""
        with translated(self._place):
            await self._pool.open(wait=True, timeout=CONNECT_WITHIN_SECONDS)

    async def close(self) -> None:
        """Close every connection."""
        await self._pool.close()

    @asynccontextmanager
    async def _session(self, within: timedelta) -> AsyncIterator[Connection]:
        with translated(self._place):
            async with self._pool.connection() as connection, bounded(connection, within):
                yield connection

    async def rows(
        self, statement: bytes, parameters: Parameters = None, within: timedelta = ANSWER_WITHIN
    ) -> Rows:
        """What one statement answers; it is a transaction of its own."""
        async with self._session(within) as connection:
            return await rows(connection, statement, parameters)

    async def batch(self, *calls: Call, within: timedelta = ANSWER_WITHIN) -> list[Rows]:
        """What each of several statements answers: one transaction, and one round trip."""
        async with self._session(within) as connection:
            return await batch(connection, *calls)

    async def moment(self, *calls: Call, within: timedelta = ANSWER_WITHIN) -> list[Rows]:
        """The same for statements that read the rows of one moment."""
        begin, end = (SQL["one_moment"], None), (SQL["moment_over"], None)
        return (await self.batch(begin, *calls, end, within=within))[1:-1]

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """A transaction in which something is decided between two statements."""
        async with self._session(ANSWER_WITHIN) as connection, connection.transaction():
            yield connection
