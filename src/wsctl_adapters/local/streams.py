"""Homes as tar streams, by GNU tar on the volume's folder.

Modes, owners, times to the nanosecond, links, holes and odd names are carried; sockets are left
out, as tar does; extended attributes and access lists are not carried. A home is unpacked beside
its place and put there when it is whole, so that an attempt that was cut off leaves nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from wsctl_adapters.local.layout import (
    HOME,
    Layout,
    put_in_place,
    require_volume,
    told_as,
    unused,
)
from wsctl_adapters.local.safe_tar import Scanner, UnsafeArchive
from wsctl_adapters.local.tar import Packing, Unpacking
from wsctl_adapters.local.trash import destroy, throw_away
from wsctl_adapters.local.work import Workers, nothing
from wsctl_core.ports import AdapterError
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.stamps import Stamp

T = TypeVar("T")


class LocalHomes:
    """Implements `wsctl_core.ports.HomeStreams` on folders."""

    def __init__(self, layout: Layout, workers: Workers) -> None:
        self._layout = layout
        self._workers = workers

    async def pack(self, stamp: Stamp) -> AsyncIterator[bytes]:
        """The volume's content; the same content gives the same bytes (H12).

        A home that changes meanwhile is refused: what was written too late would be lost when
        the volume is deleted. So is one with something in it that could not be unpacked again.
        """
        do = partial(self._do, AdapterCode.TAR_CREATE_FAILED)
        volume = await do(lambda: require_volume(self._layout, stamp))
        tar, scanner = Packing(volume / HOME), Scanner()

        def next_piece() -> bytes:
            piece = tar.read()
            scanner.feed(piece)
            return piece

        try:
            await do(tar.begin)
            while piece := await do(next_piece, cut_off=tar.kill):
                yield piece
            await do(tar.finish, cut_off=tar.kill)
        finally:
            await do(tar.end)

    async def unpack(self, stamp: Stamp, chunks: AsyncIterator[bytes]) -> None:
        """Fill an empty volume. Nothing is ever written outside of it."""
        do = partial(self._do, AdapterCode.TAR_EXTRACT_FAILED)
        volume = await do(lambda: require_volume(self._layout, stamp))
        aside = unused(volume)
        try:
            await do(lambda: aside.mkdir(mode=0o700))
            await self._extract(aside, chunks)
            await do(lambda: self._settle(stamp, aside))
        except asyncio.CancelledError:
            self._workers.leave_to(lambda: self._discard(aside))
            raise
        except Exception:
            await do(lambda: self._discard(aside))
            raise

    async def _extract(self, aside: Path, chunks: AsyncIterator[bytes]) -> None:
        do = partial(self._do, AdapterCode.TAR_EXTRACT_FAILED)
        tar, scanner = Unpacking(aside), Scanner()

        def take(piece: bytes) -> None:
            scanner.feed(piece)
            tar.write(piece)

        try:
            await do(tar.begin)
            async for piece in chunks:
                await do(partial(take, piece), cut_off=tar.kill)
            await do(scanner.close)
            await do(tar.finish, cut_off=tar.kill)
        finally:
            await do(tar.end)

    def _settle(self, stamp: Stamp, aside: Path) -> None:
        """Put the whole home where the empty one is."""
        volume = require_volume(self._layout, stamp)
        if not put_in_place(aside, volume / HOME):
            raise AdapterError(
                AdapterCode.TAR_EXTRACT_FAILED, f"the volume {volume.name} is not empty"
            )

    def _discard(self, aside: Path) -> None:
        grave = throw_away(aside, self._layout.trash)
        if grave is not None:
            destroy(grave)

    async def _do(
        self, code: AdapterCode, work: Callable[[], T], *, cut_off: Callable[[], None] = nothing
    ) -> T:
        """Do something in a thread; what goes wrong there is told by that code."""
        doing = "packed" if code is AdapterCode.TAR_CREATE_FAILED else "unpacked"
        try:
            with told_as(code, f"the home can't be {doing}"):
                return await self._workers.run(work, cut_off=cut_off)
        except UnsafeArchive as error:
            raise AdapterError(code, f"the home can't be {doing}: {error}") from error
