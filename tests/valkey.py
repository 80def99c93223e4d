"""A Valkey of a test's own, from the wheel, on a socket in a temporary folder."""

import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import redis

from wsctl_app.embedded.wheels import valkey_program

PATIENCE_SECONDS = 20


class Valkey:
    """A server that keeps nothing; it can be stopped and started again on the same socket."""

    def __init__(self) -> None:
        # Not pytest's folder: the path of a socket must be short.
        self._folder = tempfile.TemporaryDirectory(prefix="valkey-")
        self._socket = Path(self._folder.name) / "s"
        self.url = f"unix://{self._socket}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._process = subprocess.Popen(
            [
                valkey_program(),
                *("--port", "0", "--unixsocket", self._socket, "--dir", self._folder.name),
                *("--save", "", "--appendonly", "no"),
            ],
            stdout=subprocess.DEVNULL,
        )
        end = time.monotonic() + PATIENCE_SECONDS
        while not self._answers():
            assert self._process.poll() is None, "Valkey ended"
            assert time.monotonic() < end, "Valkey does not answer"
            time.sleep(0.01)

    def _answers(self) -> bool:
        with redis.Redis.from_url(self.url) as client:
            try:
                return bool(client.ping())
            except redis.ConnectionError:
                return False

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It holds its connections, and answers nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End it at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            self._socket.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        self._folder.cleanup()
