"""Activity on Redis: a key per timer, per request and per count of connections (section 8).

`idle_timer:{workspace_id}` and `keepalive:{workspace_id}` are there while they run, and end by
themselves; `ws_conn:{workspace_id}` is the number of open connections.
"""

from collections.abc import Mapping
from importlib.resources import files

from redis.asyncio import Redis

from wsctl_adapters.redis.faults import translated
from wsctl_core.values.activity import UNKNOWN_ACTIVITY, Activity
from wsctl_core.values.errors import AdapterCode

WHOLE_SINCE = "activity:whole_since"
A_MINUTE_SECONDS = 60

_READ = (files(__package__) / "lua" / "read_activity.lua").read_text(encoding="utf-8")
_KEYS = ("ws_conn", "keepalive", "idle_timer")


class RedisActivity:
    """An activity store."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._read = redis.register_script(_READ)

    async def read(self, idle_seconds: Mapping[str, int]) -> Mapping[str, Activity]:
        """The activity of each workspace that is asked about, read by one script."""
        keys = [f"{kind}:{workspace_id}" for workspace_id in idle_seconds for kind in _KEYS]
        async with translated(AdapterCode.ACTIVITY_UNREACHABLE):
            whole_for, *values = await self._read([WHOLE_SINCE, *keys])
        told = {}
        for place, (workspace_id, seconds) in enumerate(idle_seconds.items()):
            connections, kept_alive, idle_timer = values[place * 3 : place * 3 + 3]
            told[workspace_id] = Activity(
                connections=max(0, int(connections or 0)),
                kept_alive=kept_alive is not None,
                idle_timer=idle_timer is not None,
            )
            if whole_for < seconds + A_MINUTE_SECONDS:  # H30
                told[workspace_id] = UNKNOWN_ACTIVITY
        return told

    async def set_idle_timer(self, workspace_id: str, seconds: int) -> None:
        """Start the idle timer anew, with that length."""
        await self._run_for(f"idle_timer:{workspace_id}", seconds)

    async def keep_alive(self, workspace_id: str, seconds: int) -> None:
        """Hold the standby TTL for that long; zero lets go at once."""
        await self._run_for(f"keepalive:{workspace_id}", seconds)

    async def _run_for(self, key: str, seconds: int) -> None:
        async with translated(AdapterCode.ACTIVITY_UNREACHABLE):
            if seconds > 0:
                await self._redis.set(key, 1, ex=seconds)
            else:
                await self._redis.delete(key)
