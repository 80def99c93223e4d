"""What the checks of the stores are made of: what is under test, and short ways to move a row.

Everything goes through the ports. A check makes the rows that it needs, so that it can be run
against any implementation, each time on one that is empty.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Protocol

import attrs

from wsctl_adapters.conformance.kit import PromiseBroken, ensure
from wsctl_core.decisions.intent import IntentAnswer, Wish, intent_decision
from wsctl_core.ports import (
    ChangeFeed,
    Findings,
    Housekeeping,
    IntentStore,
    Leadership,
    MonitorStore,
    NewWorkspace,
    ReconcilerStore,
    Situation,
    Term,
    WorkspaceReader,
)
from wsctl_core.values.errors import ErrorInfo, ErrorReason
from wsctl_core.values.patches import (
    NEXT_NUMBER,
    ClaimGuard,
    MonitorPatch,
    OperationGuard,
    ReconcilerPatch,
)
from wsctl_core.values.policy import DEFAULT_POLICY, Policy
from wsctl_core.values.states import (
    DesiredState,
    HealthStatus,
    HomeState,
    ObservedStatus,
    Operation,
)
from wsctl_core.values.workspace import Home, Workspace

AT = datetime(2026, 1, 1, 12, 30, 15, 250_000, tzinfo=UTC)
"""A time for columns whose time does not matter: to the microsecond, as a row keeps it."""
SHA = "5e" * 32
LIVED_IN = Home(state=HomeState.READY, incarnation="i1", restore_marker="k", dirty=True)
DAY = timedelta(days=1).total_seconds()


class StoresUnderTest(Protocol):
    """Every store of one database that is empty, and a way to let it grow old."""

    @property
    def reader(self) -> WorkspaceReader:
        """Reads rows."""

    @property
    def intents(self) -> IntentStore:
        """The service's."""

    @property
    def monitor(self) -> MonitorStore:
        """The health monitor's."""

    @property
    def reconciler(self) -> ReconcilerStore:
        """The state reconciler's."""

    @property
    def housekeeping(self) -> Housekeeping:
        """The installation's."""

    @property
    def leadership(self) -> Leadership:
        """Gives the epochs that a leader's writes carry."""

    @property
    def feed(self) -> ChangeFeed:
        """The events of these rows."""

    async def elapse(self, seconds: float) -> None:
        """Make what is stored that much older."""


async def acquired(leadership: Leadership) -> Term:
    """A term; somebody else holding the lock is a broken promise here."""
    term = await leadership.acquire()
    if term is None:
        raise PromiseBroken("nobody leads, and yet the lock could not be had")
    return term


@asynccontextmanager
async def leading(subject: StoresUnderTest) -> AsyncIterator[int]:
    """The epoch of a leader, for as long as the block lasts."""
    term = await acquired(subject.leadership)
    try:
        yield term.epoch
    finally:
        await term.resign()


@asynccontextmanager
async def succeeded(subject: StoresUnderTest) -> AsyncIterator[tuple[int, int]]:
    """The epoch of a leader that was, and that of the one that came after it."""
    term = await acquired(subject.leadership)
    await term.resign()
    async with leading(subject) as epoch:
        yield term.epoch, epoch


def wanted(
    id: str = "w1", *, owner_id: str = "ann", desired: DesiredState = DesiredState.STANDBY
) -> NewWorkspace:
    """A workspace to create, which takes no place unless it is to run."""
    return NewWorkspace(
        id=id,
        owner_id=owner_id,
        name="work",
        image="ide:1",
        desired_state=desired,
        standby_ttl_seconds=200,
        archive_ttl_seconds=7000,
    )


async def make(
    subject: StoresUnderTest,
    id: str = "w1",
    *,
    owner_id: str = "ann",
    desired: DesiredState = DesiredState.STANDBY,
) -> Workspace:
    """A row that was just created."""
    new = wanted(id, owner_id=owner_id, desired=desired)
    answer = await subject.intents.create(new, DEFAULT_POLICY)
    if answer.ws is None:
        raise PromiseBroken(f"{id} was not created: {answer.verdict.sentence}")
    return answer.ws


async def row(subject: StoresUnderTest, id: str = "w1") -> Workspace:
    """The row as it stands."""
    rows = (await subject.reader.some([id])).rows
    if len(rows) != 1:
        raise PromiseBroken(f"{len(rows)} rows were read of {id}, which exists once")
    return rows[0]


async def everything(subject: StoresUnderTest) -> dict[str, Workspace]:
    """Every row, the finished ones too; fewer than a thousand."""
    page = await subject.reader.page(deleted=True, limit=1000)
    return {ws.id: ws for ws in page.rows}


def wishing(
    policy: Policy = DEFAULT_POLICY, **parts: object
) -> Callable[[Situation], IntentAnswer]:
    """The core's decision about a wish, as a store takes it."""
    wish = Wish(**parts)  # type: ignore[arg-type]  # checked by the wish when it is made

    def decide(situation: Situation) -> IntentAnswer:
        return intent_decision(
            situation.ws, wish, usage=situation.usage, now=situation.now, policy=policy
        )

    return decide


def seen(status: ObservedStatus, seq: int) -> MonitorPatch:
    """What the monitor writes when it sees that, and nothing odd."""
    return MonitorPatch(
        observed_status=status,
        health_status=HealthStatus.OK,
        observed_at=AT,
        observed_seq=seq,
        suspect=None,
        last_exit=None,
    )


async def observe(
    subject: StoresUnderTest, epoch: int, status: ObservedStatus, *ids: str
) -> dict[str, Workspace]:
    """One pass of the monitor that saw these workspaces so, and did not see everything."""
    number = (await subject.monitor.begin_pass()).number
    found = Findings(
        number=number,
        patches={id: seen(status, number) for id in ids},
        alarms={},
        complete=False,
    )
    await subject.monitor.end_pass(epoch, found)
    return {id: await row(subject, id) for id in ids}


def at_rest(ws: Workspace) -> ClaimGuard:
    """The guard of a claim that was planned on this row."""
    return ClaimGuard(intent_version=ws.intent_version, observed_seq=ws.observed_seq, home=ws.home)


def ours(operation: Operation, op_id: str = "op1") -> OperationGuard:
    """The guard of a write inside an operation."""
    return OperationGuard(operation=operation, op_id=op_id)


def begins(operation: Operation, op_id: str = "op1") -> ReconcilerPatch:
    """What a claim writes."""
    return ReconcilerPatch(
        operation=operation,
        op_id=op_id,
        op_started_at=AT,
        op_acted_seq=None,
        next_attempt_at=None,
        error_count=0,
        error_info=None,
    )


ENDS = ReconcilerPatch(operation=Operation.NONE, op_id=None, op_started_at=None, op_acted_seq=None)
"""What ends an operation, and nothing more."""


async def claimed(
    subject: StoresUnderTest, epoch: int, operation: Operation, id: str = "w1", op_id: str = "op1"
) -> Workspace:
    """The row after a claim that must succeed."""
    before = await row(subject, id)
    after = await subject.reconciler.claim(
        epoch, id, at_rest(before), begins(operation, op_id), DEFAULT_POLICY
    )
    if after is None:
        raise PromiseBroken(f"{operation} could not be claimed, and nothing stood in its way")
    return after


async def written(
    subject: StoresUnderTest, epoch: int, patch: ReconcilerPatch, id: str = "w1"
) -> Workspace:
    """The row after a write at rest that must succeed."""
    after = await subject.reconciler.write(epoch, id, at_rest(await row(subject, id)), patch)
    if after is None:
        raise PromiseBroken("a write was refused, and its guard held")
    return after


async def finished(subject: StoresUnderTest, epoch: int, id: str) -> Workspace:
    """The row of a workspace whose deletion was asked for, done and seen."""
    await subject.intents.change(id, wishing(delete=True))
    return (await observe(subject, epoch, ObservedStatus.DELETED, id))[id]


async def situations(subject: StoresUnderTest, epoch: int) -> None:
    """Rows in many situations: settled, moving, in error, held, finished."""
    for n in range(8):
        await make(subject, f"w{n}", owner_id=("ann", "bob")[n % 2])
    await observe(subject, epoch, ObservedStatus.STANDBY, "w1", "w2", "w3")
    for id in ("w1", "w2"):
        await written(subject, epoch, ReconcilerPatch(home=LIVED_IN), id)
    await subject.intents.change("w2", wishing(desired_state=DesiredState.RUNNING))
    await claimed(subject, epoch, Operation.STARTING, "w2", "op2")
    await observe(subject, epoch, ObservedStatus.RUNNING, "w3")
    await written(subject, epoch, ReconcilerPatch(error_info=failed()), "w4")
    await written(subject, epoch, ReconcilerPatch(op_ended_seq=NEXT_NUMBER), "w5")
    await finished(subject, epoch, "w6")
    await subject.intents.change("w7", wishing(delete=True))


def failed(message: str = "no route", *, terminal: bool = True) -> ErrorInfo:
    """An error, with every part filled in."""
    return ErrorInfo(
        reason=ErrorReason.UNREACHABLE,
        message=message,
        is_terminal=terminal,
        operation=Operation.STARTING,
        error_count=2,
        context={"endpoint": "somewhere", "status_code": 503},
        occurred_at=AT,
    )


def same(found: Workspace, expected: Workspace, promise: str) -> None:
    """Raise PromiseBroken with that sentence, and the columns that differ, unless they are one."""
    differing = [
        f"{field.name} is {is_!r}, expected {should!r}"
        for field in attrs.fields(Workspace)
        if (is_ := getattr(found, field.name)) != (should := getattr(expected, field.name))
    ]
    ensure(not differing, f"{promise}: {'; '.join(differing)}")


@asynccontextmanager
async def nothing_changes(subject: StoresUnderTest, promise: str) -> AsyncIterator[None]:
    """What is done inside leaves every row, the pass number and the latch as they were."""

    async def state() -> tuple[object, ...]:
        reading = await subject.reader.some([])
        safeguard = await subject.housekeeping.safeguard()
        return await everything(subject), reading.pass_seq, safeguard.latched

    before = await state()
    yield
    ensure(await state() == before, f"{promise}: something was changed")
