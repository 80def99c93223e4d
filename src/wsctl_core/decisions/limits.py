"""`limit_decision`: is there a place? Asked twice, about two different things (4.7, H32).

The service counts intents and refuses one too many. The claim of STARTING counts the places that
are really held, and waits for a free one. So neither intents nor containers exceed a limit, and a
restart after a crash never loses its place.
"""

from typing import NamedTuple

import attrs

from wsctl_core.decisions.facts import is_fresh
from wsctl_core.decisions.rules import ALWAYS, Rule, Table, Verdict, all_of
from wsctl_core.values import validation as must
from wsctl_core.values.policy import DEFAULT_POLICY, Policy
from wsctl_core.values.reasons import Reason
from wsctl_core.values.states import DesiredState, ObservedStatus, Operation
from wsctl_core.values.workspace import Workspace, finished_deleting


@attrs.frozen(kw_only=True)
class Usage:
    """Places taken by others than the one who asks, counted under the lock that grants one."""

    by_user: int = attrs.field(validator=must.whole())
    in_all: int = attrs.field(validator=must.whole())

    def __attrs_post_init__(self) -> None:
        if self.by_user > self.in_all:
            raise must.refuse(self, "by_user", f"exceeds the number in all ({self.in_all})")


class LimitFacts(NamedTuple):
    """What `limit_decision` reads."""

    user_full: bool
    all_full: bool


LIMIT = Table[LimitFacts, bool](
    name="limit",
    facts=LimitFacts,
    rules=(
        Rule(
            name="L1",
            says="max_running_per_user reached",
            when=(all_of(user_full=True),),
            then=False,
            reason=Reason.USER_LIMIT_REACHED,
        ),
        Rule(
            name="L2",
            says="max_running_global reached",
            when=(all_of(all_full=True),),
            then=False,
            reason=Reason.GLOBAL_LIMIT_REACHED,
        ),
        Rule(name="L3", says="otherwise", when=(ALWAYS,), then=True, reason=Reason.PLACE_FREE),
    ),
)


def limit_decision(usage: Usage, policy: Policy = DEFAULT_POLICY) -> Verdict[bool]:
    """Whether one more may run. A lowered limit stops nobody: it only grants nothing new.

    >>> limit_decision(Usage(by_user=1, in_all=50)).outcome
    True
    >>> limit_decision(Usage(by_user=2, in_all=50)).sentence
    'This user has as many running workspaces as allowed.'
    """
    return LIMIT.decide(
        LimitFacts(
            user_full=usage.by_user >= policy.max_running_per_user,
            all_full=usage.in_all >= policy.max_running_global,
        )
    )


def wants_place(ws: Workspace) -> bool:
    """What the service counts: an intent to run.

    >>> from datetime import UTC, datetime
    >>> ws = Workspace.created(id="w1", owner_id="o", name="n", image="i",
    ...                        at=datetime(2026, 1, 1, tzinfo=UTC), seq=1)
    >>> wants_place(ws)
    True
    """
    return ws.desired_state is DesiredState.RUNNING and ws.deleted_at is None


def holds_place(ws: Workspace, pass_seq: int) -> bool:
    """What the claim of STARTING counts: a container that runs, or may.

    A row that nobody has looked at since its last operation ended may still hold one, unless
    nothing was ever done with it.

    >>> from datetime import UTC, datetime
    >>> ws = Workspace.created(id="w1", owner_id="o", name="n", image="i",
    ...                        at=datetime(2026, 1, 1, tzinfo=UTC), seq=1)
    >>> holds_place(ws, pass_seq=0)
    False
    """
    if ws.operation in (Operation.STARTING, Operation.STOPPING):
        return True
    if ws.observed_status is ObservedStatus.RUNNING:
        return True
    return ws.op_ended_seq > 0 and not finished_deleting(ws) and not is_fresh(ws, pass_seq)
