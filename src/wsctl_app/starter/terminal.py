"""Terminals: login shells, each on a pseudo-terminal of its own, in the home.

A terminal is read only as fast as somebody takes what was read, and takes only so much input in
advance. A shell ends with its terminal, and every child of the program is reaped. This module
knows nothing of the web; it never blocks the event loop.
"""

import asyncio
import os
import shutil
import signal
import termios
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from wsctl_app.starter import processes
from wsctl_app.starter.problems import Problem

AT_ONCE = 32
"""How many terminals a workspace has at a time."""

OUTPUT_BYTES = 64 * 1024
"""How much is read from a terminal at a time."""

INPUT_BYTES = 1024 * 1024
"""How much input may wait for a program that does not read."""

INPUT_PATIENCE_SECONDS = 30.0
"""How long more than that may wait."""

GRACE_SECONDS = 0.3
"""What a shell has to end by itself after its terminal is gone."""

PATIENCE_SECONDS = 2.0
"""How long the end waits for processes that can't even be killed, as on a dead network disk."""

_IUTF8 = 0o40000  # not among the names of termios
_DEFAULTED = (
    *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD),
    *(signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU),
)


def login_shell() -> str:
    """Bash where there is one."""
    return shutil.which("bash") or "/bin/sh"


def shell_environment(home: Path, shell: str, outer: Mapping[str, str]) -> dict[str, str]:
    """What a shell inherits, with what is true in its terminal."""
    return {
        "LANG": "C.UTF-8",
        **{name: value for name, value in outer.items() if name not in {"COLUMNS", "LINES"}},
        "HOME": str(home),
        "PWD": str(home),
        "SHELL": shell,
        "TERM": "xterm-256color",
    }


def _spawned(home: Path, columns: int, rows: int) -> tuple[int, int]:
    """A shell on a new terminal, whose session it leads: its process, and the master's side."""
    shell = login_shell()
    master, slave = os.openpty()
    try:
        os.set_blocking(master, False)
        termios.tcsetwinsize(master, (rows, columns))
        modes = termios.tcgetattr(slave)
        modes[0] |= _IUTF8
        termios.tcsetattr(slave, termios.TCSANOW, modes)
        # A leader without a terminal that opens one makes it its own; the rest is inherited.
        # The program has made the home its folder.
        pid = os.posix_spawn(
            shell,
            [f"-{Path(shell).name}"],
            shell_environment(home, shell, os.environ),
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.ttyname(slave), os.O_RDWR, 0),
                (os.POSIX_SPAWN_DUP2, 0, 1),
                (os.POSIX_SPAWN_DUP2, 0, 2),
            ],
            setsid=True,
            setsigmask=[],
            setsigdef=_DEFAULTED,
        )
    except BaseException:
        os.close(master)
        raise
    finally:
        os.close(slave)
    return pid, master


class Terminal:
    """One shell and its terminal, from this side."""

    def __init__(self, pid: int, master: int) -> None:
        self.pid = pid
        self._loop = asyncio.get_running_loop()
        self._master = master
        self._open = True
        self._status: asyncio.Future[int] = self._loop.create_future()
        self._readable: asyncio.Future[None] | None = None
        self._waiting = bytearray()
        self._room = asyncio.Event()

    async def read(self) -> bytes:
        """What the shell and its programs wrote; nothing when there will be no more.

        The terminal is looked at only while somebody waits here: who is slow to come back makes
        the programs wait.
        """
        while self._open:
            self._readable = self._loop.create_future()
            self._loop.add_reader(self._master, self._wake)
            if self._status.done():
                self._wake()
            try:
                await self._readable
            finally:
                if self._open:
                    self._loop.remove_reader(self._master)
            output = self._taken()
            if output is not None:
                return output
        return b""

    def _wake(self) -> None:
        if self._readable is not None and not self._readable.done():
            self._readable.set_result(None)

    def _taken(self) -> bytes | None:
        """What there is to read; empty at the end, None when there is nothing yet."""
        parts: list[bytes] = []
        size = 0
        ended = not self._open
        while not ended and size < OUTPUT_BYTES:
            try:
                part = os.read(self._master, OUTPUT_BYTES - size)
            except BlockingIOError:
                ended = self._status.done()
                break
            except OSError:  # the other side is closed: EIO
                part = b""
            ended = not part
            parts.append(part)
            size += len(part)
        return b"".join(parts) if parts or ended else None

    async def write(self, data: bytes) -> None:
        """Give input to the terminal; a TimeoutError when nobody reads far too much of it."""
        if not self._open:
            return
        self._waiting += data
        self._flush()
        async with asyncio.timeout(INPUT_PATIENCE_SECONDS):
            await self._room.wait()

    def _flush(self) -> None:
        try:
            del self._waiting[: os.write(self._master, self._waiting[:OUTPUT_BYTES])]
        except BlockingIOError:
            pass  # the loop says when there is room
        except OSError:
            self._waiting.clear()  # the other side is closed, as the reader will find
        if self._waiting:
            self._loop.add_writer(self._master, self._flush)
        else:
            self._loop.remove_writer(self._master)
        if len(self._waiting) > INPUT_BYTES:
            self._room.clear()
        else:
            self._room.set()

    def resize(self, columns: int, rows: int) -> None:
        """Tell the programs how large the terminal is now."""
        if self._open:
            termios.tcsetwinsize(self._master, (rows, columns))

    def hang_up(self) -> None:
        """Close the terminal: the shell ends, by itself or by force."""
        if not self._open:
            return
        self._open = False
        self._loop.remove_reader(self._master)
        self._loop.remove_writer(self._master)
        os.close(self._master)
        self._wake()
        self._room.set()
        self._signal(signal.SIGHUP)
        self._loop.call_later(GRACE_SECONDS, self._signal, signal.SIGKILL)

    def _signal(self, signal_number: signal.Signals) -> None:
        # While its status was not taken, nobody else can have its number.
        if not self._status.done():
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal_number)

    def reaped(self, status: int) -> None:
        """The shell ended: called once, with its exit code."""
        self._status.set_result(status)
        self._wake()

    async def exit_code(self) -> int:
        """The shell's exit code, when it has ended; negative for a signal."""
        return await asyncio.shield(self._status)


class Terminals:
    """All terminals of the program, and all of its children."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._by_pid: dict[int, Terminal] = {}
        self._closing = False

    def open(self, *, columns: int, rows: int) -> Terminal:
        """A new terminal; a problem when there can be none."""
        if self._closing:
            raise Problem(503, "Stopping", "The workspace is stopping.")
        if len(self._by_pid) >= AT_ONCE:
            raise Problem(503, "Too many terminals", f"There are {AT_ONCE} terminals already.")
        try:
            terminal = Terminal(*_spawned(self._home, columns, rows))
        except OSError as error:
            raise Problem.of(error, "A shell can't be started") from error
        self._by_pid[terminal.pid] = terminal
        return terminal

    def reap(self) -> None:
        """Take the status of every child that ended, adopted ones too; for SIGCHLD."""
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            terminal = self._by_pid.pop(ended.si_pid, None)
            if terminal:
                # Its number is still taken, so this is its group and no other's.
                with suppress(ProcessLookupError):
                    os.killpg(terminal.pid, signal.SIGKILL)
            _pid, status = os.waitpid(ended.si_pid, 0)
            if terminal:
                terminal.reaped(os.waitstatus_to_exitcode(status))

    def hang_up(self) -> None:
        """Close every terminal, ask everything below to end, and open no terminal any more."""
        self._closing = True
        for terminal in tuple(self._by_pid.values()):
            terminal.hang_up()
        processes.end_descendants(signal.SIGTERM)

    async def end(self) -> bool:
        """Wait until nothing is below, by force after the grace; False when that did not help."""
        start = asyncio.get_running_loop().time()
        number = signal.Signals(signal.SIGCONT)  # what stands still can then end by itself
        while processes.end_descendants(number):
            waited = asyncio.get_running_loop().time() - start
            if waited > PATIENCE_SECONDS:
                return False
            if waited > GRACE_SECONDS:
                number = signal.SIGKILL
            await asyncio.sleep(0.02)
        return True
