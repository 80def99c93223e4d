"""The files of a home: safe paths, listings that survive anything, writes that are whole.

A path is relative to the home, and bytes that are not UTF-8 travel in it as surrogates. No path
leads out of the home: not by "..", not from the root, not through a link. Nothing here waits for
a pipe or a device, and nothing reads or writes without a bound.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote

import attrs

from wsctl_app.starter.problems import Problem

LISTED = 2_000
"""How many entries of a folder are told."""

SCANNED = 100_000
"""How many entries of a folder are looked at, to tell the first of them in order."""

EDITED_BYTES = 2 * 1024 * 1024
"""The largest file that is shown as text, or written."""

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_CREATE = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_CREAT | os.O_EXCL


class Kind(StrEnum):
    """What an entry of a folder is. A link inside the home is what it leads to."""

    FOLDER = "folder"
    FILE = "file"
    OTHER = "other"
    """A socket, a pipe or a device."""
    BROKEN = "broken"
    """A link that leads nowhere."""
    OUTSIDE = "outside"
    """A link that leads out of the home; it is told and never followed."""
    UNKNOWN = "unknown"
    """It can't be looked at."""


@attrs.frozen(kw_only=True)
class Entry:
    """One line of a listing."""

    name: str
    """For the eye: whatever can't be shown is escaped."""
    path: str
    """From the home, percent-encoded byte for byte, as a query takes it."""
    kind: Kind
    link: bool
    size_bytes: int | None
    """None where it can't be known, and where it means nothing."""
    modified_seconds: float | None
    """None where it can't be known."""


@attrs.frozen(kw_only=True)
class Listing:
    """A folder: its entries in order, folders first."""

    path: str
    entries: tuple[Entry, ...]
    note: str | None
    """What the listing leaves out. None when it is whole."""


@attrs.frozen(kw_only=True)
class Text:
    """A file as text, and the version that was read."""

    content: bytes
    version: str


@attrs.frozen(kw_only=True)
class Written:
    """What a write left behind."""

    version: str
    created: bool


def shown(name: str) -> str:
    r"""A name that is safe to look at.

    >>> shown("caf\udce9\n")
    'caf\\xe9\\x0a'
    """
    return "".join(char if char.isprintable() else _escaped(ord(char)) for char in name)


def _escaped(code: int) -> str:
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"


def version_of(status: os.stat_result) -> str:
    """What changes whenever a file does; an entity tag."""
    return f'"{status.st_mtime_ns:x}-{status.st_size:x}-{status.st_ino:x}"'


def located(home: Path, path: str) -> Path:
    """Where a path really is, links followed; a problem when that is not in the home."""
    if "\0" in path:
        raise Problem(400, "Not a path", "A path has no NUL byte.")
    if path.startswith("/"):
        raise Problem(400, "Not in the home", f"{shown(path)} is absolute; a path is relative.")
    if ".." in path.split("/"):
        raise Problem(400, "Not in the home", f"{shown(path)} has '..', which is never followed.")
    real = _real(home / path)
    if not real.is_relative_to(home):
        raise Problem(403, "Not in the home", f"{shown(path)} is a link that leads out of it.")
    return real


def _real(path: Path | str) -> Path:
    """Links followed; unlike `Path.resolve`, it bears links that go in circles."""
    return Path(os.path.realpath(path))


@contextmanager
def _problems_of(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Problem.of(error, shown(path) or "The home") from error


def listing(home: Path, path: str) -> Listing:
    """What is in a folder, bounded, whatever is in it."""
    with _problems_of(path):
        found: list[tuple[bool, str, os.DirEntry[str]]] = []
        over = False
        with os.scandir(located(home, path)) as scan:
            for entry in scan:
                if over := len(found) == SCANNED:
                    break
                found.append((not entry.is_dir(follow_symlinks=False), entry.name, entry))
    found.sort(key=lambda item: item[:2])
    entries = [_entry(home, path, entry) for _file, _name, entry in found[:LISTED]]
    told = [entry for entry in entries if entry is not None]
    told.sort(key=lambda entry: entry.kind is not Kind.FOLDER)  # links to folders are folders
    note = None
    if len(found) > LISTED:
        total = f"more than {SCANNED:,}" if over else f"{len(found):,}"
        note = f"The first {LISTED:,} of {total} entries."
    return Listing(path=shown(path), entries=tuple(told), note=note)


def _entry(home: Path, path: str, found: os.DirEntry[str]) -> Entry | None:
    """One entry; None when it went away in the meantime."""
    kind = None
    link = False
    status: os.stat_result | None = None
    try:
        status = found.stat(follow_symlinks=False)
        if link := stat.S_ISLNK(status.st_mode):
            kind, status = _target(home, found.path)
    except FileNotFoundError:
        return None
    except OSError:
        kind = Kind.UNKNOWN  # said in the listing, which goes on
    kind = kind or _kind(status)
    return Entry(
        name=shown(found.name),
        path=quote(os.fsencode(Path(path) / found.name)),
        kind=kind,
        link=link,
        size_bytes=status.st_size if status and kind is Kind.FILE else None,
        modified_seconds=status.st_mtime if status else None,
    )


def _target(home: Path, link: str) -> tuple[Kind, os.stat_result | None]:
    """What a link leads to; what is outside the home is not looked at."""
    real = _real(link)
    if not real.is_relative_to(home):
        return Kind.OUTSIDE, None
    try:
        status = os.lstat(real)
    except OSError:
        return Kind.BROKEN, None
    # What is still a link after all links were followed goes in circles.
    return (Kind.BROKEN if stat.S_ISLNK(status.st_mode) else _kind(status)), status


def _kind(status: os.stat_result | None) -> Kind:
    if status is None:
        return Kind.UNKNOWN
    if stat.S_ISDIR(status.st_mode):
        return Kind.FOLDER
    return Kind.FILE if stat.S_ISREG(status.st_mode) else Kind.OTHER


def _regular(status: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise Problem(409, "Not a file", f"{shown(path) or 'The home'} is no regular file.")


def opened(home: Path, path: str) -> int:
    """A regular file, open for reading. It is looked at first: to open a device may do things."""
    with _problems_of(path):
        real = located(home, path)
        _regular(os.lstat(real), path)
        return os.open(real, _READ)


def text(home: Path, path: str) -> Text:
    """A file's text; a problem when it is too large, or no text."""
    with os.fdopen(opened(home, path), "rb") as file:
        status = os.fstat(file.fileno())
        content = file.read(EDITED_BYTES + 1)
    if len(content) > EDITED_BYTES:
        detail = f"{shown(path)} is larger than {EDITED_BYTES:,} bytes; it can be downloaded."
        raise Problem(413, "Too large", detail)
    if not _is_text(content):
        raise Problem(415, "Not text", f"{shown(path)} is not UTF-8 text; it can be downloaded.")
    return Text(content=content, version=version_of(status))


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def written(
    home: Path, path: str, content: bytes, *, version: str | None = None, new: bool = False
) -> Written:
    """Replace a file as a whole, or make it; a reader sees the old content or the new.

    With a version, only the file that still has it is replaced (None: any). With `new`, nothing is
    replaced. The caller sees to it that one write is done at a time.
    """
    if len(content) > EDITED_BYTES:
        raise Problem(413, "Too large", f"A file of at most {EDITED_BYTES:,} bytes is written.")
    with _problems_of(path):
        real = located(home, path)
        try:
            old = os.lstat(real)
        except FileNotFoundError:
            old = None
        if old is not None:
            _regular(old, path)
        if new and old:
            raise Problem(412, "It exists", f"{shown(path)} exists; nothing was written.")
        if version and (old is None or version_of(old) != version):
            detail = f"{shown(path)} is not what it was when it was opened; nothing was written."
            raise Problem(412, "Changed in the meantime", detail)
        if old and not os.access(real, os.W_OK):
            # A rename would replace what its owner made read-only.
            raise Problem(403, "Not allowed", f"{shown(path)} is read-only.")
        return _replaced(real, content, old)


def _replaced(real: Path, content: bytes, old: os.stat_result | None) -> Written:
    folder = real.parent
    temporary = folder / f".wsctl-{os.urandom(8).hex()}"
    descriptor = os.open(temporary, _CREATE, 0o600 if old else 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if old:
                os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
            file.write(content)
            file.flush()
            os.fsync(descriptor)
            status = os.fstat(descriptor)
        temporary.replace(real)
    except BaseException:
        temporary.unlink()
        raise
    _sync(folder)
    return Written(version=version_of(status), created=old is None)


def _sync(folder: Path) -> None:
    """The new name is on the disk too."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
