"""From a tar stream to the bytes of an archive: hashed, compressed, ended by a trailer.

Each piece becomes a gzip member of its own. So pieces are compressed side by side, the outcome
does not depend on how many at once, and `gzip` and `tar` read it as they read any other.
"""

import asyncio
import hashlib
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from concurrent.futures import Executor
from contextlib import aclosing
from functools import partial

from isal import isal_zlib

from wsctl_app.joining import ended, unhurried
from wsctl_app.transfer.streams import Progress, ahead, even, in_thread
from wsctl_app.transfer.trailer import trailer_of
from wsctl_core.values.archives import ArchiveReceipt

LEVEL = 1
AS_GZIP = 31
AT_ONCE = 2
"""How many pieces are compressed side by side."""


def compress(piece: bytes) -> bytes:
    """A gzip member, without a time in it."""
    return isal_zlib.compress(piece, LEVEL, AS_GZIP)


class Archiving:
    """One home on its way into an archive. When its stream has ended, it has a receipt."""

    def __init__(
        self, key: str, content: AsyncIterator[bytes], pool: Executor, progress: Progress
    ) -> None:
        self._key = key
        self._content = content
        self._pool = pool
        self._progress = progress
        self._hash = hashlib.sha256()

    def receipt(self) -> ArchiveReceipt:
        """Checksum and size of the content so far."""
        return ArchiveReceipt(
            key=self._key, sha256=self._hash.hexdigest(), size=self._progress.done
        )

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The bytes of the archive."""
        async with aclosing(ahead(self._members())) as members:
            async for member in members:
                yield member
        receipt = self.receipt()
        yield trailer_of(receipt.sha256, receipt.size)

    async def _members(self) -> AsyncGenerator[bytes, None]:
        under_way: deque[asyncio.Task[bytes]] = deque()
        try:
            async with aclosing(ahead(even(self._content))) as pieces:
                async for piece in pieces:
                    under_way.append(asyncio.create_task(self._member(piece)))
                    await in_thread(self._pool, partial(self._hash.update, piece))
                    self._progress.add(len(piece))
                    if len(under_way) == AT_ONCE:
                        yield await under_way.popleft()
            while under_way:
                yield await under_way.popleft()
        finally:
            await unhurried(ended(under_way))

    async def _member(self, piece: bytes) -> bytes:
        return await in_thread(self._pool, lambda: compress(piece))
