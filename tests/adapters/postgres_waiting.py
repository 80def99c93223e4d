"""Waiting until sessions wait: so that a test knows where another has come to, without a guess."""

import asyncio
from typing import Any

import psycopg

PATIENCE_SECONDS = 10


async def waiting_for(url: str, *kinds: str, sessions: int = 1) -> None:
    """Return when that many sessions of the database wait for locks of these kinds."""
    await _becomes(
        url,
        """
        SELECT count(DISTINCT l.pid) = %s FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
        WHERE NOT l.granted AND l.locktype = ANY(%s) AND a.datname = current_database()
        """,
        [sessions, list(kinds)],
    )


async def holding(url: str, table: str) -> None:
    """Return when some session has locked the table, or rows of it."""
    statement = "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = %s::regclass AND granted)"
    await _becomes(url, statement, [table])


async def _becomes(url: str, statement: str, parameters: list[Any]) -> None:
    """Return when the statement answers with true."""
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        await psycopg.AsyncConnection.connect(url, autocommit=True) as watcher,
    ):
        while True:
            found = await watcher.execute(statement.encode(), parameters)
            if await found.fetchone() == (True,):
                return
            await asyncio.sleep(0.01)
