"""`ChangeFeed` on Postgres: the outbox, read in order and without gaps (H35).

A row's lock is held while its event gets its number, so events of one workspace commit in the order
of their numbers, and those that can be seen are never without one before them.
"""

from collections.abc import AsyncIterator

from psycopg import AsyncConnection

from wsctl_adapters.postgres.failures import place_of, translated
from wsctl_adapters.postgres.marks import Mark, spans_of
from wsctl_adapters.postgres.rows import told
from wsctl_adapters.postgres.sessions import CONNECTING, Sessions
from wsctl_adapters.postgres.statements import statements
from wsctl_core.ports import Event, Feed
from wsctl_core.views.events import EventKind

SQL = statements("feed")


class PostgresFeed:
    """The outbox: every event of the last day, none skipped because it committed late."""

    def __init__(self, sessions: Sessions, conninfo: str) -> None:
        self._sessions = sessions
        self._conninfo = conninfo

    async def read(self, after: str | None, *, limit: int = 1000) -> Feed:
        """Events after a mark, each exactly once; with None, the mark of now."""
        if after is None:
            return Feed(events=(), mark=(await self._now()).text)
        mark = Mark.read(after)
        ((xmin, still),), rows = await self._sessions.moment(
            (SQL["horizon"], {"told": mark.ranges}),
            (
                SQL["events"],
                {"told": mark.ranges, "xmin": mark.xmin, "top": mark.top, "limit": limit},
            ),
        )
        events = tuple(
            Event(
                id=id,
                kind=EventKind(kind),
                workspace_id=workspace_id,
                owner_id=owner_id,
                at=at,
                row=told(row_after),
            )
            for id, _, kind, workspace_id, owner_id, at, row_after in rows
        )
        moved = mark.moved(
            xmin=xmin,
            still=spans_of(still),
            batch=[(id, xid) for id, xid, *_ in rows],
            limited=len(rows) == limit,
        )
        return Feed(events=events, mark=moved.text)

    async def _now(self) -> Mark:
        ((xmin, top, young),) = await self._sessions.rows(SQL["now"])
        return Mark(xmin=xmin, top=top, told=spans_of(young))

    async def wakes(self) -> AsyncIterator[None]:
        """One wake when listening has begun, and one for each batch of changes.

        It listens on a connection of its own, never through a pooler of transactions, and raises
        StoreUnavailable when that breaks: whoever listens then reads again from its mark.
        """
        with translated(place_of(self._conninfo)):
            connection = await AsyncConnection.connect(
                self._conninfo, autocommit=True, application_name="wsctl feed", **CONNECTING
            )
            try:
                await connection.execute(SQL["listen"])
                yield
                while True:
                    async for _ in connection.notifies(stop_after=1):
                        pass
                    yield
            finally:
                await connection.close()
