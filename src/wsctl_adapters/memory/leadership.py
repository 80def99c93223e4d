"""The lock of a database in memory, and the term of whoever holds it.

A session takes the place of a connection: it holds the lock while it lives, and ends with its
process, by silence, or when its acquisition is cut off. Waiting and silence go by the loop's clock.
"""

import asyncio
from contextlib import suppress

import attrs

from wsctl_adapters.memory.database import UNSEATED_AFTER_SECONDS, MemoryDatabase, Session
from wsctl_adapters.memory.line import Line
from wsctl_core.ports import LeadershipLost, StoreUnavailable

WAIT_SECONDS = 5.0
"""How long one request waits for the lock (H36)."""
BEAT_LIMIT_SECONDS = 2.0
"""A beat that takes longer proves nothing."""
A_LITTLE_SECONDS = 0.001
"""To be past a moment, and not at it."""


@attrs.frozen
class MemoryTerm:
    """The time for which one session holds the lock."""

    _database: MemoryDatabase
    _line: Line
    _session: Session

    @property
    def epoch(self) -> int:
        """The epoch that this term began with."""
        return self._session.epoch

    async def beat(self) -> None:
        """Prove that the lock is still held."""

        def effect() -> None:
            database = self._database
            if not database.alive(self._session) or self.epoch != database.epoch:
                raise LeadershipLost(f"the term of epoch {self.epoch} is over")
            self._session.beaten_at = asyncio.get_running_loop().time()

        try:
            async with asyncio.timeout(BEAT_LIMIT_SECONDS):
                await self._line.call("beat", effect)
        except (TimeoutError, StoreUnavailable) as error:
            raise LeadershipLost(f"no proof that epoch {self.epoch} still leads") from error

    async def resign(self) -> None:
        """Give the lock back at once."""
        await self._line.call("resign", lambda: self._database.close_session(self._session))


@attrs.frozen
class MemoryLeadership:
    """One node's way to the lock."""

    _database: MemoryDatabase
    _line: Line
    _node_id: str
    _wait_seconds: float = WAIT_SECONDS

    async def acquire(self) -> MemoryTerm | None:
        """Wait a few seconds for the lock; None when another still holds it then."""
        session = self._database.open_session(self._node_id)
        held = False
        try:
            async with asyncio.timeout(self._wait_seconds):
                await self._take(session)
                held = True
        except TimeoutError:
            return None
        finally:
            if not held:  # cut off, also in the middle: a call that lands later finds it closed
                self._database.close_session(session)
        return MemoryTerm(self._database, self._line, session)

    async def _take(self, session: Session) -> None:
        bell = self._database.lock_freed.listen()
        try:
            while True:
                bell.event.clear()
                holder = await self._line.call("acquire", lambda: self._try(session))
                if holder is session:
                    return
                silence_ends = holder.beaten_at + UNSEATED_AFTER_SECONDS
                with suppress(TimeoutError):  # then it is unseated, or has beaten since
                    async with asyncio.timeout_at(silence_ends + A_LITTLE_SECONDS):
                        await bell.event.wait()
        finally:
            bell.close()

    def _try(self, session: Session) -> Session:
        """Take the lock if it is free; whoever holds it then."""
        database = self._database
        session.beaten_at = asyncio.get_running_loop().time()
        if not database.alive(session):
            raise StoreUnavailable("the connection was cut")
        if database.leader is None or not database.alive(database.leader):
            database.leader = session
            database.epoch += 1
            database.holder = self._node_id
            session.epoch = database.epoch
        return database.leader

    async def holder(self) -> str | None:
        """The name of the node that led last."""
        return await self._line.call("holder", lambda: self._database.holder)
