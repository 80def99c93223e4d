"""`poll_interval`: how soon each component looks again."""

from typing import Any

import pytest

from tests.core import oracles
from wsctl_core import Component, Policy, PollFacts, Reason, poll_interval
from wsctl_core.decisions.polling import POLL


def test_intervals_are_the_specifications_for_all_facts() -> None:
    """Every combination of facts gets the seconds that section 4.7 says."""
    for facts in POLL.every_facts():
        verdict = poll_interval(facts)
        assert (verdict.outcome, verdict.reason) == oracles.poll(facts), facts


@pytest.mark.parametrize(
    ("component", "field", "reason"),
    [
        (Component.MONITOR, "idle_poll_seconds", Reason.POLL_IDLE),
        (Component.RECONCILER, "idle_poll_seconds", Reason.POLL_IDLE),
        (Component.TTL_MANAGER, "ttl_poll_seconds", Reason.POLL_TTL),
        (Component.ARCHIVE_GC, "gc_poll_seconds", Reason.POLL_GC),
    ],
)
def test_intervals_are_the_policys(component: Component, field: str, reason: Reason) -> None:
    """The seconds come from the policy, and the verdict says why."""
    numbers: dict[str, Any] = {field: 77}
    verdict = poll_interval(PollFacts(component, False, False, False), Policy(**numbers))
    assert (verdict.outcome, verdict.reason) == (77, reason)


def test_a_busy_interval_tells_its_row() -> None:
    """The verdict names the row that decided and those that were looked at before it."""
    busy = poll_interval(PollFacts(Component.RECONCILER, False, False, True))
    assert (busy.rule, busy.looked_at) == ("B2", ("B1",))
    assert busy.reason is Reason.POLL_UNCONVERGED
