"""Threads for what blocks. A call that is cut off is joined, so that nothing of it goes on (H8)."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")

THREADS = 16
JOIN_SECONDS = 5.0
"""How long a call that was cut off is waited for. What lands later is harmless (H2 to H7)."""


def nothing() -> None:
    """What most work does when it is cut off: it is short, and ends by itself."""


class Workers:
    """A bounded pool of threads of the adapter's own."""

    def __init__(self, threads: int = THREADS) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="wsctl-local")

    async def run(self, work: Callable[[], T], *, cut_off: Callable[[], None] = nothing) -> T:
        """Do the work in a thread. When the caller is cancelled, `cut_off` makes it end soon."""
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            cut_off()
            future.add_done_callback(_retrieve)
            await _joined(future)
            raise

    def leave_to(self, work: Callable[[], None]) -> None:
        """Have something done that nobody waits for, and that may as well be done by a sweep."""
        self._pool.submit(work)

    def close(self) -> None:
        """End the threads once their work is done."""
        self._pool.shutdown(wait=False)


async def _joined(future: "asyncio.Future[T]") -> None:
    """Wait for work that was cut off, for a while; whoever is cancelled again waits all the same.

    Only then may others be told that it has ended.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + JOIN_SECONDS
    while not future.done() and loop.time() < until:
        with suppress(asyncio.CancelledError):
            await asyncio.wait([future], timeout=until - loop.time())


def _retrieve(future: "asyncio.Future[T]") -> None:
    """Look at the outcome of work that nobody waits for any more, so that nothing complains."""
    if not future.cancelled():
        future.exception()
