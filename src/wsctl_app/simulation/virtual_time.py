"""An event loop whose time is virtual: where it would wait, it leaps ahead.

The same tasks in the same order, run after run: a simulation is a function of its seed.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class StandsStill(RuntimeError):
    """No task can run and no timer is set: nothing will ever happen again."""


class _Leaping(selectors.SelectSelector):
    """Waits for nothing: time is passed on to the loop instead."""

    leap = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            raise StandsStill("every task waits, and no timer is set")
        self.leap += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop that starts at zero and never waits."""

    def __init__(self) -> None:
        self._leaping = _Leaping()
        super().__init__(self._leaping)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._leaping.leap


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end, in virtual time.

    >>> import asyncio
    >>> async def a_week() -> float:
    ...     await asyncio.sleep(7 * 24 * 3600)
    ...     return asyncio.get_running_loop().time()
    >>> run(a_week()) >= 7 * 24 * 3600
    True
    """
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
