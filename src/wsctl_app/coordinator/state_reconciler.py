"""The state reconciler: reads rows that need work, and sees to it that each gets its step.

It reads only the database. Each operation is carried out by a driver; the tick starts drivers where
a slot is free, and ends those whose operation ran out of time or was forbidden (4.4).
"""

import asyncio
from collections.abc import Callable

from wsctl_app.coordinator.component import Component
from wsctl_app.coordinator.driver import Driver
from wsctl_app.coordinator.executor import Executor
from wsctl_app.coordinator.mandate import Mandate
from wsctl_app.coordinator.slots import Slots
from wsctl_app.joining import unhurried
from wsctl_core import (
    Act,
    Claim,
    Fail,
    InvalidValue,
    Moment,
    Operation,
    PollFacts,
    Progress,
    Reason,
    Resume,
    Skip,
    Step,
    Usage,
    Wait,
    Workspace,
    limit_decision,
    poll_interval,
    reconcile,
)
from wsctl_core.ports import LeadershipLost, StoreUnavailable, Work
from wsctl_core.values.states import Component as Name
from wsctl_core.views.explain import next_at

FOR_EVER = float("inf")
AVOIDED_SECONDS = 30.0

_ENDED_BY_A_LOOK = (Reason.OBSERVATION_DUE, Reason.HEALTH_NOT_CLEARED)
"""Waits that the next complete pass ends: so asking for it is never asking for ever."""


class StateReconciler(Component):
    """Claims, acts, completes, fails."""

    name = "state_reconciler"

    def __init__(self, mandate: Mandate, look: Callable[[], None]) -> None:
        super().__init__(mandate)
        self._look = look
        self.executor = Executor(mandate)
        self._slots = Slots()
        self._drivers: dict[str, Driver] = {}
        self._progress: dict[str, Progress] = {}
        """Attempts that wait: for an observation, or for their next try."""
        self._avoided: dict[str, float] = {}
        """Workspaces whose driver failed as nobody foresaw, and until when they are left alone."""
        self._over: LeadershipLost | StoreUnavailable | None = None
        """What ended a driver and must end the term: another leads, or the database is away."""

    def progress(self, workspace_id: str) -> Progress | None:
        """How far this process has come with a workspace's operation."""
        driver = self._drivers.get(workspace_id)
        return self._progress.get(workspace_id) if driver is None else driver.progress

    async def run(self) -> None:
        """Tick for ever; however it ends, what was being carried out is cancelled and joined."""
        try:
            await super().run()
        finally:
            await unhurried(self._end_all())

    async def _end_all(self) -> None:
        drivers = tuple(self._drivers.values())
        await asyncio.gather(*(driver.cancel() for driver in drivers))

    async def tick(self) -> float:
        """Give every row that needs one its step."""
        if self._over is not None:
            raise self._over
        driven = frozenset(self._drivers)
        work = await self.outside.reconciler.work()
        rows = {ws.id for ws in work.rows}
        for ws_id in [ws_id for ws_id in self._progress if ws_id not in rows]:
            del self._progress[ws_id]
        now = self.outside.clock.monotonic()
        self._avoided = {id: until for id, until in self._avoided.items() if until > now}
        pause, places = self._pause(work), sum(work.held.values())
        # H37: who has an operation comes first, so that a retry never waits behind new claims.
        for ws in sorted(work.rows, key=lambda ws: ws.operation is Operation.NONE):
            if ws.id in driven and ws.id not in self._drivers:
                continue  # read before its driver ended, which has nudged: the next tick knows
            if ws.id in self._avoided:
                continue
            usage = Usage(by_user=work.held.get(ws.owner_id, 0), in_all=places)
            free = limit_decision(usage, self.policy).outcome
            try:
                pause = min(pause, await self._step(ws, self.mandate.moment(work, place_free=free)))
            except InvalidValue:
                self.log.exception("a workspace can't be moved", workspace=ws.id)
                self._avoid(ws.id)
        return pause

    async def _step(self, ws: Workspace, moment: Moment) -> float:
        """See to one row; the answer is how long the clock alone leaves it as it is."""
        driver = self._drivers.get(ws.id)
        step = reconcile(ws, moment, self.progress(ws.id))
        if driver is not None:
            if isinstance(step, Fail):
                await self._end(ws, driver)
            return FOR_EVER
        if not isinstance(step, Skip | Wait):
            self._begin(ws, step, moment)
            return FOR_EVER
        if step.verdict.reason in _ENDED_BY_A_LOOK:
            self._look()
        return _seconds_left(ws, moment, step)

    def _avoid(self, ws_id: str) -> None:
        """Leave one workspace alone for a while, so that what is odd about it harms no other."""
        self._avoided[ws_id] = self.outside.clock.monotonic() + AVOIDED_SECONDS

    def _begin(self, ws: Workspace, step: Step, moment: Moment) -> None:
        operation = step.operation if isinstance(step, Claim) else ws.operation
        acts = isinstance(step, Claim | Resume | Act)
        if acts and not self._slots.take(operation):
            return  # whoever gives a slot back nudges
        driver = Driver(self.mandate, self.executor, ws, self._progress.pop(ws.id, None))
        driver.operation = operation
        self._drivers[ws.id] = driver
        driver.task = asyncio.create_task(self._driven(ws.id, driver, step, moment, acts))

    async def _driven(
        self, ws_id: str, driver: Driver, step: Step, moment: Moment, holds_slot: bool
    ) -> None:
        try:
            await driver.drive(step, moment)
        except asyncio.CancelledError:
            raise
        except (LeadershipLost, StoreUnavailable) as over:
            self._over = over
        except Exception:
            self.log.exception("a workspace can't be moved", workspace=ws_id)
            self._avoid(ws_id)
        finally:
            del self._drivers[ws_id]
            if driver.progress is not None:
                self._progress[ws_id] = driver.progress
            if holds_slot:
                self._slots.give_back(driver.operation)
            self._look()
            self.nudge()

    async def _end(self, ws: Workspace, driver: Driver) -> None:
        """Cancel and join, then decide again on the row as it is (H8)."""
        if not await driver.cancel():
            self.log.warning("an action could not be joined", workspace=ws.id)
        self._progress.pop(ws.id, None)
        reading = await self.outside.reconciler.one(ws.id)
        for row in reading.rows:
            if row.operation is not Operation.NONE and row.op_id == ws.op_id:
                held = Progress(op_id=row.op_id or "")
                step = reconcile(row, self.mandate.moment(reading), held)
                if isinstance(step, Fail):
                    self.log.warning("ended", workspace=ws.id, reason=step.error.reason.value)
                    await self.outside.reconciler.write(
                        self.mandate.epoch, row.id, step.guard, step.patch
                    )

    def _pause(self, work: Work) -> float:
        facts = PollFacts(
            component=Name.RECONCILER,
            operation_runs=any(ws.operation is not Operation.NONE for ws in work.rows),
            observation_awaited=False,
            unconverged=bool(work.rows),
        )
        return poll_interval(facts, self.policy).outcome


def _seconds_left(ws: Workspace, moment: Moment, step: Skip | Wait) -> float:
    """Until the clock alone makes the next thing happen; a step that waits for none: for ever."""
    due = next_at(ws, moment, step.verdict)
    if due is None:
        return FOR_EVER
    return max(0.0, (due - moment.now).total_seconds())
