"""What can go wrong with embedded servers, as one sentence that says what to do.

Every failure leaves this package as an `EmbeddedError`. It never carries a traceback's worth of
output: the last lines of a server's log stand in the sentence, the rest stays in the log.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FULL = ("No space left on device", "Disk quota exceeded")

_ADVICE = {
    "user does not exist": "run wsctl as a user that this machine has a name for",
    "Permission denied": "run wsctl as the owner of that folder",
}
"""What helps when a program says so; otherwise its own words must do."""

_TAIL_LINES = 4
_TAIL_BYTES = 16_384


class EmbeddedError(Exception):
    """An embedded server can't be had, and why; the message is for people."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def no_space(what: str, folder: Path) -> EmbeddedError:
    """The disk is full: nothing is wrong with wsctl or with the data."""
    return EmbeddedError(
        f"cannot {what} in {folder}: no space left on the device; "
        "free some space or choose another folder with --data"
    )


def from_output(what: str, folder: Path, output: str) -> EmbeddedError:
    """A program failed to do `what` and said why in its own words."""
    if any(words in output for words in _FULL):
        return no_space(what, folder)
    advice = "".join(f"; {helps}" for words, helps in _ADVICE.items() if words in output)
    said = last_lines(output) or "it said nothing"
    return EmbeddedError(f"cannot {what} in {folder}: {said}{advice}")


def last_lines(output: str) -> str:
    r"""The end of an output on one line.

    >>> last_lines("starting\n\nFATAL:  no room \nHINT:  make some\n")
    'starting; FATAL:  no room; HINT:  make some'
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return "; ".join(lines[-_TAIL_LINES:])


def tail(log: Path, since: int) -> str:
    """What a log says after its byte `since`, or the end of that."""
    with log.open("rb") as file:
        end = file.seek(0, 2)
        file.seek(min(end, max(since, end - _TAIL_BYTES)))
        return file.read().decode(errors="replace")


@contextmanager
def told(what: str, folder: Path) -> Iterator[None]:
    """An error of the operating system inside becomes a sentence about the folder.

    >>> with told("make the servers' folder", Path("data")):
    ...     raise PermissionError(errno.EACCES, "Permission denied", "data/servers")
    Traceback (most recent call last):
    wsctl_app.embedded.trouble.EmbeddedError: cannot make the servers' folder in data: ...
    """
    try:
        yield
    except OSError as error:
        raise _sentence(error, what, folder) from error


def _sentence(error: OSError, what: str, folder: Path) -> EmbeddedError:
    another = "choose another folder with --data"
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return no_space(what, folder)
        case errno.EACCES | errno.EPERM:
            told = f"permission denied for {error.filename or folder}"
            advice = f"run wsctl as the owner of that folder, or {another}"
        case errno.EROFS:
            told, advice = "it is read-only", another
        case errno.ENOTDIR | errno.EEXIST:
            told, advice = f"{error.filename or folder} is not a folder", another
        case _:
            named = f" ({error.filename})" if error.filename else ""
            told, advice = f"{error.strerror or error}{named}", another
    return EmbeddedError(f"cannot {what} in {folder}: {told}; {advice}")
