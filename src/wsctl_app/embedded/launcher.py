"""A small program between wsctl and a server: it takes the lock, lets go of root, and becomes it.

It is run as a file by a fresh interpreter, so that nothing is done between fork and exec of a
process with threads. A server is started in a session of its own and holds the lock on its lock
file for as long as it lives, inherited across exec: who finds the file locked knows that the
server runs, whatever became of the wsctl that started it, and no crash can leave it locked.

It imports only the standard library, and it is never told a secret.
"""

import ctypes
import fcntl
import json
import os
import sys
from pathlib import Path
from typing import NoReturn, TypedDict

ALREADY_RUNS = 75
"""The exit code when another server holds the lock."""

_KEEP_CAPABILITIES = 8
_AMBIENT = 47
_AMBIENT_RAISE = 2
_DAC_OVERRIDE = 1
_CAPABILITIES_V3 = 0x20080522


class Order(TypedDict):
    """What to run and how, as JSON in the first argument."""

    command: list[str]
    folder: str
    """The working directory."""
    server: list[str] | None
    """The lock file and the log of a server; None: a tool, which runs in the foreground."""
    user: list[int] | None
    """The uid and gid to become; None: stay who we are."""
    shut_out: bool
    """That user can't enter every folder on the way to what it needs."""


def started_at(pid: int) -> int | None:
    """When the process was started, in the kernel's ticks; None: there is no such process.

    With the pid it names a process for good: pids are used again, pairs are not.

    >>> started_at(os.getpid()) == started_at(os.getpid())
    True
    >>> started_at(2**30) is None
    True
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may hold anything: what follows the last one is numbers.
    state, *numbers = text.rpartition(")")[2].split()
    return None if state in ("Z", "X") else int(numbers[18])


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint32) for name in ("effective", "permitted", "inheritable"))


def become(uid: int, gid: int, *, shut_out: bool) -> None:
    """Leave root behind for good.

    PostgreSQL refuses to be root. Folders of root are often closed to everyone else, the home of
    root first of all, and opening them would open them to every account of the machine. So a
    user that is shut out keeps the one capability that lets it pass (CAP_DAC_OVERRIDE), and
    nobody's folders change.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if shut_out:
        _checked(libc.prctl(_KEEP_CAPABILITIES, 1, 0, 0, 0))
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    if shut_out:
        one = _Sets(*[1 << _DAC_OVERRIDE] * 3)
        header = _Header(_CAPABILITIES_V3, 0)
        _checked(libc.capset(ctypes.byref(header), ctypes.byref((_Sets * 2)(one, _Sets()))))
        _checked(libc.prctl(_AMBIENT, _AMBIENT_RAISE, _DAC_OVERRIDE, 0, 0))


def _checked(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _replace_self(order: Order) -> NoReturn:
    """Become the program that was ordered; if that can't be, say so where its output goes."""
    try:
        os.umask(0o077)
        os.chdir(order["folder"])
        if order["user"] is not None:
            uid, gid = order["user"]
            become(uid, gid, shut_out=order["shut_out"])
        os.execv(order["command"][0], order["command"])  # noqa: S606  # no shell is meant
    except OSError as error:
        os.write(2, f"cannot run {order['command'][0]}: {error}\n".encode(errors="replace"))
        os._exit(127)


def _detach(order: Order, lock_file: str, log_file: str) -> int:
    """Start a server that nobody waits for; return once its identity is written."""
    # Inheritable from here on: the server keeps the lock, and so does every child of it.
    lock = os.open(lock_file, os.O_RDWR | os.O_CREAT, 0o600)
    os.set_inheritable(lock, True)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return ALREADY_RUNS
    os.ftruncate(lock, 0)
    log = os.open(log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    known, identity_is_known = os.pipe()
    if (child := os.fork()) == 0:
        os.close(identity_is_known)
        if not os.read(known, 1):
            os._exit(1)  # the launcher died: a server that nobody could stop is not started
        os.setsid()
        os.dup2(log, 1)
        os.dup2(log, 2)
        _replace_self(order)
    os.write(lock, f"{child} {started_at(child)}\n".encode())
    os.write(identity_is_known, b"!")
    return 0


def main(argument: str) -> int:
    """Carry out one order."""
    order: Order = json.loads(argument)
    if order["server"] is None:
        _replace_self(order)
    try:
        return _detach(order, *order["server"])
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
