"""How a call to Redis fails: by our codes, and soon."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis.exceptions import RedisError

from wsctl_core.ports import AdapterError
from wsctl_core.values.errors import AdapterCode

CALL_SECONDS = 2.0
"""A call is over by then, whatever it waits for."""


@asynccontextmanager
async def translated(code: AdapterCode) -> AsyncIterator[None]:
    """Whatever the client raises inside, and silence, leave as AdapterError with that code."""
    try:
        async with asyncio.timeout(CALL_SECONDS):
            yield
    except (RedisError, OSError, TimeoutError) as error:
        raise unreachable(code, error) from error


def unreachable(code: AdapterCode, error: Exception) -> AdapterError:
    """The error that a caller gets."""
    said = str(error) or type(error).__name__
    return AdapterError(code, f"Redis can't be reached: {said}", {"error": type(error).__name__})
