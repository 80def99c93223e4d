"""Contract 3 in Postgres itself: each role is refused every other writer's columns."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.adapters.postgres_rows import insert
from tests.core.builders import T0, busy, error, row
from tests.servers import database
from wsctl_adapters.postgres import check
from wsctl_adapters.postgres.rows import as_json
from wsctl_adapters.postgres.schema import ROLE_OF, UPDATES
from wsctl_adapters.postgres.statements import COLUMN_OF
from wsctl_core import COLUMN_WRITER, Operation, Writer

Connection = psycopg.Connection[Any]
REFUSED = psycopg.errors.InsufficientPrivilege


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of a database of this module's own."""
    with database() as made:
        yield made


@pytest.fixture
def connection(url: str) -> Iterator[Connection]:
    """A connection whose work is thrown away."""
    with psycopg.connect(url) as made:
        made.execute("SET search_path = wsctl")
        yield made
        made.rollback()


def act_as(connection: Connection, writer: Writer) -> None:
    connection.execute("SELECT set_config('role', %s, false)", [ROLE_OF[writer]])


def update(connection: Connection, column: str) -> None:
    connection.execute(f"UPDATE workspaces SET {column} = {column}".encode())


OTHERS = [
    (field, writer)
    for field, owner in COLUMN_WRITER.items()
    for writer in Writer
    if writer is not owner
]


@pytest.mark.parametrize(("field", "writer"), OTHERS)
def test_a_role_is_refused_anothers_column(connection: Connection, field: str, writer: Writer):
    """Whoever is not the writer of a column can neither update nor insert it."""
    act_as(connection, writer)
    with pytest.raises(REFUSED), connection.transaction():
        update(connection, COLUMN_OF[field])
    with pytest.raises(REFUSED), connection.transaction():
        connection.execute(f"INSERT INTO workspaces ({COLUMN_OF[field]}) VALUES (DEFAULT)".encode())


@pytest.mark.parametrize("field", COLUMN_WRITER)
def test_a_writer_writes_its_own_column(connection: Connection, field: str):
    """The one writer of a column can write it: in an update, or when the row is made."""
    writer = COLUMN_WRITER[field]
    act_as(connection, writer)
    column = COLUMN_OF[field]
    if column in UPDATES[ROLE_OF[writer]]:
        update(connection, column)
    else:
        granted = connection.execute(
            "SELECT has_column_privilege(%s, 'workspaces', %s, 'INSERT')",
            [ROLE_OF[writer], column],
        )
        assert granted.fetchone() == (True,)


@pytest.mark.parametrize("field", ["id", "owner_id", "image", "created_at", "created_seq"])
@pytest.mark.parametrize("writer", Writer)
def test_what_a_row_is_made_of_is_never_changed(connection: Connection, field: str, writer: Writer):
    """Nobody, not even their writer, updates the columns that a row is made of."""
    act_as(connection, writer)
    with pytest.raises(REFUSED):
        update(connection, field)


@pytest.mark.parametrize(
    "column", ["updated_at", "changed_xid", "needs_work", "finished", "may_hold_place"]
)
@pytest.mark.parametrize("writer", Writer)
def test_the_databases_own_columns_are_nobodys(connection: Connection, column: str, writer: Writer):
    """What the database keeps by itself can't be written by a role."""
    act_as(connection, writer)
    with pytest.raises((REFUSED, psycopg.errors.GeneratedAlways)):
        update(connection, column)


@pytest.mark.parametrize("writer", Writer)
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM workspaces",
        "TRUNCATE workspaces",
        "UPDATE system_locks SET epoch = 99",
        "INSERT INTO outbox (kind, workspace_id, owner_id, row_after) SELECT '', '', '', '{}'",
        "DELETE FROM outbox",
        "DELETE FROM latches",
        "UPDATE installation SET id = 'mine'",
        "SELECT setval('freshness', 1)",
        "UPDATE schema_version SET version = 99",
        "CREATE TABLE mine ()",
    ],
)
def test_a_role_has_no_other_way(connection: Connection, writer: Writer, statement: str):
    """No role removes rows, moves the epoch, the sequence or the outbox, or makes anything."""
    act_as(connection, writer)
    with pytest.raises(REFUSED):
        connection.execute(statement.encode())


FUNCTIONS = {
    "fence(0)": {Writer.MONITOR, Writer.RECONCILER},
    "take_office('me')": {Writer.RECONCILER},
    "alarm(1, '{}', '{}')": {Writer.MONITOR},
    "recover('w1')": {Writer.SERVICE},
    "purge(0, '{}')": {Writer.RECONCILER},
    "trim_events(0)": {Writer.RECONCILER},
    "latch(0, 'why', 1)": {Writer.RECONCILER},
    "clear_latch()": {Writer.SERVICE},
}


@pytest.mark.parametrize("writer", Writer)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_is_its_callers_alone(connection: Connection, writer: Writer, function: str):
    """Each function can be called by the roles that it was made for, and by no other."""
    act_as(connection, writer)
    if writer in FUNCTIONS[function]:
        connection.execute(f"SELECT {function}".encode())
    else:
        with pytest.raises(REFUSED):
            connection.execute(f"SELECT {function}".encode())


def test_every_function_is_fixed_to_its_schema(connection: Connection):
    """What runs with the owner's rights looks nowhere but in wsctl's schema."""
    found = connection.execute(
        "SELECT proname, proconfig FROM pg_proc"
        " WHERE pronamespace = 'wsctl'::regnamespace AND prosecdef"
    ).fetchall()
    assert {name for name, _ in found} == {f.partition("(")[0] for f in FUNCTIONS} | {"tell"}
    assert {tuple(settings or ()) for _, settings in found} == {("search_path=wsctl, pg_temp",)}


def errors(connection: Connection) -> dict[str, str | None]:
    found = connection.execute("SELECT id, error_info ->> 'message' FROM workspaces").fetchall()
    return dict(found)


def test_an_alarm_is_set_only_where_it_may_be(connection: Connection):
    """The monitor's function sets an error where there is none and the row's number is smaller."""
    insert(
        connection,
        [
            row(id="free", observed_seq=4),
            row(id="taken", observed_seq=4, error_info=error(message="earlier")),
            row(id="newer", observed_seq=5),
        ],
    )
    act_as(connection, Writer.MONITOR)
    ids = ["free", "taken", "newer", "nobody"]
    infos = [as_json(error(message="alarm"))] * 4
    told = connection.execute("SELECT alarm(5, %s, %s)", [ids, infos]).fetchall()
    assert told == [("free",)]
    assert errors(connection) == {"free": "alarm", "taken": "earlier", "newer": None}


def test_a_recovery_is_made_only_at_rest(connection: Connection):
    """The service's function resets four columns while no operation runs, and else nothing."""
    failed: dict[str, Any] = {
        "error_info": error(),
        "error_count": 3,
        "next_attempt_at": T0,
        "restart_count": 2,
    }
    insert(connection, [row(id="rests", **failed), busy(Operation.DELETING, id="works", **failed)])
    act_as(connection, Writer.SERVICE)
    recovered = [
        connection.execute("SELECT recover(%s)", [id]).fetchone()
        for id in ("rests", "works", "nobody")
    ]
    assert recovered == [(True,), (False,), (False,)]
    found = connection.execute(
        "SELECT id, error_info IS NULL, error_count, next_attempt_at IS NULL, restart_count"
        " FROM workspaces ORDER BY id"
    )
    assert found.fetchall() == [("rests", True, 0, True, 0), ("works", False, 3, False, 2)]


def test_the_service_sets_no_first_access(connection: Connection):
    """The time of the first access is the row's beginning, whoever makes the row."""
    act_as(connection, Writer.SERVICE)
    made = connection.execute(
        "INSERT INTO workspaces (id, owner_id, name, image) VALUES ('w1', 'ann', 'n', 'i')"
        " RETURNING last_access_at = created_at"
    )
    assert made.fetchone() == (True,)


def test_a_trigger_writes_what_its_writer_may_not(connection: Connection):
    """An event is written with the owner's rights, so that nobody else can write one."""
    act_as(connection, Writer.SERVICE)
    connection.execute(
        "INSERT INTO workspaces (id, owner_id, name, image) VALUES ('w1', 'ann', 'n', 'i')"
    )
    found = connection.execute("SELECT row_after::text FROM outbox WHERE workspace_id = 'w1'")
    (told,) = found.fetchall()[-1]
    assert set(json.loads(told)) == set(COLUMN_OF.values())


@pytest.mark.parametrize(
    ("harm", "mend", "problem"),
    [
        (
            "GRANT UPDATE (operation) ON workspaces TO wsctl_service",
            "REVOKE UPDATE (operation) ON workspaces FROM wsctl_service",
            "wsctl_service may update operation, which is another writer's",
        ),
        (
            "REVOKE UPDATE (op_id) ON workspaces FROM wsctl_reconciler",
            "GRANT UPDATE (op_id) ON workspaces TO wsctl_reconciler",
            "wsctl_reconciler may not update op_id, which is its own",
        ),
        (
            "ALTER TABLE workspaces DISABLE TRIGGER tell_changed",
            "ALTER TABLE workspaces ENABLE TRIGGER tell_changed",
            "trigger tell_changed is missing or disabled",
        ),
        (
            "ALTER FUNCTION fence(bigint) RENAME TO hedge",
            "ALTER FUNCTION hedge(bigint) RENAME TO fence",
            "function fence(bigint) is missing or disabled",
        ),
    ],
)
def test_a_check_finds_what_was_tampered_with(url: str, harm: str, mend: str, problem: str):
    """A privilege too many or too few, or something that is gone, is told in a sentence."""
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("SET search_path = wsctl")
        assert asyncio.run(check(url)).problems == ()
        owner.execute(harm.encode())
        try:
            assert asyncio.run(check(url)).problems == (problem,)
        finally:
            owner.execute(mend.encode())
