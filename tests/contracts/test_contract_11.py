"""Contract 11, durability: the newest data is never in danger."""

import pytest
from hypothesis import given, settings

from tests.contracts.runs import HAPPENING, newest, reality, without_deletion
from tests.core.builders import (
    ARCHIVED,
    CLEAN,
    CONDEMNED,
    KEY,
    MAKING,
    T0,
    container,
    row,
    volume,
)
from tests.core.tiny_world import TinyWorld
from wsctl_core import CreateContainer, Home, Moment, StartContainer, Workspace, reconcile
from wsctl_core.contracts import Reality, newest_data_is_kept, start_is_safe


def next_action(world: TinyWorld) -> object:
    """What the reconciler would do now."""
    moment = Moment(now=world.now, fresh_id="peek", pass_seq=world.pass_seq)
    return getattr(reconcile(world.ws, moment, world.held), "action", None)


@given(events=without_deletion)
@settings(max_examples=80)
def test_the_newest_data_survives_every_run(events: list[str]) -> None:
    """Through crashes, failures and changes of mind, the row names where the newest data is."""
    world, text = TinyWorld(), ""
    world.settle()
    for event in events:
        for _ in range(8 if event == "several steps" else 1):
            action = next_action(world)
            HAPPENING["step" if event == "several steps" else event](world)
            if event == "work" and world.ws.home.incarnation in world.volumes:
                text = world.home() if world.containers else text
            assert newest_data_is_kept(world.ws, reality(world, text)) is None
            if isinstance(action, StartContainer | CreateContainer) and text:
                incarnation = str(world.ws.home.incarnation)
                assert start_is_safe(world.ws, incarnation, reality(world, text)) is None


def holding(*names: str) -> Reality:
    """A world in which these hold the newest data."""
    return Reality(volumes=(volume(),), newest=frozenset(names))


@pytest.mark.parametrize(
    ("ws", "names", "kept"),
    [
        (row(home=CLEAN), ["i1"], True),
        (row(home=CONDEMNED), ["i1"], True),
        (row(home=MAKING), ["i1"], False),
        (row(home=CLEAN), ["i2"], False),
        (row(home=CLEAN), [], False),
        (row(**ARCHIVED), [KEY], True),
        (row(), [KEY], False),
        (row(home=MAKING, **ARCHIVED), [KEY], True),
        (row(deleted_at=T0), [], True),
    ],
)
def test_data_that_no_name_leads_to_is_rejected(
    ws: Workspace, names: list[str], kept: bool
) -> None:
    """The newest data counts only in a READY or CONDEMNED home, or in the row's archive."""
    told = "the newest data is in neither the home nor the archive that the row names"
    assert newest_data_is_kept(ws, holding(*names)) == (None if kept else told)
    assert newest_data_is_kept(ws, Reality(excused=True)) is None


@pytest.mark.parametrize(
    ("home", "incarnation", "exists", "told"),
    [
        (CLEAN, "i1", holding("i1"), None),
        (CLEAN, "i2", holding("i1"), "a container starts on a volume that is not the home"),
        (MAKING, "i1", holding("i1"), "a container starts on a home that is MAKING"),
        (CONDEMNED, "i1", holding("i1"), "a container starts on a home that is CONDEMNED"),
        (
            CLEAN,
            "i1",
            Reality(containers=(container(),), newest=frozenset({"i1"})),
            "a container starts on a volume that is not there, or not ours",
        ),
        (
            CLEAN,
            "i1",
            holding(KEY),
            "a container starts on a home that holds less than the newest data",
        ),
    ],
)
def test_an_unsafe_start_is_rejected(
    home: Home, incarnation: str, exists: Reality, told: str | None
) -> None:
    """A start on a stray, on an unfinished or condemned home, or on old data is rejected (H14)."""
    assert start_is_safe(row(home=home), incarnation, exists) == told


def test_where_the_newest_data_is() -> None:
    """The run's own bookkeeping finds every copy of a text."""
    world = TinyWorld()
    world.volumes, world.archives = {"i1": "a", "i2": "b"}, {KEY: "a"}
    assert newest(world, "a") == {"i1", KEY}
