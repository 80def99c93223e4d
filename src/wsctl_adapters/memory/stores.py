"""The stores over a database in memory: what each caller may do with the rows, and no more.

Each method is one effect: it reads, checks its guard and writes at the moment at which it lands.
The rules are the core's own (`apply`, `holds`, `needs_work`, ...): nothing is decided here.
"""

from collections.abc import Callable, Collection

import attrs

from wsctl_adapters.memory.database import MemoryDatabase
from wsctl_adapters.memory.line import Line
from wsctl_core.decisions.intent import IntentAnswer, IntentOutcome, creation_decision
from wsctl_core.decisions.limits import holds_place, limit_decision
from wsctl_core.decisions.planning import needs_work
from wsctl_core.decisions.recovery import RecoveryAnswer
from wsctl_core.ports import (
    Changes,
    Findings,
    NewWorkspace,
    Page,
    PassStart,
    Reading,
    Situation,
    Work,
)
from wsctl_core.values.patches import Guard, ReconcilerPatch, apply
from wsctl_core.values.policy import Policy
from wsctl_core.values.states import Operation
from wsctl_core.values.validation import InvalidValue
from wsctl_core.values.workspace import Workspace, effective_seq, finished_deleting


@attrs.frozen
class Store:
    """A node's way to the database."""

    _database: MemoryDatabase
    _line: Line


class MemoryReader(Store):
    """Reads, and never writes."""

    async def some(self, ids: Collection[str]) -> Reading:
        """The rows of those workspaces that exist."""

        def effect() -> Reading:
            rows = self._database.rows
            return self._database.reading(tuple(rows[id] for id in sorted(set(ids)) if id in rows))

        return await self._line.call("some_rows", effect)

    async def page(
        self,
        *,
        owner_id: str | None = None,
        deleted: bool = False,
        after: str | None = None,
        limit: int = 100,
    ) -> Page:
        """A listing in the order of identities: it stays right while rows change."""

        def effect() -> Page:
            listed = sorted(
                ws.id
                for ws in self._database.rows.values()
                if owner_id in (None, ws.owner_id)
                and (deleted or not finished_deleting(ws))
                and (after is None or ws.id > after)
            )
            return self._page(listed, limit)

        return await self._line.call("page_of_rows", effect)

    async def finished(self, *, after: str | None = None, limit: int = 100) -> Page:
        """Only what is finished being deleted, in the order of identities."""

        def effect() -> Page:
            listed = sorted(
                ws.id
                for ws in self._database.rows.values()
                if finished_deleting(ws) and (after is None or ws.id > after)
            )
            return self._page(listed, limit)

        return await self._line.call("finished_rows", effect)

    def _page(self, listed: list[str], limit: int) -> Page:
        rows = tuple(self._database.rows[id] for id in listed[:limit])
        return Page(rows=rows, after=rows[-1].id if len(listed) > limit else None)

    async def changed(self, since: str | None) -> Changes:
        """Every row written since the mark; None: every row that is not finished being deleted."""

        def effect() -> Changes:
            database = self._database
            rows = database.written_since(0 if since is None else int(since))
            if since is None:
                rows = tuple(ws for ws in rows if not finished_deleting(ws))
            return Changes(
                rows=rows,
                now=database.now(),
                pass_seq=database.pass_number,
                mark=str(database.last_write),
            )

        return await self._line.call("changed_rows", effect)


class MemoryIntents(Store):
    """The only writer of what people want."""

    async def create(self, new: NewWorkspace, policy: Policy) -> IntentAnswer:
        """Insert a row, unless there is no place for it."""

        def effect() -> IntentAnswer:
            database = self._database
            if new.id in database.rows:
                raise InvalidValue("NewWorkspace", "id", f"{new.id} was used before")
            usage = database.intents(new.owner_id)
            answer = creation_decision(new.desired_state, usage=usage, policy=policy)
            if answer.verdict.outcome is not IntentOutcome.WRITTEN:
                return answer
            row = attrs.evolve(
                Workspace.created(
                    id=new.id,
                    owner_id=new.owner_id,
                    name=new.name,
                    image=new.image,
                    at=database.now(),
                    seq=database.next_number(),
                    desired_state=new.desired_state,
                ),
                standby_ttl_seconds=new.standby_ttl_seconds,
                archive_ttl_seconds=new.archive_ttl_seconds,
            )
            return attrs.evolve(answer, ws=database.put(row))

        return await self._line.call("create_workspace", effect)

    async def change(
        self, workspace_id: str, decide: Callable[[Situation], IntentAnswer]
    ) -> IntentAnswer | None:
        """Read the row, decide and write, as one."""

        def effect() -> IntentAnswer | None:
            database = self._database
            ws = database.rows.get(workspace_id)
            if ws is None:
                return None
            usage = database.intents(ws.owner_id, but=ws.id)
            answer = decide(Situation(ws=ws, now=database.now(), usage=usage))
            if answer.patch is not None:
                ws = database.put(apply(ws, answer.patch))
            return attrs.evolve(answer, ws=ws)

        return await self._line.call("change_intent", effect)

    async def recover(
        self, workspace_id: str, decide: Callable[[Workspace], RecoveryAnswer]
    ) -> RecoveryAnswer | None:
        """Read the row, decide, and write the acceptance and the recovery, as one."""

        def effect() -> RecoveryAnswer | None:
            ws = self._database.rows.get(workspace_id)
            if ws is None:
                return None
            answer = decide(ws)
            after = ws
            for patch in (answer.intent, answer.recovery):
                after = after if patch is None else apply(after, patch)
            if after != ws:
                self._database.put(after)
            return answer

        return await self._line.call("recover", effect)


class MemoryMonitor(Store):
    """The health monitor's: what exists."""

    async def begin_pass(self) -> PassStart:
        """The next number, and the time."""

        def effect() -> PassStart:
            return PassStart(number=self._database.next_number(), now=self._database.now())

        return await self._line.call("begin_pass", effect)

    async def end_pass(self, epoch: int, findings: Findings) -> int:
        """Write all that a pass found, where nothing newer is known."""

        def effect() -> int:
            self._database.fence(epoch)
            named = dict.fromkeys((*findings.patches, *findings.alarms))
            changed = sum(self._observe(workspace_id, findings) for workspace_id in named)
            if findings.complete:
                self._database.pass_number = max(self._database.pass_number, findings.number)
            return changed

        return await self._line.call("end_pass", effect)

    def _observe(self, workspace_id: str, findings: Findings) -> bool:
        ws = self._database.rows.get(workspace_id)
        # H19: also when it is a whole pass that knows better, and its number stands for the row.
        if ws is None or effective_seq(ws, self._database.pass_number) >= findings.number:
            return False
        after = ws
        for patch in (findings.patches.get(workspace_id), findings.alarms.get(workspace_id)):
            after = after if patch is None else apply(after, patch)
        if after == ws:
            return False
        self._database.put(after)
        return True


class MemoryReconciler(Store):
    """The state reconciler's: what is being done."""

    async def work(self) -> Work:
        """Every row that needs work, and the places that are held."""

        def effect() -> Work:
            database = self._database
            held: dict[str, int] = {}
            for ws in database.rows.values():
                if holds_place(ws, database.pass_number):
                    held[ws.owner_id] = held.get(ws.owner_id, 0) + 1
            return Work(
                rows=tuple(ws for ws in database.rows.values() if needs_work(ws)),
                now=database.now(),
                pass_seq=database.pass_number,
                held=held,
            )

        return await self._line.call("work", effect)

    async def one(self, workspace_id: str) -> Reading:
        """One row; none when it was purged."""

        def effect() -> Reading:
            ws = self._database.rows.get(workspace_id)
            return self._database.reading(() if ws is None else (ws,))

        return await self._line.call("one_row", effect)

    async def next_number(self) -> int:
        """The next number of the sequence."""
        return await self._line.call("next_number", self._database.next_number)

    async def holds(self, epoch: int, workspace_id: str, guard: Guard) -> bool:
        """Epoch and guard hold now."""

        def effect() -> bool:
            ws = self._database.rows.get(workspace_id)
            return epoch == self._database.epoch and ws is not None and guard.holds(ws)

        return await self._line.call("holds", effect)

    async def write(
        self, epoch: int, workspace_id: str, guard: Guard, patch: ReconcilerPatch
    ) -> Workspace | None:
        """Compare and set."""
        return await self._line.call(
            "write", lambda: self._write(epoch, workspace_id, guard, patch)
        )

    async def claim(
        self, epoch: int, workspace_id: str, guard: Guard, patch: ReconcilerPatch, policy: Policy
    ) -> Workspace | None:
        """Compare and set, and take a place where one is needed (H32)."""

        def effect() -> Workspace | None:
            return self._write(epoch, workspace_id, guard, patch, policy)

        return await self._line.call("claim", effect)

    def _write(
        self,
        epoch: int,
        workspace_id: str,
        guard: Guard,
        patch: ReconcilerPatch,
        policy: Policy | None = None,
    ) -> Workspace | None:
        database = self._database
        database.fence(epoch)
        ws = database.rows.get(workspace_id)
        if ws is None or not guard.holds(ws):
            return None
        if policy is not None and patch.operation is Operation.STARTING:
            usage = database.places(ws.owner_id, but=ws.id)
            if not limit_decision(usage, policy).outcome:
                return None
        return database.put(apply(ws, patch, database.number_for(patch)))
