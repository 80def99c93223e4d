"""Ending tasks: cancel, and wait until they are gone.

One cancellation is not enough. Until Python 3.12, `asyncio.wait_for` loses one that comes at the
moment at which it ends, and so does whatever is made of it (psycopg is): the task goes on as if
nothing had been said. So it is said again.
"""

import asyncio
from collections.abc import Collection, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

JOIN_SECONDS = 5.0
AGAIN_SECONDS = 0.2


async def ended(tasks: Collection["asyncio.Task[Any]"], seconds: float = JOIN_SECONDS) -> bool:
    """Cancel all of them and join them; False when some are not gone after that many seconds."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    pending = [task for task in tasks if not task.done()]
    while pending and loop.time() < until:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=AGAIN_SECONDS)
        pending = [task for task in pending if not task.done()]
    return not pending


async def unhurried(work: Coroutine[Any, Any, T]) -> T:
    """Do what must be done on the way out, however often one is told to hurry.

    The work must end by itself, soon. A cancellation that came meanwhile is passed on afterwards.
    """
    task = asyncio.ensure_future(work)
    hurried = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            hurried = True
    done = task.result()
    if hurried:
        raise asyncio.CancelledError
    return done
