"""Hazards that one workspace in the model can't show: each with its rule, and without it.

H33's rules on installations and rows are in `test_collection.py`, H31's in `test_ttl.py`.
"""

from datetime import datetime, timedelta
from itertools import product
from typing import Any

import attrs
import pytest

from tests.core.builders import ARCHIVED, CLEAN, DIRTY, KEY, OTHER_KEY, T0, after, moment, row
from wsctl_core import (
    UNKNOWN_ACTIVITY,
    DesiredState,
    Keep,
    ObservedStatus,
    Operation,
    Policy,
    StoredArchive,
    Ttl,
    Usage,
    Workspace,
    archive_ttl_decision,
    gc_decision,
    holds_place,
    limit_decision,
    plan_operation,
    standby_ttl_decision,
)
from wsctl_core.contracts import within_limits
from wsctl_core.decisions import collection, ttl


def without(patch: pytest.MonkeyPatch, module: Any, table: str, *rows: str) -> None:
    """Take rows out of a table of production."""
    whole = getattr(module, table)
    left = tuple(rule for rule in whole.rules if rule.name not in rows)
    assert len(left) == len(whole.rules) - len(rows)
    patch.setattr(module, table, attrs.evolve(whole, rules=left))


@pytest.mark.parametrize("home", [CLEAN, DIRTY])
def test_h18_a_marker_that_differs_from_the_key_does_not_mean_partial(home: Any) -> None:
    """Whatever its marker says, a READY home is whole: the plan never depends on it."""
    for desired, observed in product(DesiredState, ("PENDING", "STANDBY", "RUNNING")):
        plans = {
            plan_operation(
                row(
                    desired_state=desired,
                    observed_status=ObservedStatus(observed),
                    home=attrs.evolve(home, restore_marker=marker),
                    **ARCHIVED,
                ),
                moment(),
            )
            for marker in (None, KEY, OTHER_KEY)
        }
        assert len(plans) == 1


def in_use() -> Workspace:
    """Running for an hour, wanted so."""
    return row(observed_status=ObservedStatus.RUNNING, home=DIRTY, started_at=T0)


def test_h30_an_emptied_redis_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unknown activity keeps a workspace up; without that row, every active one looks idle."""
    judged = standby_ttl_decision(in_use(), UNKNOWN_ACTIVITY, after(3600))
    assert judged.outcome is Ttl.SKIP
    without(monkeypatch, ttl, "STANDBY_TTL", "S6")
    judged = standby_ttl_decision(in_use(), UNKNOWN_ACTIVITY, after(3600))
    assert judged.outcome is Ttl.TO_STANDBY


def test_h31_a_container_that_died_by_itself_is_not_archived_at_once() -> None:
    """A newer intent counts as use, where no STOPPING has set the last access."""
    week = timedelta(seconds=604800)
    ws = row(
        desired_state=DesiredState.STANDBY,
        observed_status=ObservedStatus.STANDBY,
        home=DIRTY,
        intent_changed_at=T0 + week,
    )
    assert archive_ttl_decision(ws, T0 + week + timedelta(hours=1)).outcome is Ttl.SKIP
    older = attrs.evolve(ws, intent_changed_at=T0)
    later = T0 + week + timedelta(hours=1)
    assert archive_ttl_decision(older, later).outcome is Ttl.TO_PENDING


STOPPING = row(
    observed_status=ObservedStatus.STANDBY,
    operation=Operation.STOPPING,
    op_id="op1",
    op_started_at=T0,
    home=DIRTY,
)
STOPPED_UNSEEN = row(observed_status=ObservedStatus.STANDBY, op_ended_seq=7, home=DIRTY)


@pytest.mark.parametrize("leaving", [STOPPING, STOPPED_UNSEEN])
def test_h32_a_third_container_does_not_start_while_one_stops(leaving: Workspace) -> None:
    """Who is stopping, or was not seen to have stopped, still holds its place."""
    others = [in_use(), leaving]

    def may_start(counts: Any) -> bool:
        held = sum(counts(ws) for ws in others)
        return limit_decision(Usage(by_user=held, in_all=held)).outcome

    assert not may_start(lambda ws: holds_place(ws, pass_seq=6))
    assert may_start(lambda ws: ws.observed_status is ObservedStatus.RUNNING)
    third = attrs.evolve(in_use(), operation=Operation.STARTING, op_id="op2", op_started_at=T0)
    assert within_limits([*others, third], pass_seq=6, policy=Policy()) is not None


@pytest.mark.parametrize(
    ("rule", "installation", "ws"),
    [("G2", "elsewhere", row()), ("G3", "here", None)],
)
def test_h33_what_is_not_ours_or_has_no_row_is_kept(
    rule: str, installation: str, ws: Workspace | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database from a backup, or a second installation, deletes nothing of anyone's."""
    found = StoredArchive(key=OTHER_KEY, installation=installation, stored_at=T0)

    def judged(now: datetime) -> Keep:
        return gc_decision(found, ws, installation="here", now=now).outcome

    assert judged(after(86400)) is Keep.KEEP
    without(monkeypatch, collection, "GC", rule)
    assert judged(after(86400)) is Keep.REMOVE
