"""`next_action`: the stages of each operation, in the specification's order."""

from typing import Any

import attrs
import pytest

from tests.core.builders import (
    ARCHIVED,
    CLEAN,
    CONDEMNED,
    DIRTY,
    KEY,
    MAKING,
    RECEIPT,
    SHA,
    attempt,
    busy,
    moment,
)
from wsctl_core import (
    NEXT_NUMBER,
    NO_HOME,
    Action,
    ActionKind,
    ArchiveHome,
    ArchiveReceipt,
    ConfirmArchive,
    CreateContainer,
    DeleteContainers,
    DeleteVolume,
    DeleteVolumes,
    Home,
    HomeState,
    InvalidValue,
    MakeVolume,
    Operation,
    Policy,
    Progress,
    ReconcilerPatch,
    Record,
    RestoreHome,
    SetIdleTimer,
    StartContainer,
    Workspace,
    apply,
    next_action,
    stage_done,
)
from wsctl_core.decisions.operations import OPERATIONS
from wsctl_core.decisions.stepping import make_action, next_stage

STORED = ArchiveReceipt(key=KEY, sha256=SHA, size=12)
D = DeleteContainers(grace_seconds=10)
FRESH_MAKING = Home(state=HomeState.MAKING, incarnation="fresh")


def record(kind: ActionKind, **columns: Any) -> Record:
    """A write among the actions."""
    return Record(kind=kind, patch=ReconcilerPatch(**columns))


ACTED = record(ActionKind.RECORD_ACTED, op_acted_seq=NEXT_NUMBER)


def carried_out(ws: Workspace, progress: Progress) -> list[Action]:
    """All actions of an attempt, each succeeding, with the writes among them applied."""
    actions: list[Action] = []
    while (action := next_action(ws, progress, moment())) is not None:
        actions.append(action)
        place = next_stage(ws, progress)
        assert place is not None
        progress = stage_done(
            attrs.evolve(progress, done=place + 1),
            container_id="c1" if isinstance(action, CreateContainer) else None,
            receipt=RECEIPT if isinstance(action, ArchiveHome) else None,
        )
        if isinstance(action, Record):
            ws = apply(ws, action.patch, next_number=9)
    return actions


SAVED = record(
    ActionKind.SAVE_ARCHIVE,
    archive_key=RECEIPT.key,
    archive_sha256=RECEIPT.sha256,
    archive_size=RECEIPT.size,
    home=CONDEMNED,
)

WHOLE: list[tuple[Workspace, list[Action]]] = [
    (
        busy(Operation.PROVISIONING),
        [
            D,
            record(ActionKind.RECORD_MAKING, home=FRESH_MAKING),
            MakeVolume(incarnation="fresh"),
            ACTED,
        ],
    ),
    (
        busy(Operation.RESTORING, **ARCHIVED),
        [
            D,
            record(ActionKind.RECORD_MAKING, home=FRESH_MAKING),
            MakeVolume(incarnation="fresh"),
            RestoreHome(incarnation="fresh", archive=STORED),
            record(ActionKind.SAVE_MARKER, home=attrs.evolve(FRESH_MAKING, restore_marker=KEY)),
            ACTED,
        ],
    ),
    (
        busy(Operation.STARTING, home=CLEAN, standby_ttl_seconds=77),
        [
            D,
            record(ActionKind.RECORD_DIRTY, home=DIRTY),
            CreateContainer(incarnation="i1"),
            StartContainer(container_id="c1"),
            SetIdleTimer(seconds=77),
            ACTED,
        ],
    ),
    (busy(Operation.STOPPING, home=DIRTY), [D, ACTED]),
    (
        busy(Operation.ARCHIVING, home=DIRTY),
        [
            D,
            ArchiveHome(incarnation="i1", key=RECEIPT.key),
            ConfirmArchive(archive=RECEIPT),
            SAVED,
            D,
            DeleteVolume(incarnation="i1"),
            ACTED,
        ],
    ),
    (
        busy(Operation.ARCHIVING, home=MAKING),
        [
            record(ActionKind.RECORD_CONDEMNED, home=CONDEMNED),
            D,
            DeleteVolume(incarnation="i1"),
            ACTED,
        ],
    ),
    (
        busy(Operation.ARCHIVING, home=CONDEMNED, **ARCHIVED),
        [D, DeleteVolume(incarnation="i1"), ACTED],
    ),
    (busy(Operation.DELETING, home=DIRTY), [D, DeleteVolumes(), ACTED]),
    (busy(Operation.DELETING), [D, DeleteVolumes(), ACTED]),
]


@pytest.mark.parametrize(
    ("ws", "expected"),
    WHOLE,
    ids=[f"{ws.operation}-{ws.home.state}" for ws, _ in WHOLE],
)
def test_an_operation_from_its_first_action(ws: Workspace, expected: list[Action]) -> None:
    """Every operation carries out the actions of section 4.4, in that order."""
    assert carried_out(ws, attempt()) == expected


@pytest.mark.parametrize("done", range(7))
def test_an_attempt_goes_on_where_it_is(done: int) -> None:
    """The next action is the first stage that is not behind the attempt."""
    ws = busy(Operation.RESTORING, home=MAKING, **ARCHIVED)
    kinds = [stage.action for stage in OPERATIONS[Operation.RESTORING].stages]
    held = attempt(done)
    if done == len(kinds):
        assert next_action(ws, held, moment()) is None
    else:
        assert next_stage(ws, held) == done
        assert next_action(ws, held, moment()) == make_action(kinds[done], ws, held, moment())


def test_archiving_resumed_after_the_key_was_saved() -> None:
    """A new attempt that finds the volume condemned only finishes the deletion (H4)."""
    ws = busy(Operation.ARCHIVING, home=CONDEMNED, **ARCHIVED)
    assert carried_out(ws, attempt())[0] == D
    assert not any(isinstance(a, ArchiveHome) for a in carried_out(ws, attempt()))


IN_EACH_STATE = {
    Operation.PROVISIONING: {
        "MAKING": "DELETE_CONTAINERS RECORD_MAKING MAKE_VOLUME RECORD_ACTED",
        "": "DELETE_CONTAINERS RECORD_MAKING RECORD_ACTED",
    },
    Operation.RESTORING: {
        "MAKING": "DELETE_CONTAINERS RECORD_MAKING MAKE_VOLUME RESTORE_HOME SAVE_MARKER "
        "RECORD_ACTED",
        "": "DELETE_CONTAINERS RECORD_MAKING RECORD_ACTED",
    },
    Operation.STARTING: {
        "READY": "DELETE_CONTAINERS RECORD_DIRTY CREATE_CONTAINER START_CONTAINER SET_IDLE_TIMER "
        "RECORD_ACTED",
        "": "DELETE_CONTAINERS SET_IDLE_TIMER RECORD_ACTED",
    },
    Operation.STOPPING: {"": "DELETE_CONTAINERS RECORD_ACTED"},
    Operation.ARCHIVING: {
        "READY": "DELETE_CONTAINERS ARCHIVE_HOME CONFIRM_ARCHIVE SAVE_ARCHIVE RECORD_ACTED",
        "MAKING": "RECORD_CONDEMNED RECORD_ACTED",
        "CONDEMNED": "DELETE_CONTAINERS DELETE_VOLUME RECORD_ACTED",
        "": "RECORD_ACTED",
    },
    Operation.DELETING: {"": "DELETE_CONTAINERS DELETE_VOLUMES RECORD_ACTED"},
}
"""Which stages a home that stays in one state calls for; the empty word stands for the rest."""


@pytest.mark.parametrize("operation", IN_EACH_STATE)
@pytest.mark.parametrize("home", [NO_HOME, MAKING, CLEAN, DIRTY, CONDEMNED])
def test_each_state_of_the_home_calls_for_its_stages(operation: Operation, home: Home) -> None:
    """No volume is made, filled, used, archived or deleted that is not in the state for it."""
    ws = busy(operation, home=home, **ARCHIVED)
    kinds, held = [], attempt()
    while (place := next_stage(ws, held)) is not None:
        kinds.append(OPERATIONS[operation].stages[place].action.value)
        held = attempt(place + 1)
    expected = IN_EACH_STATE[operation]
    assert " ".join(kinds) == expected.get(home.state.value, expected[""])


def test_a_home_given_up_is_not_touched() -> None:
    """Stages that need a home are left out when its loss was accepted."""
    ws = busy(Operation.ARCHIVING, home=CONDEMNED, loss_accepted="i1")
    assert carried_out(ws, attempt()) == [ACTED]
    starting = busy(Operation.STARTING, home=MAKING)
    assert carried_out(starting, attempt()) == [D, SetIdleTimer(seconds=300), ACTED]


def test_a_new_attempt_names_a_new_volume() -> None:
    """Each attempt at a home records its own incarnation, without marker or dirt (H2, H15)."""
    old = Home(state=HomeState.READY, incarnation="i1", restore_marker=KEY)
    ws = busy(Operation.RESTORING, home=old, **ARCHIVED)
    action = next_action(ws, attempt(1), moment(fresh_id="i8"))
    assert action == record(
        ActionKind.RECORD_MAKING, home=Home(state=HomeState.MAKING, incarnation="i8")
    )


def test_the_marker_and_the_dirt_keep_the_rest_of_the_home() -> None:
    """Saving a marker, dirt or a sentence changes that much of the home, and nothing else."""
    restored = Home(state=HomeState.READY, incarnation="i1", restore_marker=KEY)
    ws = busy(Operation.STARTING, home=restored)
    dirtied = next_action(ws, attempt(1), moment())
    assert dirtied == record(ActionKind.RECORD_DIRTY, home=attrs.evolve(restored, dirty=True))
    used = attrs.evolve(restored, dirty=True)
    saved = next_action(busy(Operation.ARCHIVING, home=used), attempt(3, receipt=RECEIPT), moment())
    assert isinstance(saved, Record)
    assert saved.patch.home == Home(state=HomeState.CONDEMNED, incarnation="i1", restore_marker=KEY)


def test_the_grace_is_the_policys() -> None:
    """Containers are asked to end for as long as the policy says."""
    now = moment(policy=Policy(stop_grace_seconds=3))
    action = next_action(busy(Operation.STOPPING), attempt(), now)
    assert action == DeleteContainers(grace_seconds=3)


def test_the_archive_key_is_of_this_operation() -> None:
    """The same workspace and operation archive to the same key (contract 7)."""
    ws = busy(Operation.ARCHIVING, home=DIRTY, **ARCHIVED)
    first = next_action(ws, attempt(1), moment())
    assert first == next_action(ws, attempt(1), moment(5, fresh_id="other"))
    assert first == ArchiveHome(incarnation="i1", key="archives/w1/op1/home.tar.gz")


@pytest.mark.parametrize(
    ("kind", "owner", "field", "problem"),
    [
        (ActionKind.MAKE_VOLUME, "Workspace", "home", "this action needs an incarnation"),
        (ActionKind.RESTORE_HOME, "Workspace", "home", "this action needs an incarnation"),
        (ActionKind.CREATE_CONTAINER, "Workspace", "home", "this action needs an incarnation"),
        (ActionKind.ARCHIVE_HOME, "Workspace", "home", "this action needs an incarnation"),
        (ActionKind.DELETE_VOLUME, "Workspace", "home", "this action needs an incarnation"),
        (ActionKind.SAVE_MARKER, "Workspace", "archive_key", "a restore needs an archive"),
        (ActionKind.CONFIRM_ARCHIVE, "Progress", "receipt", "the archive has not been written yet"),
        (ActionKind.SAVE_ARCHIVE, "Progress", "receipt", "the archive has not been written yet"),
        (
            ActionKind.START_CONTAINER,
            "Progress",
            "container_id",
            "no container has been created yet",
        ),
    ],
)
def test_an_action_without_its_identity_is_refused(
    kind: ActionKind, owner: str, field: str, problem: str
) -> None:
    """An action that lacks what it acts on is not made, and the error names what is missing."""
    ws = busy(Operation.RESTORING, home=NO_HOME)
    with pytest.raises(InvalidValue) as refused:
        make_action(kind, ws, attempt(), moment())
    assert (refused.value.owner, refused.value.field) == (owner, field)
    assert refused.value.problem == problem


def test_a_restore_without_an_archive_is_refused() -> None:
    """An incarnation alone does not make a restore."""
    with pytest.raises(InvalidValue, match="a restore needs an archive"):
        make_action(
            ActionKind.RESTORE_HOME, busy(Operation.RESTORING, home=MAKING), attempt(), moment()
        )


def test_what_an_action_yields_is_kept() -> None:
    """Success ends the running action and keeps what this and earlier actions yielded."""
    under_way = attempt(3, running=True)
    created = stage_done(under_way, container_id="c1")
    assert created == attempt(3, container_id="c1")
    written = stage_done(attrs.evolve(created, running=True), receipt=RECEIPT)
    assert written == attempt(3, container_id="c1", receipt=RECEIPT)
    assert stage_done(attrs.evolve(written, running=True)) == written
    assert stage_done(written, container_id="c2").container_id == "c2"


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_ends_by_taking_a_number(operation: Operation) -> None:
    """The last stage of every operation records the number after which it may be complete."""
    stages = OPERATIONS[operation].stages
    assert [s.action for s in stages].index(ActionKind.RECORD_ACTED) == len(stages) - 1
    assert stages[-1].home == frozenset(HomeState)
