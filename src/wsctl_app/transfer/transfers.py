"""`StreamTransfers`: archive, confirm, restore and look, over a stream of each end.

A transfer that does not reach its storage tries three times by itself, and takes three quarters of
a minute for it, before the reconciler counts one failure (specification, section 5).
"""

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import TypeVar

from wsctl_app.transfer.archiving import Archiving
from wsctl_app.transfer.restoring import Restoring
from wsctl_app.transfer.streams import Progress
from wsctl_app.transfer.trailer import TRAILER_BYTES, read_trailer
from wsctl_core.decisions.recovery import Evidence
from wsctl_core.ports import AdapterError, ArchiveStorage, Clock, HomeStreams
from wsctl_core.ports.archives import Say
from wsctl_core.values.archives import ArchiveReceipt
from wsctl_core.values.errors import AdapterCode, ErrorReason
from wsctl_core.values.stamps import Stamp

T = TypeVar("T")

WAITS_SECONDS = (15.0, 30.0)
"""Before the second try, and before the third."""

THREADS = 4


def unconfirmed(key: str, detail: str) -> AdapterError:
    """Storage does not hold what it should, as far as can be told."""
    return AdapterError(
        AdapterCode.ARCHIVE_UNCONFIRMED, f"{key}: {detail}", {"archive_key": key, "detail": detail}
    )


def _unheard(_done: int, _total: int | None) -> None:
    """Nobody listens."""


class StreamTransfers:
    """Implements `wsctl_core.ports.Transfers` where the bytes pass through this process."""

    def __init__(self, homes: HomeStreams, storage: ArchiveStorage, clock: Clock) -> None:
        self._homes = homes
        self._storage = storage
        self._clock = clock
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="wsctl-transfer")

    async def archive(self, stamp: Stamp, key: str, say: Say) -> ArchiveReceipt:
        """Write the home of that incarnation under the key, and tell its checksum and size."""
        return await self._patiently(lambda: self._archive(stamp, key, say))

    async def confirm(self, archive: ArchiveReceipt) -> None:
        """Storage holds what the receipt says; ARCHIVE_UNCONFIRMED when it does not."""
        told = await self._patiently(lambda: self._told_by_trailer(archive.key))
        if told != archive:
            raise unconfirmed(archive.key, "storage does not hold what was written")

    async def restore(self, archive: ArchiveReceipt, stamp: Stamp, say: Say) -> None:
        """Fill the volume of that incarnation, verified: size and checksum are the receipt's."""
        await self._patiently(lambda: self._restore(archive, stamp, say))

    async def look(self, archive: ArchiveReceipt) -> Evidence:
        """Whether an archive is there and whole, by reading all of it: for accepting a loss."""
        content = self._restoring(archive, _unheard)
        try:
            await content.verify()
        except AdapterError as error:
            match error.code:
                case AdapterCode.ARCHIVE_NOT_FOUND:
                    return Evidence.GONE
                case AdapterCode.CHECKSUM_MISMATCH:
                    return Evidence.CORRUPT
                case _:
                    return Evidence.NOT_LOOKED
        finally:
            await content.close()
        return Evidence.THERE

    def close(self) -> None:
        """Let go of the threads."""
        self._pool.shutdown(wait=False)

    async def _archive(self, stamp: Stamp, key: str, say: Say) -> ArchiveReceipt:
        # There already, of this incarnation: no container can have run since the operation
        # began, so it is this home (specification, section 7).
        if (receipt := await self._written(stamp, key)) is not None:
            return receipt
        progress = Progress(say, self._clock, None)
        archiving = Archiving(key, self._homes.pack(stamp), self._pool, progress)
        async with aclosing(archiving.chunks()) as chunks:
            won = await self._storage.put(key, stamp, chunks)
        if won:
            progress.finish()
            return archiving.receipt()
        # H3: somebody else was first. What counts is what is there.
        if (receipt := await self._written(stamp, key)) is None:
            raise unconfirmed(key, "another upload was there, and is gone")
        return receipt

    async def _written(self, stamp: Stamp, key: str) -> ArchiveReceipt | None:
        """The receipt of this incarnation's archive; None when there is no object."""
        head = await self._storage.head(key)
        if head is None:
            return None
        if (head.installation, head.incarnation) != (stamp.installation, stamp.incarnation):
            raise unconfirmed(key, "it holds the home of another incarnation")  # H9
        receipt = await self._told_by_trailer(key)
        if receipt is None:
            raise unconfirmed(key, "it has no trailer that tells its checksum and size")
        return receipt

    async def _told_by_trailer(self, key: str) -> ArchiveReceipt | None:
        """What an object says of its content; None when there is none, or it says nothing."""
        try:
            return read_trailer(key, await self._storage.tail(key, TRAILER_BYTES))
        except AdapterError as error:
            if error.code is AdapterCode.ARCHIVE_NOT_FOUND:
                return None
            raise

    async def _restore(self, archive: ArchiveReceipt, stamp: Stamp, say: Say) -> None:
        content = self._restoring(archive, say)
        try:
            try:
                await self._homes.unpack(stamp, content)
            except AdapterError as error:
                # Spoilt bytes may be no tar stream either: say which of the two it is.
                if error.code is AdapterCode.TAR_EXTRACT_FAILED:
                    await content.verify()
                raise
            await content.verify()  # whoever unpacks may stop at the archive's own end
        finally:
            await content.close()

    def _restoring(self, archive: ArchiveReceipt, say: Say) -> Restoring:
        progress = Progress(say, self._clock, archive.size)
        return Restoring(archive, self._storage.read(archive.key), self._pool, progress)

    async def _patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        """Three tries, for what can't be reached; anything else is told at once."""
        for wait_seconds in WAITS_SECONDS:
            try:
                return await work()
            except AdapterError as error:
                if error.failure.reason is not ErrorReason.UNREACHABLE:
                    raise
            await self._clock.sleep(wait_seconds)
        return await work()
