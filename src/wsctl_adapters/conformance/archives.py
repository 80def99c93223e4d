"""The promises of storage for archives: whole or not at all, never changed, listed completely.

Late calls are part of them: a put after another put, a put that was cut off, a deletion of what is
gone. A check takes a storage with nothing in it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Protocol

from wsctl_adapters.conformance.kit import Check, PromiseBroken, ensure, refused
from wsctl_core.ports import AdapterError, ArchiveStorage
from wsctl_core.values.archives import StoredArchive
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.names import archive_key
from wsctl_core.values.stamps import Stamp


class ArchivesUnderTest(Protocol):
    """A storage that nothing else uses."""

    @property
    def storage(self) -> ArchiveStorage:
        """What is under test."""


KEY = archive_key("w1", "op1")


def stamp_of(incarnation: str = "i1", seq: int = 5) -> Stamp:
    """The stamp of an upload."""
    return Stamp(installation="here", workspace_id="w1", incarnation=incarnation, seq=seq)


async def pieces(*chunks: bytes) -> AsyncIterator[bytes]:
    """A stream of those pieces."""
    for chunk in chunks:
        await asyncio.sleep(0)
        yield chunk


async def whole(storage: ArchiveStorage, key: str = KEY) -> bytes:
    """All bytes of an object."""
    return b"".join([chunk async for chunk in storage.read(key)])


async def listed(storage: ArchiveStorage) -> dict[str, StoredArchive]:
    """Every object, by key; each is told once."""
    told = [found async for found in storage.list_all()]
    by_key = {found.key: found for found in told}
    ensure(len(by_key) == len(told), "an object was listed twice")
    return by_key


async def check_an_object_is_what_was_put(subject: ArchivesUnderTest) -> None:
    """What was written is read back, byte for byte, whatever the pieces were."""
    chunks = [bytes([number % 251]) * (number * 7919 % 70_001) for number in range(120)]
    ensure(await subject.storage.put(KEY, stamp_of(), pieces(*chunks)), "the key was free")
    ensure(await whole(subject.storage) == b"".join(chunks), "the bytes are those that were put")


async def check_an_empty_object_is_an_object(subject: ArchivesUnderTest) -> None:
    """An object without bytes is there."""
    ensure(await subject.storage.put(KEY, stamp_of(), pieces()), "the key was free")
    ensure(await whole(subject.storage) == b"", "it is empty")
    ensure(await subject.storage.tail(KEY, 10) == b"", "so is its end")
    ensure(await subject.storage.head(KEY) is not None, "it is there")


async def check_metadata_comes_with_the_object(subject: ArchivesUnderTest) -> None:
    """Head and listing tell whose it is, of which incarnation and number, and its size (H12)."""
    await subject.storage.put(KEY, stamp_of(), pieces(b"abc", b"de"))
    head = await subject.storage.head(KEY)
    if head is None:
        raise PromiseBroken("an object that was put has no head")
    ensure(head.key == KEY and head.installation == "here", "key and installation are told")
    ensure(head.incarnation == "i1" and head.seq == 5, "incarnation and number are told")
    ensure(head.stored_size == 5, "the number of stored bytes is told")
    found = (await listed(subject.storage))[KEY]
    ensure(found.installation == "here", "the listing tells the installation")
    ensure(found.seq == 5, "and the number, by which a database that was rolled back is known")
    ensure(found.incarnation in {"i1", None}, "and nothing untrue")


async def check_a_missing_object_is_said_to_be_missing(subject: ArchivesUnderTest) -> None:
    """Where there is no object, head is None and reading is refused."""
    ensure(await subject.storage.head(KEY) is None, "there is no head")
    async with refused(AdapterCode.ARCHIVE_NOT_FOUND):
        await whole(subject.storage)
    async with refused(AdapterCode.ARCHIVE_NOT_FOUND):
        await subject.storage.tail(KEY, 10)
    ensure(await listed(subject.storage) == {}, "nothing is listed")


async def check_a_put_never_overwrites(subject: ArchivesUnderTest) -> None:
    """A put on a taken key answers False, and the object stays what it was (H3)."""
    await subject.storage.put(KEY, stamp_of(), pieces(b"first"))
    before = await subject.storage.head(KEY)
    again = await subject.storage.put(KEY, stamp_of("i2", 9), pieces(b"second, longer"))
    ensure(again is False, "the key is taken")
    ensure(await whole(subject.storage) == b"first", "the object never changes")
    ensure(await subject.storage.head(KEY) == before, "nor does what is known of it")


async def check_of_two_writers_one_wins(subject: ArchivesUnderTest) -> None:
    """Of two that write at once one gets True, and the object is wholly its own (H3)."""
    texts = {f"i{number}": [bytes([65 + number]) * 40_000] * 5 for number in range(4)}
    answers = await asyncio.gather(
        *(
            subject.storage.put(KEY, stamp_of(incarnation), pieces(*chunks))
            for incarnation, chunks in texts.items()
        )
    )
    ensure(sorted(answers) == [False, False, False, True], "exactly one put succeeds")
    head = await subject.storage.head(KEY)
    winner = list(texts)[answers.index(True)]
    ensure(head is not None and head.incarnation == winner, "the metadata is the winner's")
    ensure(await whole(subject.storage) == b"".join(texts[winner]), "and so are the bytes")
    ensure(list(await listed(subject.storage)) == [KEY], "nothing else stays")


async def check_an_unfinished_object_is_not_there(subject: ArchivesUnderTest) -> None:
    """While an object is being written there is none: not by head, by reading, or listed."""
    go_on, halfway = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"x" * 100_000
        halfway.set()
        await go_on.wait()
        yield b"y"

    writing = asyncio.ensure_future(subject.storage.put(KEY, stamp_of(), slow()))
    await halfway.wait()
    await check_a_missing_object_is_said_to_be_missing(subject)
    go_on.set()
    ensure(await writing, "the key was free")
    ensure(len(await whole(subject.storage)) == 100_001, "then it is there, whole")


async def check_a_failed_stream_leaves_no_object(subject: ArchivesUnderTest) -> None:
    """When its stream fails a put raises that failure and leaves nothing; the key stays free."""

    async def breaks() -> AsyncIterator[bytes]:
        yield b"x" * 100_000
        raise AdapterError(AdapterCode.TAR_CREATE_FAILED, "the home can't be read")

    async with refused(AdapterCode.TAR_CREATE_FAILED):
        await subject.storage.put(KEY, stamp_of(), breaks())
    await check_a_missing_object_is_said_to_be_missing(subject)
    ensure(await subject.storage.put(KEY, stamp_of(), pieces(b"whole")), "the key is free")
    ensure(await whole(subject.storage) == b"whole", "nothing of the failed stream is in it")


async def check_a_cancelled_put_leaves_no_object(subject: ArchivesUnderTest) -> None:
    """A put that is cut off leaves nothing, and the key stays free."""
    halfway = asyncio.Event()

    async def hangs() -> AsyncIterator[bytes]:
        yield b"x" * 100_000
        halfway.set()
        await asyncio.Event().wait()

    writing = asyncio.ensure_future(subject.storage.put(KEY, stamp_of(), hangs()))
    await halfway.wait()
    writing.cancel()
    with suppress(asyncio.CancelledError):
        await writing
    await check_a_missing_object_is_said_to_be_missing(subject)
    ensure(await subject.storage.put(KEY, stamp_of(), pieces(b"whole")), "the key is free")


async def check_the_tail_is_the_end(subject: ArchivesUnderTest) -> None:
    """The tail is the object's last bytes; of a shorter object, all of it."""
    await subject.storage.put(KEY, stamp_of(), pieces(b"abc" * 50_000, b"the end"))
    ensure(await subject.storage.tail(KEY, 7) == b"the end", "the last bytes are told")
    ensure(len(await subject.storage.tail(KEY, 1_000_000)) == 150_007, "at most all of them")


async def check_the_listing_is_complete(subject: ArchivesUnderTest) -> None:
    """Every object is listed, of every workspace and installation (H33, H34)."""
    stamps = {
        archive_key(f"w{number}", f"op{again}"): Stamp(
            installation="elsewhere" if number == 3 else "here",
            workspace_id=f"w{number}",
            incarnation=f"i{again}",
            seq=number,
        )
        for number in range(5)
        for again in range(3)
    }
    for key, stamp in stamps.items():
        await subject.storage.put(key, stamp, pieces(key.encode()))
    told = await listed(subject.storage)
    ensure(set(told) == set(stamps), "each key is listed")
    ensure(
        all(told[key].installation == stamp.installation for key, stamp in stamps.items()),
        "with its installation",
    )


async def check_deleting_deletes_one(subject: ArchivesUnderTest) -> None:
    """A deleted object is gone and no other is; gone already is as good."""
    other = archive_key("w1", "op2")
    for key in (KEY, other):
        await subject.storage.put(key, stamp_of(), pieces(key.encode()))
    await subject.storage.delete(KEY)
    await subject.storage.delete(KEY)
    await subject.storage.delete(archive_key("w9", "op9"))
    ensure(list(await listed(subject.storage)) == [other], "the other object stays")
    ensure(await subject.storage.head(KEY) is None, "the deleted one is gone")
    async with refused(AdapterCode.ARCHIVE_NOT_FOUND):
        await whole(subject.storage)
    ensure(await whole(subject.storage, other) == other.encode(), "the other can be read")


CHECKS: tuple[Check[ArchivesUnderTest], ...] = (
    check_an_object_is_what_was_put,
    check_an_empty_object_is_an_object,
    check_metadata_comes_with_the_object,
    check_a_missing_object_is_said_to_be_missing,
    check_a_put_never_overwrites,
    check_of_two_writers_one_wins,
    check_an_unfinished_object_is_not_there,
    check_a_failed_stream_leaves_no_object,
    check_a_cancelled_put_leaves_no_object,
    check_the_tail_is_the_end,
    check_the_listing_is_complete,
    check_deleting_deletes_one,
)
