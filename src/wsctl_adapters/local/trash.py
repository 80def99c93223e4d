"""Deleting trees that nobody sees any more, whatever is in them.

A tree is renamed into the trash in one step, and is gone for everyone; then it is deleted at
leisure. A crash in the middle leaves some of it there, for the sweep. Folders are moved up before
they are emptied, so that no depth is too deep; no symbolic link is ever followed.
"""

import os
import threading
from contextlib import suppress
from pathlib import Path

from wsctl_adapters.local.layout import age_seconds, entries, unused

DAY_SECONDS = 24 * 60 * 60

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def throw_away(place: Path, trash: Path) -> Path | None:
    """Rename something into the trash; where it is now, or None when it was gone already."""
    grave = unused(trash)
    try:
        place.rename(grave)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return grave


def destroy(path: Path, stop: threading.Event | None = None) -> None:
    """Delete a tree; gone already is as good. When `stop` is set it ends early, with a rest."""
    try:
        top = os.open(path, _FOLDER)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        path.unlink(missing_ok=True)
        return
    except PermissionError:
        path.chmod(0o700)
        top = os.open(path, _FOLDER)
    try:
        os.fchmod(top, 0o700)
        while _one_level(top, stop):
            pass
    finally:
        os.close(top)
    if stop is None or not stop.is_set():
        with suppress(FileNotFoundError):
            path.rmdir()


def _one_level(top: int, stop: threading.Event | None) -> bool:
    """Delete what is in the folder, and move what is in its folders up; False when it is empty."""
    names = os.listdir(top)
    for name in names:
        with suppress(FileNotFoundError):  # somebody else may delete the same tree
            _empty(top, name, stop)
    return bool(names) and not (stop is not None and stop.is_set())


def _empty(top: int, name: str, stop: threading.Event | None) -> None:
    try:
        folder = _open_folder(name, top)
    except OSError:
        os.unlink(name, dir_fd=top)
        return
    try:
        os.fchmod(folder, 0o700)
        for inner in os.listdir(folder):  # noqa: PTH208 - of an open folder, not of a path
            if stop is not None and stop.is_set():
                return
            with suppress(FileNotFoundError):
                _take_out(inner, folder, top)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)


def _open_folder(name: str, top: int) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=top)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=top)
        return os.open(name, _FOLDER, dir_fd=top)


def _take_out(name: str, folder: int, top: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except IsADirectoryError:
        higher = unused(Path()).name
        try:
            os.rename(name, higher, src_dir_fd=folder, dst_dir_fd=top)
        except PermissionError:
            os.chmod(name, 0o700, dir_fd=folder)
            os.rename(name, higher, src_dir_fd=folder, dst_dir_fd=top)


def sweep(*folders: Path, older_than_seconds: float = DAY_SECONDS) -> int:
    """Delete what crashes have left in those folders, and tell how many things that were."""
    found = 0
    for path in (path for folder in folders for path in entries(folder)):
        age = age_seconds(path.name)
        if age is not None and age >= older_than_seconds:
            destroy(path)
            found += 1
    return found
