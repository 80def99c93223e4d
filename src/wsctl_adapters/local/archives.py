"""Archives in a folder: one folder per object, with the object and its metadata, for any tool.

    archives/{workspace}/{operation}/home.tar.gz, metadata.json
    uploads/  what is being written          trash/  what is being deleted

An object is written aside, through to the disk, and renamed to its place as a whole: it appears at
once, and never over another. The root must be on one local file system.
"""

import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import attrs

from wsctl_adapters.local.layout import (
    entries,
    listing,
    put_in_place,
    read_json,
    stamp_in,
    sync_folder,
    told_as,
    unused,
    write_json,
)
from wsctl_adapters.local.trash import DAY_SECONDS, destroy, sweep, throw_away
from wsctl_adapters.local.work import Workers, nothing
from wsctl_core.ports import AdapterError
from wsctl_core.values.archives import StoredArchive
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.names import parse_archive_key
from wsctl_core.values.stamps import Stamp

T = TypeVar("T")

OBJECT = "home.tar.gz"
METADATA = "metadata.json"
PIECE_BYTES = 1 << 20


class FolderArchives:
    """Implements `wsctl_core.ports.ArchiveStorage` in a folder."""

    def __init__(self, root: Path) -> None:
        self._archives = root.absolute() / "archives"
        self._uploads = root.absolute() / "uploads"
        self._trash = root.absolute() / "trash"
        self._workers = Workers()
        with told_as(AdapterCode.LOCAL_IO_ERROR, f"the folder {root} can't be used"):
            for folder in (self._archives, self._uploads, self._trash):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    async def put(self, key: str, stamp: Stamp, chunks: AsyncIterator[bytes]) -> bool:
        """Write a new object with its metadata; False when the key is taken."""
        place = self._place(key)
        if place is None:
            raise AdapterError(AdapterCode.ARCHIVE_WRITE_FAILED, f"{key!r} is no key of ours")
        do = partial(self._do, AdapterCode.ARCHIVE_WRITE_FAILED, f"{key} can't be written")
        if await do((place / OBJECT).exists):
            return False
        upload = _Upload(unused(self._uploads))
        try:
            await do(upload.begin)
            async for chunk in chunks:
                await do(partial(upload.write, chunk))
            return await do(lambda: upload.finish(stamp, place))
        finally:
            await do(upload.end)

    async def head(self, key: str) -> StoredArchive | None:
        """What is known of an object without reading it; None when there is none."""
        place = self._place(key)
        if place is None:
            return None
        return await self._reach(key, lambda: _stored(place))

    async def read(self, key: str) -> AsyncIterator[bytes]:
        """The object's bytes, in pieces. ARCHIVE_NOT_FOUND when there is none."""
        reading = _Reading(key, self._place(key))
        try:
            await self._reach(key, reading.begin)
            while piece := await self._reach(key, lambda: reading.read(PIECE_BYTES)):
                yield piece
        finally:
            await self._reach(key, reading.end)

    async def tail(self, key: str, length: int) -> bytes:
        """The object's last bytes, at most that many. ARCHIVE_NOT_FOUND when there is none."""
        return await self._reach(key, lambda: self._tail(key, length))

    async def list_all(self) -> AsyncIterator[StoredArchive]:
        """Every object, one workspace's at a time."""
        do = partial(self._do, AdapterCode.LOCAL_IO_ERROR, "the archives can't be listed")
        for workspace in await do(lambda: listing(self._archives)):
            for found in await do(partial(_stored_under, workspace)):
                yield found

    async def delete(self, key: str) -> None:
        """Delete one object; gone already is as good."""
        stop = threading.Event()
        await self._reach(key, lambda: self._delete(key, stop), cut_off=stop.set)

    async def sweep(self, older_than_seconds: float = DAY_SECONDS) -> int:
        """Delete what crashes have left behind, and tell how many things that were."""
        return await self._do(
            AdapterCode.LOCAL_IO_ERROR,
            "what crashes left can't be swept",
            lambda: sweep(self._uploads, self._trash, older_than_seconds=older_than_seconds),
        )

    def close(self) -> None:
        """Let go of the threads."""
        self._workers.close()

    def _place(self, key: str) -> Path | None:
        """The folder of an object; None when the key is not one of ours."""
        named = parse_archive_key(key)
        return None if named is None else self._archives.joinpath(*named)

    def _tail(self, key: str, length: int) -> bytes:
        reading = _Reading(key, self._place(key))
        try:
            reading.begin()
            return reading.last(length)
        finally:
            reading.end()

    def _delete(self, key: str, stop: threading.Event) -> None:
        place = self._place(key)
        grave = None if place is None else throw_away(place, self._trash)
        if place is not None:
            with suppress(OSError):  # not empty, or gone already
                place.parent.rmdir()
        if grave is not None:
            destroy(grave, stop)

    async def _reach(
        self, key: str, work: Callable[[], T], *, cut_off: Callable[[], None] = nothing
    ) -> T:
        return await self._do(
            AdapterCode.LOCAL_IO_ERROR, f"{key} can't be reached", work, cut_off=cut_off
        )

    async def _do(
        self,
        code: AdapterCode,
        what: str,
        work: Callable[[], T],
        *,
        cut_off: Callable[[], None] = nothing,
    ) -> T:
        with told_as(code, what):
            return await self._workers.run(work, cut_off=cut_off)


class _Reading:
    """One object that is being read."""

    def __init__(self, key: str, place: Path | None) -> None:
        self._key = key
        self._place = place
        self._descriptor = -1

    def begin(self) -> None:
        with suppress(FileNotFoundError, NotADirectoryError):
            if self._place is not None:
                self._descriptor = os.open(self._place / OBJECT, os.O_RDONLY)
                return
        raise AdapterError(
            AdapterCode.ARCHIVE_NOT_FOUND, f"there is no {self._key}", {"archive_key": self._key}
        )

    def read(self, length: int) -> bytes:
        return os.read(self._descriptor, length)

    def last(self, length: int) -> bytes:
        size = os.fstat(self._descriptor).st_size
        return os.pread(self._descriptor, length, max(0, size - length))

    def end(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)


class _Upload:
    """One object that is being written. It leaves nothing behind unless it was finished."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor = -1

    def begin(self) -> None:
        self._folder.mkdir(mode=0o700)
        self._descriptor = os.open(
            self._folder / OBJECT, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400
        )

    def write(self, chunk: bytes) -> None:
        view = memoryview(chunk)
        while view:
            view = view[os.write(self._descriptor, view) :]

    def finish(self, stamp: Stamp, place: Path) -> bool:
        os.fsync(self._descriptor)
        now = datetime.now(UTC).isoformat()
        write_json(self._folder / METADATA, {"stamp": attrs.asdict(stamp), "stored_at": now})
        sync_folder(self._folder)
        while True:
            place.parent.mkdir(mode=0o700, exist_ok=True)
            sync_folder(place.parent.parent)
            with suppress(FileNotFoundError):
                return put_in_place(self._folder, place)
            # A deletion took the workspace's empty folder away; or the upload itself was swept.
            self._folder.stat()

    def end(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        destroy(self._folder)


def _stored_under(workspace: Path) -> list[StoredArchive]:
    found = (_stored(place) for place in entries(workspace))
    return [stored for stored in found if stored is not None]


def _stored(place: Path) -> StoredArchive | None:
    """What is known of the object in a folder; None when there is none."""
    try:
        about = (place / OBJECT).stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    key = f"archives/{place.parent.name}/{place.name}/{OBJECT}"
    try:
        metadata = read_json(place / METADATA) or {}
        stamp = stamp_in(metadata.get("stamp"))
        stored_at = datetime.fromisoformat(str(metadata.get("stored_at")))
    except ValueError:
        # Somebody else put it here. It is reported, and nobody's.
        at = datetime.fromtimestamp(about.st_mtime, UTC)
        return StoredArchive(key=key, installation=None, stored_at=at, stored_size=about.st_size)
    return StoredArchive(
        key=key,
        installation=stamp.installation,
        stored_at=stored_at,
        incarnation=stamp.incarnation,
        seq=stamp.seq,
        stored_size=about.st_size,
    )
