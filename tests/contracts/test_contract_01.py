"""Contract 1, reality is the truth: only a fresh observation completes or plans."""

import attrs
from hypothesis import given

from tests.contracts.written import reconciled
from tests.core.builders import CLEAN, busy, row
from tests.strategies import attempts, observations, workspaces
from wsctl_core import (
    UNKNOWN,
    Moment,
    Observation,
    ObservedStatus,
    Operation,
    Progress,
    Workspace,
    assess,
)
from wsctl_core.contracts import completion_is_fresh, plan_is_fresh


@given(given_attempt=attempts())
def test_nothing_stale_completes_or_plans(
    given_attempt: tuple[Workspace, Moment, Progress | None],
) -> None:
    """Whatever the row, a completion and a plan have an observation that is young enough."""
    ws, moment, held = given_attempt
    written = reconciled(ws, moment, held)
    assert completion_is_fresh(ws, written, moment.pass_seq) is None
    assert plan_is_fresh(ws, written, moment.pass_seq) is None


@given(ws=workspaces(), observation=observations())
def test_a_failed_observation_is_no_absence(ws: Workspace, observation: Observation) -> None:
    """A listing that could not be had changes nothing, whatever the other one shows."""
    for incomplete in (
        attrs.evolve(observation, containers=UNKNOWN),
        attrs.evolve(observation, volumes=UNKNOWN),
    ):
        judged = assess(ws, incomplete)
        assert (judged.patch, judged.alarm) == (None, None)


def test_a_completion_by_an_old_observation_is_rejected() -> None:
    """An observation that began before the last action ended completes nothing."""
    done = row(observed_status=ObservedStatus.STANDBY, home=CLEAN)
    acting = busy(Operation.STOPPING, observed_status=ObservedStatus.STANDBY, home=CLEAN)
    told = "STOPPING was completed before its actions ended"
    assert completion_is_fresh(acting, done, 9) == told
    acted = attrs.evolve(acting, op_acted_seq=5)
    told = "STOPPING was completed by an observation that is too old"
    assert completion_is_fresh(acted, done, 5) == told
    assert completion_is_fresh(acted, done, 6) is None


def test_a_plan_on_an_old_observation_is_rejected() -> None:
    """An observation from before the last operation ended plans nothing but a deletion."""
    resting = row(op_ended_seq=5, observed_seq=5)
    told = "STARTING was planned on an observation that is too old"
    assert plan_is_fresh(resting, busy(Operation.STARTING), 5) == told
    assert plan_is_fresh(resting, busy(Operation.STARTING), 6) is None
    assert plan_is_fresh(resting, busy(Operation.DELETING), 5) is None
