"""A driver: carries one operation of one workspace from its claim to its last action.

It does what `reconcile` says, one step at a time, and reads the row again after each. Before every
action, epoch, operation and op_id are still ours, else it stops (H8). It may be cancelled at any
moment: whatever it had begun is harmless by the names it used (H2 to H7).
"""

import asyncio
from typing import assert_never

import attrs

from wsctl_app.coordinator.executor import Executor
from wsctl_app.coordinator.mandate import Mandate
from wsctl_app.joining import ended
from wsctl_core import (
    Act,
    Claim,
    Complete,
    ErrorReason,
    Fail,
    Failure,
    Moment,
    Operation,
    Progress,
    Record,
    Resume,
    Skip,
    Step,
    Wait,
    Workspace,
    reconcile,
    record_failure,
    stage_done,
)
from wsctl_core.decisions.failure import guard_of
from wsctl_core.ports import AdapterError, LeadershipLost, StoreUnavailable


class Driver:
    """One workspace's operation in the hands of this process."""

    def __init__(
        self, mandate: Mandate, executor: Executor, ws: Workspace, progress: Progress | None
    ) -> None:
        self._mandate = mandate
        self._store = mandate.outside.reconciler
        self._executor = executor
        self._ws = ws
        self.progress = progress
        """How far the attempt has come; None when this process carries nothing out."""
        self.operation = ws.operation
        """What the driver acts for: decides which slot it holds."""
        self.task: asyncio.Task[None] | None = None

    async def drive(self, step: Step, moment: Moment) -> None:
        """Carry out that step and those that follow, until there is something to wait for."""
        while await self._carry_out(step, moment):
            reading = await self._store.one(self._ws.id)
            if not reading.rows:
                return
            self._ws = reading.rows[0]
            moment = self._mandate.moment(reading)
            step = reconcile(self._ws, moment, self.progress)

    async def cancel(self) -> bool:
        """Cancel what runs and join it; what can't be joined in time is harmless (H8)."""
        return self.task is None or await ended([self.task])

    async def _carry_out(self, step: Step, moment: Moment) -> bool:
        """One step; False when the driver has nothing more to do for now."""
        match step:
            case Skip() | Wait():
                return False
            case Claim():
                self._say(step.verdict.reason, step.operation)
                claimed = await self._store.claim(
                    self._mandate.epoch, self._ws.id, step.guard, step.patch, moment.policy
                )
                return self._goes_on(claimed, step.after)
            case Resume():
                self._say(step.verdict.reason, self._ws.operation)
                row = await self._write(step)
                return self._goes_on(row, step.after)
            case Act():
                return await self._act(step, moment)
            case Complete():
                self._say(step.verdict.reason, self._ws.operation)
                await self._write(step)
                self.progress = None
                return False
            case Fail():
                return await self._fail(step)
        assert_never(step)

    def _goes_on(self, row: Workspace | None, progress: Progress) -> bool:
        # A guard that does not hold is no error: the next tick plans again.
        self.progress = None if row is None else progress
        return row is not None

    async def _write(self, step: Resume | Complete | Fail) -> Workspace | None:
        return await self._store.write(self._mandate.epoch, self._ws.id, step.guard, step.patch)

    async def _fail(self, step: Fail) -> bool:
        self._mandate.log.warning(
            "failed",
            workspace=self._ws.id,
            operation=step.error.operation.value,
            reason=step.error.reason.value,
            why=step.error.message,
            terminal=step.error.is_terminal,
            verdict=step.verdict.reason.value,
        )
        row = await self._write(step)
        self.progress = None if row is None else step.after
        return False

    async def _act(self, step: Act, moment: Moment) -> bool:
        action = step.action
        if isinstance(action, Record):
            row = await self._store.write(
                self._mandate.epoch, self._ws.id, step.guard, action.patch
            )
            return self._goes_on(row, stage_done(step.after))
        if not await self._store.holds(self._mandate.epoch, self._ws.id, step.guard):
            self.progress = None
            return False
        self.progress = step.after
        try:
            yielded = await self._executor.perform(self._ws, action)
        except (LeadershipLost, StoreUnavailable):
            raise
        except AdapterError as error:
            return await self._failed(error.failure, moment)
        except Exception as error:  # a fault of ours is counted like any other
            self._mandate.log.exception("an action failed", workspace=self._ws.id)
            return await self._failed(_unforeseen(action, error), moment)
        self.progress = stage_done(
            step.after, container_id=yielded.container_id, receipt=yielded.receipt
        )
        return True

    async def _failed(self, failure: Failure, moment: Moment) -> bool:
        reading = await self._store.one(self._ws.id)
        guard = guard_of(self._ws)
        # H22: an error that became terminal meanwhile is not this attempt's to change.
        if not reading.rows or not guard.holds(reading.rows[0]):
            self.progress = None
            return False
        moment = attrs.evolve(moment, now=reading.now)
        return await self._fail(record_failure(reading.rows[0], failure, moment))

    def _say(self, reason: str, operation: Operation) -> None:
        self._mandate.log.info(
            "step", workspace=self._ws.id, operation=operation.value, why=str(reason)
        )


def _unforeseen(action: object, error: Exception) -> Failure:
    return Failure(
        reason=ErrorReason.ACTION_FAILED,
        message=f"{type(error).__name__}: {error}",
        context={"action": type(action).__name__},
    )
