"""Signals: hints that make a tick come sooner, and the story of changes for those who watch.

Contract 2: losing every hint loses nothing but time.
"""

from collections.abc import AsyncIterator
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import attrs

from wsctl_core.values.workspace import Workspace
from wsctl_core.views.events import EventKind


class Hint(StrEnum):
    """What would be worth doing now."""

    LOOK = "LOOK"
    """Something outside may have changed: the monitor should look."""
    WORK = "WORK"
    """Something is wanted: the reconciler should read its rows."""


class Hints(Protocol):
    """Hints between processes. AdapterError when they can't be reached; nobody depends on them."""

    async def send(self, hint: Hint) -> None:
        """Tell whoever listens."""

    def listen(self) -> AsyncIterator[Hint]:
        """Hints as they come, until the iterator is closed."""


@attrs.frozen(kw_only=True)
class Event:
    """One change of one workspace, as it was written to the outbox with the change itself."""

    id: int
    """Orders the events of one workspace."""
    kind: EventKind
    workspace_id: str
    owner_id: str
    at: datetime
    row: Workspace
    """The row after the change."""


@attrs.frozen(kw_only=True)
class Feed:
    """Events that one reading brought, and the mark from which the next goes on."""

    events: tuple[Event, ...]
    mark: str


class ChangeFeed(Protocol):
    """The outbox: every event of the last day, none skipped because it committed late (H35)."""

    async def read(self, after: str | None, *, limit: int = 1000) -> Feed:
        """Events after a mark, each exactly once, those of one workspace in order.

        With None, no events: the mark of now. StoreUnavailable when the database is away.
        """

    def wakes(self) -> AsyncIterator[None]:
        """Something when listening has begun, and each time that new events may be there."""


class Broadcast(Protocol):
    """Where events are sent on to those who watch. AdapterError when it can't be reached."""

    async def publish(self, event: Event) -> None:
        """Tell everyone who watches that workspace; nobody watching is no error."""
