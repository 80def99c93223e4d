"""Single moves, in worlds that are made for them."""

from typing import Any

import pytest

from wsctl_core.model import LAWS, STARTS, Budget, Model, World
from wsctl_core.model.laws import Laws
from wsctl_core.model.naming import canonical
from wsctl_core.model.outside import Answer, land, user_writes
from wsctl_core.model.story import describe
from wsctl_core.model.world import (
    NEW,
    OLD,
    PARTIAL,
    Archive,
    Attempt,
    Call,
    Finding,
    Process,
    Volume,
)
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.states import (
    ContainerPhase,
    HealthStatus,
    ObservedStatus,
    Operation,
)

STANDBY, RUNNING, ARCHIVED = STARTS["standby"], STARTS["running"], STARTS["archived"]
STARTING = STANDBY._replace(row=STANDBY.row._replace(operation=Operation.STARTING, op=0))


def landed(w: World, laws: Laws = LAWS, **call: Any) -> Answer:
    """What a call says when it lands."""
    return land(w, Call(**call), laws)


@pytest.mark.parametrize(
    ("w", "call", "code"),
    [
        (ARCHIVED, {"what": "restore", "inc": 0, "op": 0}, AdapterCode.VOLUME_MISSING),
        (STANDBY, {"what": "restore", "inc": 0, "op": 0}, AdapterCode.ARCHIVE_NOT_FOUND),
        (ARCHIVED, {"what": "create", "inc": 0}, AdapterCode.VOLUME_MISSING),
        (RUNNING, {"what": "create", "inc": 0}, AdapterCode.CONTAINER_EXISTS),
        (RUNNING, {"what": "run", "inc": 0}, AdapterCode.CONTAINER_EXISTS),
        (STANDBY, {"what": "start", "cids": (0,)}, AdapterCode.CONTAINER_START_FAILED),
        (ARCHIVED, {"what": "archive", "inc": 0, "op": 1}, AdapterCode.VOLUME_MISSING),
        (STANDBY, {"what": "confirm", "op": 0}, AdapterCode.ARCHIVE_UNCONFIRMED),
        (RUNNING, {"what": "remove_volume", "inc": 0}, AdapterCode.VOLUME_IN_USE),
        (RUNNING, {"what": "remove_volumes", "incs": (0,)}, AdapterCode.VOLUME_IN_USE),
    ],
)
def test_a_call_that_cannot_do_its_work_says_so(
    w: World, call: dict[str, Any], code: AdapterCode
) -> None:
    """It changes nothing, and names what was wrong."""
    assert landed(w, **call) == Answer(w, code)


@pytest.mark.parametrize(
    ("w", "call"),
    [
        (STANDBY, {"what": "make", "inc": 0}),
        (RUNNING, {"what": "start", "cids": (0,)}),
        (ARCHIVED, {"what": "archive", "inc": 0, "op": 0}),
        (ARCHIVED, {"what": "remove_volume", "inc": 0}),
        (STANDBY, {"what": "remove_containers", "cids": (0,)}),
        (STANDBY, {"what": "collect", "op": 3}),
    ],
)
def test_a_call_whose_work_is_done_is_as_good_as_made(w: World, call: dict[str, Any]) -> None:
    """Actions are idempotent: there already, or gone already, is success."""
    assert landed(w, **call) == Answer(w)


def test_a_corrupt_archive_leaves_a_part_and_is_told() -> None:
    """A restore of what can't be read never looks whole."""
    w = ARCHIVED._replace(
        volumes=(Volume(inc=0),), archives=(Archive(op=0, content=NEW, corrupt=True),)
    )
    answer = landed(w, what="restore", inc=0, op=0)
    assert answer.failed is AdapterCode.CHECKSUM_MISMATCH
    assert answer.world.volumes == (Volume(inc=0, content=PARTIAL),)


def test_writing_makes_every_other_copy_old() -> None:
    """Only the volume in use holds the newest data after a write."""
    w = RUNNING._replace(archives=(Archive(op=0, content=NEW),), hidden=Volume(inc=1, content=NEW))
    written = user_writes(w)
    assert [a.content for a in written.archives] == [OLD]
    assert written.hidden == Volume(inc=1, content=OLD)
    assert ("user_writes", 0, None) in set(Model().events(w))
    assert user_writes(STANDBY) == STANDBY


def test_an_image_that_dies_ends_its_container() -> None:
    """It needs no budget of faults."""
    w = RUNNING._replace(dies=True)
    ended = ("container_ends", 0, "by its image")
    assert ended in set(Model().events(w))
    after = Model().step(w, ended)
    assert [c.phase for c in after.containers] == [ContainerPhase.ENDED]
    assert after.budget == Budget()


def test_an_action_is_not_issued_for_an_operation_that_is_no_longer_ours() -> None:
    """H8: the attempt is dropped, and nothing is called."""
    seen = STARTING.row
    w = STANDBY._replace(active=Process(seen=seen, attempt=Attempt(op=0, done=2)))
    after = Model().step(w, ("carry_out", 0, None))
    assert after.active == Process()
    assert not after.calls


def test_an_old_leader_is_refused_before_it_acts() -> None:
    """H8: it finds that it is no longer the leader, and ends."""
    old = Process(seen=STARTING.row, attempt=Attempt(op=0, done=2))
    after = Model(forget_fenced=False).step(STARTING._replace(deposed=old), ("carry_out", 1, None))
    assert after.deposed is None
    assert not after.calls


def test_a_failure_of_an_operation_that_is_no_longer_ours_is_not_recorded() -> None:
    """The attempt is dropped, and the row stays."""
    failed = Attempt(op=7, failed=AdapterCode.DOCKER_API_ERROR)
    after = Model().step(
        STARTING._replace(active=Process(attempt=failed)), ("record_failure", 0, None)
    )
    assert after.active.attempt is None
    assert after.row == STARTING.row


def test_an_older_finding_changes_nothing() -> None:
    """H19: a monitor's write needs a larger number than the row's."""
    row = RUNNING.row._replace(observed_seq=2)
    finding = Finding(
        number=1,
        changed=True,
        observed=ObservedStatus.PENDING,
        health=HealthStatus.OK,
        suspect=None,
        alarm=False,
    )
    assert Model().decider.found(row, finding, newer_wins=True) == (row, None)
    assert Model().decider.found(row, finding, newer_wins=False)[0] != row


def test_stories_tell_of_failures_and_of_rest() -> None:
    """A read can find that an operation has failed, or that there is nothing to do."""
    late = STARTING._replace(
        row=STARTING.row._replace(op_old=True), active=Process(attempt=Attempt(op=0))
    )
    assert describe(Model(), late, ("read", 0, None)).endswith("fail with Timeout")
    settled = RUNNING._replace(row=RUNNING.row._replace(observed_seq=1), pass_seq=1)
    assert describe(Model(), settled, ("read", 0, None)).endswith("do nothing")


@pytest.mark.parametrize(
    ("call", "kept"),
    [
        (Call("remove_volumes", incs=(0,)), True),
        (Call("remove_volumes", incs=(5,)), False),
        (Call("remove_volumes", incs=(5,), waits=0), True),
        (Call("start", cids=(5,)), False),
        (Call("restore", inc=5, op=0), False),
        (Call("archive", inc=0, op=5), False),
        (Call("collect", op=5), False),
        (Call("confirm", op=0), False),
        (Call("make", inc=5), True),
    ],
)
def test_what_can_have_no_effect_any_more_is_forgotten(call: Call, kept: bool) -> None:
    """A call that nobody waits for, about things that are gone for good, is as good as none."""
    w = canonical(RUNNING._replace(calls=(call,)))
    assert [c.what for c in w.calls] == ([call.what] if kept else [])
