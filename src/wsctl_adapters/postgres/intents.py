"""`IntentStore` on Postgres: what people want, with limits that are exact (H32).

It counts; the core decides. The lock under which places are counted is taken before the statement
that counts, because a statement's snapshot is older than its wait, and only when a place may be
taken. Locks are always taken in one order: places, then the row.
"""

from collections.abc import Callable
from datetime import datetime

import attrs

from wsctl_adapters.postgres.changes import update
from wsctl_adapters.postgres.rows import workspace
from wsctl_adapters.postgres.sessions import Connection, Sessions, rows
from wsctl_adapters.postgres.statements import statements
from wsctl_core.decisions.intent import IntentAnswer, IntentOutcome, creation_decision
from wsctl_core.decisions.limits import Usage, wants_place
from wsctl_core.decisions.recovery import RecoveryAnswer
from wsctl_core.ports import NewWorkspace, Situation
from wsctl_core.values.patches import IntentPatch, apply
from wsctl_core.values.policy import Policy
from wsctl_core.values.states import DesiredState
from wsctl_core.values.workspace import Workspace

SQL = statements("intents")


async def _usage(connection: Connection, owner_id: str, workspace_id: str) -> Usage:
    """Intents to run of others."""
    asked = {"owner_id": owner_id, "id": workspace_id}
    ((by_user, in_all),) = await rows(connection, SQL["usage"], asked)
    return Usage(by_user=by_user, in_all=in_all)


async def _locked(connection: Connection, workspace_id: str) -> tuple[datetime, Workspace] | None:
    found = await rows(connection, SQL["lock"], {"id": workspace_id})
    return (found[0][0], workspace(found[0][1:])) if found else None


async def _write(connection: Connection, workspace_id: str, patch: IntentPatch) -> Workspace:
    statement, parameters = update(SQL["update"], patch)
    (row,) = await rows(connection, statement, {**parameters, "id": workspace_id})
    return workspace(row)


def _takes_place(ws: Workspace, patch: IntentPatch) -> bool:
    return wants_place(apply(ws, patch)) and not wants_place(ws)


class PostgresIntents:
    """The service's: the only writer of what people want."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def create(self, new: NewWorkspace, policy: Policy) -> IntentAnswer:
        """Insert a row, unless the core finds no place."""
        async with self._sessions.transaction() as connection:
            if new.desired_state is DesiredState.RUNNING:
                await rows(connection, SQL["lock_places"])
            usage = await _usage(connection, new.owner_id, new.id)
            answer = creation_decision(new.desired_state, usage=usage, policy=policy)
            if answer.verdict.outcome is not IntentOutcome.WRITTEN:
                return answer
            (row,) = await rows(connection, SQL["insert"], attrs.asdict(new))
        return attrs.evolve(answer, ws=workspace(row))

    async def change(
        self, workspace_id: str, decide: Callable[[Situation], IntentAnswer]
    ) -> IntentAnswer | None:
        """Read the row, decide and write, as one."""
        answer, decided = await self._change(workspace_id, decide, places_locked=False)
        if not decided:
            answer, _ = await self._change(workspace_id, decide, places_locked=True)
        return answer

    async def _change(
        self,
        workspace_id: str,
        decide: Callable[[Situation], IntentAnswer],
        *,
        places_locked: bool,
    ) -> tuple[IntentAnswer | None, bool]:
        """The answer, and whether it stands: one that takes a place needs their lock."""
        async with self._sessions.transaction() as connection:
            if places_locked:
                await rows(connection, SQL["lock_places"])
            found = await _locked(connection, workspace_id)
            if found is None:
                return None, True
            now, ws = found
            usage = await _usage(connection, ws.owner_id, ws.id)
            answer = decide(Situation(ws=ws, now=now, usage=usage))
            if answer.patch is None:
                return attrs.evolve(answer, ws=ws), True
            if not places_locked and _takes_place(ws, answer.patch):
                return None, False
            after = await _write(connection, workspace_id, answer.patch)
        return attrs.evolve(answer, ws=after), True

    async def recover(
        self, workspace_id: str, decide: Callable[[Workspace], RecoveryAnswer]
    ) -> RecoveryAnswer | None:
        """Read the row, decide, and write the acceptance and the recovery, as one."""
        async with self._sessions.transaction() as connection:
            found = await _locked(connection, workspace_id)
            if found is None:
                return None
            answer = decide(found[1])
            if answer.intent is not None:
                await _write(connection, workspace_id, answer.intent)
            if answer.recovery is not None:
                await rows(connection, SQL["recover"], {"id": workspace_id})
        return answer
