"""Homes as tar streams, in memory: for transfers that are made of streams and a storage.

A volume whose content is a tar stream is packed as it is, and that of any other as one file.
Nothing is ever extracted, so nothing can be written outside; what a real runtime would have to
refuse is refused here too.
"""

import io
import tarfile
from collections.abc import AsyncIterator

import attrs

from wsctl_adapters.memory.archives import PIECE
from wsctl_adapters.memory.line import Line
from wsctl_adapters.memory.runtime import MemoryRuntime, volume_of
from wsctl_core.ports import AdapterError
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.stamps import Stamp

ONE_FILE = "home"
_KEPT = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE)


@attrs.frozen
class MemoryStreams:
    """What is in a volume, as a tar stream."""

    _runtime: MemoryRuntime
    _line: Line

    async def pack(self, stamp: Stamp) -> AsyncIterator[bytes]:
        """The volume's content; the same content gives the same bytes."""
        content = await self._line.call(
            "pack_volume", lambda: self._runtime.labelled(stamp).content
        )
        packed = content if _members(content) is not None else _one_file(content)
        for begin in range(0, len(packed), PIECE):
            yield packed[begin : begin + PIECE]

    async def unpack(self, stamp: Stamp, chunks: AsyncIterator[bytes]) -> None:
        """Fill an empty volume; whoever dies in the middle leaves a part."""
        name = volume_of(stamp)

        def begin() -> None:
            self._runtime.labelled(stamp)
            self._runtime.fill(name, b"", partial=True)

        await self._line.call("unpack_begins", begin)
        packed = b"".join([chunk async for chunk in chunks])

        def end() -> None:
            self._runtime.labelled(stamp)
            self._runtime.fill(name, _unpacked(packed))

        await self._line.call("unpack_ends", end)


def _members(packed: bytes) -> list[tarfile.TarInfo] | None:
    """What a tar stream holds; None when it is none, or only a part of one."""
    try:
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:") as tar:
            return tar.getmembers()
    except tarfile.TarError:
        return None


def _one_file(content: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        if content:
            member = tarfile.TarInfo(ONE_FILE)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def _unpacked(packed: bytes) -> bytes:
    members = _members(packed)
    if members is None:
        raise AdapterError(AdapterCode.TAR_EXTRACT_FAILED, "the stream is no archive")
    links: list[str] = []
    for member in members:
        if member.type not in _KEPT or _leaves(member, links):
            raise AdapterError(AdapterCode.TAR_EXTRACT_FAILED, f"{member.name} leaves the volume")
        links += [member.name] if member.issym() else []
    if packed == _one_file(_content(packed, members)):
        return _content(packed, members)
    return packed


def _leaves(member: tarfile.TarInfo, links: list[str]) -> bool:
    """By its own name, by what a hard link names, or through a link that came before it."""
    named = [member.name, *([member.linkname] if member.islnk() else [])]
    return any(
        path.startswith("/")
        or ".." in path.split("/")
        or any(path.startswith(f"{link}/") for link in links)
        for path in named
    )


def _content(packed: bytes, members: list[tarfile.TarInfo]) -> bytes:
    """What is in the only file; nothing when there is none."""
    begin = members[0].offset_data if members else 0
    return packed[begin : begin + (members[0].size if members else 0)]
