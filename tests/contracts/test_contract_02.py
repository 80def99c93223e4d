"""Contract 2, level-triggered: every decision is a function of present state."""

import attrs
from hypothesis import given

from tests.core.builders import moment, row
from tests.strategies import attempts, observations, workspaces
from wsctl_core import DesiredState, Moment, Observation, Progress, Workspace, assess, reconcile
from wsctl_core.contracts import function_of_its_arguments

Attempt = tuple[Workspace, Moment, Progress | None]


@given(first=attempts(), second=attempts())
def test_a_step_depends_on_its_arguments_alone(first: Attempt, second: Attempt) -> None:
    """Asked again, after anything else was asked, about an equal row: the same step."""
    before = reconcile(*first)
    reconcile(*second)
    ws, now, held = first
    again = reconcile(attrs.evolve(ws), attrs.evolve(now), held and attrs.evolve(held))
    assert function_of_its_arguments(before, again) is None


@given(ws=workspaces(), first=observations(), second=observations())
def test_a_judgement_depends_on_its_arguments_alone(
    ws: Workspace, first: Observation, second: Observation
) -> None:
    """The monitor's judgement of a look does not remember the look before it."""
    before = assess(ws, first)
    assess(ws, second)
    assert assess(attrs.evolve(ws), attrs.evolve(first)) == before


def test_two_answers_to_one_state_are_rejected() -> None:
    """Two different steps for the same state are a memory that must not be."""
    wanted = reconcile(row(), moment())
    unwanted = reconcile(row(desired_state=DesiredState.PENDING), moment())
    told = "the same state led to two different steps"
    assert function_of_its_arguments(wanted, unwanted) == told
