"""`Leadership` on Postgres: an advisory lock on a session of its own, and an epoch in a row (H1).

The session must be a real one. Through a pooler of transactions (PgBouncer in transaction mode)
each statement may reach another session, and a lock that one took is held by nobody: the first beat
finds that out and says LeadershipLost, so that nobody leads through one.
"""

from datetime import timedelta

import attrs
import psycopg
from psycopg import AsyncConnection

from wsctl_adapters.postgres.failures import place_of, translated
from wsctl_adapters.postgres.sessions import CONNECTING, Connection, Sessions, bounded, rows
from wsctl_adapters.postgres.statements import statements
from wsctl_core.ports import LeadershipLost

SQL = statements("leadership")

BEATS = 3
"""One that has not beaten for so many beats is unseated by the server."""
ANSWER_WITHIN = timedelta(seconds=2)
"""A beat that is not answered within this is as good as refused."""
STALE_FOR = timedelta(milliseconds=300)
"""How long a new leader waits for what an earlier one has under way, before it is cut off."""
CUT_OFF_TRIES = 5


@attrs.frozen(kw_only=True)
class Election:
    """What the nodes that compete have agreed on, and who this one is."""

    node_id: str
    lock_id: int = 12345
    retry_seconds: float = 5.0
    """How long one call of `acquire` waits."""
    beat_seconds: float = 1.0


class PostgresTerm:
    """The time for which this process leads: as long as its session holds the lock."""

    def __init__(self, connection: Connection, lock_id: int, epoch: int) -> None:
        self._connection = connection
        self._lock_id = lock_id
        self._epoch = epoch

    @property
    def epoch(self) -> int:
        """Larger than every epoch before it."""
        return self._epoch

    async def beat(self) -> None:
        """Prove that the lock is still held, within two seconds."""
        asked = {"lock_id": self._lock_id, "epoch": self._epoch}
        try:
            async with bounded(self._connection, ANSWER_WITHIN):
                ((held,),) = await rows(self._connection, SQL["beat"], asked)
        except psycopg.Error as error:
            raise LeadershipLost("the session that held the lock has ended") from error
        if not held:
            raise LeadershipLost("the session no longer holds the lock")

    async def resign(self) -> None:
        """Give the lock back, by ending the session."""
        await self._connection.close()


class PostgresLeadership:
    """The one lock that coordinators compete for."""

    def __init__(self, conninfo: str, sessions: Sessions, election: Election) -> None:
        self._conninfo = conninfo
        self._sessions = sessions
        self._election = election

    async def acquire(self) -> PostgresTerm | None:
        """Wait for the lock; None when another still holds it after the interval.

        Each call has a session of its own, so that nothing is left behind by one that waited.
        """
        with translated(place_of(self._conninfo)):
            connection = await AsyncConnection.connect(
                self._conninfo, autocommit=True, application_name="wsctl leadership", **CONNECTING
            )
            try:
                epoch = await self._elected(connection)
            except BaseException:
                await connection.close()
                raise
        if epoch is None:
            await connection.close()
            return None
        return PostgresTerm(connection, self._election.lock_id, epoch)

    async def _elected(self, connection: Connection) -> int | None:
        election = self._election
        patience = ANSWER_WITHIN + timedelta(seconds=election.retry_seconds)
        idle = timedelta(seconds=BEATS * election.beat_seconds)
        timing = {
            "idle_ms": str(_milliseconds(idle)),
            "wait_ms": str(_milliseconds(timedelta(seconds=election.retry_seconds))),
        }
        async with bounded(connection, patience):
            await rows(connection, SQL["prepare"], timing)
            try:
                await rows(connection, SQL["wait"], {"lock_id": election.lock_id})
            except psycopg.errors.LockNotAvailable:
                return None
        async with bounded(connection, patience):
            return await self._take_office(connection)

    async def _take_office(self, connection: Connection) -> int | None:
        """The new epoch; None when the sessions of an earlier leader could not be cut off."""
        named = {"node_id": self._election.node_id}
        await rows(connection, SQL["in_charge"], {"wait_ms": str(_milliseconds(STALE_FOR))})
        for _ in range(CUT_OFF_TRIES):
            try:
                ((epoch,),) = await rows(connection, SQL["take_office"], named)
            except psycopg.errors.LockNotAvailable:
                await rows(connection, SQL["cut_off"])
            else:
                return int(epoch)
        return None

    async def holder(self) -> str | None:
        """The name of the node that led last; None when nobody ever did."""
        ((holder_id,),) = await self._sessions.rows(SQL["holder"])
        return None if holder_id is None else str(holder_id)


def _milliseconds(time: timedelta) -> int:
    return max(1, time // timedelta(milliseconds=1))
