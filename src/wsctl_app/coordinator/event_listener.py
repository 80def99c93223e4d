"""The event listener: carries events from the outbox to those who watch, and wakes the others.

Each event is told once by each leader; one that was lost on the way is still in the outbox, where
every reader that needs all of them finds it (H35).
"""

from collections import deque
from collections.abc import Callable

from wsctl_app.coordinator.component import Component
from wsctl_app.coordinator.mandate import Mandate
from wsctl_core import needs_work
from wsctl_core.ports import Event

POLL_SECONDS = 5.0
"""How long an event waits at most when its notification was lost."""


class EventListener(Component):
    """Reads the outbox and tells."""

    name = "event_listener"

    def __init__(self, mandate: Mandate, work: Callable[[], None]) -> None:
        super().__init__(mandate)
        self._work = work
        self._mark: str | None = None
        self._untold: deque[Event] = deque()

    async def tick(self) -> float:
        """Tell every event since the last one told."""
        while True:
            while self._untold:
                await self.outside.broadcast.publish(self._untold[0])
                self._untold.popleft()
            feed = await self.outside.feed.read(self._mark)
            self._mark = feed.mark
            self._untold.extend(feed.events)
            if any(needs_work(event.row) for event in feed.events):
                self._work()
            if not feed.events:
                return POLL_SECONDS

    async def listen(self) -> None:
        """Nudge whenever the database says that there is something new."""
        async for _ in self.outside.feed.wakes():
            self.nudge()
