"""Transfers: homes that move between folders and archives, and stay what they are."""

import asyncio
import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import attrs
import pytest

from tests.adapters.local_subjects import LocalSubject, children, run, stamp, until
from tests.adapters.odd_homes import make_odd, manifest
from wsctl_adapters.conformance import transfers
from wsctl_adapters.conformance.kit import Check
from wsctl_adapters.conformance.transfers import KEY, archived, emptied, ensure_home, home, silent
from wsctl_adapters.local import FolderArchives
from wsctl_app.transfer import StreamTransfers
from wsctl_app.transfer.streams import PIECE_BYTES, closing, even
from wsctl_app.transfer.trailer import TRAILER_BYTES, read_trailer, trailer_of
from wsctl_core.decisions.recovery import Evidence
from wsctl_core.ports import AdapterError, ArchiveStorage
from wsctl_core.values.archives import ArchiveReceipt, StoredArchive
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.names import archive_key
from wsctl_core.values.stamps import Stamp

ROOT = Path(__file__).parents[2]


class StillClock:
    """Time passes only by sleeping."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return sum(self.slept)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


class Subject(LocalSubject):
    """Folders at both ends."""

    def __init__(self, root: Path) -> None:
        super().__init__(root / "runtime")
        self.archives = root / "storage"
        self.storage = FolderArchives(self.archives)
        self.clock = StillClock()
        self.transfers = StreamTransfers(self.homes, self.storage, self.clock)

    def __exit__(self, *problem: object) -> None:
        super().__exit__(*problem)
        self.storage.close()
        self.transfers.close()

    def over(self, storage: ArchiveStorage) -> None:
        """Use another storage."""
        self.transfers.close()
        self.transfers = StreamTransfers(self.homes, storage, self.clock)

    def change(self, key: str, content: bytes) -> None:
        """Write an object anew, behind the storage's back."""
        file = self.archives / key
        file.chmod(0o600)
        file.write_bytes(content)

    async def spoil(self, key: str) -> None:
        content = bytearray((self.archives / key).read_bytes())
        content[len(content) // 2] ^= 0xFF
        self.change(key, bytes(content))


@pytest.mark.parametrize("check", transfers.CHECKS, ids=lambda check: check.__name__)
def test_transfers_keep_their_promises(check: Check[transfers.TransfersUnderTest], tmp_path: Path):
    """Every promise of transfers holds between folders, and nothing is left over."""
    with Subject(tmp_path) as subject:

        async def checked() -> None:
            await check(subject)

        run(checked())
        until(lambda: subject.left() == [])
        assert list((subject.archives / "uploads").iterdir()) == []
        assert children("tar") == []


def refusal(error: "pytest.ExceptionInfo[AdapterError]") -> AdapterCode:
    return error.value.code


# ----------------------------------------------------------------------------- the archive


def test_ordinary_tools_read_an_archive(tmp_path: Path):
    """gzip and tar find nothing odd about it, and what tar unpacks is the home."""
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    with Subject(tmp_path) as subject:
        run(subject.volumes.make(stamp()))
        make_odd(subject.home("ws-w1-i1"))
        receipt = run(subject.transfers.archive(stamp(), KEY, silent))
        file = subject.archives / KEY
        subprocess.run(["gzip", "--test", file], check=True)
        subprocess.run(
            ["tar", "--extract", "--preserve-permissions", "--gzip", f"--file={file}"],
            cwd=unpacked,
            check=True,
        )
        assert manifest(unpacked) == manifest(subject.home("ws-w1-i1"))
        content = gzip.decompress(file.read_bytes())
        assert len(content) == receipt.size
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            assert "./..dots" in archive.getnames()


def test_an_odd_home_survives_a_transfer(tmp_path: Path):
    """Archived and restored, a home is what it was, and is archived to the same bytes (H12)."""
    with Subject(tmp_path) as subject:

        async def story() -> None:
            await subject.volumes.make(stamp())
            make_odd(subject.home("ws-w1-i1"))
            receipt = await subject.transfers.archive(stamp(), KEY, silent)
            await subject.transfers.restore(receipt, await emptied(subject), silent)
            again = archive_key("w1", "op2")
            await subject.transfers.archive(stamp("i2"), again, silent)
            assert (subject.archives / KEY).read_bytes() == (subject.archives / again).read_bytes()

        run(story())
        assert manifest(subject.home("ws-w1-i2")) == manifest(subject.home("ws-w1-i1"))


def test_the_trailer_is_the_end_of_the_object(tmp_path: Path):
    """The last bytes tell the receipt; an object without them is not taken for an archive."""
    with Subject(tmp_path) as subject:
        receipt = run(archived(subject))
        content = (subject.archives / KEY).read_bytes()
        assert content[-TRAILER_BYTES:] == trailer_of(receipt.sha256, receipt.size)
        assert read_trailer(KEY, content[-TRAILER_BYTES:]) == receipt
        assert read_trailer(KEY, content[-TRAILER_BYTES - 1 : -1]) is None
        assert read_trailer(KEY, b"") is None
        subject.change(KEY, content[:-TRAILER_BYTES])
        with pytest.raises(AdapterError, match="trailer") as error:
            run(subject.transfers.archive(stamp(), KEY, silent))
        assert refusal(error) is AdapterCode.ARCHIVE_UNCONFIRMED
        with pytest.raises(AdapterError) as error:
            run(subject.transfers.confirm(receipt))
        assert refusal(error) is AdapterCode.ARCHIVE_UNCONFIRMED


def test_another_installations_archive_is_not_taken(tmp_path: Path):
    """The same incarnation of another installation is another home (H33)."""
    with Subject(tmp_path) as subject:
        run(archived(subject))
        theirs = attrs.evolve(stamp(), installation="elsewhere")
        with pytest.raises(AdapterError) as error:
            run(subject.transfers.archive(theirs, KEY, silent))
        assert refusal(error) is AdapterCode.ARCHIVE_UNCONFIRMED


@pytest.mark.parametrize("sizes", [(), (1,), (PIECE_BYTES,), (7, PIECE_BYTES, 3 * PIECE_BYTES)])
def test_pieces_are_of_one_size(sizes: tuple[int, ...]):
    """However bytes come, they go on in pieces of one size, so the archive is the same."""

    async def source() -> AsyncIterator[bytes]:
        for number, size in enumerate(sizes):
            yield bytes([number]) * size

    async def story() -> list[bytes]:
        return [piece async for piece in even(source())]

    told = run(story())
    assert b"".join(told) == b"".join(bytes([n]) * size for n, size in enumerate(sizes))
    assert all(len(piece) == PIECE_BYTES for piece in told[:-1])


# ----------------------------------------------------------------------------- bad archives


@pytest.mark.parametrize("number", range(7))
def test_no_spoilt_archive_is_restored(number: int, tmp_path: Path):
    """Cut short, lengthened, emptied, of another home or no archive at all: refused, seen."""
    with Subject(tmp_path) as subject:

        async def story() -> tuple[ArchiveReceipt, bytes]:
            receipt = await archived(subject)
            await subject.volumes.make(stamp("other"))
            other = archive_key("w1", "other")
            await subject.transfers.archive(stamp("other"), other, silent)
            return receipt, (subject.archives / other).read_bytes()

        receipt, other = run(story())
        content = (subject.archives / KEY).read_bytes()
        subject.change(
            KEY,
            (
                content[: len(content) // 2],
                content + b"more",
                content + content,
                b"",
                other,
                b"nonsense" * 1000,
                gzip.compress(b"nonsense" * 1000),
            )[number],
        )
        with pytest.raises(AdapterError) as error:
            run(subject.transfers.restore(receipt, run(emptied(subject)), silent))
        assert refusal(error) is AdapterCode.CHECKSUM_MISMATCH
        assert run(subject.transfers.look(receipt)) is Evidence.CORRUPT
        assert list(subject.home("ws-w1-i2").iterdir()) == []
        assert subject.left() == []


def test_an_archive_never_gives_more_than_it_should(tmp_path: Path):
    """An archive that goes on and on is refused as soon as it holds too much."""
    with Subject(tmp_path) as subject:

        class Endless(Flaky):
            async def read(self, key: str) -> AsyncIterator[bytes]:
                while True:
                    yield gzip.compress(bytes(1 << 20))

        receipt = ArchiveReceipt(key=KEY, sha256="0" * 64, size=3 << 20)
        subject.over(Endless(subject.storage, 0))
        assert run(subject.transfers.look(receipt)) is Evidence.CORRUPT


class Careless:
    """Homes that come in odd pieces, and of which no more than a piece is ever looked at."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    async def pack(self, stamp: Stamp) -> AsyncIterator[bytes]:
        for at in range(0, len(self.content), 70_001):
            yield self.content[at : at + 70_001]

    async def unpack(self, stamp: Stamp, chunks: AsyncIterator[bytes]) -> None:
        await anext(chunks)


def test_an_archive_is_the_same_however_its_home_came(tmp_path: Path):
    """The pieces in which a home was packed leave no trace in its archive (H12)."""
    with Subject(tmp_path) as subject:

        async def story() -> ArchiveReceipt:
            await home(subject)
            await subject.write("ws-w1-i1", "large", os.urandom(5 << 20))
            content = b"".join([piece async for piece in subject.homes.pack(stamp())])
            receipt = await subject.transfers.archive(stamp(), KEY, silent)
            subject.homes = Careless(content)
            subject.over(subject.storage)
            await subject.transfers.archive(stamp(), archive_key("w1", "op2"), silent)
            return receipt

        receipt = run(story())
        first, second = ((subject.archives / "archives/w1" / op) for op in ("op1", "op2"))
        content = (first / "home.tar.gz").read_bytes()
        assert content == (second / "home.tar.gz").read_bytes()
        run(subject.transfers.restore(receipt, stamp(), silent))
        subject.change(KEY, content[:-TRAILER_BYTES] + bytes(TRAILER_BYTES))
        with pytest.raises(AdapterError) as error:  # verified to the end, whoever unpacks it
            run(subject.transfers.restore(receipt, stamp(), silent))
        assert refusal(error) is AdapterCode.CHECKSUM_MISMATCH


def test_an_archive_that_is_whole_and_hostile_is_no_loss(tmp_path: Path):
    """Where checksum and size are right and it can't be unpacked, the reason is the latter."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("../out"))
    with Subject(tmp_path) as subject:

        async def pieces() -> AsyncIterator[bytes]:
            yield gzip.compress(file.getvalue())

        sha256 = hashlib.sha256(file.getvalue()).hexdigest()
        receipt = ArchiveReceipt(key=KEY, sha256=sha256, size=len(file.getvalue()))

        async def story() -> None:
            await subject.storage.put(KEY, stamp(), pieces())
            await subject.transfers.restore(receipt, await emptied(subject), silent)

        with pytest.raises(AdapterError, match="leaves the home") as error:
            run(story())
        assert refusal(error) is AdapterCode.TAR_EXTRACT_FAILED
        assert run(subject.transfers.look(receipt)) is Evidence.THERE


# ----------------------------------------------------------------------------- bad weather


class Flaky:
    """A storage that can't be reached for a number of calls."""

    def __init__(self, storage: ArchiveStorage, failures: int) -> None:
        self.storage = storage
        self.failures = failures

    def _weather(self) -> None:
        if self.failures:
            self.failures -= 1
            raise AdapterError(AdapterCode.S3_ACCESS_ERROR, "no route")

    async def put(self, key: str, stamp: Stamp, chunks: AsyncIterator[bytes]) -> bool:
        async def broken() -> AsyncIterator[bytes]:
            async for chunk in chunks:
                yield chunk
                self._weather()

        return await self.storage.put(key, stamp, broken())

    async def head(self, key: str) -> StoredArchive | None:
        return await self.storage.head(key)

    async def read(self, key: str) -> AsyncIterator[bytes]:
        async with aclosing(closing(self.storage.read(key))) as chunks:
            async for chunk in chunks:
                yield chunk
                self._weather()

    async def tail(self, key: str, length: int) -> bytes:
        self._weather()
        return await self.storage.tail(key, length)

    def list_all(self) -> AsyncIterator[StoredArchive]:
        return self.storage.list_all()

    async def delete(self, key: str) -> None:
        await self.storage.delete(key)


def test_a_transfer_tries_three_times(tmp_path: Path):
    """What can't be reached twice is reached the third time, after three quarters of a minute."""
    with Subject(tmp_path) as subject:

        async def story() -> None:
            subject.over(Flaky(subject.storage, 2))
            receipt = await archived(subject)
            assert subject.clock.slept == [15.0, 30.0]
            subject.over(Flaky(subject.storage, 2))
            await subject.transfers.confirm(receipt)
            subject.over(Flaky(subject.storage, 2))
            await subject.transfers.restore(receipt, await emptied(subject), silent)
            await ensure_home(subject, "i2")
            assert subject.clock.slept == [15.0, 30.0] * 3

        run(story())
        assert subject.left() == []
        assert children("tar") == []


def test_a_transfer_gives_up_after_the_third(tmp_path: Path):
    """Then the failure is told, and nothing is left of it."""
    with Subject(tmp_path) as subject:
        subject.over(Flaky(subject.storage, 3))
        with pytest.raises(AdapterError) as error:
            run(archived(subject))
        assert refusal(error) is AdapterCode.S3_ACCESS_ERROR
        assert run(subject.storage.head(KEY)) is None
        assert list((subject.archives / "uploads").iterdir()) == []
        assert children("tar") == []


def test_what_is_not_the_weather_is_told_at_once(tmp_path: Path):
    """Only what can't be reached is worth waiting for."""
    with Subject(tmp_path) as subject:
        with pytest.raises(AdapterError):
            run(subject.transfers.archive(stamp(), KEY, silent))
        assert subject.clock.slept == []


def test_nobody_could_look_is_no_evidence(tmp_path: Path):
    """An archive that can't be reached is neither there nor gone."""
    with Subject(tmp_path) as subject:
        receipt = run(archived(subject))
        subject.over(Flaky(subject.storage, 9))
        assert run(subject.transfers.look(receipt)) is Evidence.NOT_LOOKED


def test_an_upload_that_lost_takes_the_winners_receipt(tmp_path: Path):
    """Another wrote the key in between: of this home, it counts; of another, it does not (H3)."""
    with Subject(tmp_path) as subject:

        class Overtaken(Flaky):
            async def head(self, key: str) -> StoredArchive | None:
                found = await super().head(key)
                if self.failures:
                    self.failures -= 1
                    return None
                return found

        async def story() -> None:
            receipt = await subject.transfers.archive(await home(subject), KEY, silent)
            await subject.write("ws-w1-i1", "notes.txt", b"changed since")
            subject.over(Overtaken(subject.storage, 1))
            assert await subject.transfers.archive(stamp(), KEY, silent) == receipt
            await home(subject, "i2")
            subject.over(Overtaken(subject.storage, 1))
            with pytest.raises(AdapterError) as error:
                await subject.transfers.archive(stamp("i2"), KEY, silent)
            assert refusal(error) is AdapterCode.ARCHIVE_UNCONFIRMED

        run(story())


# ----------------------------------------------------------------------------- cut off


class Hanging(Flaky):
    """A storage that stops in the middle of every stream."""

    def __init__(self, storage: ArchiveStorage) -> None:
        super().__init__(storage, 0)
        self.hangs = asyncio.Event()

    async def put(self, key: str, stamp: Stamp, chunks: AsyncIterator[bytes]) -> bool:
        async def hanging() -> AsyncIterator[bytes]:
            async for chunk in chunks:
                yield chunk
                self.hangs.set()
                await asyncio.Event().wait()

        return await self.storage.put(key, stamp, hanging())

    async def read(self, key: str) -> AsyncIterator[bytes]:
        async with aclosing(closing(self.storage.read(key))) as chunks:
            async for chunk in chunks:
                yield chunk[: len(chunk) // 2]
                self.hangs.set()
                await asyncio.Event().wait()


def test_a_transfer_that_is_cut_off_leaves_nothing(tmp_path: Path):
    """Tar has ended, no object and no part of a home is there, and no task goes on."""
    with Subject(tmp_path) as subject:

        async def cut_off(storage: Hanging, call: "asyncio.Future[Any]") -> None:
            await storage.hangs.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert children("tar") == []
            assert asyncio.all_tasks() == {asyncio.current_task()}

        async def story() -> None:
            await home(subject)
            await subject.write("ws-w1-i1", "large", os.urandom(12 << 20))
            storage = Hanging(subject.storage)
            subject.over(storage)
            call = asyncio.ensure_future(subject.transfers.archive(stamp(), KEY, silent))
            await cut_off(storage, call)
            assert await subject.storage.head(KEY) is None
            subject.over(subject.storage)
            receipt = await subject.transfers.archive(stamp(), KEY, silent)
            storage = Hanging(subject.storage)
            subject.over(storage)
            await emptied(subject)
            again = asyncio.ensure_future(subject.transfers.restore(receipt, stamp("i2"), silent))
            await cut_off(storage, again)

        run(story())
        until(lambda: subject.left() == [])
        assert list((subject.archives / "uploads").iterdir()) == []
        assert list(subject.home("ws-w1-i2").iterdir()) == []


def test_progress_is_told_a_few_times_a_second(tmp_path: Path):
    """However many pieces there are, little is said while no time passes, and the end always."""
    with Subject(tmp_path) as subject:

        class Ticking(StillClock):
            def monotonic(self) -> float:
                self.slept.append(0.1)
                return sum(self.slept)

        async def told() -> tuple[list[tuple[int, int | None]], int]:
            heard: list[tuple[int, int | None]] = []
            await subject.volumes.make(stamp())
            await subject.write("ws-w1-i1", "large", bytes(20 << 20))
            receipt = await subject.transfers.archive(
                stamp(), KEY, lambda done, total: heard.append((done, total))
            )
            return heard, receipt.size

        heard, size = run(told())
        assert heard == [(size, size)]
        subject.clock = Ticking()
        subject.over(subject.storage)
        run(subject.storage.delete(KEY))
        heard, size = run(told())
        assert 4 <= len(heard) <= 9  # of twenty-one pieces, a tenth of a second each
        assert heard[-1] == (size, size)
        assert {total for _, total in heard[:-1]} == {None}


MEASURED = """
import asyncio, os, sys, time
from pathlib import Path
from tests.app.test_transfer import Subject
from tests.adapters.local_subjects import stamp
from wsctl_adapters.conformance.transfers import home, emptied, archived, silent
from wsctl_core.values.names import archive_key

def resident(which):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(which))

async def story(subject):
    receipt = await archived(subject)
    await subject.transfers.restore(receipt, await emptied(subject), silent)
    large = await emptied(subject, "large")
    noise = os.urandom(1 << 20)
    with (subject.home("ws-w1-large") / "large").open("wb") as file:
        for _ in range(100):
            file.write(noise)
            file.write(bytes(1 << 20))
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    receipt = await subject.transfers.archive(large, archive_key("w1", "large"), silent)
    await subject.transfers.restore(receipt, await emptied(subject, "back"), silent)
    print(receipt.size >> 20, (resident("VmHWM") - before) >> 10)

with Subject(Path(sys.argv[1])) as subject:
    asyncio.run(story(subject))
"""


def test_memory_is_bounded(tmp_path: Path):
    """A home of two hundred mebibytes goes there and back, and memory grows by less than 64."""
    path = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    told = subprocess.run(
        [sys.executable, "-c", MEASURED, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))},
        check=True,
        capture_output=True,
        text=True,
    )
    size, growth = map(int, told.stdout.split())
    assert size >= 200
    assert growth <= 64
