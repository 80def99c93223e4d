"""`ReconcilerStore` on Postgres: compare and set, behind the fence, and places that are counted.

The guard of a write is its WHERE, so that a write that was overtaken changes nothing. The fence and
the write travel together, in one transaction and one round trip (H1).
"""

from collections.abc import Mapping
from typing import assert_never

from wsctl_adapters.postgres.changes import update
from wsctl_adapters.postgres.reading import PostgresReader
from wsctl_adapters.postgres.rows import as_json, workspace
from wsctl_adapters.postgres.sessions import Call, Sessions, batch, rows
from wsctl_adapters.postgres.statements import statements
from wsctl_core.decisions.limits import Usage, limit_decision
from wsctl_core.ports import Reading, Work
from wsctl_core.values.patches import ClaimGuard, Guard, OperationGuard, ReconcilerPatch
from wsctl_core.values.policy import Policy
from wsctl_core.values.states import Operation
from wsctl_core.values.workspace import Workspace

SQL = statements("reconciler")


def _guarded(guard: Guard, epoch: int, workspace_id: str) -> tuple[str, Mapping[str, object]]:
    """Which statement repeats the guard, and with which parameters."""
    named = {"epoch": epoch, "id": workspace_id}
    match guard:
        case ClaimGuard():
            return "at_rest", {
                **named,
                "guard_intent_version": guard.intent_version,
                "guard_observed_seq": guard.observed_seq,
                "guard_home": as_json(guard.home),
            }
        case OperationGuard():
            return "in_operation", {
                **named,
                "guard_operation": guard.operation.value,
                "guard_op_id": guard.op_id,
            }
    assert_never(guard)


def _compare_and_set(epoch: int, workspace_id: str, guard: Guard, patch: ReconcilerPatch) -> Call:
    kind, condition = _guarded(guard, epoch, workspace_id)
    statement, values = update(SQL[f"write_{kind}"], patch)
    return statement, {**values, **condition}


class PostgresReconciler:
    """The state reconciler's: what is being done."""

    def __init__(self, sessions: Sessions, reader: PostgresReader) -> None:
        self._sessions = sessions
        self._reader = reader

    async def work(self) -> Work:
        """Every row that needs work, and the places held, in a constant number of statements."""
        return await self._reader.work()

    async def one(self, workspace_id: str) -> Reading:
        """One row; none when it was purged."""
        return await self._reader.some([workspace_id])

    async def next_number(self) -> int:
        """The next number of the sequence, for a stamp."""
        ((number,),) = await self._sessions.rows(SQL["next_number"])
        return int(number)

    async def holds(self, epoch: int, workspace_id: str, guard: Guard) -> bool:
        """Epoch and guard hold now."""
        kind, condition = _guarded(guard, epoch, workspace_id)
        ((holds,),) = await self._sessions.rows(SQL[f"holds_{kind}"], condition)
        return bool(holds)

    async def write(
        self, epoch: int, workspace_id: str, guard: Guard, patch: ReconcilerPatch
    ) -> Workspace | None:
        """Compare and set: the row after the write, or None when the guard did not hold."""
        fence = SQL["fence"], {"epoch": epoch}
        _, found = await self._sessions.batch(
            fence, _compare_and_set(epoch, workspace_id, guard, patch)
        )
        return workspace(found[0]) if found else None

    async def claim(
        self, epoch: int, workspace_id: str, guard: Guard, patch: ReconcilerPatch, policy: Policy
    ) -> Workspace | None:
        """The same for a claim; one of STARTING takes a place, or gets None when none is free."""
        if patch.operation is not Operation.STARTING:
            return await self.write(epoch, workspace_id, guard, patch)
        async with self._sessions.transaction() as connection:
            _, _, ((by_user, in_all),) = await batch(
                connection,
                (SQL["fence"], {"epoch": epoch}),
                (SQL["lock_places"], None),
                (SQL["held_by_others"], {"id": workspace_id}),
            )
            if not limit_decision(Usage(by_user=by_user, in_all=in_all), policy).outcome:
                return None
            found = await rows(connection, *_compare_and_set(epoch, workspace_id, guard, patch))
        return workspace(found[0]) if found else None
