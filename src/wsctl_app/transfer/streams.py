"""Streams of bytes, in pieces of bounded size and number. What is heavy is done in threads.

However large a home is, a transfer holds a handful of pieces. A stream that is cut off ends what
it stands on before it is gone.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import Executor
from contextlib import aclosing
from typing import TypeVar

from wsctl_app.joining import ended, unhurried
from wsctl_core.ports import Clock
from wsctl_core.ports.archives import Say

T = TypeVar("T")

PIECE_BYTES = 1 << 20
AHEAD = 2
"""How many pieces wait between one stage and the next."""
SAY_SECONDS = 0.25


async def closing(source: AsyncIterator[T]) -> AsyncGenerator[T, None]:
    """A stream that takes what it stands on along when it is closed."""
    try:
        async for item in source:
            yield item
    finally:
        if isinstance(source, AsyncGenerator):
            await source.aclose()


async def even(source: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """The same bytes in pieces of one size, the last one perhaps shorter.

    Archives are compressed piece by piece: however the bytes came, the archive is the same (H12).
    """
    held = bytearray()
    async with aclosing(closing(source)) as stream:
        async for piece in stream:
            if not held and len(piece) == PIECE_BYTES:
                yield piece
                continue
            held += piece
            while len(held) >= PIECE_BYTES:
                yield bytes(held[:PIECE_BYTES])
                del held[:PIECE_BYTES]
    if held:
        yield bytes(held)


class _End:
    """The end of a stream: its error, or None when it simply ended."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error


async def ahead(source: AsyncIterator[T]) -> AsyncGenerator[T, None]:
    """The same stream, a few items of it fetched before they are asked for."""
    room = asyncio.Semaphore(AHEAD)
    fetched: asyncio.Queue[T | _End] = asyncio.Queue()

    async def fetch() -> None:
        end = _End(None)
        try:
            async with aclosing(closing(source)) as stream:
                async for item in stream:
                    await room.acquire()
                    fetched.put_nowait(item)
        except Exception as error:  # noqa: BLE001 - it is raised where the stream is read
            end = _End(error)
        fetched.put_nowait(end)

    fetching = asyncio.create_task(fetch())
    try:
        while not isinstance(item := await fetched.get(), _End):
            room.release()
            yield item
        if item.error is not None:
            raise item.error
    finally:
        await unhurried(ended([fetching]))


class Progress:
    """Tells how far a transfer is, a few times a second at most."""

    def __init__(self, say: Say, clock: Clock, total: int | None) -> None:
        self._say = say
        self._clock = clock
        self._total = total
        self._told_at = clock.monotonic()
        self.done = 0

    def add(self, count: int) -> None:
        """That many bytes more are done."""
        self.done += count
        now = self._clock.monotonic()
        if now - self._told_at >= SAY_SECONDS:
            self._told_at = now
            self._say(self.done, self._total)

    def finish(self) -> None:
        """All is done."""
        self._say(self.done, self.done)


async def in_thread(pool: Executor, work: Callable[[], T]) -> T:
    """Do a short, heavy thing in a thread; when cut off, wait until it ended."""
    future = asyncio.get_running_loop().run_in_executor(pool, work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        await unhurried(asyncio.wait([future]))
        raise
