"""A look at every header of a tar stream while it flows: what may not be unpacked is refused.

It takes what GNU tar writes for a home, and little else: files, folders, links and named pipes,
with names that stay inside. The same look is taken when a home is packed, so that nothing goes
into an archive that could not come out of it. It holds one header at a time.
"""

import re

BLOCK = 512
LONGEST_PATH = 4095
"""Longer ones can't be named when they are unpacked."""
LONGEST_RECORD = 1 << 20

_ZEROS = bytes(BLOCK)
_MAGIC = frozenset({b"ustar\x0000", b"ustar  \x00"})
_POSIX = b"ustar\x00"
_OCTAL = re.compile(rb" *([0-7]+)[ \0]*")
_RECORD = re.compile(rb"([1-9][0-9]{0,6}) ")

_FILES = frozenset({b"0", b"\0"})
_HARD_LINK = b"1"
_EMPTY = frozenset({_HARD_LINK, b"2", b"5", b"6"})
"""Links, folders and named pipes: no content follows them."""
_EXTENDED = b"x"
_LONG_LINK, _LONG_NAME = b"K", b"L"
_PATHS = frozenset({b"path", b"GNU.sparse.name"})


class UnsafeArchive(ValueError):
    """The stream is no archive of a home, or would write where it may not."""


class Scanner:
    """Checks a stream that is given to it piece by piece."""

    def __init__(self) -> None:
        self._partial = bytearray()
        self._skip = 0
        self._body = 0
        """How much of an extended header, or of a long name, is still to come."""
        self._kind = b""
        self._padding = 0
        self._record = bytearray()
        self._names: list[bytes] = []
        self._links: list[bytes] = []
        self._size: int | None = None
        self._over = False
        self.members = 0

    def feed(self, data: bytes) -> None:
        """Look at the next piece. UnsafeArchive when it may not be unpacked."""
        view = memoryview(data)
        while view:
            if self._over:
                if bytes(view).strip(b"\0"):
                    raise UnsafeArchive("something follows the end of the archive")
                return
            if self._skip:
                taken = min(self._skip, len(view))
                self._skip -= taken
            elif self._body:
                taken = min(self._body, len(view))
                self._extend(bytes(view[:taken]))
            else:
                taken = min(BLOCK - len(self._partial), len(view))
                self._partial += view[:taken]
                if len(self._partial) == BLOCK:
                    block = bytes(self._partial)
                    self._partial.clear()
                    self._header(block)
            view = view[taken:]

    def close(self) -> None:
        """The stream has ended. UnsafeArchive when it ended in the middle."""
        if not self._over:
            raise UnsafeArchive("the archive ends in the middle")

    def _header(self, block: bytes) -> None:
        if block == _ZEROS:
            self._over = True
            return
        _check_sum(block)
        if block[257:265] not in _MAGIC:
            raise UnsafeArchive("a header is of no kind that is known here")
        kind, size = block[156:157], _number(block[124:136])
        if kind in {_EXTENDED, _LONG_LINK, _LONG_NAME}:
            self._kind, self._body, self._padding = kind, size, -size % BLOCK
            if size == 0:
                raise UnsafeArchive("an extended header is empty")
            return
        self._member(block, kind, size)

    def _member(self, block: bytes, kind: bytes, size: int) -> None:
        names = self._names or [_name(block)]
        for name in names:
            _check_path(name)
        if kind == _HARD_LINK:
            for link in self._links or [_until_zero(block[157:257])]:
                _check_path(link)
        elif kind not in _FILES and kind not in _EMPTY:
            raise UnsafeArchive(f"{_shown(names[-1])} is a device, or of a kind unknown here")
        size = size if self._size is None else self._size
        if kind in _EMPTY and size:
            raise UnsafeArchive(f"{_shown(names[-1])} has content, and should have none")
        self._skip = size + -size % BLOCK
        self._names, self._links, self._size = [], [], None
        self.members += 1

    def _extend(self, piece: bytes) -> None:
        """More of an extended header, or of a long name."""
        self._record += piece
        self._body -= len(piece)
        if self._kind == _EXTENDED:
            self._records()
        if len(self._record) > LONGEST_RECORD:
            raise UnsafeArchive("a name or a record is too long")
        if self._body == 0:
            rest = bytes(self._record)
            self._record.clear()
            self._skip = self._padding
            if self._kind == _LONG_NAME:
                self._names.append(_until_zero(rest))
            elif self._kind == _LONG_LINK:
                self._links.append(_until_zero(rest))
            elif rest:
                raise UnsafeArchive("an extended header ends in the middle")

    def _records(self) -> None:
        """Take in every record that is whole."""
        at = 0
        while at < len(self._record):
            found = _RECORD.match(self._record, at)
            if found is None:
                if len(self._record) - at > 8:
                    raise UnsafeArchive("an extended header is malformed")
                break
            end = at + int(found[1])
            if end > len(self._record):
                break
            key, equals, value = bytes(self._record[found.end() : end]).partition(b"=")
            if end <= found.end() or not equals or not value.endswith(b"\n"):
                raise UnsafeArchive("an extended header is malformed")
            self._keyword(key, value[:-1])
            at = end
        del self._record[:at]

    def _keyword(self, key: bytes, value: bytes) -> None:
        if key in _PATHS:
            self._names.append(_whole(value))
        elif key == b"linkpath":
            self._links.append(_whole(value))
        elif key == b"size":
            if self._size is not None or not value.isdigit():
                raise UnsafeArchive("an extended header tells no size, or two")
            self._size = int(value)
        elif key.startswith(b"GNU.") and not key.startswith(b"GNU.sparse."):
            raise UnsafeArchive(f"an extended header asks for {_shown(key)}")


def _check_sum(block: bytes) -> None:
    told = _number(block[148:156])
    if sum(block) - sum(block[148:156]) + 8 * ord(" ") != told:
        raise UnsafeArchive("a header's checksum is wrong")


def _number(field: bytes) -> int:
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    found = _OCTAL.fullmatch(field)
    if found is None:
        raise UnsafeArchive("a number in a header is malformed")
    return int(found[1], 8)


def _name(block: bytes) -> bytes:
    name, prefix = _until_zero(block[:100]), _until_zero(block[345:500])
    return prefix + b"/" + name if prefix and block[257:263] == _POSIX else name


def _until_zero(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _whole(value: bytes) -> bytes:
    if b"\0" in value:
        raise UnsafeArchive("a name goes on after its end")
    return value


def _check_path(path: bytes) -> None:
    if not path:
        raise UnsafeArchive("a member has no name")
    if path.startswith(b"/") or b".." in path.split(b"/"):
        raise UnsafeArchive(f"{_shown(path)} leaves the home")
    if len(path) > LONGEST_PATH:
        raise UnsafeArchive(f"{_shown(path)} is too long a path")


def _shown(path: bytes) -> str:
    return repr(path[:200].decode(errors="backslashreplace"))
