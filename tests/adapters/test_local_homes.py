"""Homes on folders as streams: what is carried, what is refused, and what is left behind."""

import asyncio
import io
import os
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.adapters.local_subjects import LocalSubject, children, run, stamp, until
from tests.adapters.odd_homes import ROOT, make_odd, manifest
from wsctl_adapters.conformance import homes
from wsctl_adapters.conformance.homes import made, member, packed, stream, tar_of
from wsctl_adapters.conformance.kit import Check
from wsctl_adapters.local import tar
from wsctl_adapters.local.safe_tar import Scanner, UnsafeArchive
from wsctl_core.ports import AdapterError
from wsctl_core.values.errors import AdapterCode


@pytest.mark.parametrize("check", homes.CHECKS, ids=lambda check: check.__name__)
def test_local_homes_keep_their_promises(check: Check[homes.HomesUnderTest], tmp_path: Path):
    """Every promise of homes as streams holds for folders, and nothing is left over."""
    with LocalSubject(tmp_path) as subject:

        async def checked() -> None:
            await check(subject)

        run(checked())
        assert subject.left() == []
        assert children("tar") == []


def test_an_odd_home_comes_back_as_it_was(tmp_path: Path):
    """Names, modes, owners, times, links and holes: all that the stream took, and no socket."""
    with LocalSubject(tmp_path) as subject:

        async def story() -> bytes:
            await made(subject)
            make_odd(subject.home("ws-w1-i1"))
            data = await packed(subject, stamp())
            await subject.homes.unpack(await made(subject, "i2"), stream(data))
            assert await packed(subject, stamp("i2")) == data
            return data

        data = run(story())
        assert manifest(subject.home("ws-w1-i2")) == manifest(subject.home("ws-w1-i1"))
        assert not (subject.home("ws-w1-i2") / "socket").exists()
        assert len(data) < 1 << 20  # holes are not carried as zeros
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            top = [os.fsencode(name) for name in archive.getnames() if name.count("/") == 1]
        assert top == sorted(top)
        run(subject.volumes.remove("ws-w1-i2"))


def test_a_folder_keeps_its_time_in_any_order(tmp_path: Path):
    """Also where something else stands between a folder and what is in it."""
    folder = member("folder", tarfile.DIRTYPE)
    folder.mtime, folder.mode = 5, 0o555
    data = tar_of((folder, b""), (member("between"), b"x"), (member("folder/file"), b"y"))
    with LocalSubject(tmp_path) as subject:
        run(subject.homes.unpack(run(made(subject)), stream(data)))
        restored = subject.home("ws-w1-i1") / "folder"
        assert (restored.stat().st_mtime, restored.stat().st_mode & 0o777) == (5, 0o555)
        assert (restored / "file").read_bytes() == b"y"


def test_a_home_that_could_not_come_back_is_not_packed(tmp_path: Path):
    """A path too long to be unpacked, or a device, is refused by name before it is too late."""
    with LocalSubject(tmp_path) as subject:

        async def refusal(incarnation: str) -> str:
            with pytest.raises(AdapterError) as refused:
                await packed(subject, stamp(incarnation))
            assert refused.value.code is AdapterCode.TAR_CREATE_FAILED
            return str(refused.value)

        async def story() -> None:
            await made(subject)
            folder = os.open(subject.home("ws-w1-i1"), os.O_RDONLY)
            for _ in range(25):
                os.mkdir("d" * 200, dir_fd=folder)
                deeper = os.open("d" * 200, os.O_RDONLY, dir_fd=folder)
                os.close(folder)
                folder = deeper
            os.close(folder)
            assert "too long a path" in await refusal("i1")
            await made(subject, "i2")
            device = subject.home("ws-w1-i2") / "null"
            if ROOT:
                os.mknod(device, 0o20666, os.makedev(1, 3))
                assert "'./null' is a device" in await refusal("i2")
            else:
                device.touch(0o000)
                assert "./null: Cannot open: Permission denied" in await refusal("i2")

        run(story())


def test_a_stream_that_ends_between_members_is_refused(tmp_path: Path):
    """Tar itself would take it for whole; the archive's own end must be there."""
    data = tar_of((member("one"), b"1"), (member("two"), b"2"))
    with LocalSubject(tmp_path) as subject:
        run(made(subject))
        with pytest.raises(AdapterError, match="ends in the middle"):
            run(subject.homes.unpack(stamp(), stream(data[:1024])))
        assert list(subject.home("ws-w1-i1").iterdir()) == []


def test_a_volume_is_filled_once(tmp_path: Path):
    """A volume with something in it is not unpacked into: a late restore changes nothing (H2)."""
    with LocalSubject(tmp_path) as subject:

        async def story() -> None:
            await made(subject)
            await subject.write("ws-w1-i1", "mine.txt", b"mine")
            with pytest.raises(AdapterError, match="is not empty"):
                await subject.homes.unpack(stamp(), stream(tar_of((member("mine.txt"), b"theirs"))))
            assert await subject.read("ws-w1-i1", "mine.txt") == b"mine"

        run(story())
        assert len(list((tmp_path / "volumes" / "ws-w1-i1").iterdir())) == 2
        assert subject.left() == []


async def endless(flows: asyncio.Event) -> AsyncIterator[bytes]:
    """A file that never ends."""
    info = member("endless")
    info.size = 1 << 32
    yield info.tobuf(tarfile.GNU_FORMAT)
    for _ in range(1 << 12):
        yield b"x" * (1 << 20)
        flows.set()


def test_unpacking_that_is_cut_off_leaves_nothing(tmp_path: Path):
    """The volume is empty again, and tar has ended."""
    with LocalSubject(tmp_path) as subject:

        async def story() -> None:
            await made(subject)
            volume, flows = tmp_path / "volumes" / "ws-w1-i1", asyncio.Event()
            unpacking = asyncio.ensure_future(subject.homes.unpack(stamp(), endless(flows)))
            await flows.wait()
            assert len(children("tar")) == 1
            unpacking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await unpacking
            assert children("tar") == []
            until(lambda: {path.name for path in volume.iterdir()} == {"home", "labels.json"})
            until(lambda: subject.left() == [])
            assert list(subject.home("ws-w1-i1").iterdir()) == []

        run(story())


def test_packing_that_is_cut_off_ends_tar(tmp_path: Path):
    """Whoever stops reading in the middle leaves no process behind."""
    with LocalSubject(tmp_path) as subject:

        async def story() -> None:
            await made(subject)
            await subject.write("ws-w1-i1", "large", os.urandom(8 << 20))
            pieces = subject.homes.pack(stamp())
            await anext(pieces)
            assert len(children("tar")) == 1
            await pieces.aclose()  # type: ignore[attr-defined] # it is a generator
            assert children("tar") == []

        run(story())


def test_without_gnu_tar_the_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Another tar, or none, is no tar."""
    with LocalSubject(tmp_path) as subject:
        monkeypatch.setattr(tar, "gnu_tar", lambda: None)
        run(made(subject))
        with pytest.raises(AdapterError, match="GNU tar is needed"):
            run(packed(subject, stamp()))
        with pytest.raises(AdapterError, match="GNU tar is needed"):
            run(subject.homes.unpack(stamp(), stream(b"")))


@pytest.mark.parametrize("says", ["GNU tar", "bsdtar"])
def test_gnu_tar_is_told_from_others(says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It is asked what it is."""
    program = tmp_path / "tar"
    program.write_text(f"#!/bin/sh\necho {says} 1.0\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    tar.gnu_tar.cache_clear()
    assert tar.gnu_tar() == (str(program) if says == "GNU tar" else None)
    program.unlink()
    tar.gnu_tar.cache_clear()
    assert tar.gnu_tar() is None
    tar.gnu_tar.cache_clear()


# ----------------------------------------------------------------------------- the scanner


def scanned(data: bytes, step: int) -> int:
    scanner = Scanner()
    for at in range(0, len(data), step):
        scanner.feed(data[at : at + step])
    scanner.close()
    return scanner.members


def typed(kind: bytes, body: bytes) -> bytes:
    """A header of that kind, with a body after it."""
    info = tarfile.TarInfo("some")
    info.type, info.size = kind, len(body)
    return info.tobuf(tarfile.USTAR_FORMAT) + body + bytes(-len(body) % 512)


def extended(*records: bytes) -> bytes:
    return typed(b"x", b"".join(records))


def record(key: str, value: str | bytes) -> bytes:
    text = f" {key}=".encode() + (value.encode() if isinstance(value, str) else value) + b"\n"
    length = len(text) + 1
    while len(str(length)) + len(text) != length:
        length += 1
    return str(length).encode() + text


FILE = member("file").tobuf(tarfile.USTAR_FORMAT)
END = bytes(1024)


def spoilt(at: int, value: bytes, *, fixed: bool = True) -> bytes:
    """A header with some bytes replaced, its checksum right again or not."""
    header = bytearray(FILE)
    header[at : at + len(value)] = value
    if fixed:
        header[148:156] = b" " * 8
        header[148:156] = f"{sum(header):06o}\0 ".encode()
    return bytes(header)


@pytest.mark.parametrize("step", [1, 511, 512, 513, 1 << 20])
def test_good_streams_pass_in_pieces_of_any_size(step: int):
    """Long names of every format, sizes that headers can't hold, and all kinds of members."""
    long = "long/" * 60
    for style in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w", format=style) as archive:
            for name in ("plain", long + "name", "..dots", "é"):
                info = tarfile.TarInfo(name)
                info.size = 700
                archive.addfile(info, io.BytesIO(bytes(700)))
            archive.addfile(member("folder", tarfile.DIRTYPE))
            archive.addfile(member("link", tarfile.SYMTYPE, "/" + long))
            archive.addfile(member("hard", tarfile.LNKTYPE, long + "name"))
            archive.addfile(member("pipe", tarfile.FIFOTYPE))
        assert scanned(file.getvalue(), step) == 8


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (extended(record("path", "../x")) + FILE, "leaves the home"),
        (extended(record("path", "/x")) + FILE, "leaves the home"),
        (extended(record("GNU.sparse.name", "a/../../x")) + FILE, "leaves the home"),
        (extended(record("path", "x\0y")) + FILE, "goes on after its end"),
        (extended(record("path", "")) + FILE, "no name"),
        (extended(record("path", "d/" * 3000)) + FILE, "too long a path"),
        (extended(record("size", "1"), record("size", "0")) + FILE, "no size, or two"),
        (extended(record("size", "-1")) + FILE, "no size, or two"),
        (extended(record("GNU.volume.label", "x")) + FILE, "asks for"),
        (extended(b"5 a=b\n") + FILE, "malformed"),
        (extended(b"x a=b\n1234") + FILE, "malformed"),
        (extended(b"3 a=b\n") + FILE, "malformed"),
        (extended(b"90 a=b\n") + FILE, "ends in the middle"),
        (extended(b"9999999 " + b"a" * (2 << 20)), "too long"),
        (typed(b"x", b"") + FILE, "is empty"),
        (typed(b"L", b"../x\0") + FILE, "leaves the home"),
        (typed(b"K", b"../x\0") + member("h", b"1", "y").tobuf(tarfile.USTAR_FORMAT), "leaves"),
        (typed(b"g", record("path", "x")), "unknown here"),
        (typed(b"S", b""), "unknown here"),
        (typed(b"3", b""), "device"),
        (typed(b"4", b""), "device"),
        (typed(b"5", b"content"), "should have none"),
        (typed(b"1", b"content"), "has no name"),
        (spoilt(0, b"\0"), "no name"),
        (spoilt(345, b"..\0"), "leaves the home"),
        (spoilt(257, b"nothing\0"), "no kind that is known"),
        (spoilt(124, b"99999999999\0"), "malformed"),
        (spoilt(124, b"\xff" * 12), "malformed"),
        (spoilt(0, b"y", fixed=False), "checksum"),
        (FILE, "ends in the middle"),
        (FILE + bytes(512) + FILE, "follows the end"),
    ],
)
def test_bad_streams_are_refused(data: bytes, reason: str):
    """Whatever tar might read otherwise than it was checked is refused."""
    padded = data if reason in {"ends in the middle", "follows the end"} else data + END
    for step in (512, 700, 1 << 22):
        with pytest.raises(UnsafeArchive, match=reason):
            scanned(padded, step)
