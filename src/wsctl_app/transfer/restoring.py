"""From the bytes of an archive to its tar stream: unpacked, counted, and hashed.

The stream ends only when its content was the receipt's, to the last byte; otherwise it raises
CHECKSUM_MISMATCH, and never gives more than the receipt says.
"""

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator
from concurrent.futures import Executor
from contextlib import aclosing
from typing import cast

from isal import igzip_lib

from wsctl_app.transfer.streams import PIECE_BYTES, Progress, ahead, in_thread
from wsctl_core.ports import AdapterError
from wsctl_core.values.archives import ArchiveReceipt
from wsctl_core.values.errors import AdapterCode

SLICE_BYTES = 1 << 16
BAD_GZIP = cast("type[Exception]", igzip_lib.error)
"""What the library raises; its stubs call it an instance."""


class Members:
    """The content of gzip members, one after the other, a bounded piece at a time."""

    def __init__(self) -> None:
        self._given = memoryview(b"")
        self._inflate: igzip_lib.IgzipDecompressor | None = None

    @property
    def between(self) -> bool:
        """No member is open: the archive may end here."""
        return self._inflate is None and not self._given

    def give(self, data: bytes) -> None:
        """Hand over more of the archive; whatever was given before must have been taken."""
        self._given = memoryview(data)

    def take(self) -> bytes:
        """The next piece of the content; empty when more of the archive is needed."""
        while True:
            if self._inflate is None:
                if not self._given:
                    return b""
                self._inflate = igzip_lib.IgzipDecompressor(igzip_lib.DECOMP_GZIP)
            used = 0
            if self._inflate.needs_input:
                if not self._given:
                    return b""
                used = min(SLICE_BYTES, len(self._given))
            piece = self._inflate.decompress(self._given[:used], PIECE_BYTES)
            if self._inflate.eof:
                used -= len(self._inflate.unused_data)
                self._inflate = None
            self._given = self._given[used:]
            if piece:
                return piece


class Restoring:
    """The content of an archive, verified. It can be read on by another when one gave up."""

    def __init__(
        self,
        receipt: ArchiveReceipt,
        chunks: AsyncIterator[bytes],
        pool: Executor,
        progress: Progress,
    ) -> None:
        self._receipt = receipt
        self._pool = pool
        self._progress = progress
        self._hash = hashlib.sha256()
        self._members = Members()
        self._stream = ahead(self._verified(chunks))

    def __aiter__(self) -> "Restoring":
        return self

    async def __anext__(self) -> bytes:
        return await self._stream.__anext__()

    async def verify(self) -> None:
        """Read what is left. CHECKSUM_MISMATCH when the archive is not what was saved."""
        async for _ in self:
            pass

    async def close(self) -> None:
        """End whatever the stream stands on."""
        await self._stream.aclose()

    async def _verified(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        async with aclosing(ahead(chunks)) as stream:
            async for chunk in stream:
                self._members.give(chunk)
                while piece := await in_thread(self._pool, self._take):
                    self._progress.add(len(piece))
                    if self._progress.done > self._receipt.size:
                        raise self._mismatch("it holds more bytes than it should")
                    yield piece
        if not self._members.between:
            raise self._mismatch("it ends in the middle")
        if self._progress.done != self._receipt.size:
            raise self._mismatch(f"it holds {self._progress.done} bytes")
        if self._hash.hexdigest() != self._receipt.sha256:
            raise self._mismatch("its checksum is another")
        self._progress.finish()

    def _take(self) -> bytes:
        try:
            piece = self._members.take()
        except BAD_GZIP as error:
            raise self._mismatch(str(error)) from error
        self._hash.update(piece)
        return piece

    def _mismatch(self, detail: str) -> AdapterError:
        return AdapterError(
            AdapterCode.CHECKSUM_MISMATCH,
            f"{self._receipt.key} is not what was saved: {detail}",
            {"archive_key": self._receipt.key, "detail": detail},
        )
