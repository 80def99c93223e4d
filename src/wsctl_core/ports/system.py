"""Time, identity and chance, as things that are handed in: a simulation hands in its own."""

from typing import Protocol


class Clock(Protocol):
    """A process's own sense of time: for pauses and ages. Times in rows are the database's."""

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Let that much time pass."""


class Ids(Protocol):
    """Where new identities come from."""

    def fresh(self) -> str:
        """An identity that nothing has used and nothing will use again."""
