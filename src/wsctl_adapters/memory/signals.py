"""Signals in memory: hints between nodes, and events for those who watch."""

import asyncio
from collections.abc import AsyncIterator
from itertools import count

import attrs

from wsctl_adapters.memory.line import Line, unreachable
from wsctl_core.ports import Event, Hint


class MemorySignals:
    """Who listens, and who watches what."""

    def __init__(self) -> None:
        self.listeners: dict[int, asyncio.Queue[Hint | None]] = {}
        self.watchers: dict[int, tuple[str, asyncio.Queue[Event]]] = {}
        self._numbers = count(1)

    def listen(self) -> tuple[int, asyncio.Queue[Hint | None]]:
        """A new listener: its number, and where it gets hints; None when it was cut off."""
        number, queue = next(self._numbers), asyncio.Queue[Hint | None]()
        self.listeners[number] = queue
        return number, queue

    def tell(self, hint: Hint) -> None:
        """Every listener gets the hint."""
        for queue in self.listeners.values():
            queue.put_nowait(hint)

    def cut_off(self) -> None:
        """Every listener loses its connection, and is told so."""
        for queue in self.listeners.values():
            queue.put_nowait(None)

    def show(self, event: Event) -> None:
        """Everyone who watches that workspace gets the event."""
        for workspace_id, queue in self.watchers.values():
            if workspace_id == event.workspace_id:
                queue.put_nowait(event)

    async def watch(self, workspace_id: str) -> AsyncIterator[Event]:
        """Events of one workspace as they are published, until the iterator is closed."""
        number, queue = next(self._numbers), asyncio.Queue[Event]()
        self.watchers[number] = workspace_id, queue
        try:
            while True:
                yield await queue.get()
        finally:
            del self.watchers[number]


@attrs.frozen
class MemoryHints:
    """One node's way to tell and to hear."""

    _signals: MemorySignals
    _line: Line

    async def send(self, hint: Hint) -> None:
        """Tell whoever listens."""
        await self._line.call("send_hint", lambda: self._signals.tell(hint))

    async def listen(self) -> AsyncIterator[Hint]:
        """Hints as they come, until the iterator is closed."""
        number, queue = self._signals.listen()
        try:
            await self._line.call("listen_to_hints", lambda: None)
            while (hint := await queue.get()) is not None:
                yield hint
            raise unreachable("listen_to_hints")
        finally:
            del self._signals.listeners[number]


@attrs.frozen
class MemoryBroadcast:
    """One node's way to those who watch."""

    _signals: MemorySignals
    _line: Line

    async def publish(self, event: Event) -> None:
        """Tell everyone who watches that workspace."""
        await self._line.call("publish_event", lambda: self._signals.show(event))
