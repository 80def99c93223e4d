"""Archives and transfers that break one promise each."""

import asyncio
from contextlib import suppress
from itertools import count

import attrs

from tests.adapters.breaking import Breakage, breaker
from tests.adapters.memory_subjects import MemorySubject
from wsctl_adapters.conformance import archives, homes, transfers
from wsctl_adapters.memory.archives import Object
from wsctl_adapters.memory.runtime import volume_of
from wsctl_adapters.memory.transfers import receipt_of
from wsctl_core import Evidence
from wsctl_core.ports import AdapterError

BREAKAGES: list[Breakage] = []
breaks = breaker(BREAKAGES, MemorySubject)


@breaks("storage", "put", archives.check_an_object_is_what_was_put)
async def the_last_piece_is_lost(subject, right, key, stamp, chunks):
    data = [chunk async for chunk in chunks]
    return await right(key, stamp, archives.pieces(*data[:-1]))


@breaks("storage", "put", archives.check_an_empty_object_is_an_object, fails_with=AdapterError)
async def nothing_is_not_stored(subject, right, key, stamp, chunks):
    data = [chunk async for chunk in chunks]
    return not data or await right(key, stamp, archives.pieces(*data))


@breaks("storage", "put", archives.check_metadata_comes_with_the_object)
async def metadata_lose_their_number(subject, right, key, stamp, chunks):
    return await right(key, attrs.evolve(stamp, seq=0), chunks)


@breaks("storage", "tail", archives.check_a_missing_object_is_said_to_be_missing)
async def the_end_of_nothing_is_nothing(subject, right, key, length):
    return await right(key, length) if key in subject.world.archives.objects else b""


@breaks("storage", "put", archives.check_a_put_never_overwrites)
async def the_last_writer_wins(subject, right, key, stamp, chunks):
    subject.world.archives.objects.pop(key, None)
    return await right(key, stamp, chunks)


@breaks("storage", "put", archives.check_of_two_writers_one_wins)
async def everyone_is_told_to_have_won(subject, right, key, stamp, chunks):
    await right(key, stamp, chunks)
    return True


@breaks(
    "storage",
    "put",
    archives.check_an_unfinished_object_is_not_there,
    archives.check_a_failed_stream_leaves_no_object,
    archives.check_a_cancelled_put_leaves_no_object,
)
async def an_object_grows_in_its_place(subject, right, key, stamp, chunks):
    data = b""
    async for chunk in chunks:
        data += chunk
        subject.world.archives.objects.pop(key, None)
        subject.world.archives.put(key, stamp, data)
    return True


@breaks("storage", "tail", archives.check_the_tail_is_the_end)
async def the_tail_is_the_beginning(subject, right, key, length):
    return subject.world.archives.get(key).data[:length]


@breaks("storage", "list_all", archives.check_the_listing_is_complete)
async def a_listing_has_one_page(subject, right):
    told = count()
    async for found in right():
        if next(told) < 10:
            yield found


@breaks("storage", "delete", archives.check_deleting_deletes_one)
async def the_whole_bucket_is_deleted(subject, right, key):
    subject.world.archives.objects.clear()


# Homes as streams.


@breaks("homes", "unpack", homes.check_a_stream_carries_a_home)
async def nothing_is_unpacked(subject, right, stamp, chunks):
    pass


@breaks("homes", "pack", homes.check_the_same_home_gives_the_same_bytes)
async def each_stream_is_a_little_longer(subject, right, stamp):
    subject.packed = getattr(subject, "packed", 0) + 1
    async for piece in right(stamp):
        yield piece
    yield bytes(512 * subject.packed)


@breaks("homes", "pack", homes.check_only_our_volumes_are_packed)
async def a_missing_volume_is_packed(subject, right, stamp):
    subject.world.runtime.volumes.pop(volume_of(stamp), None)
    await subject.volumes.make(stamp)
    async for piece in right(stamp):
        yield piece


@breaks("homes", "unpack", homes.check_only_our_volumes_are_filled)
async def a_missing_volume_is_filled(subject, right, stamp, chunks):
    subject.world.runtime.volumes.pop(volume_of(stamp), None)
    await subject.volumes.make(stamp)
    await right(stamp, chunks)


@breaks(
    "homes",
    "unpack",
    homes.check_what_is_no_archive_is_refused,
    homes.check_members_do_not_leave_the_home,
)
async def nothing_is_refused(subject, right, stamp, chunks):
    with suppress(AdapterError):
        await right(stamp, chunks)


@breaks("homes", "pack", homes.check_links_are_kept_as_text)
async def links_are_left_out(subject, right, stamp):
    yield homes.tar_of()


@breaks("homes", "unpack", homes.check_a_streams_failure_passes_through)
async def a_streams_failure_is_its_end(subject, right, stamp, chunks):
    with suppress(homes.Interrupted):
        await right(stamp, chunks)


# Homes in motion.


@breaks("transfers", "restore", transfers.check_a_home_comes_back)
async def nothing_is_restored(subject, right, archive, stamp, say):
    pass


@breaks("transfers", "look", transfers.check_an_empty_home_comes_back)
async def an_empty_archive_is_corrupt(subject, right, archive):
    return await right(archive) if archive.size else Evidence.CORRUPT


@breaks("transfers", "archive", transfers.check_the_archive_carries_its_stamp)
async def the_archive_loses_its_number(subject, right, stamp, key, say):
    return await right(attrs.evolve(stamp, seq=0), key, say)


@breaks("transfers", "archive", transfers.check_archiving_again_is_as_good)
async def an_archive_is_written_anew(subject, right, stamp, key, say):
    subject.world.archives.objects.pop(key, None)
    return await right(stamp, key, say)


@breaks("transfers", "archive", transfers.check_archivers_at_once_agree)
async def each_archiver_has_its_own_receipt(subject, right, stamp, key, say):
    subject.said = getattr(subject, "said", 0) + 1
    said = subject.said
    return attrs.evolve(await right(stamp, key, say), size=said)


@breaks("transfers", "archive", transfers.check_the_same_home_gives_the_same_checksum)
async def a_checksum_depends_on_the_key(subject, right, stamp, key, say):
    receipt = await right(stamp, key, say)
    return attrs.evolve(receipt, sha256=receipt_of(key, key.encode()).sha256)


@breaks("transfers", "archive", transfers.check_anothers_archive_is_not_taken)
async def anyones_archive_is_taken(subject, right, stamp, key, say):
    there = subject.world.archives.objects.get(key)
    return await right(stamp, key, say) if there is None else there.trailer


@breaks("transfers", "archive", transfers.check_no_archive_of_what_is_not_ours)
async def a_missing_home_is_made_silently(subject, right, stamp, key, say):
    subject.world.runtime.volumes.pop(volume_of(stamp), None)
    await subject.volumes.make(stamp)
    return await right(stamp, key, say)


@breaks(
    "transfers",
    "archive",
    transfers.check_a_cut_off_archive_can_be_asked_for_again,
    fails_with=AdapterError,
)
async def a_cut_off_archive_leaves_a_part(subject, right, stamp, key, say):
    try:
        return await right(stamp, key, say)
    except asyncio.CancelledError:
        whole = subject.world.runtime.volumes[volume_of(stamp)].content
        subject.world.archives.objects[key] = Object(
            data=whole[:10], stamp=stamp, stored_at=subject.time(), trailer=receipt_of(key, whole)
        )
        raise


@breaks("transfers", "confirm", transfers.check_confirming_is_strict)
async def everything_is_confirmed(subject, right, archive):
    pass


@breaks("transfers", "look", transfers.check_a_lost_archive_is_said_to_be_lost)
async def what_is_gone_is_called_corrupt(subject, right, archive):
    found = await right(archive)
    return Evidence.CORRUPT if found is Evidence.GONE else found


@breaks(
    "transfers",
    "restore",
    transfers.check_a_spoilt_archive_is_refused,
    transfers.check_a_restore_is_the_receipts,
)
async def nothing_is_verified(subject, right, archive, stamp, say):
    data = subject.world.archives.get(archive.key).data
    await right(receipt_of(archive.key, data), stamp, say)


@breaks("transfers", "restore", transfers.check_no_restore_into_what_is_not_ours)
async def a_restore_makes_its_volume(subject, right, archive, stamp, say):
    subject.world.runtime.volumes.pop(volume_of(stamp), None)
    await subject.volumes.make(stamp)
    await right(archive, stamp, say)


@breaks(
    "transfers",
    "restore",
    transfers.check_a_cut_off_restore_is_done_anew,
    fails_with=AdapterError,
)
async def a_cut_off_restore_loses_the_archive(subject, right, archive, stamp, say):
    try:
        await right(archive, stamp, say)
    except asyncio.CancelledError:
        subject.world.archives.objects.pop(archive.key, None)
        raise


@breaks("transfers", "restore", transfers.check_progress_is_told)
async def progress_goes_back(subject, right, archive, stamp, say):
    await right(archive, stamp, say)
    say(0, archive.size)
