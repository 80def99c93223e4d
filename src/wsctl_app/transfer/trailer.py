"""The trailer of an archive: a last, empty gzip member whose header tells checksum and size.

It is inside the one object that the archive is, so that the two can't be of different uploads
(H12). Ordinary tools read an archive without noticing it.
"""

import struct

from wsctl_core.values.archives import ArchiveReceipt

_MAGIC, _DEFLATE, _HAS_EXTRA, _UNKNOWN_SYSTEM = b"\x1f\x8b", 8, 4, 255
_FIELD = b"ws"
"""The name of our field in the header, as RFC 1952 has them."""

_HEAD = struct.Struct("<2sBBIBBH2sH")
_TOLD = struct.Struct("<32sQ")
_BEGINNING = _HEAD.pack(
    _MAGIC,
    _DEFLATE,
    _HAS_EXTRA,
    0,  # no time: the same content gives the same bytes
    0,
    _UNKNOWN_SYSTEM,
    4 + _TOLD.size,
    _FIELD,
    _TOLD.size,
)
_END = b"\x03\x00" + bytes(8)
"""Nothing, compressed; the checksum and the length of nothing."""

TRAILER_BYTES = _HEAD.size + _TOLD.size + len(_END)


def trailer_of(sha256: str, size: int) -> bytes:
    """The member that ends an archive of that content.

    >>> import gzip
    >>> gzip.decompress(gzip.compress(b"home") + trailer_of("0" * 64, 4))
    b'home'
    """
    return _BEGINNING + _TOLD.pack(bytes.fromhex(sha256), size) + _END


def read_trailer(key: str, tail: bytes) -> ArchiveReceipt | None:
    """What the last bytes of an object tell of its content; None when they are no trailer.

    >>> read_trailer("archives/w1/op9/home.tar.gz", trailer_of("0" * 64, 4)).size
    4
    >>> read_trailer("archives/w1/op9/home.tar.gz", b"something else") is None
    True
    """
    begins, ends = tail[: len(_BEGINNING)], tail[-len(_END) :]
    if len(tail) != TRAILER_BYTES or begins != _BEGINNING or ends != _END:
        return None
    sha256, size = _TOLD.unpack_from(tail, len(_BEGINNING))
    return ArchiveReceipt(key=key, sha256=sha256.hex(), size=size)
