"""The life of the starter workspace's program: it serves until a signal, and leaves nothing behind.

SIGTERM and SIGINT end it in well under a second, with exit code 0: terminals are hung up, requests
get a moment, then everything below this process is ended by force. While nobody asks anything, it
sleeps.
"""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from wsctl_app.starter import processes
from wsctl_app.starter.app import built
from wsctl_app.starter.terminal import Terminals

REQUEST_GRACE_SECONDS = 0.3
"""What a request that is being answered gets when the program is told to stop."""

LARGEST_FRAME_BYTES = 1024 * 1024


REFUSED = "ASGI callable returned without completing handshake."
"""What uvicorn logs as an error whenever a WebSocket is refused, which is no error."""


class _Server(uvicorn.Server):
    """A server that an event stops. Signals are none of its business, and it has no heartbeat."""

    def __init__(self, config: uvicorn.Config, stop: asyncio.Event, terminals: Terminals) -> None:
        super().__init__(config)
        self._stop = stop
        self._terminals = terminals

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        await self._stop.wait()
        self._terminals.hang_up()
        asyncio.get_running_loop().call_later(REQUEST_GRACE_SECONDS, self._abort)

    def _abort(self) -> None:
        for connection in tuple(self.server_state.connections):
            connection.transport.abort()


async def serve(
    home: Path, listener: socket.socket, *, base_path: str, hosts: frozenset[str]
) -> bool:
    """Serve on a socket that listens already; False when a process below could not be ended."""
    processes.adopt_orphans()
    os.chdir(home)  # where shells start
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    terminals = Terminals(home)
    loop.add_signal_handler(signal.SIGCHLD, terminals.reap)
    config = uvicorn.Config(
        built(home, terminals, base_path, hosts),
        http="h11",
        ws="websockets-sansio",
        ws_max_size=LARGEST_FRAME_BYTES,
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
    )
    logging.getLogger("uvicorn.error").addFilter(lambda record: record.msg != REFUSED)
    try:
        await _Server(config, stop, terminals).serve(sockets=[listener])
    finally:
        terminals.hang_up()
        ended = await terminals.end()
    return ended
