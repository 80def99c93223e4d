"""`WorkspaceReader` on Postgres: rows of one moment, with its time and its pass number.

What a reading brings is of one snapshot: a pass number newer than its rows would make a stale
status look fresh (H19). It never writes.
"""

from collections.abc import Collection

from wsctl_adapters.postgres.rows import workspaces
from wsctl_adapters.postgres.sessions import FLEET_WITHIN, Call, Parameters, Sessions
from wsctl_adapters.postgres.statements import statements
from wsctl_core.ports import Changes, Page, Reading, Work
from wsctl_core.values.validation import InvalidValue

SQL = statements("reading")


class PostgresReader:
    """Reads, and never writes."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def some(self, ids: Collection[str]) -> Reading:
        """The rows of those workspaces that exist, in no order."""
        ((now, pass_seq, _),), rows = await self._sessions.moment(
            (SQL["moment"], None), (SQL["some"], {"ids": list(ids)})
        )
        return Reading(rows=await workspaces(rows), now=now, pass_seq=pass_seq)

    async def page(
        self,
        *,
        owner_id: str | None = None,
        deleted: bool = False,
        after: str | None = None,
        limit: int = 100,
    ) -> Page:
        """A listing in pages; one row more is read, to know whether there is another page."""
        statement = SQL["page" if owner_id is None else "page_of_owner"]
        asked = {"owner_id": owner_id, "deleted": deleted, "after": after or "", "limit": limit + 1}
        return await self._page(statement, asked, limit)

    async def finished(self, *, after: str | None = None, limit: int = 100) -> Page:
        """Only what is finished being deleted, by an index of its own."""
        asked = {"after": after or "", "limit": limit + 1}
        return await self._page(SQL["finished"], asked, limit)

    async def _page(self, statement: bytes, asked: Parameters, limit: int) -> Page:
        found = await self._sessions.rows(statement, asked)
        rows = await workspaces(found[:limit])
        return Page(rows=rows, after=rows[-1].id if len(found) > limit else None)

    async def changed(self, since: str | None) -> Changes:
        """Every row written since the mark: the oldest transaction that ran when it was made.

        A writer that began before it had committed, and was told; one that had not is told now.
        """
        if since is None:
            call: Call = (SQL["all"], None)
        elif since.isdecimal():
            call = (SQL["changed"], {"mark": since})
        else:
            raise InvalidValue("changed", "since", f"{since!r} is no mark")
        ((now, pass_seq, mark),), rows = await self._sessions.moment(
            (SQL["moment"], None), call, within=FLEET_WITHIN
        )
        return Changes(rows=await workspaces(rows), now=now, pass_seq=pass_seq, mark=mark)

    async def work(self) -> Work:
        """Every row that needs work, and the places that are held."""
        ((now, pass_seq, _),), rows, held = await self._sessions.moment(
            (SQL["moment"], None),
            (SQL["needing_work"], None),
            (SQL["held"], None),
            within=FLEET_WITHIN,
        )
        return Work(rows=await workspaces(rows), now=now, pass_seq=pass_seq, held=dict(held))
