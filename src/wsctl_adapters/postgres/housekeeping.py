"""`Housekeeping` on Postgres: the installation's identity, its latch, tables that stay small."""

from collections.abc import Collection

from wsctl_adapters.postgres.sessions import FLEET_WITHIN, Sessions
from wsctl_adapters.postgres.statements import statements
from wsctl_core.ports import Safeguard

SQL = statements("housekeeping")


class PostgresHousekeeping:
    """What an installation is, and what keeps its tables small."""

    def __init__(self, sessions: Sessions, people: Sessions) -> None:
        self._sessions = sessions
        self._people = people
        """Where a person acts, through the service."""

    async def installation(self) -> str:
        """The identity of this installation."""
        ((id,),) = await self._sessions.rows(SQL["installation"])
        return str(id)

    async def safeguard(self) -> Safeguard:
        """Whether collection may run."""
        ((number, why),) = await self._sessions.rows(SQL["safeguard"])
        return Safeguard(number=number, latched=why)

    async def latch(self, epoch: int, why: str, number: int) -> None:
        """Refuse every collection from now on, and move the sequence past that number."""
        await self._sessions.rows(SQL["latch"], {"epoch": epoch, "why": why, "number": number})

    async def clear_latch(self) -> bool:
        """A person has looked: collection may run again."""
        ((cleared,),) = await self._people.rows(SQL["clear_latch"])
        return bool(cleared)

    async def purge(self, epoch: int, ids: Collection[str]) -> int:
        """Remove those rows that are finished being deleted: how many."""
        ((removed,),) = await self._sessions.rows(
            SQL["purge"], {"epoch": epoch, "ids": list(ids)}, FLEET_WITHIN
        )
        return int(removed)

    async def trim_events(self, epoch: int) -> int:
        """Remove events older than a day from the outbox: how many."""
        ((removed,),) = await self._sessions.rows(
            SQL["trim_events"], {"epoch": epoch}, FLEET_WITHIN
        )
        return int(removed)
