"""One pool of connections, and the adapters on it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import attrs
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as BrokenConnection

from wsctl_adapters.redis.activity import RedisActivity
from wsctl_adapters.redis.signals import RedisBroadcast, RedisHints

TIMEOUT_SECONDS = 2.0


@attrs.frozen(kw_only=True)
class RedisAdapters:
    """What one process has of a Redis."""

    activity: RedisActivity
    hints: RedisHints
    broadcast: RedisBroadcast


@asynccontextmanager
async def open_redis(url: str) -> AsyncIterator[RedisAdapters]:
    """The adapters on the Redis at this address: `redis://`, `rediss://` or `unix://`.

    Connections are made when they are needed: a Redis that is away is no error here.
    """
    redis = Redis.from_url(
        url,
        socket_connect_timeout=TIMEOUT_SECONDS,
        socket_timeout=TIMEOUT_SECONDS,
        # Once more, on a new connection: the server may have been started again since.
        retry=Retry(NoBackoff(), 1, supported_errors=(BrokenConnection,)),
    )
    try:
        yield RedisAdapters(
            activity=RedisActivity(redis),
            hints=RedisHints(redis),
            broadcast=RedisBroadcast(redis),
        )
    finally:
        await redis.aclose()
