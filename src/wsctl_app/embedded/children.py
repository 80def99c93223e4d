"""A server as a process that outlives wsctl: started, recognised, signalled, waited for.

Its lock file tells whether it runs: it is locked for as long as the server, or any process that
the server left behind, is alive. The file names the process by its pid and the moment it was
started, so a pid that was given to another is never signalled. Whoever calls holds the turn.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import attrs

from wsctl_app.embedded import launcher
from wsctl_app.embedded.account import Account
from wsctl_app.embedded.locks import is_locked
from wsctl_app.embedded.trouble import EmbeddedError, from_output, last_lines, tail

_POLL_SECONDS = 0.02
_LAUNCH_SECONDS = 30
_LOG_BYTES = 10 * 1024 * 1024

_KEPT = ("PATH", "LD_LIBRARY_PATH", "TMPDIR")


def environment() -> dict[str, str]:
    """What a server or its tool is told: little.

    No `PG...` of the user's shell, no secret of wsctl, and messages in the words we look for.
    """
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | {"LC_ALL": "C", "TZ": "UTC", "PGCONNECT_TIMEOUT": "5"}


def _order(
    command: Sequence[str | Path],
    folder: Path,
    *,
    account: Account | None,
    needs: Sequence[Path],
    server: Sequence[Path] = (),
) -> list[str]:
    """The command line of the launcher."""
    order: launcher.Order = {
        "command": [str(part) for part in command],
        "folder": str(folder),
        "server": [str(file) for file in server] or None,
        "user": None if account is None else [account.uid, account.gid],
        "shut_out": account is not None and account.is_shut_out((Path(command[0]), folder, *needs)),
    }
    return [sys.executable, "-I", "-S", launcher.__file__, json.dumps(order)]


def run_tool(
    command: Sequence[str | Path],
    folder: Path,
    *,
    account: Account | None,
    turn: int,
    timeout_seconds: float,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end as the servers' user. It keeps the turn if wsctl is killed."""
    return subprocess.run(  # noqa: S603  # programs of the wheels
        _order(command, folder, account=account, needs=()),
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
        timeout=timeout_seconds,
        pass_fds=(turn,),
        start_new_session=True,
    )


@attrs.define(kw_only=True)
class Child:
    """One server of a data folder, running or not."""

    name: str
    """What people call it: `PostgreSQL 18`."""
    folder: Path
    """Its own folder. The lock and the log lie beside it, where the server can't touch them."""
    account: Account | None
    _log_from: int | None = None
    """Where this start's lines begin in the log; None: it was not started here."""

    @property
    def lock(self) -> Path:
        """The file that the server keeps locked."""
        return self.folder.with_suffix(".lock")

    @property
    def log(self) -> Path:
        """What the server says."""
        return self.folder.with_suffix(".log")

    @property
    def pid(self) -> int | None:
        """The process of the server; None: it has none, or only what it left behind still runs."""
        if not is_locked(self.lock):
            return None
        try:
            pid, started = (int(part) for part in self.lock.read_text().split())
        except ValueError:  # cut short by a full disk: then no server was started either
            return None
        return pid if launcher.started_at(pid) == started else None

    @property
    def runs(self) -> bool:
        """The server, or something of it, is alive."""
        return is_locked(self.lock)

    def launch(self, command: Sequence[str | Path], *, needs: Sequence[Path]) -> None:
        """Start it in a session of its own; `needs` are the folders that it must reach."""
        if self.log.exists() and self.log.stat().st_size > _LOG_BYTES:
            self.log.replace(self.log.with_suffix(".log.1"))
        self._log_from = self.log.stat().st_size if self.log.exists() else 0
        order = _order(
            command, self.folder, account=self.account, needs=needs, server=(self.lock, self.log)
        )
        done = subprocess.run(  # noqa: S603  # our launcher
            order,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # nothing that a server could inherit and hold open
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=_LAUNCH_SECONDS,
            start_new_session=True,
        )
        if done.returncode != 0:
            raise from_output(f"start {self.name}", self.folder, done.stderr)

    def wait_until_ready(self, answering: Callable[[], int | None], seconds: float) -> bool:
        """Wait until the process that answers is this server; False: it has ended meanwhile."""
        deadline = time.monotonic() + seconds
        while self.runs:
            if (pid := answering()) is not None and pid == self.pid:
                return True
            if time.monotonic() > deadline:
                raise EmbeddedError(
                    f"{self.name} runs in {self.folder} but did not answer for {seconds:g} "
                    f"seconds; see {self.log}: {self.said()}"
                )
            time.sleep(_POLL_SECONDS)
        return False

    def ended(self) -> EmbeddedError:
        """It was started and ended before it was ready: what it said last."""
        error = from_output(f"run {self.name}", self.folder, self._output())
        return EmbeddedError(f"{error.message} (its log is {self.log})")

    def said(self) -> str:
        """The last lines of its log."""
        return last_lines(self._output()) or "it said nothing"

    def _output(self) -> str:
        return tail(self.log, self._log_from or 0) if self.log.exists() else ""

    def stop(self, signals: Sequence[tuple[signal.Signals, float]]) -> None:
        """Ask it to end by each signal in turn, with so many seconds for each."""
        for number, seconds in signals:
            if (pid := self.pid) is not None:
                with suppress(ProcessLookupError):  # it ended by itself: that is what is wanted
                    os.kill(pid, number)
            if self._ends_within(seconds):
                return
        raise EmbeddedError(
            f"{self.name} in {self.folder} does not end (process {self.pid or 'unknown'}); "
            "end it yourself, then try again"
        )

    def _ends_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.runs:
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True
