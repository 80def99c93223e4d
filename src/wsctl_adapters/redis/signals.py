"""Signals on Redis: hints and events as messages, which nobody keeps.

Hints go to `monitor:trigger` and `reconciler:trigger`, an event to `workspace:{workspace_id}`, as
JSON. Who does not listen at that moment never hears of it (contract 2).
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from wsctl_adapters.redis.faults import translated, unreachable
from wsctl_core.ports import Event, Hint
from wsctl_core.values.errors import AdapterCode

CHANNELS = {Hint.LOOK: "monitor:trigger", Hint.WORK: "reconciler:trigger"}
_HINTS = {channel.encode(): hint for hint, channel in CHANNELS.items()}

SILENCE_SECONDS = 10.0
"""After this the server is asked whether it is still there, and has as long to answer."""


class RedisHints:
    """Hints between processes."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def send(self, hint: Hint) -> None:
        """Tell whoever listens."""
        async with translated(AdapterCode.SIGNALS_UNREACHABLE):
            await self._redis.publish(CHANNELS[hint], hint.value)

    async def listen(self) -> AsyncIterator[Hint]:
        """Hints as they come, until the iterator is closed or the connection breaks."""
        async with self._redis.pubsub() as heard:
            async with translated(AdapterCode.SIGNALS_UNREACHABLE):
                await heard.subscribe(*CHANNELS.values())
            while True:
                message = await _next(heard)
                if message["type"] == "message":
                    yield _HINTS[message["channel"]]


async def _next(heard: PubSub) -> Mapping[str, Any]:
    for _ in range(2):
        try:
            message: Mapping[str, Any] | None = await heard.get_message(timeout=SILENCE_SECONDS)
            if message is not None:
                return message
            await heard.ping()
        except (RedisError, OSError) as error:
            raise unreachable(AdapterCode.SIGNALS_UNREACHABLE, error) from error
    raise unreachable(AdapterCode.SIGNALS_UNREACHABLE, TimeoutError("no answer to a ping"))


class RedisBroadcast:
    """Events for those who watch."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def publish(self, event: Event) -> None:
        """Tell everyone who watches that workspace."""
        async with translated(AdapterCode.SIGNALS_UNREACHABLE):
            await self._redis.publish(f"workspace:{event.workspace_id}", msgspec.json.encode(event))
