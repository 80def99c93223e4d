"""`intent_decision`: what becomes of a wish."""

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.core import oracles
from tests.core.builders import T0, after, busy, changed, row
from wsctl_core import (
    UNSET,
    DesiredState,
    IntentOutcome,
    IntentPatch,
    InvalidValue,
    Operation,
    Policy,
    Reason,
    Usage,
    Wish,
    Workspace,
    Writer,
    apply,
    changes,
    creation_decision,
    intent_decision,
    wants_place,
)
from wsctl_core.contracts import only_own_columns
from wsctl_core.decisions.intent import INTENT

PENDING, STANDBY, RUNNING = DesiredState
NOBODY = Usage(by_user=0, in_all=0)
FULL = Usage(by_user=2, in_all=2)
LATER = after(60)


def decide(ws: Workspace, usage: Usage = NOBODY, **wish: Any) -> Any:
    """The answer to a wish, a minute after the beginning."""
    return intent_decision(ws, Wish(**wish), usage=usage, now=LATER)


def test_intents_are_the_specifications_for_all_facts() -> None:
    """Stale, too late, one too many, nothing new: in this order, and else it is written."""
    assert oracles.differing(INTENT, oracles.intent) == []


def test_a_new_state_grows_the_version() -> None:
    """A change of what is wanted gets the next version and the time of the database."""
    answer = decide(row(intent_version=4), desired_state=STANDBY)
    assert answer.verdict.outcome is IntentOutcome.WRITTEN
    assert answer.patch == IntentPatch(
        desired_state=STANDBY, intent_version=5, intent_changed_at=LATER
    )


def test_deletion_is_an_intent() -> None:
    """Asking for deletion says when, and grows the version."""
    answer = decide(row(), delete=True)
    assert answer.patch == IntentPatch(deleted_at=LATER, intent_version=1, intent_changed_at=LATER)


def test_a_name_is_no_intent() -> None:
    """Name and times to live change without a new version: no plan depends on them."""
    answer = decide(row(), name="other", standby_ttl_seconds=60, archive_ttl_seconds=120)
    assert changes(answer.patch) == {
        "name": "other",
        "standby_ttl_seconds": 60,
        "archive_ttl_seconds": 120,
    }


@pytest.mark.parametrize(
    ("ws", "wish"),
    [
        (row(), {"desired_state": RUNNING}),
        (row(), {"name": "work"}),
        (row(), {"standby_ttl_seconds": 300, "archive_ttl_seconds": 604800}),
        (row(), {}),
        (row(deleted_at=T0), {"delete": True}),
    ],
)
def test_what_is_wanted_already_changes_nothing(ws: Workspace, wish: dict[str, Any]) -> None:
    """A wish that is met already writes nothing."""
    answer = decide(ws, **wish)
    assert answer.verdict.reason is Reason.INTENT_UNCHANGED
    assert answer.patch is None
    assert answer.ws is ws


def test_a_stale_wish_is_refused() -> None:
    """Who names a version that is not the row's is told so, and nothing is written."""
    ws = row(intent_version=4)
    assert decide(ws, desired_state=STANDBY, intent_version=4).patch is not None
    for version in (3, 5):
        answer = decide(ws, desired_state=STANDBY, intent_version=version)
        assert answer.verdict.reason is Reason.INTENT_STALE
        assert answer.patch is None


def test_after_deletion_nothing_else_can_be_wanted() -> None:
    """A workspace that is to be deleted takes no other wish."""
    answer = decide(row(deleted_at=T0), desired_state=STANDBY)
    assert answer.verdict.reason is Reason.DELETION_ASKED


def test_one_too_many_is_refused() -> None:
    """Who wants to run needs a place; who wants to run already has one."""
    standby = row(desired_state=STANDBY)
    assert decide(standby, FULL, desired_state=RUNNING).verdict.reason is Reason.USER_LIMIT_REACHED
    crowd = Usage(by_user=0, in_all=100)
    refused = decide(standby, crowd, desired_state=RUNNING)
    assert refused.verdict.reason is Reason.GLOBAL_LIMIT_REACHED
    assert refused.patch is None
    assert decide(standby, NOBODY, desired_state=RUNNING).patch is not None
    assert decide(row(), FULL, desired_state=RUNNING).patch is None
    assert decide(row(), FULL, name="other").patch is not None


def test_deletion_and_standby_need_no_place() -> None:
    """Whoever steps down, or leaves, is not asked for a place."""
    standby = row(desired_state=STANDBY)
    assert decide(standby, FULL, delete=True).patch is not None
    assert decide(standby, FULL, delete=True, desired_state=RUNNING).patch is not None
    assert decide(row(), FULL, desired_state=PENDING).patch is not None


def test_an_operation_is_no_obstacle() -> None:
    """The newest intent is accepted at any time: it is acted on when the operation ends."""
    answer = decide(busy(Operation.STARTING), desired_state=PENDING)
    assert answer.verdict.outcome is IntentOutcome.WRITTEN


def test_creation_needs_a_place_only_to_run() -> None:
    """A workspace that is to run takes a place from its first moment."""
    assert creation_decision(RUNNING, usage=NOBODY).verdict.outcome is IntentOutcome.WRITTEN
    refused = creation_decision(RUNNING, usage=FULL)
    assert refused.verdict.reason is Reason.USER_LIMIT_REACHED
    assert refused.patch is None
    assert creation_decision(STANDBY, usage=FULL).verdict.outcome is IntentOutcome.WRITTEN
    low = Policy(max_running_per_user=1, max_running_global=1)
    one = Usage(by_user=0, in_all=1)
    assert creation_decision(RUNNING, usage=one, policy=low).verdict.outcome == "REFUSED"
    assert (
        intent_decision(
            row(desired_state=STANDBY),
            Wish(desired_state=RUNNING),
            usage=one,
            now=LATER,
            policy=low,
        ).verdict.outcome
        is IntentOutcome.REFUSED
    )


def test_a_wish_is_validated() -> None:
    """Nonsense is refused where it is said."""
    with pytest.raises(InvalidValue, match=r"Wish\.delete: expected True or False, got 1"):
        changed(Wish(), delete=1)  # type: ignore[arg-type]  # a wish is a value like any other
    with pytest.raises(InvalidValue, match=r"Wish\.intent_version: expected a whole number"):
        Wish(intent_version=-1)


wishes = st.builds(
    Wish,
    desired_state=st.sampled_from([UNSET, *DesiredState]),
    delete=st.booleans(),
    name=st.sampled_from([UNSET, "work", "other"]),
    standby_ttl_seconds=st.sampled_from([UNSET, 300, 60]),
    intent_version=st.sampled_from([None, 0, 1, 2]),
)


@given(strategies.workspaces(), wishes, st.integers(0, 3), st.integers(0, 3))
def test_an_intent_is_the_services_and_no_place_is_given_twice(
    ws: Workspace, wish: Wish, mine: int, theirs: int
) -> None:
    """Contract 3 and H32, whatever is wished: own columns only, and never one too many."""
    usage = Usage(by_user=mine, in_all=mine + theirs)
    policy = Policy(max_running_per_user=2, max_running_global=4)
    answer = intent_decision(ws, wish, usage=usage, now=LATER, policy=policy)
    assert (answer.patch is None) is (answer.verdict.outcome is not IntentOutcome.WRITTEN)
    if answer.patch is None:
        return
    written = apply(ws, answer.patch)
    assert only_own_columns(ws, written, Writer.SERVICE) is None
    assert attrs.evolve(
        written, name=ws.name, standby_ttl_seconds=ws.standby_ttl_seconds
    ) == ws or (written.desired_state != ws.desired_state or written.deleted_at != ws.deleted_at)
    if wants_place(written) and not wants_place(ws):
        assert mine < 2
        assert mine + theirs < 4
