"""How much does a fleet cost the database when nothing changes, as a ratio to asking it for a 1?

Baseline: `SELECT 1` and its answer, by the same client, on the same server. Measured: the state
reconciler's look for work, in a fleet of 100,000 workspaces that are all settled, 100 of them
running (the limit). Beside it, counted at the client: the statements of one tick of everything that
polls (the monitor's pass, the reconciler's look, the feed), which must be as many for 100,000 rows
as for 1,000. The server is the embedded one, in a temporary folder.

    python benchmarks/fleet.py [--short]
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter

import psycopg

from wsctl_adapters.postgres import PostgresStores, migrate, open_postgres
from wsctl_app.embedded import start
from wsctl_core.ports import Findings

ROWS = 100_000
FEW = 1_000
RUNNING = 100
BOUND = 15
RUNS = 200
US = 1e6

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


async def tick(stores: PostgresStores, epoch: int, marks: tuple[str, str]) -> tuple[str, str]:
    """What one round of everything that polls asks of the database when nothing has changed."""
    number = (await stores.monitor.begin_pass()).number
    changes = await stores.reader.changed(marks[0])
    found = Findings(number=number, patches={}, alarms={}, complete=True)
    await stores.monitor.end_pass(epoch, found)
    await stores.reconciler.work()
    feed = await stores.feed.read(marks[1])
    return changes.mark, feed.mark


async def statements(stores: PostgresStores, epoch: int) -> int:
    """How many statements one tick sends, after one that has brought the marks up to date."""
    changes, feed = await stores.reader.changed(None), await stores.feed.read(None)
    marks = await tick(stores, epoch, (changes.mark, feed.mark))
    before = stores.statements
    await tick(stores, epoch, marks)
    return stores.statements - before


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
        few = await statements(stores, term.epoch)
        await fill(url, FEW, size)
        many = await statements(stores, term.epoch)
        baseline, took = await measure(lambda: client.execute("SELECT 1"), stores.reconciler.work)
        read = await seconds(lambda: stores.reader.changed(None))
        await term.resign()
    print(f"{size:,} settled rows, {RUNNING} running; the baseline: {baseline * US:.0f} us")
    print(f"  every row read and built once: {read / size * US:.1f} us each")
    same = few == many
    print(
        f"statements: {many} for a tick of {size:,} rows, {few} for one of {FEW:,}: "
        f"{'PASS' if same else 'FAIL'}"
    )
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
