"""Postgres: the rows, the sequence, the lock and the outbox, through psycopg.

Statements are SQL, in `sql/`, each under its sentence. It counts and compares, and leaves every
decision to the core; it never lets a psycopg error out, and never writes a column as another role
than its writer's.
"""

from wsctl_adapters.postgres.opening import Connections, PostgresStores, open_postgres
from wsctl_adapters.postgres.schema import (
    MigrationFailed,
    SchemaMissing,
    SchemaOld,
    SchemaProblem,
    SchemaState,
    SchemaTooNew,
    check,
    migrate,
)

__all__ = [
    "Connections",
    "MigrationFailed",
    "PostgresStores",
    "SchemaMissing",
    "SchemaOld",
    "SchemaProblem",
    "SchemaState",
    "SchemaTooNew",
    "check",
    "migrate",
    "open_postgres",
]
