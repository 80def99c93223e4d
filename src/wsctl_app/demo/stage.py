"""The stage: a temporary folder, a `wsctl up` in it as a process, and the order afterwards."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from wsctl_app.cli.client import Client
from wsctl_app.cli.failures import Failed
from wsctl_app.cli.where import Where
from wsctl_app.embedded import EmbeddedError, start

UP_SECONDS = 60.0
END_SECONDS = 20.0

PACE = {
    "WSCTL_IDLE_POLL_SECONDS": "1",
    "WSCTL_BUSY_POLL_SECONDS": "1",
    "WSCTL_RESTART_DELAYS_SECONDS": "0,1,2,4,8",
    "WSCTL_LOG_LEVEL": "INFO",
}
"""What differs from the defaults: a demonstration looks more often, and waits less."""


class Stage:
    """Where the story takes place."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="wsctl-demo-"))
        self.data = self.root / "data"
        self.log = self.root / "up.log"
        self._up: subprocess.Popen[bytes] | None = None

    # ------------------------------------------------------------------------------ wsctl up

    def start(self) -> Client:
        """Start `wsctl up`, and speak to it once it answers. RuntimeError when it does not."""
        ours = ("WSCTL_", "COORDINATOR_")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        with self.log.open("ab") as log:
            self._up = subprocess.Popen(  # noqa: S603  # our own program
                [
                    *(sys.executable, "-P", "-m", "wsctl_app.cli"),
                    *("up", "--data", str(self.data), "--port", "0"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment | PACE,
                start_new_session=True,  # Ctrl-C is for the demonstration, which then ends it
            )
        ends_at = time.monotonic() + UP_SECONDS
        while time.monotonic() < ends_at:
            if self._up.poll() is not None:
                raise RuntimeError(f"`wsctl up` ended with code {self._up.returncode}")
            with suppress(Failed):  # not there yet
                return Client(Where(data=self.data))
            time.sleep(0.05)
        raise RuntimeError(f"`wsctl up` did not answer within {UP_SECONDS:g} s")

    def kill(self) -> int:
        """Kill `wsctl up` with -9; its process number."""
        if self._up is None:
            raise RuntimeError("`wsctl up` does not run")
        self._up.kill()
        self._up.wait()
        return self._up.pid

    def stop(self) -> int | None:
        """Stop `wsctl up` as Ctrl-C does; its exit code, None when it had to be killed."""
        if self._up is None or self._up.poll() is not None:
            return None if self._up is None else self._up.returncode
        self._up.send_signal(signal.SIGINT)
        try:
            return self._up.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    # -------------------------------------------------------------------------- what is there

    def volumes(self, workspace_id: str) -> list[Path]:
        """The folders of a workspace's volumes."""
        return sorted((self.data / "runtime" / "volumes").glob(f"ws-{workspace_id}-*"))

    def containers(self, workspace_id: str) -> list[Path]:
        """The folders of a workspace's containers."""
        return sorted((self.data / "runtime" / "containers").glob(f"ws-{workspace_id}/*"))

    def processes(self) -> list[int]:
        """Everything that runs in the folder, found by where it works or what it was told."""
        here = os.fsencode(self.root)
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal() or int(entry.name) == os.getpid():
                continue
            with suppress(OSError):  # gone in the meantime, or somebody else's
                works_in = os.fsencode((entry / "cwd").readlink())
                told = (entry / "cmdline").read_bytes()
                if here in told or works_in == here or works_in.startswith(here + b"/"):
                    found.append(int(entry.name))
        return found

    # --------------------------------------------------------------------------------- the end

    def clear(self, *, keep_log: bool) -> None:
        """End whatever still runs in the folder, and remove it; the log stays where it is asked."""
        self.stop()
        if self.processes():
            with suppress(EmbeddedError):  # what does not stop in order is killed below
                start(self.data).stop()
        ends_at = time.monotonic() + END_SECONDS
        while (left := self.processes()) and time.monotonic() < ends_at:
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        shutil.rmtree(self.data if keep_log else self.root, ignore_errors=True)
