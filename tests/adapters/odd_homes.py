"""A home with everything in it that people and tools leave in homes, and how to compare two."""

import hashlib
import os
import socket
import stat
from pathlib import Path

ROOT = os.geteuid() == 0
"""Only root may give files away, and read what nobody may read."""


def make_odd(home: Path) -> None:
    """Fill a home with odd names, links, holes, modes and times."""
    for name in (
        b"caf\xe9 in latin-1",
        "日本語".encode(),
        b"new\nline",
        b"-rf",
        b" spaces ",
        b"..dots",
        b"back\\slash",
        b"'quotes\"",
        b"a" * 255,
        b"\xff" * 200,
    ):
        (home / os.fsdecode(name)).write_bytes(name)
    (home / "set-uid").touch()
    (home / "set-uid").chmod(0o6755)
    (home / "old").touch()
    os.utime(home / "old", ns=(1, 1_234_567_890_123_456_789))
    os.mkfifo(home / "pipe")
    _make_links(home)
    _make_holes(home)
    _make_deep(home)
    with socket.socket(socket.AF_UNIX) as left_out:
        here = os.open(home, os.O_RDONLY)
        left_out.bind(f"/proc/self/fd/{here}/socket")
        os.close(here)
    if ROOT:
        (home / "unreadable").touch(0)
        os.chown(home / "unreadable", 12345, 54321)
    home.chmod(0o751)
    os.utime(home, ns=(9, 9_000_000_009))


def _make_links(home: Path) -> None:
    read_only = home / "read-only"
    read_only.mkdir()
    (read_only / "file").write_text("linked")
    (read_only / "absolute").symlink_to("/usr/bin/python3")
    (read_only / "out").symlink_to("../../../out")
    (read_only / "inside").symlink_to("file")
    (home / "long link").symlink_to("/" + "y" * 300)
    (home / "hard").hardlink_to(read_only / "file")
    os.link(read_only / "absolute", home / "hard link of a link", follow_symlinks=False)
    os.utime(read_only / "absolute", ns=(1, 987_654_321_123_456_789), follow_symlinks=False)
    read_only.chmod(0o555)
    os.utime(read_only, ns=(5, 5_000_000_007))


def _make_holes(home: Path) -> None:
    with (home / "sparse").open("wb") as file:
        file.seek(50 << 20)
        file.write(b"x")
        file.seek(60 << 20)
        file.write(b"y" * 5000)
        file.truncate(200 << 20)
    with (home / "hole").open("wb") as file:
        file.truncate(1 << 20)


def _make_deep(home: Path, longest: int = 4000) -> None:
    folder, length = os.open(home, os.O_RDONLY), 2
    while length + 81 < longest:
        os.mkdir(b"d" * 80, dir_fd=folder)
        deeper = os.open(b"d" * 80, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder, length = deeper, length + 81
    os.close(os.open(b"leaf", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)


Entry = tuple[object, ...]


def manifest(home: Path) -> dict[bytes, Entry]:
    """Everything that must come back: kinds, modes, owners, times, contents, holes, links."""
    found: dict[bytes, Entry] = {}
    first: dict[int, bytes] = {}
    folder = os.open(home, os.O_RDONLY)
    _walk(folder, b".", found, first)
    os.close(folder)
    return found


def _walk(folder: int, path: bytes, found: dict[bytes, Entry], first: dict[int, bytes]) -> None:
    about = os.fstat(folder)
    found[path] = (about.st_mode, about.st_uid, about.st_gid, about.st_mtime_ns)
    for name in sorted(map(os.fsencode, os.listdir(folder))):
        inner = path + b"/" + name
        about = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(about.st_mode):
            deeper = os.open(name, os.O_RDONLY, dir_fd=folder)
            _walk(deeper, inner, found, first)
            os.close(deeper)
        elif not stat.S_ISSOCK(about.st_mode):
            found[inner] = (
                about.st_mode,
                about.st_uid,
                about.st_gid,
                about.st_mtime_ns,
                about.st_nlink,
                first.setdefault(about.st_ino, inner),
                _content(folder, name, about),
            )


def _content(folder: int, name: bytes, about: os.stat_result) -> Entry:
    if stat.S_ISLNK(about.st_mode):
        return (os.readlink(name, dir_fd=folder),)
    if not stat.S_ISREG(about.st_mode):
        return ()
    file, sha256 = os.open(name, os.O_RDONLY, dir_fd=folder), hashlib.sha256()
    while piece := os.read(file, 1 << 20):
        sha256.update(piece)
    os.close(file)
    return (sha256.hexdigest(), about.st_size, about.st_blocks)
