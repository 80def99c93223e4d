"""`recovery_decision`: who may end an error, and what is written then."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core import oracles
from tests.core.builders import ARCHIVED, DIRTY, KEY, OTHER_KEY, busy, error, row
from tests.strategies import archive_keys, incarnations, maybe, workspaces
from wsctl_core import (
    Actor,
    AdapterCode,
    ErrorReason,
    HealthStatus,
    IntentPatch,
    Operation,
    Reason,
    Recovery,
    RecoveryOutcome,
    Workspace,
    recovery_decision,
)
from wsctl_core.decisions.recovery import RECOVERY, Evidence, data_at_stake

OWNER, ADMIN = Actor.OWNER, Actor.ADMINISTRATOR
LOST = error(reason=ErrorReason.DATA_LOST)
NO_VOLUME = error(
    reason=ErrorReason.MISMATCH, context={"code": AdapterCode.CONTAINER_WITHOUT_VOLUME.value}
)
GONE, THERE = Evidence.GONE, Evidence.THERE


def test_recovery_is_the_specifications_for_all_facts() -> None:
    """Every combination of facts is allowed or refused as section 5 says."""
    assert oracles.differing(RECOVERY, oracles.recovery) == []


def ill(**columns: Any) -> Workspace:
    """A workspace in error, with a home and an archive."""
    return row(**{"error_info": error(), "home": DIRTY, **ARCHIVED, **columns})


@pytest.mark.parametrize(
    ("ws", "actor", "reason"),
    [
        (row(), ADMIN, Reason.NOT_IN_ERROR),
        (row(error_info=error(terminal=False)), ADMIN, Reason.NOT_IN_ERROR),
        (row(health_status=HealthStatus.ERROR), OWNER, Reason.TRY_AGAIN),
        (busy(Operation.DELETING, error_info=error()), ADMIN, Reason.DELETION_RUNS),
        (ill(), OWNER, Reason.TRY_AGAIN),
        (ill(), ADMIN, Reason.TRY_AGAIN),
        (ill(error_info=LOST), OWNER, Reason.ONLY_ADMINISTRATOR_RECOVERS),
        (ill(error_info=LOST), ADMIN, Reason.TRY_AGAIN),
        (ill(error_info=NO_VOLUME), OWNER, Reason.ONLY_ADMINISTRATOR_RECOVERS),
        (ill(error_info=NO_VOLUME), ADMIN, Reason.TRY_AGAIN),
    ],
)
def test_who_may_try_again(ws: Workspace, actor: Actor, reason: Reason) -> None:
    """An administrator always, the owner where no data is at stake, and only in error."""
    assert recovery_decision(ws, actor).verdict.reason is reason


@pytest.mark.parametrize(
    ("ws", "actor", "accept", "evidence", "reason"),
    [
        (ill(), OWNER, "i1", GONE, Reason.ONLY_ADMINISTRATOR_ACCEPTS),
        (ill(), OWNER, "i7", GONE, Reason.ONLY_ADMINISTRATOR_ACCEPTS),
        (ill(), ADMIN, "i7", GONE, Reason.ACCEPTS_UNKNOWN),
        (ill(), ADMIN, OTHER_KEY, GONE, Reason.ACCEPTS_UNKNOWN),
        (row(error_info=error()), ADMIN, "i1", GONE, Reason.ACCEPTS_UNKNOWN),
        (ill(), ADMIN, "i1", THERE, Reason.STILL_THERE),
        (ill(), ADMIN, KEY, THERE, Reason.STILL_THERE),
        (ill(), ADMIN, "i1", Evidence.NOT_LOOKED, Reason.STILL_THERE),
        (ill(), ADMIN, "i1", GONE, Reason.LOSS_ACCEPTED),
        (ill(), ADMIN, KEY, GONE, Reason.LOSS_ACCEPTED),
        (ill(), ADMIN, KEY, Evidence.CORRUPT, Reason.LOSS_ACCEPTED),
        (ill(error_info=LOST), ADMIN, KEY, THERE, Reason.STILL_THERE),
        (ill(error_info=LOST), ADMIN, "i1", GONE, Reason.LOSS_ACCEPTED),
    ],
)
def test_who_may_give_up_what(
    ws: Workspace, actor: Actor, accept: str, evidence: Evidence, reason: Reason
) -> None:
    """An administrator, what the row names, and only when a look has shown that it is lost."""
    answer = recovery_decision(ws, actor, accept_loss=accept, evidence=evidence)
    assert answer.verdict.reason is reason


def test_what_is_given_up_is_taken_to_be_there() -> None:
    """Unless the caller has looked and found it gone, an acceptance is refused."""
    assert recovery_decision(ill(), ADMIN, accept_loss="i1").verdict.reason is Reason.STILL_THERE


def test_a_plain_recovery_writes_a_reset_alone() -> None:
    """To try again changes no intent."""
    answer = recovery_decision(ill(), OWNER)
    assert (answer.intent, answer.recovery) == (None, Recovery())
    assert answer.verdict.outcome is RecoveryOutcome.RECOVERED


def test_an_accepted_loss_is_written_with_the_reset() -> None:
    """What is given up is named in the row, together with the reset."""
    answer = recovery_decision(ill(), ADMIN, accept_loss="i1", evidence=GONE)
    assert (answer.intent, answer.recovery) == (IntentPatch(loss_accepted="i1"), Recovery())


def test_a_refusal_writes_nothing() -> None:
    """Nothing is written by a request that is refused."""
    answer = recovery_decision(ill(), OWNER, accept_loss="i1", evidence=GONE)
    assert (answer.intent, answer.recovery) == (None, None)


@pytest.mark.parametrize(
    ("info", "expected"),
    [(None, False), (error(), False), (LOST, True), (NO_VOLUME, True)],
)
def test_when_data_is_at_stake(info: Any, expected: bool) -> None:
    """Lost data and a container without its volume are not an owner's to wave away."""
    assert data_at_stake(row(error_info=info)) is expected


@given(
    ws=workspaces(),
    actor=st.sampled_from(Actor),
    accept=maybe(incarnations | archive_keys),
    evidence=st.sampled_from(Evidence),
)
def test_an_answer_writes_what_its_verdict_allows(
    ws: Workspace, actor: Actor, accept: str | None, evidence: Evidence
) -> None:
    """A recovery goes with its verdict, and a loss is only ever one that the row names."""
    answer = recovery_decision(ws, actor, accept_loss=accept, evidence=evidence)
    allowed = answer.verdict.outcome is RecoveryOutcome.RECOVERED
    assert (answer.recovery is not None) is allowed
    if answer.intent is not None:
        assert actor is ADMIN
        assert answer.intent == IntentPatch(loss_accepted=str(accept))
        assert accept in (ws.home.incarnation, ws.archive_key)
