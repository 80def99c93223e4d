"""What is read for people: a row with its explanation, its ways out, and who holds the places."""

from collections.abc import Callable

import attrs

from wsctl_app.outside import Outside
from wsctl_core.decisions.facts import Moment
from wsctl_core.decisions.limits import Usage, holds_place, limit_decision, wants_place
from wsctl_core.ports import Reading
from wsctl_core.values.actions import Progress
from wsctl_core.values.policy import Policy
from wsctl_core.values.reasons import Reason
from wsctl_core.values.states import Operation
from wsctl_core.values.workspace import Workspace
from wsctl_core.views.display import display_status
from wsctl_core.views.explain import Explanation, WayOut, explain, ways_out

PAGE = 1000
PAGES = 20
"""How far a listing of those who hold places goes: a hundred places are found long before."""

ProgressOf = Callable[[str], Progress | None]
"""How far this process has come with a workspace's operation; None when it carries none out."""


@attrs.frozen(kw_only=True)
class Holder:
    """A workspace that holds a place, or wants one."""

    id: str
    name: str
    owner_id: str
    status: str


@attrs.frozen(kw_only=True)
class Explained:
    """Why a workspace is as it is, and what can be done about it."""

    ws: Workspace
    explanation: Explanation
    ways_out: tuple[WayOut, ...]
    holders: tuple[Holder, ...]
    """Who holds the places that it waits for; empty when it waits for none."""


def holder(ws: Workspace) -> Holder:
    """A workspace, as one that holds a place."""
    return Holder(id=ws.id, name=ws.name, owner_id=ws.owner_id, status=display_status(ws))


async def holders_among(
    outside: Outside, owner_id: str | None, holds: Callable[[Workspace], bool], most: int
) -> tuple[Holder, ...]:
    """The first workspaces of an owner, or of everyone, that hold a place in that sense."""
    found: list[Holder] = []
    after: str | None = None
    for _ in range(PAGES):
        page = await outside.reader.page(owner_id=owner_id, after=after, limit=PAGE)
        found += [holder(ws) for ws in page.rows if holds(ws)]
        after = page.after
        if after is None or len(found) >= most:
            break
    return tuple(found[:most])


def full(reason: Reason, policy: Policy) -> int:
    """The limit that was reached."""
    if reason is Reason.USER_LIMIT_REACHED:
        return policy.max_running_per_user
    return policy.max_running_global


class Reader:
    """Reads what explanations are made of."""

    def __init__(self, outside: Outside, policy: Policy) -> None:
        self._outside = outside
        self._policy = policy

    async def explained(
        self, reading: Reading, progress_of: ProgressOf, *, sees_all: bool
    ) -> Explained:
        """The explanation of the one row of that reading."""
        (ws,) = reading.rows
        waits = _may_wait_for_place(ws)
        usage = await self._places(ws) if waits else Usage(by_user=0, in_all=0)
        limit = limit_decision(usage, self._policy)
        moment = Moment(
            now=reading.now,
            fresh_id=self._outside.ids.fresh(),
            pass_seq=reading.pass_seq,
            place_free=limit.outcome,
            policy=self._policy,
        )
        explanation = explain(ws, moment, progress_of(ws.id) or _elsewhere(ws))
        holders: tuple[Holder, ...] = ()
        if explanation.reason is Reason.NO_FREE_PLACE:
            everyone = limit.reason is Reason.GLOBAL_LIMIT_REACHED and sees_all
            holders = await holders_among(
                self._outside,
                None if everyone else ws.owner_id,
                lambda row: holds_place(row, reading.pass_seq),
                full(limit.reason, self._policy),
            )
        return Explained(ws=ws, explanation=explanation, ways_out=ways_out(ws), holders=holders)

    async def _places(self, ws: Workspace) -> Usage:
        """Places held by others; by the time they are counted, it may hold one itself."""
        held = (await self._outside.reconciler.work()).held
        reading = await self._outside.reader.some([ws.id])
        own = sum(holds_place(row, reading.pass_seq) for row in reading.rows)
        by_user = max(0, held.get(ws.owner_id, 0) - own)
        return Usage(by_user=by_user, in_all=max(by_user, sum(held.values()) - own))


def _may_wait_for_place(ws: Workspace) -> bool:
    return ws.operation is Operation.NONE and wants_place(ws)


def _elsewhere(ws: Workspace) -> Progress | None:
    """What is assumed of an operation that another process carries out: it is under way."""
    if ws.operation is Operation.NONE or ws.op_id is None:
        return None
    return Progress(op_id=ws.op_id, running=ws.op_acted_seq is None)
