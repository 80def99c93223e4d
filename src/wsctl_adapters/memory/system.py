"""Time and identity for one process: the event loop's clock, and identities that count."""

import asyncio


class LoopClock:
    """The clock of the running event loop: a virtual one, when the loop's is."""

    def monotonic(self) -> float:
        """Seconds of the loop."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Let that much time of the loop pass."""
        await asyncio.sleep(seconds)


class CountingIds:
    """Identities in the order in which they are asked for: the same in every run.

    >>> ids = CountingIds()
    >>> ids.fresh(), ids.fresh()
    ('x1', 'x2')
    """

    def __init__(self) -> None:
        self._given = 0

    def fresh(self) -> str:
        """The next one."""
        self._given += 1
        return f"x{self._given}"
