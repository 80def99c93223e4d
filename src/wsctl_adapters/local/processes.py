"""Which processes live, told without trusting a process number that may have been given again.

A shim holds a record lock on a file in its container's folder. The kernel lets go of it when the
shim dies, however it dies; asking who holds it disturbs nobody and tells the process. Linux only.
"""

import fcntl
import os
import signal
import struct
from contextlib import suppress
from pathlib import Path

from wsctl_core.ports import AdapterError
from wsctl_core.values.errors import AdapterCode

MARK = "WSCTL_CONTAINER_ID"
"""A variable in the environment of everything that a container runs."""

_FLOCK = "hhqqi"
"""`struct flock` of a 64-bit Linux: kind, whence, start, length, process."""


def holder(lock: Path) -> int | None:
    """The process that holds a lock; None when nobody does, or there is no such file."""
    try:
        opened = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, pid = struct.unpack_from(
            _FLOCK, fcntl.fcntl(opened, fcntl.F_GETLK, asked + bytes(8))
        )
    finally:
        os.close(opened)
    if kind == fcntl.F_UNLCK:
        return None
    if pid <= 0:
        raise AdapterError(
            AdapterCode.LOCAL_IO_ERROR,
            "a container's process is out of sight: all of wsctl must see the same processes",
        )
    return int(pid)


def send(lock: Path, number: signal.Signals) -> bool:
    """Send a signal to whoever holds a lock; False when nobody does."""
    pid = holder(lock)
    if pid is None:
        return False
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            # The handle names one process for ever: if that one holds the lock now, it is it.
            if holder(lock) == pid:
                signal.pidfd_send_signal(handle, number)
                return True
        finally:
            os.close(handle)
    return False


def left_over(container_id: str) -> list[int]:
    """The processes that a container's program left behind, found by the mark they inherited.

    A shim ends all its descendants before it goes. Only when it was killed itself can there be
    some; one that threw its environment away as well is not found.
    """
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    return [pid for pid in pids if _is_marked(pid, container_id)]


def kill_left_over(container_id: str) -> list[int]:
    """End by force what a container's program left behind, and tell what that was."""
    found = left_over(container_id)
    for pid in found:
        with suppress(ProcessLookupError):
            handle = os.pidfd_open(pid)
            try:
                if _is_marked(pid, container_id):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)
    return found


def _is_marked(pid: int, container_id: str) -> bool:
    # Gone in the meantime, or somebody else's: neither is what is looked for.
    with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
        environment = Path(f"/proc/{pid}/environ").read_bytes()
        return f"{MARK}={container_id}".encode() in environment.split(b"\0")
    return False
