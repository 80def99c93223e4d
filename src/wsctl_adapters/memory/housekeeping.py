"""Housekeeping over a database in memory: what an installation is, and what keeps it small."""

from collections.abc import Collection
from datetime import timedelta

from wsctl_adapters.memory.stores import Store
from wsctl_core.ports import Safeguard
from wsctl_core.values.workspace import finished_deleting

DAY = timedelta(days=1)


class MemoryHousekeeping(Store):
    """What an installation is, and what keeps its tables small."""

    async def installation(self) -> str:
        """The identity of this installation."""
        return await self._line.call("installation", lambda: self._database.installation)

    async def safeguard(self) -> Safeguard:
        """Whether collection may run."""

        def effect() -> Safeguard:
            return Safeguard(number=self._database.number, latched=self._database.latched)

        return await self._line.call("safeguard", effect)

    async def latch(self, epoch: int, why: str, number: int) -> None:
        """Refuse every collection from now on, and move the sequence past that number."""

        def effect() -> None:
            self._database.fence(epoch)
            self._database.latched = why
            self._database.number = max(self._database.number, number)

        await self._line.call("latch", effect)

    async def clear_latch(self) -> bool:
        """Collection may run again."""

        def effect() -> bool:
            was, self._database.latched = self._database.latched, None
            return was is not None

        return await self._line.call("clear_latch", effect)

    async def purge(self, epoch: int, ids: Collection[str]) -> int:
        """Remove those rows that are finished being deleted."""

        def effect() -> int:
            self._database.fence(epoch)
            rows = self._database.rows
            done = [id for id in sorted(set(ids)) if id in rows and finished_deleting(rows[id])]
            for id in done:
                self._database.remove(id)
            return len(done)

        return await self._line.call("purge", effect)

    async def trim_events(self, epoch: int) -> int:
        """Remove events older than a day from the outbox."""

        def effect() -> int:
            database = self._database
            database.fence(epoch)
            kept = [event for event in database.outbox if event.at >= database.now() - DAY]
            trimmed = len(database.outbox) - len(kept)
            database.outbox = kept
            return trimmed

        return await self._line.call("trim_events", effect)
