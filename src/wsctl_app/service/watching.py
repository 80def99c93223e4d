"""Watching: what is, and then everything that changes, with nothing lost between.

The mark of the outbox is taken before the snapshot is read, so a change that falls between the two
is told, and may be told twice. One loop per process waits for new events and wakes every watcher.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from datetime import datetime, timedelta
from typing import TypeAlias

import attrs

from wsctl_app.coordinator.executor import Transferred
from wsctl_app.outside import Outside
from wsctl_app.service.access import Caller
from wsctl_app.service.refusals import NotFound
from wsctl_app.telemetry import Log
from wsctl_core.ports import Event, Page, StoreUnavailable
from wsctl_core.values.states import Operation
from wsctl_core.values.workspace import Workspace

HEARTBEAT_SECONDS = 30.0
POLL_SECONDS = 5.0
"""How long an event waits at most when its wake was lost."""
TRANSFER_SECONDS = 1.0
"""How often the progress of a transfer is told."""
RESUMABLE = timedelta(hours=23)
"""The outbox is kept a day: who comes back later gets a snapshot."""
PAGE = 500

TransferredOf = Callable[[str], Transferred | None]
"""How far this process has come with a workspace's transfer; None when none is under way."""

_MOVING = (Operation.ARCHIVING, Operation.RESTORING)


@attrs.frozen(kw_only=True)
class Snapshot:
    """Workspaces as they are; the stream begins with one or more of these."""

    rows: tuple[Workspace, ...]
    more: bool
    """Another follows before the first change."""


@attrs.frozen(kw_only=True)
class Changed:
    """One event of the outbox."""

    event: Event
    position: str | None
    """From where to go on after it; None while others of the same reading follow."""


@attrs.frozen(kw_only=True)
class Transfer:
    """How far a home in motion has come. It passes, and nobody can go on from it."""

    workspace_id: str
    operation: Operation
    done: int
    of: int | None


@attrs.frozen(kw_only=True)
class Heartbeat:
    """Nothing happened, and the stream is alive."""

    at: datetime
    position: str


Told: TypeAlias = Snapshot | Changed | Transfer | Heartbeat


class Watching:
    """Everyone who watches, in one process."""

    def __init__(self, outside: Outside, transferred: TransferredOf, log: Log) -> None:
        self._outside = outside
        self._transferred = transferred
        self._log = log
        self._woken = asyncio.Event()

    async def run(self) -> None:
        """Wake all watchers whenever there may be something new, for ever."""
        while True:
            try:
                async for _ in self._outside.feed.wakes():
                    self._wake()
            except StoreUnavailable as error:
                self._log.warning("no events for now", why=str(error))
            await self._outside.clock.sleep(POLL_SECONDS)

    def _wake(self) -> None:
        woken, self._woken = self._woken, asyncio.Event()
        woken.set()

    async def watch(
        self, caller: Caller, workspace_id: str | None = None, after: str | None = None
    ) -> AsyncGenerator[Told, None]:
        """One workspace, or all that the caller may see; after a position, only what follows it.

        NotFound when there is no such workspace. StoreUnavailable when the database went away:
        whoever comes back with the last position misses nothing.
        """
        watcher = await _Watcher.begun(self._outside, caller, workspace_id, after)
        if watcher.snapshot_due:
            async for page in watcher.snapshot():
                yield page
        while True:
            woken = self._woken
            async for changed in watcher.changes():
                yield changed
            for transfer in watcher.transfers(self._transferred):
                yield transfer
            if watcher.heartbeat_due():
                yield watcher.heartbeat()
            await self._pause(woken, watcher.pause_seconds())

    @staticmethod
    async def _pause(woken: asyncio.Event, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await woken.wait()
        except TimeoutError:
            return


@attrs.define(kw_only=True)
class _Watcher:
    """One watcher: where it is in the outbox, and which homes it knows to be in motion."""

    outside: Outside
    caller: Caller
    workspace_id: str | None
    mark: str
    snapshot_due: bool
    began_at: datetime
    began: float
    beat: float
    moving: dict[str, Operation] = attrs.field(factory=dict)

    @classmethod
    async def begun(
        cls, outside: Outside, caller: Caller, workspace_id: str | None, after: str | None
    ) -> "_Watcher":
        reading = await outside.reader.some([] if workspace_id is None else [workspace_id])
        if workspace_id is not None and not any(map(caller.may_see, reading.rows)):
            raise NotFound(workspace_id)
        mark = await _resumable(outside, after, reading.now)
        began = outside.clock.monotonic()
        watcher = cls(
            outside=outside,
            caller=caller,
            workspace_id=workspace_id,
            mark=mark or (await outside.feed.read(None)).mark,
            snapshot_due=mark is None,
            began_at=reading.now,
            began=began,
            beat=began,
        )
        for ws in reading.rows:
            watcher.learn(ws)
        return watcher

    def learn(self, ws: Workspace) -> None:
        if ws.operation in _MOVING:
            self.moving[ws.id] = ws.operation
        else:
            self.moving.pop(ws.id, None)

    async def snapshot(self) -> AsyncIterator[Snapshot]:
        page = await self._page(None)
        while True:
            for ws in page.rows:
                self.learn(ws)
            yield Snapshot(rows=page.rows, more=page.after is not None)
            if page.after is None:
                return
            page = await self._page(page.after)

    async def _page(self, after: str | None) -> Page:
        if self.workspace_id is not None:
            reading = await self.outside.reader.some([self.workspace_id])
            return Page(rows=reading.rows, after=None)
        owner_id = None if self.caller.is_administrator else self.caller.user_id
        return await self.outside.reader.page(owner_id=owner_id, after=after, limit=PAGE)

    async def changes(self) -> AsyncIterator[Changed]:
        while True:
            feed = await self.outside.feed.read(self.mark)
            self.mark = feed.mark
            events = [event for event in feed.events if self._concerns(event)]
            for event in events:
                self.learn(event.row)
                # Only the last may be gone on from: the mark is past all of them.
                position = self._position() if event is events[-1] else None
                yield Changed(event=event, position=position)
            if not feed.events:
                return

    def _concerns(self, event: Event) -> bool:
        return self.workspace_id in (None, event.workspace_id) and self.caller.may_see(event.row)

    def transfers(self, transferred: TransferredOf) -> list[Transfer]:
        return [
            Transfer(workspace_id=ws_id, operation=operation, done=known.done, of=known.of)
            for ws_id, operation in self.moving.items()
            if (known := transferred(ws_id)) is not None
        ]

    def heartbeat_due(self) -> bool:
        return self.outside.clock.monotonic() - self.beat >= HEARTBEAT_SECONDS

    def heartbeat(self) -> Heartbeat:
        self.beat = self.outside.clock.monotonic()
        return Heartbeat(at=self._now(), position=self._position())

    def pause_seconds(self) -> float:
        left = HEARTBEAT_SECONDS - (self.outside.clock.monotonic() - self.beat)
        return max(0.0, min(left, TRANSFER_SECONDS if self.moving else POLL_SECONDS))

    def _now(self) -> datetime:
        """The database's clock, as far as this process can tell."""
        return self.began_at + timedelta(seconds=self.outside.clock.monotonic() - self.began)

    def _position(self) -> str:
        return f"{int(self._now().timestamp())}-{self.mark}"


async def _resumable(outside: Outside, position: str | None, now: datetime) -> str | None:
    """The mark of a position that is young enough and is one; None: begin with a snapshot."""
    seconds, _, mark = (position or "").partition("-")
    if not seconds.isdecimal() or now.timestamp() - int(seconds) > RESUMABLE.total_seconds():
        return None
    try:
        await outside.feed.read(mark, limit=1)
    except ValueError:
        return None  # it came from outside, and the feed does not know it
    return mark
