"""A node that runs: its tasks, from the moment it can do its work until it is told to stop."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

import attrs

from wsctl_app.api import Door, Parts, Server, built
from wsctl_app.api.health import Health
from wsctl_app.coordinator import Coordinator
from wsctl_app.joining import ended
from wsctl_app.outside import Outside
from wsctl_app.service import Defaults, Watching, WorkspaceService
from wsctl_app.settings import Settings
from wsctl_app.telemetry import Log
from wsctl_core.ports import AdapterError
from wsctl_core.values.policy import Policy
from wsctl_core.values.states import ContainerPhase

STOP_SECONDS = 10.0
"""How long a node may take to stop; what it does is then left to the next one."""


class Broken(Exception):
    """Something ended that should run for ever; its text says what."""


@attrs.frozen(kw_only=True)
class Node:
    """One process of an installation."""

    outside: Outside
    coordinator: Coordinator
    watching: Watching
    server: Server
    log: Log

    @classmethod
    def built(
        cls, outside: Outside, *, settings: Settings, policy: Policy, token: str, log: Log
    ) -> "Node":
        """The parts of a node, wired to one another."""
        service = WorkspaceService(
            outside,
            policy=policy,
            log=log,
            defaults=Defaults(
                image=settings.image,
                standby_ttl_seconds=settings.standby_ttl_seconds,
                archive_ttl_seconds=settings.archive_ttl_seconds,
                keepalive_longest_seconds=settings.keepalive_longest_seconds,
            ),
        )
        coordinator = Coordinator(
            outside, node_id=settings.node_id, policy=policy, expire=service.expire, log=log
        )
        watching = Watching(outside, coordinator.transferred, log)
        parts = Parts(
            service=service,
            watching=watching,
            health=Health(outside.reader, coordinator.health),
            progress_of=coordinator.progress,
            transferred_of=coordinator.transferred,
            door=Door(token),
            log=log,
        )
        return cls(
            outside=outside,
            coordinator=coordinator,
            watching=watching,
            server=Server(built(parts)),
            log=log,
        )

    async def run(
        self,
        listener: socket.socket,
        stop: asyncio.Event,
        ready: Callable[[], Awaitable[None]],
    ) -> None:
        """Serve until told to stop; `ready` is called once it answers. Broken when it can't go on.

        The coordinator gives the lock back, so that another node can lead at once.
        """
        serving = asyncio.create_task(self.server.serve(sockets=[listener]), name="the API")
        others = [
            asyncio.create_task(self.coordinator.run(), name="the coordinator"),
            asyncio.create_task(self.watching.run(), name="the event stream"),
        ]
        try:
            await _unless_broken([serving, *others], self.server.listening)
            await ready()
            await _unless_broken([serving, *others], stop)
        finally:
            self.server.stop()
            stopped = await ended(others, STOP_SECONDS)
            await asyncio.wait([serving], timeout=STOP_SECONDS)
            if not stopped or not await ended([serving]):
                self.log.warning("some of the node does not stop in time")

    async def containers_running(self) -> int | None:
        """How many containers of this installation run; None when they can't be listed."""
        try:
            found = await self.outside.inventory.containers()
        except AdapterError:
            return None
        return sum(
            one.stamp.installation == self.outside.installation
            and one.seen.phase is ContainerPhase.RUNNING
            for one in found
        )


async def _unless_broken(parts: list[asyncio.Task[None]], awaited: asyncio.Event) -> None:
    """Wait for something. Broken when a part ends before: each should run for ever."""
    waiting = asyncio.create_task(awaited.wait())
    try:
        await asyncio.wait({waiting, *parts}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
    for part in parts:
        if part.done():
            why = "it was cancelled" if part.cancelled() else part.exception()
            raise Broken(f"{part.get_name()} failed: {why or 'it ended'}")
