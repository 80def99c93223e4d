"""`limit_decision`: exact limits, of intents and of places held."""

import random
from typing import Any

import attrs
import pytest

from tests.core import oracles
from tests.core.builders import CLEAN, T0, busy, changed, error, moment, row
from wsctl_core import (
    DesiredState,
    InvalidValue,
    ObservedStatus,
    Operation,
    Policy,
    Reason,
    Usage,
    Workspace,
    holds_place,
    limit_decision,
    plan_operation,
    wants_place,
)
from wsctl_core.decisions.limits import LIMIT

STANDBY, RUNNING = ObservedStatus.STANDBY, ObservedStatus.RUNNING


def test_limits_are_the_specifications_for_all_facts() -> None:
    """One more may run only while neither limit is reached."""
    assert oracles.differing(LIMIT, oracles.limit) == []


@pytest.mark.parametrize(
    ("by_user", "in_all", "reason"),
    [
        (0, 0, Reason.PLACE_FREE),
        (1, 99, Reason.PLACE_FREE),
        (2, 99, Reason.USER_LIMIT_REACHED),
        (1, 100, Reason.GLOBAL_LIMIT_REACHED),
        (2, 100, Reason.USER_LIMIT_REACHED),
        (3, 101, Reason.USER_LIMIT_REACHED),
        (0, 101, Reason.GLOBAL_LIMIT_REACHED),
    ],
)
def test_the_limits_at_their_edge(by_user: int, in_all: int, reason: Reason) -> None:
    """Two of a user and a hundred in all run; the next one does not."""
    verdict = limit_decision(Usage(by_user=by_user, in_all=in_all))
    assert verdict.reason is reason
    assert verdict.outcome is (reason is Reason.PLACE_FREE)


def test_the_limits_are_the_policys() -> None:
    """A lowered limit grants nothing new, whatever is held already."""
    low = Policy(max_running_per_user=1, max_running_global=3)
    assert limit_decision(Usage(by_user=0, in_all=2), low).outcome
    assert not limit_decision(Usage(by_user=1, in_all=2), low).outcome
    assert not limit_decision(Usage(by_user=0, in_all=3), low).outcome


def test_a_user_has_no_more_than_all_together() -> None:
    """Counts that contradict one another are refused, with the number that is exceeded."""
    with pytest.raises(InvalidValue) as refused:
        Usage(by_user=4, in_all=3)
    assert str(refused.value) == "Usage.by_user: exceeds the number in all (3)"


@pytest.mark.parametrize(
    ("ws", "expected"),
    [
        (row(), True),
        (row(desired_state=DesiredState.STANDBY), False),
        (row(desired_state=DesiredState.PENDING), False),
        (row(deleted_at=T0), False),
    ],
)
def test_what_the_service_counts(ws: Workspace, expected: bool) -> None:
    """An intent to run counts, unless the workspace is to be deleted."""
    assert wants_place(ws) is expected


GONE: dict[str, Any] = {"deleted_at": T0, "observed_status": ObservedStatus.DELETED}


@pytest.mark.parametrize(
    ("ws", "pass_seq", "expected"),
    [
        (row(), 0, False),
        (row(observed_seq=0), 0, False),
        (row(observed_status=RUNNING), 0, True),
        (row(observed_status=STANDBY), 0, False),
        (busy(Operation.STARTING), 9, True),
        (busy(Operation.STOPPING), 9, True),
        (busy(Operation.ARCHIVING), 9, False),
        (busy(Operation.DELETING, observed_status=RUNNING), 9, True),
        (row(op_ended_seq=4), 0, False),
        (row(op_ended_seq=5), 0, True),
        (row(op_ended_seq=5), 5, True),
        (row(op_ended_seq=5), 6, False),
        (row(op_ended_seq=1, observed_seq=1), 0, True),
        (row(op_ended_seq=5, **GONE), 0, False),
        (row(op_ended_seq=5, **GONE, error_info=error()), 0, True),
    ],
)
def test_what_the_claim_of_a_start_counts(ws: Workspace, pass_seq: int, expected: bool) -> None:
    """A container that runs or may run holds a place, until an observation says otherwise."""
    assert holds_place(ws, pass_seq) is expected


# Exactness: many workspaces, one lock, places asked for and given back in every order.

POLICY = Policy(max_running_per_user=2, max_running_global=5)


def usage(rows: dict[str, Workspace], asks: Workspace, counts: Any) -> Usage:
    """Places taken by others than the one who asks."""
    others = [ws for ws in rows.values() if ws.id != asks.id and counts(ws)]
    mine = sum(ws.owner_id == asks.owner_id for ws in others)
    return Usage(by_user=mine, in_all=len(others))


def moved(ws: Workspace, chance: random.Random, seq: int) -> Workspace:
    """What the system may do to a workspace that holds a place: stop it, look, let it crash."""
    if ws.operation is Operation.STARTING:
        ended = {"operation": Operation.NONE, "op_id": None, "op_started_at": None}
        return changed(ws, **ended, op_ended_seq=seq)
    if holds_place(ws, 0):
        status = chance.choice([STANDBY, RUNNING])
        return attrs.evolve(ws, observed_status=status, observed_seq=seq + 1)
    return ws


@pytest.mark.parametrize("seed", range(5))
def test_neither_intents_nor_places_exceed_a_limit(seed: int) -> None:
    """Whatever the order of requests, starts, crashes and looks, both limits are exact (I13)."""
    chance = random.Random(seed)
    stopped = {"desired_state": DesiredState.STANDBY, "observed_status": STANDBY}
    rows = {f"w{n}": row(id=f"w{n}", owner_id=f"user{n % 4}", **stopped) for n in range(12)}
    full = 0
    for seq in range(10, 1200, 2):
        ws = rows[chance.choice(sorted(rows))]
        match chance.randrange(4):
            case 0:
                verdict = limit_decision(usage(rows, ws, wants_place), POLICY)
                if verdict.outcome:
                    ws = attrs.evolve(ws, desired_state=DesiredState.RUNNING)
            case 1:
                ws = attrs.evolve(ws, desired_state=DesiredState.STANDBY)
            case 2 if ws.operation is Operation.NONE and not holds_place(ws, 0):
                if wants_place(ws):
                    held = usage(rows, ws, lambda other: holds_place(other, 0))
                    if limit_decision(held, POLICY).outcome:
                        starts = {"op_id": "op1", "op_started_at": T0}
                        ws = changed(ws, operation=Operation.STARTING, **starts)
            case _:
                ws = moved(ws, chance, seq)
        rows[ws.id] = ws
        for counts in (wants_place, lambda other: holds_place(other, 0)):
            counted = [each for each in rows.values() if counts(each)]
            by_user = [sum(e.owner_id == f"user{n}" for e in counted) for n in range(4)]
            assert max(by_user) <= POLICY.max_running_per_user
            assert len(counted) <= POLICY.max_running_global
            full += len(counted) == POLICY.max_running_global
    assert full > 0, "the limit was never reached, so nothing was shown"


def test_a_start_without_a_place_waits() -> None:
    """The plan asks for a place, and waits for one without an error."""
    ws = row(observed_status=STANDBY, home=CLEAN)
    assert plan_operation(ws, moment(place_free=True)).outcome is Operation.STARTING
    waiting = plan_operation(ws, moment(place_free=False))
    assert waiting.reason is Reason.NO_FREE_PLACE
