"""The promises of transfers: homes that move between volumes and archives, and stay what they are.

Late calls are part of them: an archive that is asked for again, one that finds another's, a
restore that was cut off. A check takes volumes and a storage with nothing in them.
"""

import asyncio
from contextlib import suppress
from typing import Protocol

import attrs

from wsctl_adapters.conformance.kit import Check, PromiseBroken, ensure, refused
from wsctl_core.decisions.recovery import Evidence
from wsctl_core.ports import ArchiveStorage, Transfers, Volumes
from wsctl_core.values.archives import ArchiveReceipt
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.names import archive_key, volume_name
from wsctl_core.values.stamps import Stamp


class TransfersUnderTest(Protocol):
    """Transfers between volumes and a storage that nothing else uses."""

    @property
    def installation(self) -> str:
        """Whose homes are moved."""

    @property
    def transfers(self) -> Transfers:
        """What is under test."""

    @property
    def volumes(self) -> Volumes:
        """Where homes are."""

    @property
    def storage(self) -> ArchiveStorage:
        """Where archives are."""

    async def write(self, name: str, path: str, content: bytes) -> None:
        """Write a file in a volume, with the folders that lead to it."""

    async def read(self, name: str, path: str) -> bytes | None:
        """Read a file in a volume; None when the volume or the file is not there."""

    async def unlabelled_volume(self, name: str) -> None:
        """Make a volume of that name as somebody else would: without wsctl's labels."""

    async def spoil(self, key: str) -> None:
        """Change bytes in the middle of an object behind the storage's back."""


KEY = archive_key("w1", "op1")
FILES = {
    "notes.txt": b"hello",
    "src/deep/empty": b"",
    "src/data.bin": bytes(range(256)) * 5_000,
}


def stamp_of(subject: TransfersUnderTest, incarnation: str = "i1") -> Stamp:
    """The stamp of one incarnation of the home."""
    return Stamp(
        installation=subject.installation, workspace_id="w1", incarnation=incarnation, seq=1
    )


def silent(_done: int, _total: int | None) -> None:
    """Nobody listens to the progress."""


async def home(subject: TransfersUnderTest, incarnation: str = "i1") -> Stamp:
    """A volume with files in it."""
    stamp = stamp_of(subject, incarnation)
    await subject.volumes.make(stamp)
    for path, content in FILES.items():
        await subject.write(volume_name("w1", incarnation), path, content)
    return stamp


async def archived(subject: TransfersUnderTest) -> ArchiveReceipt:
    """The receipt of a home that was archived; its volume is gone."""
    receipt = await subject.transfers.archive(await home(subject), KEY, silent)
    await subject.volumes.remove("ws-w1-i1")
    return receipt


async def emptied(subject: TransfersUnderTest, incarnation: str = "i2") -> Stamp:
    """A new, empty volume."""
    stamp = stamp_of(subject, incarnation)
    await subject.volumes.make(stamp)
    return stamp


async def ensure_home(subject: TransfersUnderTest, incarnation: str) -> None:
    """The volume holds every file of the home."""
    for path, content in FILES.items():
        told = await subject.read(volume_name("w1", incarnation), path)
        ensure(told == content, f"{path} is not what was archived")


async def check_a_home_comes_back(subject: TransfersUnderTest) -> None:
    """What was archived is restored into a new incarnation, file by file."""
    receipt = await archived(subject)
    ensure(receipt.key == KEY, "the receipt names the key")
    await subject.transfers.confirm(receipt)
    await subject.transfers.restore(receipt, await emptied(subject), silent)
    await ensure_home(subject, "i2")
    ensure(await subject.read("ws-w1-i1", "notes.txt") is None, "the old volume stays gone")


async def check_an_empty_home_comes_back(subject: TransfersUnderTest) -> None:
    """A home without files can be archived and restored."""
    receipt = await subject.transfers.archive(await emptied(subject, "i1"), KEY, silent)
    await subject.transfers.restore(receipt, await emptied(subject), silent)
    ensure(await subject.transfers.look(receipt) is Evidence.THERE, "its archive is whole")


async def check_the_archive_carries_its_stamp(subject: TransfersUnderTest) -> None:
    """The object says of which installation and incarnation it is (H33)."""
    await archived(subject)
    head = await subject.storage.head(KEY)
    ensure(head is not None and head.installation == subject.installation, "whose it is")
    ensure(head is not None and (head.incarnation, head.seq) == ("i1", 1), "and of what")


async def check_archiving_again_is_as_good(subject: TransfersUnderTest) -> None:
    """An archive of this incarnation that is there counts as written, with its own receipt.

    It does not matter what has become of the volume since (contract 7).
    """
    stamp = await home(subject)
    receipt = await subject.transfers.archive(stamp, KEY, silent)
    await subject.write("ws-w1-i1", "notes.txt", b"changed since")
    ensure(await subject.transfers.archive(stamp, KEY, silent) == receipt, "the same receipt")
    await subject.volumes.remove("ws-w1-i1")
    ensure(await subject.transfers.archive(stamp, KEY, silent) == receipt, "the same receipt")


async def check_archivers_at_once_agree(subject: TransfersUnderTest) -> None:
    """Those who archive the same home at once get the same receipt, of what is stored."""
    stamp = await home(subject)
    told = await asyncio.gather(*(subject.transfers.archive(stamp, KEY, silent) for _ in range(3)))
    ensure(len(set(told)) == 1, "the receipts are the same")
    await subject.transfers.confirm(told[0])


async def check_the_same_home_gives_the_same_checksum(subject: TransfersUnderTest) -> None:
    """The content of an archive depends on the home alone (H12)."""
    stamp = await home(subject)
    first = await subject.transfers.archive(stamp, KEY, silent)
    second = await subject.transfers.archive(stamp, archive_key("w1", "op2"), silent)
    ensure((first.sha256, first.size) == (second.sha256, second.size), "checksum and size agree")


async def check_anothers_archive_is_not_taken(subject: TransfersUnderTest) -> None:
    """An archive of another incarnation under the key is neither taken nor changed (H9)."""
    receipt = await archived(subject)
    await home(subject, "i2")
    async with refused(AdapterCode.ARCHIVE_UNCONFIRMED):
        await subject.transfers.archive(stamp_of(subject, "i2"), KEY, silent)
    await subject.transfers.confirm(receipt)


async def check_no_archive_of_what_is_not_ours(subject: TransfersUnderTest) -> None:
    """A volume that is absent or carries no label is not archived, and none is made (H3)."""
    async with refused(AdapterCode.VOLUME_MISSING):
        await subject.transfers.archive(stamp_of(subject), KEY, silent)
    await subject.unlabelled_volume("ws-w1-i1")
    async with refused(AdapterCode.VOLUME_MISSING):
        await subject.transfers.archive(stamp_of(subject), KEY, silent)
    ensure(await subject.storage.head(KEY) is None, "no object is left")
    ensure(await subject.volumes.of_workspace("w1") == (), "no volume was made")


async def check_a_cut_off_archive_can_be_asked_for_again(subject: TransfersUnderTest) -> None:
    """An archive that was cut off is whole or not there, and the next call succeeds."""
    stamp = await home(subject)
    for steps in (0, 1, 3, 10):
        key = archive_key("w1", f"op{steps}")
        await _cut_off(subject.transfers.archive(stamp, key, silent), steps)
        receipt = await subject.transfers.archive(stamp, key, silent)
        await subject.transfers.confirm(receipt)
        ensure(await subject.transfers.look(receipt) is Evidence.THERE, "it is whole")


async def _cut_off(call: object, steps: int) -> None:
    """Let a call go on for a few turns of the loop, then cancel and join it."""
    if not asyncio.iscoroutine(call):
        raise TypeError("a call that can be cut off is a coroutine")
    task = asyncio.ensure_future(call)
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def check_confirming_is_strict(subject: TransfersUnderTest) -> None:
    """A receipt is confirmed when storage holds exactly that, and refused otherwise."""
    receipt = await archived(subject)
    await subject.transfers.confirm(receipt)
    wrong = (
        attrs.evolve(receipt, sha256="0" * 64),
        attrs.evolve(receipt, size=receipt.size + 1),
        attrs.evolve(receipt, key=archive_key("w1", "op2")),
    )
    for other in wrong:
        async with refused(AdapterCode.ARCHIVE_UNCONFIRMED):
            await subject.transfers.confirm(other)


async def check_a_lost_archive_is_said_to_be_lost(subject: TransfersUnderTest) -> None:
    """Restoring what is not there is refused, and a look sees that it is gone."""
    receipt = await archived(subject)
    await subject.storage.delete(KEY)
    async with refused(AdapterCode.ARCHIVE_NOT_FOUND):
        await subject.transfers.restore(receipt, await emptied(subject), silent)
    ensure(await subject.transfers.look(receipt) is Evidence.GONE, "it is seen to be gone")


async def check_a_spoilt_archive_is_refused(subject: TransfersUnderTest) -> None:
    """An archive that is not what was saved is refused, and a look sees it (contract 11)."""
    receipt = await archived(subject)
    ensure(await subject.transfers.look(receipt) is Evidence.THERE, "it is whole at first")
    await subject.spoil(KEY)
    async with refused(AdapterCode.CHECKSUM_MISMATCH):
        await subject.transfers.restore(receipt, await emptied(subject), silent)
    ensure(await subject.transfers.look(receipt) is Evidence.CORRUPT, "it is seen to be spoilt")


async def check_a_restore_is_the_receipts(subject: TransfersUnderTest) -> None:
    """An archive whose checksum, or more or fewer bytes, is not the receipt's is refused."""
    receipt = await archived(subject)
    wrong = (
        attrs.evolve(receipt, sha256="0" * 64),
        attrs.evolve(receipt, size=receipt.size - 1),
        attrs.evolve(receipt, size=receipt.size + 1),
    )
    for number, other in enumerate(wrong):
        stamp = await emptied(subject, f"wrong{number}")
        async with refused(AdapterCode.CHECKSUM_MISMATCH):
            await subject.transfers.restore(other, stamp, silent)
        ensure(await subject.transfers.look(other) is Evidence.CORRUPT, "a look sees it")


async def check_no_restore_into_what_is_not_ours(subject: TransfersUnderTest) -> None:
    """A volume that is absent or carries no label is not restored into, and none is made."""
    receipt = await archived(subject)
    async with refused(AdapterCode.VOLUME_MISSING):
        await subject.transfers.restore(receipt, stamp_of(subject, "i2"), silent)
    await subject.unlabelled_volume("ws-w1-i2")
    async with refused(AdapterCode.VOLUME_MISSING):
        await subject.transfers.restore(receipt, stamp_of(subject, "i2"), silent)
    ensure(await subject.read("ws-w1-i2", "notes.txt") is None, "nothing was written")
    ensure(await subject.volumes.of_workspace("w1") == (), "no volume was made")


async def check_a_cut_off_restore_is_done_anew(subject: TransfersUnderTest) -> None:
    """A restore that was cut off harms nothing: the next goes into a new incarnation (H2)."""
    receipt = await archived(subject)
    for steps in (0, 1, 3, 10):
        stamp = await emptied(subject, f"cut{steps}")
        await _cut_off(subject.transfers.restore(receipt, stamp, silent), steps)
    await subject.transfers.restore(receipt, await emptied(subject), silent)
    await ensure_home(subject, "i2")
    await subject.transfers.confirm(receipt)


async def check_progress_is_told(subject: TransfersUnderTest) -> None:
    """What is told of the progress never goes back, and never past the whole."""
    told: list[tuple[int, int | None]] = []

    def say(done: int, total: int | None) -> None:
        told.append((done, total))

    receipt = await subject.transfers.archive(await home(subject), KEY, say)
    for done, total in told:
        if done > (receipt.size if total is None else total):
            raise PromiseBroken(f"{done} bytes are done, of {total}")
    ensure(told == sorted(told, key=lambda pair: pair[0]), "archiving never goes back")
    told.clear()
    await subject.transfers.restore(receipt, await emptied(subject), say)
    ensure(told == sorted(told, key=lambda pair: pair[0]), "restoring never goes back")
    ensure(all(total == receipt.size for _, total in told), "how much there is, is known")


CHECKS: tuple[Check[TransfersUnderTest], ...] = (
    check_a_home_comes_back,
    check_an_empty_home_comes_back,
    check_the_archive_carries_its_stamp,
    check_archiving_again_is_as_good,
    check_archivers_at_once_agree,
    check_the_same_home_gives_the_same_checksum,
    check_anothers_archive_is_not_taken,
    check_no_archive_of_what_is_not_ours,
    check_a_cut_off_archive_can_be_asked_for_again,
    check_confirming_is_strict,
    check_a_lost_archive_is_said_to_be_lost,
    check_a_spoilt_archive_is_refused,
    check_a_restore_is_the_receipts,
    check_no_restore_into_what_is_not_ours,
    check_a_cut_off_restore_is_done_anew,
    check_progress_is_told,
)
