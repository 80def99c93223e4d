"""Valkey from the wheel: started by a command line, asked over its socket.

It listens on a socket that only its user can open, never on a network. It keeps an append-only
file that is synced every second.
"""

import os
import re
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import attrs

from wsctl_app.embedded.children import Child
from wsctl_app.embedded.folders import Folders

STOP = ((signal.SIGTERM, 15.0), (signal.SIGKILL, 10.0))
"""A shutdown that syncs its file; then no choice."""

_ASK_SECONDS = 5


@attrs.define(kw_only=True)
class Valkey:
    """The Valkey of one data folder."""

    folders: Folders
    child: Child
    sockets: Path
    program: Path

    @property
    def _socket(self) -> Path:
        return self.sockets / "valkey.sock"

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"unix://{quote(os.fsencode(self._socket))}"

    def start(self, say: Callable[[str], None], turn: int) -> None:  # noqa: ARG002  # no tool here
        """Start the server on its file, or on a new one."""
        say(f"{self.child.name} is starting")
        settings = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "dir": str(self.folders.valkey),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "daemonize": "no",
            "supervised": "no",
            "protected-mode": "yes",
        }
        options = [part for name, value in settings.items() for part in (f"--{name}", value)]
        self.child.launch([self.program, *options], needs=(self.sockets,))

    def pid(self) -> int | None:
        """The process that answers on the socket; None: nobody answers yet, or it still loads."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(_ASK_SECONDS)
                connection.connect(str(self._socket))
                connection.sendall(b"PING\r\nINFO server\r\nQUIT\r\n")
                answer = b"".join(iter(lambda: connection.recv(65_536), b""))
        except OSError:  # no socket yet, or nobody behind it: whoever waits knows for how long
            return None
        told = re.search(rb"^process_id:(\d+)\r$", answer, re.MULTILINE)
        return int(told[1]) if told is not None and answer.startswith(b"+PONG") else None

    def finish(self) -> None:
        """Nothing: it needs no more than to run."""

    def stop(self) -> None:
        """End it; what it holds is in its file."""
        self.child.stop(STOP)
