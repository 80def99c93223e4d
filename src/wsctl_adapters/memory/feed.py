"""The change feed over the outbox of a database in memory."""

from collections.abc import AsyncIterator

import attrs

from wsctl_adapters.memory.database import MemoryDatabase
from wsctl_adapters.memory.line import Line
from wsctl_core.ports import Feed


@attrs.frozen
class MemoryFeed:
    """Every event of the last day; numbers are given when a write takes place, so none is late."""

    _database: MemoryDatabase
    _line: Line

    async def read(self, after: str | None, *, limit: int = 1000) -> Feed:
        """Events after a mark, each once."""

        def effect() -> Feed:
            if after is None:
                return Feed(events=(), mark=str(self._database.last_event))
            events = self._database.events_after(int(after), limit)
            return Feed(events=events, mark=str(events[-1].id) if events else after)

        return await self._line.call("read_feed", effect)

    async def wakes(self) -> AsyncIterator[None]:
        """Something for each time that new events may be there."""
        listener = self._database.written.listen()
        try:
            await self._line.call("watch_feed", lambda: None)
            listener.event.set()  # there may be some already
            while True:
                await listener.event.wait()
                listener.event.clear()
                yield
        finally:
            listener.close()
