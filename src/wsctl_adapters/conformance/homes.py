"""The promises of homes as streams: the same bytes for the same home, and nothing outside it.

A check takes volumes with nothing in them.
"""

import io
import tarfile
from collections.abc import AsyncIterator
from typing import Protocol

from wsctl_adapters.conformance.kit import Check, ensure, raises, refused
from wsctl_core.ports import HomeStreams, Volumes
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.names import volume_name
from wsctl_core.values.stamps import Stamp


class HomesUnderTest(Protocol):
    """Volumes that nothing else uses, and their content as streams."""

    @property
    def installation(self) -> str:
        """Whose volumes they are."""

    @property
    def volumes(self) -> Volumes:
        """Where homes are."""

    @property
    def homes(self) -> HomeStreams:
        """What is under test."""

    async def write(self, name: str, path: str, content: bytes) -> None:
        """Write a file in a volume, with the folders that lead to it."""

    async def read(self, name: str, path: str) -> bytes | None:
        """Read a file in a volume; None when the volume or the file is not there."""

    async def unlabelled_volume(self, name: str) -> None:
        """Make a volume of that name as somebody else would: without wsctl's labels."""


FILES = {"notes.txt": b"hello", "src/deep/empty": b"", "src/data.bin": bytes(range(256)) * 5_000}


class Interrupted(Exception):
    """What a stream raises in a check."""


def stamp_of(subject: HomesUnderTest, incarnation: str = "i1") -> Stamp:
    """The stamp of one incarnation of the home."""
    return Stamp(
        installation=subject.installation, workspace_id="w1", incarnation=incarnation, seq=1
    )


async def made(subject: HomesUnderTest, incarnation: str = "i1") -> Stamp:
    """A new, empty volume."""
    stamp = stamp_of(subject, incarnation)
    await subject.volumes.make(stamp)
    return stamp


async def packed(subject: HomesUnderTest, stamp: Stamp) -> bytes:
    """The whole stream of a home."""
    return b"".join([piece async for piece in subject.homes.pack(stamp)])


async def stream(data: bytes, fails: bool = False) -> AsyncIterator[bytes]:
    """Bytes in pieces of an odd size; at their end a failure, if asked for."""
    for at in range(0, len(data), 70_001):
        yield data[at : at + 70_001]
    if fails:
        raise Interrupted


def tar_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """A tar stream of those members."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    """The header of one member."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, link, 0o755
    return info


async def check_a_stream_carries_a_home(subject: HomesUnderTest) -> None:
    """What was packed is unpacked into an empty volume, file by file."""
    stamp = await made(subject)
    for path, content in FILES.items():
        await subject.write("ws-w1-i1", path, content)
    data = await packed(subject, stamp)
    await subject.homes.unpack(await made(subject, "i2"), stream(data))
    for path, content in FILES.items():
        ensure(await subject.read("ws-w1-i2", path) == content, f"{path} is what it was")


async def check_the_same_home_gives_the_same_bytes(subject: HomesUnderTest) -> None:
    """A home that did not change is packed to the same bytes, also after it was moved (H12)."""
    stamp = await made(subject)
    for path, content in FILES.items():
        await subject.write("ws-w1-i1", path, content)
    data = await packed(subject, stamp)
    ensure(await packed(subject, stamp) == data, "twice the same home, twice the same bytes")
    moved = await made(subject, "i2")
    await subject.homes.unpack(moved, stream(data))
    ensure(await packed(subject, moved) == data, "the home that came back is the same")


async def check_only_our_volumes_are_packed(subject: HomesUnderTest) -> None:
    """A volume that is absent or carries no label is not packed, and none is made (H3)."""
    async with refused(AdapterCode.VOLUME_MISSING):
        await packed(subject, stamp_of(subject))
    await subject.unlabelled_volume("ws-w1-i1")
    async with refused(AdapterCode.VOLUME_MISSING):
        await packed(subject, stamp_of(subject))
    ensure(await subject.volumes.of_workspace("w1") == (), "no volume was made")


async def check_only_our_volumes_are_filled(subject: HomesUnderTest) -> None:
    """A volume that is absent or carries no label is not written to, and none is made."""
    data = tar_of((member("notes.txt"), b"hello"))
    async with refused(AdapterCode.VOLUME_MISSING):
        await subject.homes.unpack(stamp_of(subject), stream(data))
    await subject.unlabelled_volume("ws-w1-i1")
    async with refused(AdapterCode.VOLUME_MISSING):
        await subject.homes.unpack(stamp_of(subject), stream(data))
    ensure(await subject.read("ws-w1-i1", "notes.txt") is None, "nothing was written")
    ensure(await subject.volumes.of_workspace("w1") == (), "no volume was made")


async def check_what_is_no_archive_is_refused(subject: HomesUnderTest) -> None:
    """A stream that is no archive, or ends in the middle of one, is refused."""
    whole = tar_of((member("notes.txt"), bytes(100_000)))
    for number, data in enumerate((b"", b"nonsense" * 1000, whole[:50_000])):
        stamp = await made(subject, f"bad{number}")
        async with refused(AdapterCode.TAR_EXTRACT_FAILED):
            await subject.homes.unpack(stamp, stream(data))


async def check_members_do_not_leave_the_home(subject: HomesUnderTest) -> None:
    """A member whose path leaves the volume is refused, and nothing is written there.

    Neither by its own name, nor through a link that came before it.
    """
    target = volume_name("w1", "victim")
    await made(subject, "victim")
    await subject.write(target, "kept.txt", b"kept")
    out = (member("out", tarfile.SYMTYPE, f"../../{target}/home"), b"")
    hostile = (
        ((member("/absolute.txt"), b"x"),),
        ((member("../beside.txt"), b"x"),),
        ((member("a/../../beside.txt"), b"x"),),
        (out, (member("out/kept.txt"), b"changed")),
        ((member("hard", tarfile.LNKTYPE, f"../../{target}/home/kept.txt"), b""),),
        ((member("hard", tarfile.LNKTYPE, "/etc/hostname"), b""),),
        ((member("device", tarfile.CHRTYPE), b""),),
    )
    for number, members in enumerate(hostile):
        stamp = await made(subject, f"h{number}")
        async with refused(AdapterCode.TAR_EXTRACT_FAILED):
            await subject.homes.unpack(stamp, stream(tar_of(*members)))
    ensure(await subject.read(target, "kept.txt") == b"kept", "another home was changed")


async def check_links_are_kept_as_text(subject: HomesUnderTest) -> None:
    """A symbolic link that leads out of the home is carried, and not followed."""
    link = member("venv/python", tarfile.SYMTYPE, "/usr/bin/python3")
    stamp = await made(subject)
    await subject.homes.unpack(
        stamp, stream(tar_of((member("venv", tarfile.DIRTYPE), b""), (link, b"")))
    )
    data = await packed(subject, stamp)
    with tarfile.open(fileobj=io.BytesIO(data)) as again:
        links = {info.name.removeprefix("./"): info.linkname for info in again if info.issym()}
    ensure(links == {"venv/python": "/usr/bin/python3"}, "the link is what it was")


async def check_a_streams_failure_passes_through(subject: HomesUnderTest) -> None:
    """What the stream raises is what unpacking raises, and another attempt may follow."""
    data = tar_of((member("notes.txt"), b"hello"))
    stamp = await made(subject)
    async with raises(Interrupted):
        await subject.homes.unpack(stamp, stream(data, fails=True))
    await subject.homes.unpack(stamp, stream(data))
    ensure(await subject.read("ws-w1-i1", "notes.txt") == b"hello", "the second attempt is whole")


CHECKS: tuple[Check[HomesUnderTest], ...] = (
    check_a_stream_carries_a_home,
    check_the_same_home_gives_the_same_bytes,
    check_only_our_volumes_are_packed,
    check_only_our_volumes_are_filled,
    check_what_is_no_archive_is_refused,
    check_members_do_not_leave_the_home,
    check_links_are_kept_as_text,
    check_a_streams_failure_passes_through,
)
