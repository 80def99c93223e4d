"""Archives in memory: objects that nodes share, and the storage that reads and writes them."""

from collections.abc import AsyncIterator, Callable
from datetime import datetime

import attrs

from wsctl_adapters.memory.line import Line
from wsctl_core.ports import AdapterError
from wsctl_core.values.archives import ArchiveReceipt, StoredArchive
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.stamps import Stamp

PIECE = 64 * 1024


@attrs.frozen(kw_only=True)
class Object:
    """One object, with its metadata."""

    data: bytes
    stamp: Stamp
    stored_at: datetime
    trailer: ArchiveReceipt | None = None
    """What its writer said of the content; None when the data carry it themselves."""


class MemoryArchives:
    """One bucket."""

    def __init__(self, *, now: Callable[[], datetime]) -> None:
        self.now = now
        self.objects: dict[str, Object] = {}

    def put(
        self, key: str, stamp: Stamp, data: bytes, trailer: ArchiveReceipt | None = None
    ) -> bool:
        """Write a new object, whole; False when the key is taken (H3)."""
        if key in self.objects:
            return False
        self.objects[key] = Object(data=data, stamp=stamp, stored_at=self.now(), trailer=trailer)
        return True

    def get(self, key: str) -> Object:
        """The object; or ARCHIVE_NOT_FOUND."""
        found = self.objects.get(key)
        if found is None:
            raise AdapterError(
                AdapterCode.ARCHIVE_NOT_FOUND, f"there is no archive {key}", {"archive_key": key}
            )
        return found

    def stored(self, key: str) -> StoredArchive | None:
        """What a listing shows of an object; None when there is none."""
        found = self.objects.get(key)
        if found is None:
            return None
        return StoredArchive(
            key=key,
            installation=found.stamp.installation,
            stored_at=found.stored_at,
            incarnation=found.stamp.incarnation,
            seq=found.stamp.seq,
            stored_size=len(found.data),
        )

    # What happens without wsctl.

    def spoil_archive(self, key: str) -> Object:
        """An object becomes unreadable: what it was, so that it can be mended."""
        was = self.objects[key]
        spoilt = bytes(byte ^ 0xFF for byte in was.data) + b"spoilt"
        self.objects[key] = attrs.evolve(was, data=spoilt)
        return was

    def mend_archive(self, key: str, was: Object) -> None:
        """The object is again what it was."""
        self.objects[key] = was


@attrs.frozen
class MemoryStorage:
    """Objects under keys, written in two effects: nothing is there before the second."""

    _archives: MemoryArchives
    _line: Line

    async def put(self, key: str, stamp: Stamp, chunks: AsyncIterator[bytes]) -> bool:
        """Write a new object; False when the key is taken."""
        taken = await self._line.call("put_begins", lambda: key in self._archives.objects)
        if taken:
            return False
        data = b"".join([chunk async for chunk in chunks])
        return await self._line.call("put_ends", lambda: self._archives.put(key, stamp, data))

    async def head(self, key: str) -> StoredArchive | None:
        """What is known of an object without reading it."""
        return await self._line.call("head", lambda: self._archives.stored(key))

    async def read(self, key: str) -> AsyncIterator[bytes]:
        """The object's bytes, in pieces."""
        data = await self._line.call("read_archive", lambda: self._archives.get(key).data)
        for begin in range(0, len(data), PIECE):
            yield data[begin : begin + PIECE]

    async def tail(self, key: str, length: int) -> bytes:
        """The object's last bytes."""

        def effect() -> bytes:
            data = self._archives.get(key).data
            return data[max(0, len(data) - length) :]

        return await self._line.call("tail", effect)

    async def list_all(self) -> AsyncIterator[StoredArchive]:
        """Every object, in the order of their keys."""

        def effect() -> list[StoredArchive]:
            found = (self._archives.stored(key) for key in sorted(self._archives.objects))
            return [stored for stored in found if stored is not None]

        for stored in await self._line.call("list_archives", effect):
            yield stored

    async def delete(self, key: str) -> None:
        """Delete one object."""
        await self._line.call("delete_archive", lambda: self._archives.objects.pop(key, None))
