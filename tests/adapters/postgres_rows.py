"""Rows put into a real database as its owner would: past every role, guard and epoch."""

from collections.abc import Iterable
from typing import Any

import attrs
import psycopg
from psycopg import sql

from wsctl_adapters.postgres.rows import as_json, workspace, written
from wsctl_adapters.postgres.statements import COLUMN_OF
from wsctl_core import Workspace

_JSON = ("suspect", "last_exit", "home", "error_info")
_COLUMNS = sql.SQL(", ").join(map(sql.Identifier, COLUMN_OF.values()))
_VALUES = sql.SQL(", ").join(
    sql.SQL("%s::jsonb" if field in _JSON else "%s") for field in COLUMN_OF
)


def values(ws: Workspace) -> list[Any]:
    """The row as parameters, in the order of its columns."""
    return [
        as_json(value) if field in _JSON else written(value)
        for field, value in attrs.asdict(ws, recurse=False).items()
    ]


def insert(connection: psycopg.Connection[Any], rows: Iterable[Workspace]) -> None:
    """Put rows into the table as they are."""
    statement = sql.SQL("INSERT INTO wsctl.workspaces ({}) VALUES ({})").format(_COLUMNS, _VALUES)
    with connection.cursor() as cursor:
        cursor.executemany(statement, [values(ws) for ws in rows])


def replace(connection: psycopg.Connection[Any], ws: Workspace) -> None:
    """Make a row that is there another one, in one update."""
    statement = sql.SQL("UPDATE wsctl.workspaces SET ({}) = ROW ({}) WHERE id = %s")
    connection.execute(statement.format(_COLUMNS, _VALUES), [*values(ws), ws.id])


def select(connection: psycopg.Connection[Any]) -> dict[str, Workspace]:
    """Every row, as the adapter reads it."""
    statement = sql.SQL("SELECT {} FROM wsctl.workspaces").format(_COLUMNS)
    found = map(workspace, connection.execute(statement).fetchall())
    return {ws.id: ws for ws in found}
