"""A whole wsctl on a world in memory, served on a port by a thread, for tests of commands."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from tests.app.house import House
from wsctl_app.api import Door, Parts, Server, bound, built
from wsctl_app.api.health import Health
from wsctl_app.coordinator import Coordinator

TOKEN = "a-token-for-tests"


async def _serve(
    house: House, ready: "Future[tuple[str, asyncio.AbstractEventLoop]]", *, leads: bool
) -> None:
    coordinator = Coordinator(
        house.outside,
        node_id="n1",
        policy=house.policy,
        expire=house.service.expire,
        log=house.heard,
    )
    watching = house.watching(coordinator.transferred)
    server = Server(
        built(
            Parts(
                service=house.service,
                watching=watching,
                health=Health(house.outside.reader, coordinator.health),
                progress_of=coordinator.progress,
                transferred_of=coordinator.transferred,
                door=Door(TOKEN),
                log=house.heard,
            )
        )
    )
    listener = bound("127.0.0.1", 0)
    house.stop = server.stop
    tasks = [asyncio.create_task(watching.run())]
    if leads:
        tasks.append(asyncio.create_task(coordinator.run()))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    ready.set_result((url, asyncio.get_running_loop()))
    await server.serve(sockets=[listener])
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def served(house: House, *, leads: bool = True) -> Iterator[str]:
    """The address of a server on that house, with a coordinator that leads, or without."""
    ready: Future[tuple[str, asyncio.AbstractEventLoop]] = Future()
    thread = threading.Thread(target=lambda: asyncio.run(_serve(house, ready, leads=leads)))
    thread.start()
    url, loop = ready.result(20)
    try:
        yield url
    finally:
        loop.call_soon_threadsafe(house.stop)
        thread.join(20)
