"""How much does a fleet cost the database when nothing changes, as a ratio to asking it for a 1?

Baseline: `SELECT 1` and its answer, by the same client, on the same server. Measured: the state
reconciler's look for work, in a fleet of 100,000 workspaces that are all settled, 100 of them
running (the limit). Beside it, counted at the client: the statements of one tick of each of the
coordinator's components, which must be as many for 100,000 rows as for 1,000. The server is the
embedded one, in a temporary folder; containers and volumes are in memory.

    python benchmarks/fleet.py [--short]
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

import attrs
import psycopg

from wsctl_adapters.memory import Container, MemoryWorld, Volume
from wsctl_adapters.postgres import PostgresStores, migrate, open_postgres
from wsctl_app.coordinator.coordinator import Duties
from wsctl_app.coordinator.mandate import Mandate
from wsctl_app.embedded import start
from wsctl_app.outside import Outside
from wsctl_app.simulation.story import Story
from wsctl_core import ContainerPhase, IntentAnswer, Policy, Stamp, Wish, volume_name

ROWS = 100_000
FEW = 1_000
RUNNING = 100
BOUND = 15
RUNS = 200
US = 1e6
DATABASE = ("reader", "intents", "monitor", "reconciler", "housekeeping", "leadership", "feed")

SETTLED = """
INSERT INTO wsctl.workspaces (
    id, owner_id, name, image, desired_state, observed_status, observed_seq, home_ctx,
    archive_key, archive_sha256, archive_size
)
SELECT
    'w' || n, 'user' || n / 3, 'work', 'ide:1', status, status, 1,
    CASE status
        WHEN 'PENDING'
        THEN '{"state": "NONE", "incarnation": null, "restore_marker": null, "dirty": false}'
        ELSE '{"state": "READY", "incarnation": "i1", "restore_marker": null, "dirty": true}'
    END::jsonb,
    'archives/w' || n || '/op1/home.tar.gz', repeat('5e', 32), 1000
FROM (
    SELECT n, CASE
        WHEN n < %(running)s THEN 'RUNNING' WHEN n %% 2 = 0 THEN 'STANDBY' ELSE 'PENDING'
    END AS status
    FROM generate_series(%(first)s::integer, %(last)s::integer) AS n
) AS wanted
"""

Work = Callable[[], Awaitable[object]]


async def fill(url: str, first: int, last: int) -> None:
    """Settled rows, in one statement; then what autovacuum would do a minute later."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as owner:
        span = {"first": first, "last": last - 1, "running": RUNNING}
        await owner.execute(SETTLED.encode(), span)
        await owner.execute("VACUUM (ANALYZE) wsctl.workspaces")


def world_of(size: int, installation: str) -> MemoryWorld:
    """What exists when every row is as it is wanted: its volume, and for a few a container."""
    world = MemoryWorld(now=lambda: datetime.now(UTC), installation=installation)
    for number in range(size):
        if number >= RUNNING and number % 2:
            continue
        stamp = Stamp(installation=installation, workspace_id=f"w{number}", incarnation="i1", seq=1)
        name = volume_name(f"w{number}", "i1")
        world.runtime.volumes[name] = Volume(name=name, stamp=stamp)
        if number < RUNNING:
            running = Container(
                id=f"c{number}", stamp=stamp, image="ide:1", phase=ContainerPhase.RUNNING
            )
            world.runtime.containers[running.id] = running
    return world


async def never(_workspace_id: str, _wish: Wish) -> IntentAnswer | None:
    """Nobody is idle here."""
    raise RuntimeError("a settled workspace was stepped down")


async def statements(stores: PostgresStores, epoch: int, size: int) -> dict[str, int]:
    """How many statements a tick of each component sends, after one that has brought it up to date.

    The components are the coordinator's own, on this database and a runtime in memory.
    """
    world = world_of(size, await stores.housekeeping.installation())
    node = world.node("benchmark")
    ports = {field.name: getattr(node, field.name) for field in attrs.fields(Outside)}
    ports |= {name: getattr(stores, name) for name in DATABASE}
    log = Story(lambda: 0.0)
    mandate = Mandate(outside=Outside(**ports), epoch=epoch, policy=Policy(), log=log)
    counted = {}
    for component in Duties(mandate, never).components:
        await component.tick()
        await component.tick()
        before = stores.statements
        await component.tick()
        counted[component.name] = stores.statements - before
    return counted


async def seconds(work: Work) -> float:
    """How long one run takes."""
    began = perf_counter()
    await work()
    return perf_counter() - began


async def measure(baseline: Work, work: Work) -> tuple[float, float]:
    """The baseline and the work, each the shortest of its runs: the one that was disturbed least.

    The two take turns, so that a machine that slows down slows both.
    """
    times = [(await seconds(baseline), await seconds(work)) for _ in range(RUNS)]
    return min(t for t, _ in times), min(t for _, t in times)


async def run(url: str, size: int) -> bool:
    """Fill, count, measure and print; whether both bounds hold."""
    await migrate(url, lambda _: None)
    async with (
        open_postgres(url, node_id="benchmark") as stores,
        await psycopg.AsyncConnection.connect(url, autocommit=True) as client,
    ):
        term = await stores.leadership.acquire()
        if term is None:
            raise RuntimeError("nobody else leads here, and yet the lock could not be had")
        await fill(url, 0, FEW)
        few = await statements(stores, term.epoch, FEW)
        await fill(url, FEW, size)
        many = await statements(stores, term.epoch, size)
        baseline, took = await measure(lambda: client.execute("SELECT 1"), stores.reconciler.work)
        read = await seconds(lambda: stores.reader.changed(None))
        await term.resign()
    print(f"{size:,} settled rows, {RUNNING} running; the baseline: {baseline * US:.0f} us")
    print(f"  every row read and built once: {read / size * US:.1f} us each")
    same = few == many
    for name, count in many.items():
        print(f"  {name}: {count} statements for {size:,} rows, {few[name]} for {FEW:,}")
    print(f"statements of a tick are as many for both: {'PASS' if same else 'FAIL'}")
    ratio = took / baseline
    cheap = ratio <= BOUND
    print(f"work: {ratio:.1f} x the baseline, bound {BOUND}: {'PASS' if cheap else 'FAIL'}")
    return same and cheap


def main() -> int:
    """Measure, print, and fail when a bound does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--short", action="store_true", help="a tenth of the rows")
    size = ROWS // 10 if parser.parse_args().short else ROWS
    with tempfile.TemporaryDirectory(prefix="wsctl-fleet-") as folder:
        servers = start(Path(folder) / "data")
        try:
            passed = asyncio.run(run(servers.database_url, size))
        finally:
            servers.stop()
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
