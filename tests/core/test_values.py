"""Values refuse nonsense where they are made, and patches write what they say."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.builders import (
    ARCHIVED,
    CLEAN,
    DIRTY,
    KEY,
    MAKING,
    SHA,
    T0,
    after,
    busy,
    changed,
    container,
    error,
    row,
    volume,
)
from tests.strategies import workspaces
from wsctl_core import (
    COLUMN_WRITER,
    NEXT_NUMBER,
    NO_HOME,
    UNKNOWN,
    UNKNOWN_ACTIVITY,
    UNSET,
    Activity,
    AdapterCode,
    Alarm,
    ArchiveReceipt,
    ClaimGuard,
    ContainerPhase,
    ContainerSeen,
    DesiredState,
    ErrorInfo,
    ErrorReason,
    Failure,
    FoundContainer,
    FoundVolume,
    HealthStatus,
    Home,
    HomeState,
    IntentPatch,
    InvalidValue,
    LastExit,
    Moment,
    MonitorPatch,
    Observation,
    ObservedStatus,
    Operation,
    OperationGuard,
    Policy,
    Progress,
    ReconcilerPatch,
    Recovery,
    Stamp,
    StoredArchive,
    Suspect,
    SuspectKind,
    Usage,
    VolumeSeen,
    Workspace,
    Writer,
    apply,
    archive_key,
    changes,
    container_name,
    effective_home,
    effective_seq,
    finished_deleting,
    in_error,
    is_terminal,
    parse_archive_key,
    reason_of_code,
    usable_archive,
    volume_name,
)

NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001  # the point is that it has no zone

STAMP: dict[str, Any] = {
    "installation": "here",
    "workspace_id": "w1",
    "incarnation": "i1",
    "seq": 1,
}
MAKERS: dict[str, Callable[..., Any]] = {
    "Activity": Activity,
    "ArchiveReceipt": lambda **bad: ArchiveReceipt(**{"key": "k", "sha256": SHA, "size": 1, **bad}),
    "StoredArchive": lambda **bad: StoredArchive(
        **{"key": "k", "installation": None, "stored_at": T0, **bad}
    ),
    "Stamp": lambda **bad: Stamp(**{**STAMP, **bad}),
    "FoundContainer": lambda **bad: FoundContainer(
        **{"stamp": Stamp(**STAMP), "seen": container(), **bad}
    ),
    "FoundVolume": lambda **bad: FoundVolume(**{"stamp": Stamp(**STAMP), "seen": volume(), **bad}),
    "Failure": lambda **bad: Failure(**{"reason": ErrorReason.TIMEOUT, "message": "m", **bad}),
    "ErrorInfo": lambda **bad: ErrorInfo(
        **{
            "reason": ErrorReason.TIMEOUT,
            "message": "m",
            "is_terminal": True,
            "operation": Operation.STARTING,
            "error_count": 1,
            "occurred_at": T0,
            **bad,
        }
    ),
    "Suspect": lambda **bad: Suspect(
        **{"what": SuspectKind.HOME_MISSING, "identity": "i1", "seq": 1, **bad}
    ),
    "LastExit": lambda **bad: LastExit(**{"exit_code": 0, "at": T0, **bad}),
    "ContainerSeen": lambda **bad: ContainerSeen(
        **{"id": "c1", "incarnation": "i1", "phase": ContainerPhase.RUNNING, **bad}
    ),
    "VolumeSeen": lambda **bad: VolumeSeen(**{"name": "v", "incarnation": None, **bad}),
    "Observation": lambda **bad: Observation(**{"seq": 1, "began_at": T0, **bad}),
    "Progress": lambda **bad: Progress(**{"op_id": "op1", **bad}),
    "Moment": lambda **bad: Moment(**{"now": T0, "fresh_id": "f", **bad}),
    "Usage": lambda **bad: Usage(**{"by_user": 0, "in_all": 0, **bad}),
    "Home": lambda **bad: Home(**{"state": HomeState.READY, "incarnation": "i1", **bad}),
    "Workspace": row,
    "Policy": Policy,
}

SOME_EXIT = LastExit(exit_code=1, at=T0)
WHOLE = [-1, 1.0, True, "1", None]
POSITIVE = [0, *WHOLE]
TRUTH = [1, 0, "yes", None]
MOMENT = [NAIVE, "2026-01-01", 0]
TEXT = ["", "  ", 7]
IDENTITY = ["", "a b", "-a", "a/b", "x" * 101, 7]

WHOLE_OF_POLICY = ["stop_grace_seconds"]
POSITIVE_OF_POLICY = [
    field.name
    for field in attrs.fields(Policy)
    if field.type is int and field.name not in WHOLE_OF_POLICY
]

REFUSED: list[tuple[str, str, list[Any]]] = [
    ("Activity", "known", TRUTH),
    ("Activity", "connections", WHOLE),
    ("Activity", "kept_alive", TRUTH),
    ("Activity", "idle_timer", TRUTH),
    ("ArchiveReceipt", "key", [*TEXT, None]),
    ("ArchiveReceipt", "sha256", ["5E" * 32, "5e" * 31, SHA + "0", "", None]),
    ("ArchiveReceipt", "size", WHOLE),
    ("StoredArchive", "key", [*TEXT, None]),
    ("StoredArchive", "installation", TEXT),
    ("StoredArchive", "stored_at", [*MOMENT, None]),
    ("StoredArchive", "incarnation", TEXT),
    ("StoredArchive", "seq", [-1, 1.5, True]),
    ("StoredArchive", "stored_size", [-1, 1.5, True]),
    ("Stamp", "installation", [*IDENTITY, None]),
    ("Stamp", "workspace_id", [*IDENTITY, None]),
    ("Stamp", "incarnation", [*IDENTITY, None]),
    ("Stamp", "seq", WHOLE),
    ("FoundContainer", "stamp", ["s", None]),
    ("FoundContainer", "seen", ["c", None]),
    ("FoundVolume", "stamp", ["s", None]),
    ("FoundVolume", "seen", ["v", None]),
    ("Failure", "reason", ["Timeout", None]),
    ("Failure", "message", [*TEXT, None]),
    ("ErrorInfo", "reason", ["Timeout", None]),
    ("ErrorInfo", "message", [*TEXT, None]),
    ("ErrorInfo", "is_terminal", TRUTH),
    ("ErrorInfo", "operation", ["STARTING", None]),
    ("ErrorInfo", "error_count", WHOLE),
    ("ErrorInfo", "occurred_at", [*MOMENT, None]),
    ("Suspect", "what", ["HOME_MISSING", None]),
    ("Suspect", "identity", [*IDENTITY, None]),
    ("Suspect", "seq", WHOLE),
    ("LastExit", "exit_code", [-256, 1.5, True, None]),
    ("LastExit", "out_of_memory", TRUTH),
    ("LastExit", "at", [*MOMENT, None]),
    ("ContainerSeen", "id", [*IDENTITY, None]),
    ("ContainerSeen", "incarnation", IDENTITY),
    ("ContainerSeen", "phase", ["RUNNING", None]),
    ("ContainerSeen", "exit", [0, SOME_EXIT]),
    ("VolumeSeen", "name", [*TEXT, None]),
    ("VolumeSeen", "incarnation", IDENTITY),
    ("Observation", "seq", WHOLE),
    ("Observation", "began_at", [*MOMENT, None]),
    ("Observation", "containers", [None, [], "c1"]),
    ("Observation", "volumes", [None, [], "v1"]),
    ("Progress", "op_id", [*IDENTITY, None]),
    ("Progress", "done", WHOLE),
    ("Progress", "running", TRUTH),
    ("Progress", "container_id", IDENTITY),
    ("Progress", "receipt", ["a receipt", 1]),
    ("Moment", "now", [*MOMENT, None]),
    ("Moment", "fresh_id", [*IDENTITY, None]),
    ("Moment", "pass_seq", WHOLE),
    ("Moment", "place_free", TRUTH),
    ("Moment", "policy", [None, {}]),
    ("Usage", "by_user", [*WHOLE, 1]),
    ("Usage", "in_all", WHOLE),
    ("Home", "state", ["READY", None]),
    ("Home", "incarnation", [*IDENTITY, None]),
    ("Home", "restore_marker", TEXT),
    ("Home", "dirty", TRUTH),
    ("Workspace", "id", [*IDENTITY, None]),
    ("Workspace", "owner_id", [*TEXT, None]),
    ("Workspace", "name", [*TEXT, None]),
    ("Workspace", "image", [*TEXT, None]),
    ("Workspace", "created_at", [*MOMENT, None]),
    ("Workspace", "created_seq", WHOLE),
    ("Workspace", "desired_state", ["RUNNING", ObservedStatus.RUNNING, None]),
    ("Workspace", "deleted_at", MOMENT),
    ("Workspace", "intent_version", WHOLE),
    ("Workspace", "intent_changed_at", [*MOMENT, None]),
    ("Workspace", "loss_accepted", TEXT),
    ("Workspace", "standby_ttl_seconds", POSITIVE),
    ("Workspace", "archive_ttl_seconds", POSITIVE),
    ("Workspace", "observed_status", ["RUNNING", None, ObservedStatus.DELETED]),
    ("Workspace", "health_status", ["OK", None]),
    ("Workspace", "observed_at", MOMENT),
    ("Workspace", "observed_seq", WHOLE),
    ("Workspace", "suspect", ["HOME_MISSING"]),
    ("Workspace", "last_exit", [1]),
    ("Workspace", "operation", ["STARTING", None]),
    ("Workspace", "op_id", IDENTITY),
    ("Workspace", "op_started_at", MOMENT),
    ("Workspace", "op_acted_seq", [-1, 1.0, True, 3]),
    ("Workspace", "op_ended_seq", WHOLE),
    ("Workspace", "archive_key", TEXT),
    ("Workspace", "archive_sha256", ["zz", SHA]),
    ("Workspace", "archive_size", [-1, 1.0, True, 1]),
    ("Workspace", "home", [None, {}]),
    ("Workspace", "error_count", WHOLE),
    ("Workspace", "error_info", ["it failed"]),
    ("Workspace", "next_attempt_at", MOMENT),
    ("Workspace", "restart_count", WHOLE),
    ("Workspace", "started_at", MOMENT),
    ("Workspace", "previous_status", ["RUNNING"]),
    ("Workspace", "last_access_at", [*MOMENT, None]),
    *[("Policy", name, POSITIVE) for name in POSITIVE_OF_POLICY],
    *[("Policy", name, WHOLE) for name in WHOLE_OF_POLICY],
    ("Policy", "restart_delays_seconds", [(), (0, -1), (600,), (1.5,), (True,), None, "0"]),
    ("Policy", "gc_grace_seconds", [1800]),
    ("Policy", "retry_longest_seconds", [29]),
    ("Policy", "max_running_per_user", [101]),
]


@pytest.mark.parametrize(
    ("owner", "field", "bad"),
    [(owner, field, bad) for owner, field, cases in REFUSED for bad in cases],
)
def test_nonsense_is_refused_by_name(owner: str, field: str, bad: object) -> None:
    """A value of the wrong kind or out of bounds is refused, and the error names the field."""
    with pytest.raises(InvalidValue) as refused:
        MAKERS[owner](**{field: bad})
    assert (refused.value.owner, refused.value.field) == (owner, field)
    assert str(refused.value) == f"{owner}.{field}: {refused.value.problem}"


@pytest.mark.parametrize("owner", MAKERS)
def test_every_field_has_its_refusals(owner: str) -> None:
    """No validated field of a value is missing in the table above."""
    made = MAKERS[owner]()
    fields = {field.name for field in attrs.fields(type(made)) if field.validator is not None}
    assert fields <= {field for name, field, _ in REFUSED if name == owner}


@pytest.mark.parametrize("owner", MAKERS)
def test_values_are_frozen(owner: str) -> None:
    """A value never changes once it is made."""
    made = MAKERS[owner]()
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        setattr(made, attrs.fields(type(made))[0].name, None)


def test_limits_that_are_still_allowed() -> None:
    """The smallest values that make sense can be made."""
    assert LastExit(exit_code=-255, at=T0).exit_code == -255
    assert Policy(stop_grace_seconds=0).stop_grace_seconds == 0
    assert Policy(gc_grace_seconds=1801).gc_grace_seconds == 1801
    assert Policy(retry_longest_seconds=30).retry_longest_seconds == 30
    assert Policy(max_running_per_user=100).max_running_per_user == 100
    assert Policy(restart_delays_seconds=(0, 599)).restart_delays_seconds == (0, 599)
    assert Usage(by_user=1, in_all=1).by_user == 1
    assert row(id="a" * 100).id == "a" * 100


# What fields say together.


@pytest.mark.parametrize(
    ("field", "columns"),
    [
        ("incarnation", {"state": HomeState.NONE}),
        ("restore_marker", {"state": HomeState.NONE, "incarnation": None, "restore_marker": KEY}),
        ("incarnation", {"state": HomeState.MAKING, "incarnation": None}),
        ("incarnation", {"state": HomeState.CONDEMNED, "incarnation": None}),
        ("dirty", {"state": HomeState.NONE, "incarnation": None, "dirty": True}),
        ("dirty", {"state": HomeState.MAKING, "dirty": True}),
        ("dirty", {"state": HomeState.CONDEMNED, "dirty": True}),
    ],
)
def test_a_home_that_makes_no_sense(field: str, columns: dict[str, Any]) -> None:
    """NONE has nothing, every other state an incarnation, and READY alone is ever dirty."""
    with pytest.raises(InvalidValue) as refused:
        MAKERS["Home"](**columns)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("field", "columns"),
    [
        ("op_id", {"operation": Operation.STARTING, "op_started_at": T0}),
        ("op_started_at", {"operation": Operation.STARTING, "op_id": "op1"}),
        ("op_acted_seq", {"op_acted_seq": 3, "op_id": "op1"}),
        ("archive_sha256", {**ARCHIVED, "archive_sha256": None}),
        ("archive_size", {**ARCHIVED, "archive_size": None}),
        ("archive_sha256", {**ARCHIVED, "archive_key": None}),
        ("observed_status", {"observed_status": ObservedStatus.DELETED}),
    ],
)
def test_a_row_that_makes_no_sense(field: str, columns: dict[str, Any]) -> None:
    """Columns that belong together are there together, or the row is refused."""
    with pytest.raises(InvalidValue) as refused:
        row(**columns)
    assert refused.value.field == field


def test_a_row_may_keep_the_op_id_of_its_last_operation() -> None:
    """At rest an op_id may stay: it protects its archive from collection."""
    assert row(op_id="op1").operation is Operation.NONE
    deleted = row(deleted_at=T0, observed_status=ObservedStatus.DELETED)
    assert deleted.observed_status is ObservedStatus.DELETED


def test_a_policy_is_as_patient_as_its_longest_timeout() -> None:
    """A grace that any one timeout reaches is refused, whichever operation it is for."""
    for field in attrs.fields(Policy):
        if field.name.endswith("timeout_seconds") and field.init:
            with pytest.raises(InvalidValue, match="gc_grace_seconds"):
                MAKERS["Policy"](**{field.name: 7200})
            assert MAKERS["Policy"](**{field.name: 7199}).gc_grace_seconds == 7200


@pytest.mark.parametrize("bad", [[0], 5])
def test_restart_delays_are_a_tuple(bad: Any) -> None:
    """Waits that are no tuple are refused by name."""
    with pytest.raises(InvalidValue, match="restart_delays_seconds"):
        Policy(restart_delays_seconds=bad)


def test_a_policy_knows_every_operations_timeout() -> None:
    """The timeouts by operation are those that the specification's table gives."""
    minutes = {
        operation.value: t.total_seconds() / 60 for operation, t in Policy().timeouts.items()
    }
    assert minutes == {
        "PROVISIONING": 5,
        "RESTORING": 30,
        "STARTING": 5,
        "STOPPING": 5,
        "ARCHIVING": 30,
        "DELETING": 10,
    }
    quick = Policy(stopping_timeout_seconds=7).timeouts[Operation.STOPPING]
    assert quick == timedelta(seconds=7)


def test_a_new_row() -> None:
    """At creation nothing exists, nothing is done, and every number but its own is zero."""
    new = Workspace.created(id="w1", owner_id="ann", name="n", image="i", at=T0, seq=7)
    assert (new.observed_status, new.health_status) == (ObservedStatus.PENDING, HealthStatus.OK)
    assert (new.operation, new.home) == (Operation.NONE, NO_HOME)
    assert new.desired_state is DesiredState.RUNNING
    assert new.created_seq == 7
    assert (new.observed_seq, new.op_ended_seq, new.op_acted_seq) == (0, 0, None)
    assert (new.created_at, new.intent_changed_at, new.last_access_at) == (T0, T0, T0)
    assert (new.standby_ttl_seconds, new.archive_ttl_seconds) == (300, 604800)
    unwanted = Workspace.created(
        id="w1",
        owner_id="ann",
        name="n",
        image="i",
        at=T0,
        seq=7,
        desired_state=DesiredState.PENDING,
    )
    assert unwanted.desired_state is DesiredState.PENDING


# What a row says of itself.


def test_effective_home() -> None:
    """A home whose loss was accepted counts as none; accepting anything else changes nothing."""
    assert effective_home(row(home=DIRTY)) == DIRTY
    assert effective_home(row(home=DIRTY, loss_accepted="i1")) == NO_HOME
    assert effective_home(row(home=DIRTY, loss_accepted=KEY)) == DIRTY
    assert effective_home(row()) == NO_HOME


def test_usable_archive() -> None:
    """An archive whose loss was accepted is no archive to restore."""
    assert usable_archive(row()) is None
    assert usable_archive(row(**ARCHIVED)) == KEY
    assert usable_archive(row(**ARCHIVED, loss_accepted="i1")) == KEY
    assert usable_archive(row(**ARCHIVED, loss_accepted=KEY)) is None
    assert usable_archive(row(loss_accepted=KEY)) is None


def test_effective_seq() -> None:
    """The larger number counts, the pass's only for rows created before the pass began."""
    ws = row(created_seq=6, observed_seq=5)
    assert effective_seq(ws, 4) == 5
    assert effective_seq(ws, 6) == 5
    assert effective_seq(ws, 7) == 7
    assert effective_seq(row(created_seq=0, observed_seq=5), 5) == 5


@pytest.mark.parametrize(
    ("columns", "terminal", "wrong"),
    [
        ({}, False, False),
        ({"error_info": error(terminal=False)}, False, False),
        ({"error_info": error()}, True, True),
        ({"health_status": HealthStatus.ERROR}, False, True),
    ],
)
def test_terminal_and_in_error(columns: dict[str, Any], terminal: bool, wrong: bool) -> None:
    """An error is one that only a person ends, or that a person is shown."""
    assert is_terminal(row(**columns)) is terminal
    assert in_error(row(**columns)) is wrong


def test_finished_deleting() -> None:
    """Deletion is finished when it was seen, nothing runs, and no error is left."""
    gone = row(deleted_at=T0, observed_status=ObservedStatus.DELETED)
    assert finished_deleting(gone)
    assert not finished_deleting(row(deleted_at=T0))
    assert not finished_deleting(attrs.evolve(gone, error_info=error(terminal=False)))
    running = attrs.evolve(gone, operation=Operation.DELETING, op_id="op1", op_started_at=T0)
    assert not finished_deleting(running)


# Observations, activity, errors.


def test_an_observation_is_complete_when_both_listings_were_had() -> None:
    """One listing that failed makes an observation incomplete; empty ones do not."""
    assert Observation(seq=1, began_at=T0).complete
    assert not Observation(seq=1, began_at=T0, containers=UNKNOWN).complete
    assert not Observation(seq=1, began_at=T0, volumes=UNKNOWN).complete


def test_an_ended_container_may_tell_its_exit() -> None:
    """An exit goes with the phase ENDED and with no other."""
    ended = ContainerSeen(
        id="c", incarnation=None, phase=ContainerPhase.ENDED, exit=LastExit(exit_code=1, at=T0)
    )
    assert ended.exit is not None
    for phase in set(ContainerPhase) - {ContainerPhase.ENDED}:
        with pytest.raises(InvalidValue, match="exit"):
            attrs.evolve(ended, phase=phase)


def test_unknown_activity() -> None:
    """Unknown is a value of its own, and not the same as nobody being there."""
    assert not UNKNOWN_ACTIVITY.known
    assert Activity() != UNKNOWN_ACTIVITY


SPEC_CODES = {
    "ARCHIVE_NOT_FOUND": "DataLost",
    "CHECKSUM_MISMATCH": "DataLost",
    "S3_ACCESS_ERROR": "Unreachable",
    "K8S_API_ERROR": "Unreachable",
    "DOCKER_API_ERROR": "Unreachable",
    "TAR_EXTRACT_FAILED": "ActionFailed",
    "VOLUME_CREATE_FAILED": "ActionFailed",
    "CONTAINER_START_FAILED": "ActionFailed",
    "CONTAINER_WITHOUT_VOLUME": "Mismatch",
    "LOCAL_IO_ERROR": "Unreachable",
    "ACTIVITY_UNREACHABLE": "Unreachable",
    "SIGNALS_UNREACHABLE": "Unreachable",
}


@pytest.mark.parametrize("code", AdapterCode)
def test_every_code_has_its_reason(code: AdapterCode) -> None:
    """Codes map as section 5 says; one that it does not name is never a loss of data."""
    reason = reason_of_code(code)
    assert reason.value == SPEC_CODES.get(code.value, "ActionFailed")
    failure = Failure.of_code(code, "it failed", {"z": 1, "a": None})
    assert failure.reason is reason
    assert failure.context == (("a", "None"), ("code", code.value), ("z", "1"))
    info = error(reason=failure.reason, context=failure.context)
    assert info.code is code


def test_an_error_without_a_code() -> None:
    """An error that no adapter reported has no code."""
    assert error().code is None
    assert error(context={"action": "archive"}).code is None


# Names.

identities = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", fullmatch=True)


@given(workspace=identities, op_id=identities)
def test_archive_keys_round_trip(workspace: str, op_id: str) -> None:
    """A key gives back the workspace and the operation that it was made of."""
    assert parse_archive_key(archive_key(workspace, op_id)) == (workspace, op_id)


@given(workspace=identities, incarnation=identities)
def test_names_hold_what_they_are_made_of(workspace: str, incarnation: str) -> None:
    """A volume is named by workspace and incarnation, a container by the workspace alone."""
    assert container_name(workspace) == f"ws-{workspace}"
    assert volume_name(workspace, incarnation) == f"ws-{workspace}-{incarnation}"


@pytest.mark.parametrize("bad", ["", "a/b", "../x", " a", "a\n", "x" * 101])
def test_names_of_nonsense_are_refused(bad: str) -> None:
    """What is no identity can't become a part of a name."""
    for field, make in (
        ("workspace_id", lambda: volume_name(bad, "i1")),
        ("incarnation", lambda: volume_name("w1", bad)),
        ("workspace_id", lambda: container_name(bad)),
        ("workspace_id", lambda: archive_key(bad, "op1")),
        ("op_id", lambda: archive_key("w1", bad)),
    ):
        with pytest.raises(InvalidValue) as refused:
            make()
        assert (refused.value.owner, refused.value.field) == ("name", field)


@pytest.mark.parametrize(
    "key",
    [
        "",
        "archives/w1/home.tar.gz",
        "archives/w1/op1/home.tar.gz.part",
        "archives/w1/op1/homeXtar.gz",
        "archives/w1/a/b/home.tar.gz",
        "x/archives/w1/op1/home.tar.gz",
    ],
)
def test_keys_that_are_not_ours(key: str) -> None:
    """A key of any other shape is not one of ours."""
    assert parse_archive_key(key) is None


# Patches, guards and single writers.

WRITER_OF_PATCH: dict[type[Any], Writer] = {
    IntentPatch: Writer.SERVICE,
    MonitorPatch: Writer.MONITOR,
    ReconcilerPatch: Writer.RECONCILER,
}


def test_every_column_has_one_writer() -> None:
    """The table of writers names exactly the columns of a row."""
    assert set(COLUMN_WRITER) == {field.name for field in attrs.fields(Workspace)}


@pytest.mark.parametrize("kind", WRITER_OF_PATCH)
def test_a_patch_holds_its_writers_columns_alone(kind: type[Any]) -> None:
    """Contract 3 in types: a patch has no field of another writer."""
    writers = {COLUMN_WRITER[field.name] for field in attrs.fields(kind)}
    assert writers == {WRITER_OF_PATCH[kind]}


def test_monitor_and_reconciler_can_write_all_their_columns() -> None:
    """Every column of the monitor and of the reconciler is in its writer's patch."""
    for kind in (MonitorPatch, ReconcilerPatch):
        fields = {field.name for field in attrs.fields(kind)}
        assert fields == {c for c, w in COLUMN_WRITER.items() if w is WRITER_OF_PATCH[kind]}


def test_changes_names_what_is_set() -> None:
    """None is a value; UNSET is the absence of one."""
    assert changes(ReconcilerPatch()) == {}
    assert changes(ReconcilerPatch(op_id=None, error_count=0)) == {"op_id": None, "error_count": 0}
    assert ReconcilerPatch().op_id is UNSET


def test_apply_writes_what_is_set_and_nothing_else() -> None:
    """Columns that a patch leaves unset stay."""
    ws = row(name="old")
    written = apply(ws, IntentPatch(name="new", intent_version=1))
    assert written == attrs.evolve(ws, name="new", intent_version=1)
    assert apply(ws, ReconcilerPatch()) == ws


def test_apply_takes_numbers_from_the_sequence() -> None:
    """A patch that asks for a number gets the one that is given, and is refused without."""
    ws = busy(Operation.STOPPING)
    patch = ReconcilerPatch(op_acted_seq=NEXT_NUMBER, op_ended_seq=NEXT_NUMBER)
    written = apply(ws, patch, next_number=7)
    assert (written.op_acted_seq, written.op_ended_seq) == (7, 7)
    with pytest.raises(InvalidValue) as refused:
        apply(ws, patch)
    assert (refused.value.owner, refused.value.field) == ("apply", "next_number")
    assert apply(ws, ReconcilerPatch(op_acted_seq=3), next_number=7).op_acted_seq == 3


def test_an_alarm_is_set_once() -> None:
    """The monitor's exception writes an error only where none is recorded."""
    alarm = Alarm(error_info=error(message="no volume"))
    assert apply(row(), alarm) == row(error_info=alarm.error_info)
    known = row(error_info=error(message="known", terminal=False))
    assert apply(known, alarm) == known


@given(ws=workspaces())
def test_a_recovery_resets_four_columns_at_rest(ws: Workspace) -> None:
    """A recovery resets error, count, wait and restarts, and nothing while an operation runs."""
    written = apply(ws, Recovery())
    if ws.operation is not Operation.NONE:
        assert written == ws
    else:
        reset = {"error_info": None, "error_count": 0, "next_attempt_at": None, "restart_count": 0}
        assert written == changed(ws, **reset)


def test_a_claim_guard_repeats_what_was_planned_on() -> None:
    """Another intent, another observation, another home or an operation: not the same row."""
    guard = ClaimGuard(intent_version=2, observed_seq=5, home=CLEAN)
    ws = row(intent_version=2, observed_seq=5, home=CLEAN)
    assert guard.holds(ws)
    assert not guard.holds(attrs.evolve(ws, intent_version=3))
    assert not guard.holds(attrs.evolve(ws, observed_seq=6))
    assert not guard.holds(attrs.evolve(ws, home=MAKING))
    running = {"operation": Operation.STARTING, "op_id": "op1", "op_started_at": after(1)}
    assert not guard.holds(changed(ws, **running))


def test_an_operation_guard_is_of_one_operation() -> None:
    """The same operation under another identity is another one."""
    guard = OperationGuard(operation=Operation.STARTING, op_id="op1")
    assert guard.holds(busy(Operation.STARTING))
    assert not guard.holds(busy(Operation.STOPPING))
    assert not guard.holds(attrs.evolve(busy(Operation.STARTING), op_id="op2"))
