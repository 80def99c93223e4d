"""Archives in a folder: every promise of a storage, and what folders add to them."""

import asyncio
import errno
import json
import os
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.adapters.local_subjects import run
from wsctl_adapters.conformance import archives
from wsctl_adapters.conformance.archives import KEY, listed, pieces, stamp_of, whole
from wsctl_adapters.conformance.kit import Check
from wsctl_adapters.local import FolderArchives
from wsctl_adapters.local.layout import unused
from wsctl_core.ports import AdapterError
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.names import archive_key


class Subject:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.storage = FolderArchives(root)

    def left(self) -> list[Path]:
        return [*(self.root / "uploads").iterdir(), *(self.root / "trash").iterdir()]


@pytest.fixture
def subject(tmp_path: Path) -> Iterator[Subject]:
    made = Subject(tmp_path)
    yield made
    made.storage.close()


@pytest.mark.parametrize("check", archives.CHECKS, ids=lambda check: check.__name__)
def test_folder_archives_keep_their_promises(
    check: Check[archives.ArchivesUnderTest], subject: Subject
):
    """Every promise of a storage holds for a folder, and nothing is left over."""

    async def checked() -> None:
        await check(subject)

    run(checked())
    assert subject.left() == []


def test_an_object_is_a_file_for_any_tool(subject: Subject):
    """It lies under its key, beside its metadata, and can't be written by accident."""
    run(subject.storage.put(KEY, stamp_of(), pieces(b"content")))
    file = subject.root / KEY
    assert file.read_bytes() == b"content"
    assert file.stat().st_mode & 0o222 == 0
    metadata = json.loads(file.with_name("metadata.json").read_text())
    stored_at = datetime.fromisoformat(metadata["stored_at"])
    assert abs(datetime.now(UTC) - stored_at) < timedelta(minutes=5)
    assert metadata["stamp"]["incarnation"] == "i1"


def test_several_processes_share_a_folder(subject: Subject):
    """Of writers through different objects one wins, as of writers through one."""
    other = FolderArchives(subject.root)

    async def story() -> tuple[bool, bool]:
        return await asyncio.gather(
            subject.storage.put(KEY, stamp_of(), pieces(b"a", b"b")),
            other.put(KEY, stamp_of("i2"), pieces(b"c", b"d")),
        )

    assert sorted(run(story())) == [False, True]
    assert run(whole(other)) == run(whole(subject.storage))
    other.close()


def test_a_taken_key_costs_no_upload(subject: Subject):
    """When the key is known to be taken, the stream is not even begun."""

    async def unread() -> AsyncIterator[bytes]:
        raise AssertionError("the stream was read")
        yield b""

    async def story() -> bool:
        await subject.storage.put(KEY, stamp_of(), pieces(b"first"))
        return await subject.storage.put(KEY, stamp_of(), unread())

    assert run(story()) is False


def test_what_a_crash_left_is_swept_after_a_day(subject: Subject):
    """An upload that nobody finished is no object, and goes."""
    for folder in ("uploads", "trash"):
        left = unused(subject.root / folder)
        left.mkdir()
        (left / "home.tar.gz").write_bytes(b"half")
    assert run(listed(subject.storage)) == {}
    assert run(subject.storage.sweep()) == 0
    assert run(subject.storage.sweep(0)) == 2
    assert subject.left() == []


def test_what_others_put_there_is_reported_as_nobodys(subject: Subject):
    """An object without metadata that can be read has no installation; a mere folder is none."""
    for key, metadata in (
        (archive_key("w1", "op1"), None),
        (archive_key("w2", "op1"), "{"),
        (archive_key("w3", "op1"), '{"stamp": {"seq": 1}}'),
        ("archives/not ours/at all/home.tar.gz", None),
    ):
        file = subject.root / key
        file.parent.mkdir(parents=True)
        file.write_bytes(b"something")
        if metadata is not None:
            file.with_name("metadata.json").write_text(metadata)
    (subject.root / "archives" / "w4" / "op1").mkdir(parents=True)
    (subject.root / "archives" / "file").touch()
    told = run(listed(subject.storage))
    assert len(told) == 4
    assert {found.installation for found in told.values()} == {None}
    head = run(subject.storage.head(archive_key("w1", "op1")))
    assert head is not None
    assert (head.incarnation, head.stored_size) == (None, 9)


def test_keys_that_are_not_ours_name_nothing(subject: Subject):
    """A key that is a path elsewhere is never followed."""
    (subject.root / "secret").mkdir()
    (subject.root / "secret" / "home.tar.gz").write_bytes(b"secret")
    for key in ("archives/../secret/home.tar.gz", "archives/w1/home.tar.gz", "secret", ""):

        async def story(key: str = key) -> None:
            assert await subject.storage.head(key) is None
            with pytest.raises(AdapterError, match="there is no"):
                await whole(subject.storage, key)
            await subject.storage.delete(key)
            with pytest.raises(AdapterError, match="no key of ours"):
                await subject.storage.put(key, stamp_of(), pieces(b"x"))

        run(story())
    assert (subject.root / "secret" / "home.tar.gz").exists()


def test_a_full_disk_is_called_that(subject: Subject, monkeypatch: pytest.MonkeyPatch):
    """A put that finds no room leaves nothing, and says why."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(AdapterError, match="the disk is full") as refusal:
        run(subject.storage.put(KEY, stamp_of(), pieces(b"content")))
    assert refusal.value.code is AdapterCode.ARCHIVE_WRITE_FAILED
    assert run(listed(subject.storage)) == {}
    assert subject.left() == []


def test_a_listing_is_complete_or_an_error(subject: Subject):
    """A storage that is not there is not an empty one (H34)."""
    (subject.root / "archives").rmdir()
    with pytest.raises(AdapterError) as refusal:
        run(listed(subject.storage))
    assert refusal.value.code is AdapterCode.LOCAL_IO_ERROR


def test_deletions_leave_no_folders(subject: Subject):
    """A workspace's folder goes with its last object, also while another is being written."""

    async def story() -> None:
        for number in range(20):
            key = archive_key("w1", f"op{number}")
            await subject.storage.put(key, stamp_of(), pieces(b"x"))
            again = archive_key("w1", f"again{number}")
            _, won = await asyncio.gather(
                subject.storage.delete(key), subject.storage.put(again, stamp_of(), pieces(b"y"))
            )
            assert won
            await subject.storage.delete(again)

    run(story())
    assert list((subject.root / "archives").iterdir()) == []
