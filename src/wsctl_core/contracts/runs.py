"""What must hold of many moments together: of histories, fleets and whole runs."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from wsctl_core.contracts.states import Broken, Settled
from wsctl_core.decisions.limits import holds_place
from wsctl_core.decisions.steps import Step
from wsctl_core.values.policy import DEFAULT_POLICY, Policy
from wsctl_core.values.workspace import Workspace


def function_of_its_arguments(first: Step, second: Step) -> Broken:
    """Contract 2: asked twice about the same state, a decision gives the same answer."""
    return None if first == second else "the same state led to two different steps"


def archives_never_change(before: Mapping[str, object], after: Mapping[str, object]) -> Broken:
    """Contract 7, I3: an archive once written never changes; it may only be collected."""
    changed = [key for key, content in after.items() if before.get(key, content) != content]
    return f"archives changed: {', '.join(sorted(changed))}" if changed else None


def retries_are_bounded(attempts_at: Sequence[datetime], policy: Policy) -> Broken:
    """Contract 10: one operation is attempted a bounded number of times, with waits between."""
    if len(attempts_at) > policy.attempts:
        return f"{len(attempts_at)} attempts, {policy.attempts} are allowed"
    for earlier, later in pairwise(attempts_at):
        if (later - earlier).total_seconds() < policy.retry_interval_seconds:
            return "an attempt began before its wait was over"
    return None


def settles(run: Sequence[Settled], bound: int) -> Broken:
    """Contract 13, I9: a calm run comes to rest within the bound, and stays at rest.

    >>> settles([Settled.NOT, Settled.CONVERGED, Settled.CONVERGED], bound=2) is None
    True
    >>> settles([Settled.NOT] * 3, bound=2)
    'not settled within 2 steps'
    """
    rest_at = next((i for i, state in enumerate(run) if state is not Settled.NOT), None)
    if rest_at is None or rest_at > bound:
        return f"not settled within {bound} steps"
    if any(state is not run[rest_at] for state in run[rest_at:]):
        return "settled, and did not stay so"
    return None


def recovery_leads_out(end: Settled) -> Broken:
    """Contract 13, I11, H25: one recovery of the right kind leads out of every error."""
    if end in (Settled.CONVERGED, Settled.DELETED, Settled.WAITS_FOR_PLACE):
        return None
    return f"after the recovery it is {end}"


def strays_are_removed(strays: Iterable[str]) -> Broken:
    """I10: of things older than the grace that belong to no home, none is left."""
    left = sorted(strays)
    return f"strays are left: {', '.join(left)}" if left else None


def within_limits(
    fleet: Sequence[Workspace], pass_seq: int, policy: Policy = DEFAULT_POLICY
) -> Broken:
    """I13: the places held never exceed a limit."""
    held: dict[str, int] = {}
    for ws in fleet:
        if holds_place(ws, pass_seq):
            held[ws.owner_id] = held.get(ws.owner_id, 0) + 1
    if sum(held.values()) > policy.max_running_global:
        return f"{sum(held.values())} places are held in all"
    over = sorted(owner for owner, n in held.items() if n > policy.max_running_per_user)
    return f"too many places are held by {', '.join(over)}" if over else None
