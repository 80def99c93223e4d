"""`poll_interval`: how soon a component looks again (4.7).

Hints make a tick come sooner; this is the pace at which nothing is ever missed (contract 2).
"""

from typing import NamedTuple

from wsctl_core.decisions.rules import ALWAYS, Rule, Table, Verdict, all_of
from wsctl_core.values.policy import DEFAULT_POLICY, Policy
from wsctl_core.values.reasons import Reason
from wsctl_core.values.states import Component


class PollFacts(NamedTuple):
    """What `poll_interval` reads."""

    component: Component
    operation_runs: bool
    """Some row has an operation."""
    observation_awaited: bool
    """Some row waits for an observation."""
    unconverged: bool
    """Some row is not yet as it is wanted."""


C = Component

POLL = Table[PollFacts, str](
    name="poll",
    facts=PollFacts,
    rules=(
        Rule(
            name="B1",
            says="monitor: an operation runs, or a row waits for an observation; "
            "reconciler: an operation runs",
            when=(
                all_of(component=C.MONITOR, operation_runs=True),
                all_of(component=C.MONITOR, observation_awaited=True),
                all_of(component=C.RECONCILER, operation_runs=True),
            ),
            then="busy_poll_seconds",
            reason=Reason.POLL_BUSY,
        ),
        Rule(
            name="B2",
            says="reconciler: anything is unconverged",
            when=(all_of(component=C.RECONCILER, unconverged=True),),
            then="unconverged_poll_seconds",
            reason=Reason.POLL_UNCONVERGED,
        ),
        Rule(
            name="B3",
            says="TTL manager",
            when=(all_of(component=C.TTL_MANAGER),),
            then="ttl_poll_seconds",
            reason=Reason.POLL_TTL,
        ),
        Rule(
            name="B4",
            says="archive GC",
            when=(all_of(component=C.ARCHIVE_GC),),
            then="gc_poll_seconds",
            reason=Reason.POLL_GC,
        ),
        Rule(
            name="B5",
            says="otherwise",
            when=(ALWAYS,),
            then="idle_poll_seconds",
            reason=Reason.POLL_IDLE,
        ),
    ),
)


def poll_interval(facts: PollFacts, policy: Policy = DEFAULT_POLICY) -> Verdict[int]:
    """Seconds until the component's next tick.

    >>> quiet = PollFacts(Component.RECONCILER, False, False, False)
    >>> poll_interval(quiet).outcome
    30
    >>> poll_interval(quiet._replace(operation_runs=True)).outcome
    2
    """
    verdict = POLL.decide(facts)
    return Verdict(
        outcome=int(getattr(policy, verdict.outcome)),
        reason=verdict.reason,
        rule=verdict.rule,
        looked_at=verdict.looked_at,
    )
