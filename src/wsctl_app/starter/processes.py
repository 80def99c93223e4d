"""The processes below this one: adopted when they are orphaned, found, and ended.

A shell starts what it likes: jobs, jobs that ignore a hang-up, daemons with a session of their own.
None of them may go on writing into a home whose program has ended. This module knows processes by
their parents and nothing else; it never touches one that does not descend from this program.
"""

import ctypes
import os
import signal
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """From now on a process below this one whose parent ends becomes a child of this one."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def parents() -> dict[int, int]:
    """Every process that can be seen, and its parent."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            status = (folder / "stat").read_bytes()
        except OSError:
            continue  # it ended while this was read
        # The name stands in brackets and may hold anything, brackets too.
        found[int(folder.name)] = int(status.rpartition(b")")[2].split()[1])
    return found


def descendants(of: int) -> list[int]:
    """Every process below one, children first."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents().items():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    level = [of]
    while level:
        level = [child for pid in level for child in children.get(pid, ())]
        found += level
    return found


def end_descendants(signal_number: signal.Signals) -> bool:
    """Send a signal to every process below this one; False when there is none."""
    below = descendants(os.getpid())
    for pid in below:
        try:
            os.kill(pid, signal_number)
        except ProcessLookupError:
            continue  # it ended by itself
    return bool(below)
