"""Archives: storage for objects, homes as streams, and homes in motion between the two.

`Transfers` is what the executor calls; it names a volume and a key, so that it can be carried out
beside the volume and the bytes need not pass through the coordinator. Where they do, it is made of
`HomeStreams` and `ArchiveStorage`.
"""

from collections.abc import AsyncIterator, Callable
from typing import Protocol

from wsctl_core.decisions.recovery import Evidence
from wsctl_core.values.archives import ArchiveReceipt, StoredArchive
from wsctl_core.values.stamps import Stamp

Say = Callable[[int, int | None], None]
"""Told now and then how many bytes are done, and of how many; None when nobody knows yet."""


class ArchiveStorage(Protocol):
    """Objects under keys. An object appears whole or not at all, and never changes (H3, H12)."""

    async def put(self, key: str, stamp: Stamp, chunks: AsyncIterator[bytes]) -> bool:
        """Write a new object, its metadata in the same request; False when the key is taken.

        Never overwrites: of two writers at once, one gets False, and nothing of its bytes stays.
        A stream that fails leaves no object. ARCHIVE_WRITE_FAILED or S3_ACCESS_ERROR otherwise.
        """

    async def head(self, key: str) -> StoredArchive | None:
        """What is known of an object without reading it; None when there is none."""

    def read(self, key: str) -> AsyncIterator[bytes]:
        """The object's bytes, in pieces. ARCHIVE_NOT_FOUND when there is none."""

    async def tail(self, key: str, length: int) -> bytes:
        """The object's last bytes, at most that many. ARCHIVE_NOT_FOUND when there is none."""

    def list_all(self) -> AsyncIterator[StoredArchive]:
        """Every object, in bounded memory. Complete, or AdapterError: never a part (H34)."""

    async def delete(self, key: str) -> None:
        """Delete one object; gone already is as good."""


class HomeStreams(Protocol):
    """What is in a volume, as a tar stream. Only for volumes that no container runs on."""

    def pack(self, stamp: Stamp) -> AsyncIterator[bytes]:
        """The volume's content; the same content gives the same bytes (H12).

        VOLUME_MISSING when the volume is absent or unlabelled (H3). TAR_CREATE_FAILED otherwise.
        """

    async def unpack(self, stamp: Stamp, chunks: AsyncIterator[bytes]) -> None:
        """Fill an empty volume. Nothing is ever written outside of it.

        VOLUME_MISSING when it is absent or unlabelled. TAR_EXTRACT_FAILED when the stream is no
        archive, or a member's path leaves the volume. What `chunks` raises passes through.
        """


class Transfers(Protocol):
    """Homes in motion. Each call may be cut off at any moment and asked for again."""

    async def archive(self, stamp: Stamp, key: str, say: Say) -> ArchiveReceipt:
        """Write the home of that incarnation under the key, and tell its checksum and size.

        An archive of this incarnation that is there already counts as written: its own trailer
        tells checksum and size. One of another incarnation is ARCHIVE_UNCONFIRMED.
        """

    async def confirm(self, archive: ArchiveReceipt) -> None:
        """Storage holds what the receipt says; ARCHIVE_UNCONFIRMED when it does not."""

    async def restore(self, archive: ArchiveReceipt, stamp: Stamp, say: Say) -> None:
        """Fill the volume of that incarnation, verified: size and checksum are the receipt's.

        ARCHIVE_NOT_FOUND when there is none, CHECKSUM_MISMATCH when it is not what was saved,
        VOLUME_MISSING when the volume is not there.
        """

    async def look(self, archive: ArchiveReceipt) -> Evidence:
        """Whether an archive is there and whole, by reading all of it: for accepting a loss."""
