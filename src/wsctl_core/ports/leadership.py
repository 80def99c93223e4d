"""Leadership: at most one process leads, and everyone can tell an old leader by its epoch (H1)."""

from typing import Protocol


class Term(Protocol):
    """The time for which one process leads."""

    @property
    def epoch(self) -> int:
        """Larger than every epoch before it; every write of this leader carries it."""

    async def beat(self) -> None:
        """Prove that the lock is still held. LeadershipLost when it is not, or within 2 s unclear.

        A leader beats every second. One that has not beaten for three beats is unseated.
        """

    async def resign(self) -> None:
        """Give the lock back at once, so that another can lead. Resigning twice is no error."""


class Leadership(Protocol):
    """The one lock that coordinators compete for."""

    async def acquire(self) -> Term | None:
        """Wait a few seconds for the lock; None when another still holds it then: ask again.

        The epoch grows in the same transaction that records the holder, after the lock is held.
        When the holder dies, a waiter gets the lock at once. Waiting holds nothing else back
        (H36). StoreUnavailable when the database can't be reached.
        """

    async def holder(self) -> str | None:
        """The name of the node that led last, for people. None when nobody ever did."""
