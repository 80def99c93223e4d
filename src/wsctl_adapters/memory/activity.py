"""Activity in memory: connections, idle timers and requests to be kept alive."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

import attrs

from wsctl_adapters.memory.line import Line
from wsctl_core.values.activity import UNKNOWN_ACTIVITY, Activity

A_MINUTE = timedelta(minutes=1)


class MemoryActivityWorld:
    """What all proxies report."""

    def __init__(self, *, now: Callable[[], datetime]) -> None:
        self.now = now
        self.whole_since: datetime | None = None
        """Since when nothing was lost; None until somebody has read (H30)."""
        self.connections: dict[str, int] = {}
        self.timers: dict[str, datetime] = {}
        """When each idle timer ends."""
        self.kept_alive: dict[str, datetime] = {}
        """Until when each request holds."""

    def flush(self) -> None:
        """Everything is lost."""
        self.whole_since = None
        for kept in (self.connections, self.timers, self.kept_alive):
            kept.clear()

    def of(self, workspace_id: str, idle_seconds: int) -> Activity:
        """What is known of one workspace."""
        now = self.now()
        whole_for = now - (self.whole_since or now)
        if whole_for < timedelta(seconds=idle_seconds) + A_MINUTE:
            return UNKNOWN_ACTIVITY
        return Activity(
            connections=self.connections.get(workspace_id, 0),
            kept_alive=now < self.kept_alive.get(workspace_id, now),
            idle_timer=now < self.timers.get(workspace_id, now),
        )


@attrs.frozen
class MemoryActivity:
    """One node's way to it."""

    _world: MemoryActivityWorld
    _line: Line

    async def read(self, idle_seconds: Mapping[str, int]) -> Mapping[str, Activity]:
        """The activity of each workspace that is asked about."""

        def effect() -> dict[str, Activity]:
            world = self._world
            if world.whole_since is None:
                world.whole_since = world.now()
            return {id: world.of(id, seconds) for id, seconds in idle_seconds.items()}

        return await self._line.call("read_activity", effect)

    async def set_idle_timer(self, workspace_id: str, seconds: int) -> None:
        """Start the idle timer anew."""

        def effect() -> None:
            self._world.timers[workspace_id] = self._world.now() + timedelta(seconds=seconds)

        await self._line.call("set_idle_timer", effect)

    async def keep_alive(self, workspace_id: str, seconds: int) -> None:
        """Hold the standby TTL for that long."""

        def effect() -> None:
            self._world.kept_alive[workspace_id] = self._world.now() + timedelta(seconds=seconds)

        await self._line.call("keep_alive", effect)
