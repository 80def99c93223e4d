"""A database in memory: rows, the sequence, the outbox, and the lock that leaders compete for.

It is a world that nodes share. Its methods are what happens inside one transaction: synchronous,
whole, and never called by a node except through its line. It knows no clock: `now` is given.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import count, islice

import attrs

from wsctl_core.decisions.limits import Usage, holds_place, wants_place
from wsctl_core.ports import Event, LeadershipLost, Reading
from wsctl_core.values.patches import NEXT_NUMBER, ReconcilerPatch, changes
from wsctl_core.values.workspace import Workspace
from wsctl_core.views.events import event_of

UNSEATED_AFTER_SECONDS = 3.0
"""Three beats: a session that was silent for longer has lost its lock."""


@attrs.define(eq=False)
class Session:
    """A connection that may hold the lock; it ends when its process does."""

    node_id: str
    beaten_at: float
    """When it last showed a sign of life, by the loop's clock."""
    epoch: int = 0
    """The epoch that its term began with; 0 while it has none."""


class MemoryDatabase:
    """Everything that wsctl's tables hold."""

    def __init__(self, *, now: Callable[[], datetime], installation: str = "memory") -> None:
        self.now = now
        self.installation = installation
        self.rows: dict[str, Workspace] = {}
        self.number = 0
        """The largest number that the sequence has given."""
        self.pass_number = 0
        self.latched: str | None = None
        self.epoch = 0
        self.holder: str | None = None
        self.outbox: list[Event] = []
        self.leader: Session | None = None
        """Who holds the lock."""
        self.lock_freed = Bell()
        self.written = Bell()
        """Rings when there are new events."""
        self.last_event = 0
        self.last_write = 0
        self._written_at: dict[str, int] = {}
        """The number of each row's last write, in the order of those writes."""
        self._sessions: list[Session] = []

    # Rows.

    def next_number(self) -> int:
        """The next number of the sequence."""
        self.number += 1
        return self.number

    def number_for(self, patch: ReconcilerPatch) -> int | None:
        """The next number, when the patch asks for one."""
        asked = any(value is NEXT_NUMBER for value in changes(patch).values())
        return self.next_number() if asked else None

    def fence(self, epoch: int) -> None:
        """Contract 12: an old leader changes nothing (H1)."""
        if epoch != self.epoch:
            raise LeadershipLost(f"epoch {epoch} is not {self.epoch}")

    def put(self, row: Workspace) -> Workspace:
        """Write a row, and the event that the change makes, as one."""
        kind = event_of(self.rows.get(row.id), row).outcome
        self.rows[row.id] = row
        self.last_write += 1
        self._written_at.pop(row.id, None)  # so that it is put at the end
        self._written_at[row.id] = self.last_write
        if kind is not None:
            self.last_event += 1
            event = Event(
                id=self.last_event,
                kind=kind,
                workspace_id=row.id,
                owner_id=row.owner_id,
                at=self.now(),
                row=row,
            )
            self.outbox.append(event)
            self.written.ring()
        return row

    def remove(self, workspace_id: str) -> None:
        """Remove a row, and leave no trace."""
        del self.rows[workspace_id]
        del self._written_at[workspace_id]

    def reading(self, rows: tuple[Workspace, ...]) -> Reading:
        """These rows, read now."""
        return Reading(rows=rows, now=self.now(), pass_seq=self.pass_number)

    def written_since(self, mark: int) -> tuple[Workspace, ...]:
        """Every row that was written after that mark, the last one first."""
        return tuple(self._newest_first(mark))

    def _newest_first(self, mark: int) -> Iterator[Workspace]:
        for workspace_id, written in reversed(self._written_at.items()):
            if written <= mark:
                return
            yield self.rows[workspace_id]

    def intents(self, owner_id: str, but: str | None = None) -> Usage:
        """How many others want to run."""
        return _usage(owner_id, [ws for ws in self.rows.values() if wants_place(ws)], but)

    def places(self, owner_id: str, but: str) -> Usage:
        """How many others hold a place."""
        held = [ws for ws in self.rows.values() if holds_place(ws, self.pass_number)]
        return _usage(owner_id, held, but)

    # The outbox.

    def events_after(self, event_id: int, limit: int) -> tuple[Event, ...]:
        """Events with a larger number, in order."""
        begin = bisect_right(self.outbox, event_id, key=lambda event: event.id)
        return tuple(islice(self.outbox, begin, begin + limit))

    # Sessions, and the lock that one of them holds.

    def open_session(self, node_id: str) -> Session:
        """A new connection of that node."""
        session = Session(node_id, asyncio.get_running_loop().time())
        self._sessions.append(session)
        return session

    def alive(self, session: Session) -> bool:
        """The connection stands: it was not dropped, and not silent for too long."""
        if session not in self._sessions:
            return False
        silent = asyncio.get_running_loop().time() - session.beaten_at
        if silent > UNSEATED_AFTER_SECONDS:
            self.close_session(session)
            return False
        return True

    def close_session(self, session: Session) -> None:
        """End a connection; a lock that it held is free."""
        self._sessions = [other for other in self._sessions if other is not session]
        if self.leader is session:
            self.leader = None
            self.lock_freed.ring()

    def drop_session(self, node_id: str) -> None:
        """The process of that node has died: all its connections end, and calls to come fail."""
        for session in tuple(self._sessions):
            if session.node_id == node_id:
                self.close_session(session)


class Bell:
    """Wakes everyone who waits, and remembers nothing."""

    def __init__(self) -> None:
        self._waiting: dict[int, asyncio.Event] = {}
        self._numbers = count(1)

    def ring(self) -> None:
        """Wake everyone."""
        for event in self._waiting.values():
            event.set()

    def listen(self) -> "Listener":
        """From now on, no ring is missed."""
        number, event = next(self._numbers), asyncio.Event()
        self._waiting[number] = event
        return Listener(event=event, close=lambda: self._waiting.pop(number, None))


@attrs.frozen(kw_only=True)
class Listener:
    """Someone who hears a bell, until it is closed."""

    event: asyncio.Event
    close: Callable[[], object]


def _usage(owner_id: str, rows: list[Workspace], but: str | None) -> Usage:
    others = [ws for ws in rows if ws.id != but]
    return Usage(by_user=sum(ws.owner_id == owner_id for ws in others), in_all=len(others))
