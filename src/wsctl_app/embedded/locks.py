"""Locks on files, by which wsctl processes that share a data folder take turns.

They are `flock` locks: the kernel lets go of them when their holder dies, so a crash never leaves
one behind. The files are never removed, because a lock on a removed file excludes nobody.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import attrs

from wsctl_app.embedded.trouble import EmbeddedError

_POLL_SECONDS = 0.02


def is_locked(path: Path) -> bool:
    """Somebody holds the lock on that file. Asking takes the lock for a moment.

    So only the holder of the turn may ask: two who asked at once would see each other.
    """
    try:
        file = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(file)


@contextmanager
def turn(path: Path, data: Path, *, timeout_seconds: float) -> Iterator[int]:
    """Be the only one who starts or stops servers; the value is the locked file.

    A tool that inherits the file keeps the turn until it ends, even if wsctl is killed.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = time.monotonic() + timeout_seconds
        while not _locks(file):
            if time.monotonic() > deadline:
                holder = os.pread(file, 64, 0).decode(errors="replace").strip() or "unknown"
                raise EmbeddedError(
                    f"another wsctl (process {holder}) has been starting or stopping the servers "
                    f"in {data} for more than {timeout_seconds:g} seconds; "
                    "wait until it has finished or end it, then try again"
                )
            time.sleep(_POLL_SECONDS)
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        yield file
    finally:
        os.close(file)


def _locks(file: int) -> bool:
    with suppress(BlockingIOError):  # somebody else's turn, which is what the answer says
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


@attrs.define(kw_only=True)
class Users:
    """The wsctl processes that use the servers of a folder: each holds a shared lock while it runs.

    Whoever joins, leaves or asks holds the turn, so that nobody comes or goes meanwhile.
    """

    _file: int | None
    """The file that this process locks; None: it uses the servers no longer."""

    @classmethod
    def at(cls, path: Path) -> "Users":
        """The users that a file stands for; this process is not one of them yet."""
        return cls(file=os.open(path, os.O_RDWR | os.O_CREAT, 0o600))

    @property
    def has_left(self) -> bool:
        """That this process is no user any more."""
        return self._file is None

    def is_alone(self) -> bool:
        """No other process uses the servers. This one is counted as a user from now on."""
        file = self._opened()
        alone = _locks(file)
        # A lock that could not be made exclusive may be lost: take the shared one again.
        fcntl.flock(file, fcntl.LOCK_SH)
        return alone

    def leave(self) -> None:
        """Use the servers no longer."""
        os.close(self._opened())
        self._file = None

    def _opened(self) -> int:
        if self._file is None:
            raise ValueError("this process has left already")
        return self._file
