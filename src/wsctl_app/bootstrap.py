"""Bootstrap: the one module that chooses adapters. It builds the outside from settings.

Servers of wsctl's own are started where no address is set, and their database is migrated without
being asked. A database that somebody else keeps is migrated only when somebody says so.
"""

import asyncio
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from pathlib import Path

import attrs

from wsctl_adapters import postgres
from wsctl_adapters.local import FolderArchives, LocalRuntime
from wsctl_adapters.redis import open_redis
from wsctl_app import embedded
from wsctl_app.node.data import DataFolder
from wsctl_app.outside import Outside
from wsctl_app.settings import Settings
from wsctl_app.transfer import StreamTransfers
from wsctl_core.ports import AdapterError, StoreUnavailable

Say = Callable[[str], None]
"""Takes short lines about progress."""

STARTER = (
    *(sys.executable, "-P", "-m", "wsctl_app.starter"),
    *("--home", "{home}", "--host", "{host}", "--port", "{port}"),
)
"""What a local workspace runs when nobody says otherwise. -P: a home's files are no modules."""


class NotStarted(Exception):
    """Something outside can't be had; its text says what, and what to do."""


class RandomIds:
    """Identities that nothing has used and nothing will use again."""

    def fresh(self) -> str:
        """A new one."""
        return uuid.uuid4().hex


class LoopClock:
    """The clock of the running event loop."""

    def monotonic(self) -> float:
        """Seconds of the loop."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Let that much time pass."""
        await asyncio.sleep(seconds)


@attrs.frozen(kw_only=True)
class Servers:
    """The database and the Redis that are used."""

    database_url: str
    redis_url: str
    own_database: bool
    """wsctl started it, and so wsctl keeps its schema."""
    _running: embedded.Running | None
    _data: Path | None = None
    """Where wsctl's own servers keep their data; None when it runs none."""

    def revive(self) -> bool:
        """Start those of wsctl's own that have died; whether any had. NotStarted when it can't."""
        if self._data is None:
            return False
        try:
            again = embedded.start(self._data)
        except embedded.EmbeddedError as error:
            raise NotStarted(error.message) from error
        again.release()  # this process goes on using them by the handle that it has
        return not (again.postgres_found and again.valkey_found)

    def release(self) -> None:
        """Use them no longer; those that nobody else uses are stopped."""
        if self._running is not None:
            self._running.release()


def start_servers(settings: Settings, say: Say) -> Servers:
    """The servers that settings name, and of one's own what they don't. NotStarted otherwise."""
    database_url, redis_url = settings.database_url, settings.redis_url
    if database_url is not None and redis_url is not None:
        return Servers(
            database_url=database_url, redis_url=redis_url, own_database=False, running=None
        )
    try:
        running = embedded.start(settings.data, say)
    except embedded.EmbeddedError as error:
        raise NotStarted(error.message) from error
    return Servers(
        database_url=database_url or running.database_url,
        redis_url=redis_url or running.redis_url,
        own_database=database_url is None,
        running=running,
        data=settings.data,
    )


def database_server(settings: Settings, say: Say) -> Servers:
    """The same for those who need the database alone."""
    if settings.database_url is None:
        return start_servers(settings, say)
    return Servers(
        database_url=settings.database_url, redis_url="", own_database=False, running=None
    )


@contextmanager
def _database_told() -> Iterator[None]:
    """What is wrong with a database becomes one sentence."""
    try:
        yield
    except StoreUnavailable as error:
        raise NotStarted(f"the database can't be reached: {error}") from error
    except postgres.SchemaProblem as error:
        raise NotStarted(str(error)) from error


async def migrate(servers: Servers, say: Say) -> tuple[int, int]:
    """Bring the schema to the version that this wsctl needs: from which one, to which."""
    with _database_told():
        return await postgres.migrate(servers.database_url, say)


async def check(settings: Settings, servers: Servers) -> postgres.SchemaState:
    """Look at the database: which schema it has, and what a person has to see to."""
    with _database_told():
        state = await postgres.check(servers.database_url)
        if state.problems:
            return state
        async with _database(settings, servers) as database:
            latched = (await database.housekeeping.safeguard()).latched
    if latched is None:
        return state
    refused = f"nothing is collected: {latched}; when you have looked: wsctl db unlatch"
    return attrs.evolve(state, problems=(refused,))


def _database(
    settings: Settings, servers: Servers
) -> AbstractAsyncContextManager[postgres.PostgresStores]:
    return postgres.open_postgres(
        servers.database_url, node_id=settings.node_id, lock_id=settings.lock_id
    )


async def require_database(settings: Settings, *, migrates: bool) -> None:
    """Refuse a database of somebody else's that can't be used, before anything is made."""
    if settings.database_url is None:
        return
    with _database_told():
        state = await postgres.check(settings.database_url)
    if state.problems and not (migrates and state.found < state.wanted):
        raise NotStarted("; ".join(state.problems))


async def clear_latch(settings: Settings, servers: Servers) -> bool:
    """A person has looked: collection may run again (H33). False when nothing was latched."""
    with _database_told():
        async with _database(settings, servers) as database:
            return await database.housekeeping.clear_latch()


@asynccontextmanager
async def opened(
    settings: Settings, servers: Servers, folder: DataFolder
) -> AsyncIterator[Outside]:
    """Everything outside, for as long as it is used. NotStarted when it can't be had."""
    clock = LoopClock()
    async with AsyncExitStack() as stack:
        with _database_told():
            database = await stack.enter_async_context(
                postgres.open_postgres(
                    servers.database_url,
                    node_id=settings.node_id,
                    lock_id=settings.lock_id,
                    retry_seconds=settings.lock_wait_seconds,
                )
            )
            installation = await database.housekeeping.installation()
        redis = await stack.enter_async_context(open_redis(servers.redis_url))
        try:
            runtime = LocalRuntime(folder.runtime, installation, settings.command or STARTER)
            stack.callback(runtime.close)
            storage = FolderArchives(folder.archives)
            stack.callback(storage.close)
            # What processes that were killed have left of work that never ended.
            await runtime.sweep()
            await storage.sweep()
        except AdapterError as error:
            raise NotStarted(str(error)) from error
        transfers = StreamTransfers(runtime.homes, storage, clock)
        stack.callback(transfers.close)
        yield Outside(
            installation=installation,
            reader=database.reader,
            intents=database.intents,
            monitor=database.monitor,
            reconciler=database.reconciler,
            housekeeping=database.housekeeping,
            leadership=database.leadership,
            feed=database.feed,
            inventory=runtime.inventory,
            containers=runtime.containers,
            volumes=runtime.volumes,
            transfers=transfers,
            storage=storage,
            activity=redis.activity,
            hints=redis.hints,
            broadcast=redis.broadcast,
            clock=clock,
            ids=RandomIds(),
        )
