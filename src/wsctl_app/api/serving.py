"""The server: a port that is taken before anything else is done, and an end that is prompt."""

import asyncio
import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

REQUEST_GRACE_SECONDS = 0.5
"""What a request that is being answered gets when the server is told to stop."""


class BusyPort(Exception):
    """The address can't be listened on; its text says why, and what to do."""


def bound(host: str, port: int) -> socket.socket:
    """A socket that holds the address and does not listen yet. BusyPort when it can't be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((host, port))
        # Two sockets with SO_REUSEADDR can both be bound; only one of them can listen.
        taken.listen(128)
    except OSError as error:
        taken.close()
        raise BusyPort(_sentence(error, host, port)) from error
    return taken


def _sentence(error: OSError, host: str, port: int) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return (
                f"port {port} on {host} is in use by another program; "
                "choose another with --port, or end that program"
            )
        case errno.EACCES:
            return f"port {port} needs more rights than wsctl has; choose one above 1023"
        case errno.EADDRNOTAVAIL | socket.EAI_NONAME:
            return f"{host} is no address of this machine; choose another with --host"
        case _:
            why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
            return f"cannot listen on {host}, port {port}: {why}; choose another with --host"


class Server(uvicorn.Server):
    """A server that is told to stop; signals are none of its business."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="off",
                ws="none",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
            )
        )
        self.listening = asyncio.Event()
        """Set once requests are taken."""
        self._stop = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing: whoever runs the server hears signals."""
        yield

    async def main_loop(self) -> None:
        """Serve until told to stop; then requests that are being answered get a moment."""
        self.listening.set()
        while not self._stop.is_set():
            try:
                async with asyncio.timeout(1.0):
                    await self._stop.wait()
            except TimeoutError:
                await self.on_tick(0)
        asyncio.get_running_loop().call_later(REQUEST_GRACE_SECONDS, self._abort)

    def stop(self) -> None:
        """Take no more requests, and end soon."""
        self._stop.set()

    def _abort(self) -> None:
        for connection in tuple(self.server_state.connections):
            connection.transport.abort()
