"""GNU tar as a child process on a folder. It is ended when its user ends, however that is."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO

from wsctl_core.ports import AdapterError
from wsctl_core.values.errors import AdapterCode

PIECE_BYTES = 1 << 20

PACK = (
    "--create",
    "--sort=name",
    "--format=posix",
    "--numeric-owner",
    "--sparse",
    # The other sparse formats, and tar's own choice of a name, put its process number in (H12).
    "--sparse-version=0.0",
    "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime",
)
UNPACK = (
    "--extract",
    "--preserve-permissions",
    "--numeric-owner",
    "--delay-directory-restore",
)


@cache
def gnu_tar() -> str | None:
    """The path of GNU tar; None when it is not installed."""
    path = shutil.which("tar")
    if path is None:
        return None
    told = subprocess.run([path, "--version"], capture_output=True, check=False)  # noqa: S603 - a fixed command
    return path if b"GNU tar" in told.stdout else None


class _Tar:
    """What packing and unpacking have in common."""

    code: AdapterCode

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._words: IO[bytes] | None = None

    def _start(self, options: Sequence[str], stdin: int, stdout: int) -> None:
        tar = gnu_tar()
        if tar is None:
            raise AdapterError(
                self.code, "GNU tar is needed, and `tar --version` does not answer as it does"
            )
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - `end` closes it
        self._process = subprocess.Popen(  # noqa: S603 - a fixed command
            [tar, "--file=-", f"--directory={self._folder}", *options],
            stdin=stdin,
            stdout=stdout,
            stderr=self._words,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
        )

    @property
    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            raise RuntimeError("tar was not begun")
        return self._process

    def finish(self) -> None:
        """Wait for the end; an error, in tar's own words, unless all went well."""
        if self._running.stdin is not None:
            with suppress(BrokenPipeError):
                self._running.stdin.close()
        if self._running.wait() != 0 and self._words is not None:
            self._words.seek(0)
            words = self._words.read(2000).decode(errors="replace").strip()
            raise AdapterError(
                self.code,
                f"tar: {words or 'no reason given'}",
                {"exit_code": self._running.returncode},
            )

    def kill(self) -> None:
        """Make it end now; whoever reads or writes is told at once."""
        if self._process is not None:
            self._process.kill()

    def end(self) -> None:
        """Leave no process and no open file behind."""
        self.kill()
        if self._process is not None:
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    with suppress(BrokenPipeError):
                        stream.close()
            self._process.wait()
        if self._words is not None:
            self._words.close()


class Packing(_Tar):
    """A folder on its way into a stream.

    Any complaint of tar's is an error, also that a file changed while it was read: nothing runs
    on the home, so nothing may change, and what is written too late would be lost with the volume.
    """

    code = AdapterCode.TAR_CREATE_FAILED

    def begin(self) -> None:
        """Start."""
        self._start((*PACK, "."), subprocess.DEVNULL, subprocess.PIPE)

    def read(self) -> bytes:
        """The next piece of the stream; empty at its end."""
        stdout = self._running.stdout
        return b"" if stdout is None else stdout.read(PIECE_BYTES)


class Unpacking(_Tar):
    """A stream on its way into an empty folder.

    Members can't leave it: tar itself makes a symbolic link that leads out only at the very end,
    when nothing can be written through it any more.
    """

    code = AdapterCode.TAR_EXTRACT_FAILED

    def begin(self) -> None:
        """Start."""
        self._start(UNPACK, subprocess.PIPE, subprocess.DEVNULL)

    def write(self, data: bytes) -> None:
        """Hand over the next piece of the stream."""
        stdin = self._running.stdin
        if stdin is not None:
            try:
                stdin.write(data)
            except BrokenPipeError:
                self.finish()  # it says why
