"""Homes in motion, in memory: straight between volumes and objects.

Each effect is whole, and a restore is two of them: what dies between them leaves a part.
"""

from hashlib import sha256

import attrs

from wsctl_adapters.memory.archives import MemoryArchives
from wsctl_adapters.memory.line import Line
from wsctl_adapters.memory.runtime import MemoryRuntime, volume_of
from wsctl_core.decisions.recovery import Evidence
from wsctl_core.ports import AdapterError
from wsctl_core.ports.archives import Say
from wsctl_core.values.archives import ArchiveReceipt
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.stamps import Stamp


def receipt_of(key: str, content: bytes) -> ArchiveReceipt:
    """The receipt of this content under that key.

    >>> receipt_of("archives/w1/op9/home.tar.gz", b"work").size
    4
    """
    return ArchiveReceipt(key=key, sha256=sha256(content).hexdigest(), size=len(content))


@attrs.frozen
class MemoryTransfers:
    """Archive and restore without streams: an object's data are the volume's content."""

    _runtime: MemoryRuntime
    _archives: MemoryArchives
    _line: Line

    async def archive(self, stamp: Stamp, key: str, say: Say) -> ArchiveReceipt:
        """Write the home of that incarnation under the key, unless it is there already."""
        there = await self._line.call("archive_looks", lambda: self._there(stamp, key))
        if there is not None:
            return there
        content = await self._line.call(
            "archive_packs", lambda: self._runtime.labelled(stamp).content
        )
        say(0, len(content))
        receipt = receipt_of(key, content)

        def put() -> ArchiveReceipt:
            if self._archives.put(key, stamp, content, receipt):
                return receipt
            return self._there(stamp, key) or receipt

        written = await self._line.call("archive_puts", put)
        say(len(content), len(content))
        return written

    def _there(self, stamp: Stamp, key: str) -> ArchiveReceipt | None:
        """The receipt of an archive of this incarnation; None when the key is free."""
        found = self._archives.objects.get(key)
        if found is None:
            return None
        same = attrs.evolve(found.stamp, seq=stamp.seq) == stamp
        if found.trailer is None or not same:  # H9
            raise _unconfirmed(key, f"holds incarnation {found.stamp.incarnation}")
        return found.trailer

    async def confirm(self, archive: ArchiveReceipt) -> None:
        """Storage holds what the receipt says."""

        def effect() -> None:
            found = self._archives.objects.get(archive.key)
            if found is None:
                raise _unconfirmed(archive.key, "is not there")
            if receipt_of(archive.key, found.data) != archive:
                raise _unconfirmed(archive.key, "holds something else")

        await self._line.call("confirm_archive", effect)

    async def restore(self, archive: ArchiveReceipt, stamp: Stamp, say: Say) -> None:
        """Fill the volume of that incarnation, verified."""
        name = volume_of(stamp)

        def begin() -> bytes:
            self._runtime.labelled(stamp)
            data = self._archives.get(archive.key).data
            self._runtime.fill(name, data[: len(data) // 2], partial=True)
            return data

        data = await self._line.call("restore_begins", begin)
        say(min(len(data) // 2, archive.size), archive.size)

        def end() -> None:
            self._runtime.labelled(stamp)
            if receipt_of(archive.key, data) != archive:
                raise AdapterError(
                    AdapterCode.CHECKSUM_MISMATCH,
                    f"{archive.key} is not what was saved",
                    {"archive_key": archive.key},
                )
            self._runtime.fill(name, data)

        await self._line.call("restore_ends", end)
        say(archive.size, archive.size)

    async def look(self, archive: ArchiveReceipt) -> Evidence:
        """Whether an archive is there and whole."""

        def effect() -> Evidence:
            found = self._archives.objects.get(archive.key)
            if found is None:
                return Evidence.GONE
            whole = receipt_of(archive.key, found.data) == archive
            return Evidence.THERE if whole else Evidence.CORRUPT

        return await self._line.call("look_at_archive", effect)


def _unconfirmed(key: str, why: str) -> AdapterError:
    return AdapterError(AdapterCode.ARCHIVE_UNCONFIRMED, f"{key} {why}", {"archive_key": key})
