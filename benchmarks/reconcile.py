"""How much does it cost to decide about a fleet, as a ratio to merely reading it?

Baseline: a bare loop over the same rows, in the same process, that reads six attributes of each.
The fleet: 100,000 rows, built before anything is timed; nine in ten are settled, as in any fleet
most are, and the tenth is spread evenly over every other situation that a row can be in. What each
kind of step costs alone is printed beside the ratio.

    python benchmarks/reconcile.py [--short]
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from time import perf_counter
from typing import Any

import attrs

from wsctl_core import (
    DesiredState,
    ErrorInfo,
    ErrorReason,
    HealthStatus,
    Home,
    HomeState,
    Moment,
    ObservedStatus,
    Operation,
    Progress,
    Workspace,
    reconcile,
)

ROWS = 100_000
BOUND = 40
RUNS = 9
NS = 1e9
OURS, RUNNING = 0.9, 0.5
NOW = datetime(2026, 1, 1, tzinfo=UTC)
MOMENT = Moment(now=NOW, fresh_id="fresh", pass_seq=50)

Situation = dict[str, Any]
Rows = list[Workspace]
Attempts = list[Progress | None]


def _home(state: HomeState, *, dirty: bool = False) -> Home:
    return Home(state=state, incarnation="i1", dirty=dirty)


READY = _home(HomeState.READY)
IN_USE = _home(HomeState.READY, dirty=True)
ARCHIVE: Situation = {
    "archive_key": "archives/w/op0/home.tar.gz",
    "archive_sha256": "0" * 64,
    "archive_size": 1,
}
GONE: Situation = {"desired_state": DesiredState.PENDING, **ARCHIVE}
STOPPED: Situation = {
    "desired_state": DesiredState.STANDBY,
    "observed_status": ObservedStatus.STANDBY,
    "home": IN_USE,
}
UP: Situation = {"observed_status": ObservedStatus.RUNNING, "home": IN_USE}


def _error(*, terminal: bool) -> ErrorInfo:
    return ErrorInfo(
        reason=ErrorReason.UNREACHABLE,
        message="no route",
        is_terminal=terminal,
        operation=Operation.STARTING,
        error_count=1,
        occurred_at=NOW,
    )


def _doing(operation: Operation, **columns: Any) -> Situation:
    return {"operation": operation, "op_id": "op1", "op_started_at": NOW, **columns}


SETTLED: tuple[Situation, ...] = (GONE, STOPPED, UP)
OTHERS: tuple[Situation, ...] = (
    {},
    ARCHIVE,
    {"op_ended_seq": 60},
    {**STOPPED, "desired_state": DesiredState.RUNNING},
    {**STOPPED, "desired_state": DesiredState.RUNNING, "started_at": NOW, "restart_count": 2},
    {**STOPPED, "desired_state": DesiredState.PENDING},
    {**UP, "desired_state": DesiredState.STANDBY},
    {**UP, "deleted_at": NOW},
    {**STOPPED, "health_status": HealthStatus.ERROR, "error_info": _error(terminal=True)},
    {"home": _home(HomeState.CONDEMNED), **GONE},
    {"home": _home(HomeState.MAKING), "observed_status": ObservedStatus.STANDBY},
    {"home": IN_USE},
    _doing(Operation.PROVISIONING),
    _doing(Operation.STARTING, **STOPPED),
    _doing(Operation.STARTING, **UP, op_acted_seq=40),
    _doing(Operation.STOPPING, **UP, op_acted_seq=60),
    _doing(
        Operation.STARTING,
        **STOPPED,
        error_info=_error(terminal=False),
        error_count=1,
        next_attempt_at=NOW + timedelta(seconds=9),
    ),
    _doing(Operation.DELETING, **UP, deleted_at=NOW),
)


def fleet(size: int) -> tuple[Rows, Attempts]:
    """Rows of every situation, in no order, and the progress of those that are being moved."""
    chance = random.Random(1)  # noqa: S311  # a fleet, not a secret
    rows: Rows = []
    attempts: Attempts = []
    for number in range(size):
        columns = chance.choice(SETTLED if number % 10 else OTHERS)
        new = Workspace.created(
            id=f"w{number}", owner_id="ann", name="work", image="ide:1", at=NOW, seq=1
        )
        row = attrs.evolve(new, observed_seq=30, **columns)
        progress = None
        if row.operation is not Operation.NONE:  # one in ten has just changed its leader
            ours, running = chance.random() < OURS, chance.random() < RUNNING
            progress = Progress(op_id="op1", running=running) if ours else None
        rows.append(row)
        attempts.append(progress)
    return rows, attempts


def read(rows: Rows, _attempts: Attempts) -> None:
    """The baseline: six attributes of each row."""
    for ws in rows:
        ws.desired_state  # noqa: B018
        ws.observed_status  # noqa: B018
        ws.health_status  # noqa: B018
        ws.operation  # noqa: B018
        ws.home  # noqa: B018
        ws.error_info  # noqa: B018


def decide(rows: Rows, attempts: Attempts) -> None:
    """What is measured: one step for each row."""
    for ws, progress in zip(rows, attempts, strict=True):
        reconcile(ws, MOMENT, progress)


def seconds(work: Callable[[Rows, Attempts], None], rows: Rows, attempts: Attempts) -> float:
    """How long one run takes."""
    began = perf_counter()
    work(rows, attempts)
    return perf_counter() - began


def measure(rows: Rows, attempts: Attempts) -> tuple[float, float]:
    """Reading and deciding, each the shortest of its runs: the one that was disturbed least.

    The two take turns, so that a machine that slows down slows both.
    """
    times = [(seconds(read, rows, attempts), seconds(decide, rows, attempts)) for _ in range(RUNS)]
    return min(t for t, _ in times), min(t for _, t in times)


def main() -> int:
    """Measure, print one ratio, and fail when it is over its bound."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--short", action="store_true", help="a tenth of the rows")
    size = ROWS // 10 if parser.parse_args().short else ROWS
    rows, attempts = fleet(size)
    baseline, took = measure(rows, attempts)
    print(
        f"{size:,} rows; the baseline reads six attributes of each: {baseline / size * NS:.0f} ns"
    )
    kinds = [type(reconcile(ws, MOMENT, p)).__name__ for ws, p in zip(rows, attempts, strict=True)]
    for kind, count in Counter(kinds).most_common():
        chosen = [n for n, of in enumerate(kinds) if of == kind]
        _, alone = measure([rows[n] for n in chosen], [attempts[n] for n in chosen])
        print(f"  {kind:<9}{count:>8,} rows{alone / count * NS:>8,.0f} ns each")
    ratio = took / baseline
    passed = ratio <= BOUND
    print(f"reconcile: {ratio:.1f} x the baseline, bound {BOUND}: {'PASS' if passed else 'FAIL'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
