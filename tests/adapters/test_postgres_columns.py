"""What the database keeps of the core: columns that decide, constraints, events."""

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import attrs
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.types.json import set_json_loads

from tests.adapters.postgres_rows import insert, replace, select, values
from tests.core.builders import ARCHIVED, CLEAN, CONDEMNED, DIRTY, MAKING, T0, busy, error, row
from tests.servers import database
from tests.strategies import workspaces
from wsctl_adapters.postgres.rows import as_json, told, workspace
from wsctl_adapters.postgres.statements import COLUMN_OF, statements
from wsctl_core import (
    NO_HOME,
    DesiredState,
    ErrorInfo,
    ErrorReason,
    HealthStatus,
    InvalidValue,
    LastExit,
    ObservedStatus,
    Operation,
    Suspect,
    SuspectKind,
    Workspace,
    event_of,
    holds_place,
    needs_work,
)
from wsctl_core.values.workspace import finished_deleting

Connection = psycopg.Connection[Any]


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    """The owner's connection to a database of this module's own."""
    with database() as url, psycopg.connect(url, autocommit=True) as made:
        set_json_loads(lambda raw: raw, made)
        made.execute("SET search_path = wsctl")
        yield made


@pytest.fixture(autouse=True)
def _emptied(connection: Connection):
    connection.execute("TRUNCATE workspaces, outbox")


def named(rows: list[Workspace]) -> list[Workspace]:
    return [attrs.evolve(ws, id=f"w{n}") for n, ws in enumerate(rows)]


def flags(connection: Connection, column: str) -> dict[str, bool]:
    found = connection.execute(f"SELECT id, {column} FROM workspaces".encode())
    return dict(found.fetchall())


@settings(max_examples=25)
@given(rows=st.lists(workspaces(), min_size=1, max_size=12).map(named))
def test_a_row_is_read_as_it_was_written(connection: Connection, rows: list[Workspace]):
    """Every row that the core can make is kept, read back the same, and judged the same."""
    connection.execute("TRUNCATE workspaces, outbox")
    insert(connection, rows)
    assert select(connection) == {ws.id: ws for ws in rows}
    assert flags(connection, "needs_work") == {ws.id: needs_work(ws) for ws in rows}
    assert flags(connection, "finished") == {ws.id: finished_deleting(ws) for ws in rows}


def situations() -> Iterator[Workspace]:
    """Every combination of what `needs_work` reads."""
    for operation, deleted, observed, health, desired, home, accepted, failure in product(
        (Operation.NONE, Operation.STOPPING),
        (None, T0),
        ObservedStatus,
        HealthStatus,
        DesiredState,
        (NO_HOME, MAKING, CLEAN, DIRTY, CONDEMNED),
        (None, "i1", "i2"),
        (None, error(terminal=False), error(terminal=True)),
    ):
        if deleted is None and observed is ObservedStatus.DELETED:
            continue
        made = row if operation is Operation.NONE else busy
        columns = {} if operation is Operation.NONE else {"operation": operation}
        yield made(
            **columns,
            deleted_at=deleted,
            observed_status=observed,
            health_status=health,
            desired_state=desired,
            home=home,
            loss_accepted=accepted,
            error_info=failure,
        )


def test_needs_work_is_the_cores_for_all_facts(connection: Connection):
    """The stored column is `needs_work`, whatever the row."""
    rows = named(list(situations()))
    insert(connection, rows)
    assert flags(connection, "needs_work") == {ws.id: needs_work(ws) for ws in rows}


def occupations() -> Iterator[Workspace]:
    """Every combination of what `holds_place` reads, with numbers around one another."""
    for operation, observed, failure, ended, seen, created in product(
        Operation, ObservedStatus, (None, error()), range(3), range(3), range(3)
    ):
        made = row() if operation is Operation.NONE else busy(operation)
        yield attrs.evolve(
            made,
            owner_id=f"owner{created}",
            deleted_at=T0,
            observed_status=observed,
            error_info=failure,
            op_ended_seq=ended,
            observed_seq=seen,
            created_seq=created,
        )


def test_held_places_are_the_cores_for_all_facts(connection: Connection):
    """What is counted is `holds_place`, for every row and every number of the last pass."""
    rows = named(list(occupations()))
    insert(connection, rows)
    held = statements("reading")["held"]
    for number in range(5):
        connection.execute("UPDATE monitor_pass SET number = %s", [number])
        expected = Counter(ws.owner_id for ws in rows if holds_place(ws, number))
        assert dict(connection.execute(held).fetchall()) == dict(expected)
    connection.execute("UPDATE monitor_pass SET number = 0")


def events(connection: Connection) -> list[tuple[str, Workspace]]:
    found = connection.execute("SELECT kind, row_after FROM outbox ORDER BY id").fetchall()
    return [(kind, told(row_after)) for kind, row_after in found]


def expected_events(rows: list[Workspace]) -> list[tuple[str, Workspace]]:
    found = []
    for before, after in zip([None, *rows[:-1]], rows, strict=True):
        kind = event_of(before, after).outcome
        if kind is not None:
            found.append((kind.value, after))
    return found


@settings(max_examples=25)
@given(rows=st.lists(workspaces(), min_size=2, max_size=12))
def test_an_event_is_the_cores(connection: Connection, rows: list[Workspace]):
    """Whatever a row becomes, the outbox gets the event that `event_of` names, and the row."""
    connection.execute("TRUNCATE workspaces, outbox")
    insert(connection, rows[:1])
    for ws in rows[1:]:
        replace(connection, ws)
    assert events(connection) == expected_events(rows)


ONE_COLUMN: dict[str, Any] = {
    "owner_id": "bob",
    "name": "other",
    "image": "ide:2",
    "created_seq": 2,
    "desired_state": DesiredState.STANDBY,
    "deleted_at": T0,
    "intent_version": 1,
    "loss_accepted": "i1",
    "standby_ttl_seconds": 5,
    "observed_status": ObservedStatus.STANDBY,
    "health_status": HealthStatus.ERROR,
    "observed_at": T0,
    "observed_seq": 9,
    "suspect": Suspect(what=SuspectKind.HOME_MISSING, identity="i1", seq=3),
    "last_exit": LastExit(exit_code=1, at=T0),
    "op_id": "op9",
    "op_ended_seq": 3,
    "home": DIRTY,
    "error_count": 1,
    "error_info": error(),
    "next_attempt_at": T0,
    "restart_count": 1,
    "started_at": T0,
    "previous_status": ObservedStatus.RUNNING,
}


@pytest.mark.parametrize("column", ONE_COLUMN)
@pytest.mark.parametrize("operation", [Operation.NONE, Operation.STOPPING])
def test_one_changed_column_is_told_as_the_core_says(
    connection: Connection, column: str, operation: Operation
):
    """One column that changes, and changes back, makes the events that `event_of` names."""
    before = row() if operation is Operation.NONE else busy(operation)
    after = attrs.evolve(before, **{column: ONE_COLUMN[column]})
    rows = [before, after, before]
    insert(connection, rows[:1])
    for ws in rows[1:]:
        replace(connection, ws)
    assert events(connection) == expected_events(rows)


BROKEN = {
    "id_is_an_identity": "id = 'a b'",
    "owner_id_is_text": "owner_id = ' '",
    "name_is_text": "name = E'\\t\\n'",
    "image_is_text": "image = ''",
    "created_seq_is_whole": "created_seq = -1",
    "desired_state_is_known": "desired_state = 'DELETED'",
    "intent_version_is_whole": "intent_version = -1",
    "loss_accepted_is_text": "loss_accepted = ''",
    "standby_ttl_is_positive": "standby_ttl_seconds = 0",
    "archive_ttl_is_positive": "archive_ttl_seconds = 0",
    "observed_status_is_known": "observed_status = 'ERROR'",
    "health_status_is_known": "health_status = 'FINE'",
    "observed_seq_is_whole": "observed_seq = -1",
    "suspect_is_one": """suspect = '{"what": "ODD", "identity": "i1", "seq": 1}'""",
    "last_exit_is_one": """last_exit = '{"exit_code": 1}'""",
    "operation_is_known": "operation = 'JUMPING', op_id = 'op1', op_started_at = now()",
    "op_id_is_an_identity": "op_id = '../op'",
    "op_acted_seq_is_whole": "operation = 'STOPPING', op_id = 'o', op_started_at = now(), "
    "op_acted_seq = -1",
    "op_ended_seq_is_whole": "op_ended_seq = -1",
    "archive_key_is_text": f"archive_key = '', archive_sha256 = '{'0' * 64}', archive_size = 1",
    "archive_sha256_is_one": "archive_key = 'k', archive_sha256 = 'ABC', archive_size = 1",
    "archive_size_is_whole": f"archive_key = 'k', archive_sha256 = '{'0' * 64}', archive_size = -1",
    "home_is_one": """home_ctx = '{"state": "NONE"}'""",
    "home_has_an_incarnation": """home_ctx = home_ctx || '{"state": "READY"}'""",
    "home_marker_has_a_home": """home_ctx = home_ctx || '{"restore_marker": "k"}'""",
    "home_is_dirty_when_ready": "home_ctx = home_ctx "
    """|| '{"state": "CONDEMNED", "incarnation": "i1", "dirty": true}'""",
    "error_count_is_whole": "error_count = -1",
    "error_info_is_one": """error_info = '{"reason": "Bad luck"}'""",
    "restart_count_is_whole": "restart_count = -1",
    "previous_status_is_known": "previous_status = 'ERROR'",
    "operation_has_an_identity": "operation = 'STOPPING', op_started_at = now()",
    "operation_has_a_beginning": "operation = 'STOPPING', op_id = 'op1'",
    "only_an_operation_acts": "op_acted_seq = 1",
    "archive_is_whole": "archive_key = 'k'",
    "deletion_was_asked_for": "observed_status = 'DELETED'",
}


@pytest.mark.parametrize("constraint", BROKEN)
def test_the_database_refuses_what_the_core_could_not_make(connection: Connection, constraint: str):
    """Each constraint refuses the row that breaks it, by its name."""
    insert(connection, [row()])
    with pytest.raises(psycopg.errors.CheckViolation) as refused:
        connection.execute(f"UPDATE workspaces SET {BROKEN[constraint]}".encode())
    assert refused.value.diag.constraint_name == constraint


def test_every_constraint_is_tried(connection: Connection):
    """No constraint of the table is left out above."""
    found = connection.execute(
        "SELECT conname FROM pg_constraint"
        " WHERE conrelid = 'workspaces'::regclass AND contype = 'c'"
    )
    assert {name for (name,) in found.fetchall()} == set(BROKEN)


@pytest.mark.parametrize("column", ["error_info", "home_ctx", "suspect", "last_exit"])
@pytest.mark.parametrize("value", ["null", "[]", "{}", "1", '"x"'])
def test_a_json_column_holds_nothing_else(connection: Connection, column: str, value: str):
    """JSON that is not the value that belongs there is refused, JSON's own null too."""
    insert(connection, [row()])
    with pytest.raises(psycopg.errors.CheckViolation):
        connection.execute(f"UPDATE workspaces SET {column} = '{value}'".encode())


def test_the_clock_and_the_transaction_are_stamped(connection: Connection):
    """Every write moves `updated_at` and names its transaction, whoever wrote."""
    insert(connection, [row()])
    read = "SELECT updated_at, changed_xid::text::bigint FROM workspaces"
    ((first_at, first_xid),) = connection.execute(read).fetchall()
    connection.execute("UPDATE workspaces SET updated_at = 'epoch', changed_xid = '1'")
    ((later_at, later_xid),) = connection.execute(read).fetchall()
    assert later_at > first_at
    assert later_xid > first_xid


def test_what_postgres_cannot_keep_is_replaced_in_an_error(connection: Connection):
    """A NUL, or half of a surrogate pair, in what a tool said does not hinder its recording."""
    odd = ErrorInfo(
        reason=ErrorReason.ACTION_FAILED,
        message="tar: a\0b\udc80",
        is_terminal=True,
        operation=Operation.ARCHIVING,
        error_count=1,
        context={"path": "x\0\udcff"},
        occurred_at=T0,
    )
    insert(connection, [row(error_info=odd)])
    kept = select(connection)["w1"].error_info
    assert kept is not None
    assert (kept.message, kept.context) == ("tar: a\ufffdb?", (("path", "x\ufffd?"),))


def test_a_row_that_wsctl_did_not_write_is_refused_when_read(connection: Connection):
    """What comes out of the database is validated again, with the field that is wrong."""
    with pytest.raises(InvalidValue, match="name"):
        select_one(connection, name="' '")


def select_one(connection: Connection, **changed: str) -> Workspace:
    """A row as the adapter reads it, with the text of some columns changed on the way."""
    insert(connection, [row(**ARCHIVED)])
    columns = ", ".join(changed.get(name, name) for name in COLUMN_OF.values())
    (found,) = connection.execute(f"SELECT {columns} FROM workspaces".encode()).fetchall()
    return workspace(found)


def test_json_of_nothing_is_null():
    """No value is NULL, never JSON's null."""
    assert as_json(None) is None
    assert values(row())[[*attrs.fields_dict(Workspace)].index("suspect")] is None
