"""The schema: made by numbered migrations, checked before anything is read, never half-made.

All migrations that are due are one transaction: when one fails, the database is as it was.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import attrs
import psycopg
from psycopg import AsyncConnection

from wsctl_adapters.postgres.failures import first_line, place_of, translated
from wsctl_adapters.postgres.sessions import CONNECTING, Connection, rows
from wsctl_adapters.postgres.statements import COLUMN_OF, migrations, statements
from wsctl_core.values.patches import IntentPatch, MonitorPatch, ReconcilerPatch
from wsctl_core.values.states import Writer

SQL = statements("schema")

ROLE_OF: Mapping[Writer, str] = {
    Writer.SERVICE: "wsctl_service",
    Writer.MONITOR: "wsctl_monitor",
    Writer.RECONCILER: "wsctl_reconciler",
}
"""The role that each writer acts as."""

_PATCHES = {
    Writer.SERVICE: IntentPatch,
    Writer.MONITOR: MonitorPatch,
    Writer.RECONCILER: ReconcilerPatch,
}
UPDATES: Mapping[str, frozenset[str]] = {
    ROLE_OF[writer]: frozenset(COLUMN_OF[field.name] for field in attrs.fields(patch))
    for writer, patch in _PATCHES.items()
}
"""Contract 3: the columns that each role may update: those of its writer's patch."""

OLDEST_SERVER = 140000
_RELATIONS = (
    "workspaces",
    "monitor_pass",
    "freshness",
    "outbox",
    "system_locks",
    "installation",
    "latches",
)
_FUNCTIONS = (
    "fence(bigint)",
    "take_office(text)",
    "alarm(bigint,text[],text[])",
    "recover(text)",
    "purge(bigint,text[])",
    "trim_events(bigint)",
    "latch(bigint,text,bigint)",
    "clear_latch()",
)
_TRIGGERS = ("stamp", "tell_created", "tell_changed")


class SchemaProblem(Exception):
    """The database can't be used as it is; the message says what to do."""


class SchemaMissing(SchemaProblem):
    """wsctl was never installed in this database."""


class SchemaOld(SchemaProblem):
    """The database was installed by an older wsctl."""


class SchemaTooNew(SchemaProblem):
    """The database was installed by a newer wsctl, which this one does not understand."""


class MigrationFailed(SchemaProblem):
    """A migration was refused; the database is as it was."""


@attrs.frozen(kw_only=True)
class SchemaState:
    """What a look at a database found."""

    found: int
    """The schema's version; 0 when there is none."""
    wanted: int
    problems: tuple[str, ...]
    """What is wrong, a sentence each; none when all is well."""


def wanted_version() -> int:
    """The version that this wsctl works with.

    >>> wanted_version() == max(migrations())
    True
    """
    return max(migrations())


@asynccontextmanager
async def _connected(conninfo: str) -> AsyncIterator[Connection]:
    with translated(place_of(conninfo)):
        connection = await AsyncConnection.connect(
            conninfo, autocommit=True, application_name="wsctl schema", **CONNECTING
        )
        async with connection:
            yield connection


async def _version(connection: Connection) -> int:
    ((exists,),) = await rows(connection, SQL["exists"])
    if not exists:
        return 0
    ((version,),) = await rows(connection, SQL["version"])
    return int(version)


def _too_new(found: int, wanted: int) -> str:
    return f"the database has schema {found}, this wsctl knows {wanted}: use a newer wsctl"


def judge(found: int, wanted: int) -> SchemaProblem | None:
    """What a version means for this wsctl; None when it is the one it works with.

    >>> str(judge(7, 3))
    'the database has schema 7, this wsctl knows 3: use a newer wsctl'
    >>> judge(3, 3) is None
    True
    """
    if found == wanted:
        return None
    if found > wanted:
        return SchemaTooNew(_too_new(found, wanted))
    if found == 0:
        return SchemaMissing("the database has no schema of wsctl: run: wsctl db migrate")
    return SchemaOld(f"the database has schema {found}, this wsctl {wanted}: run: wsctl db migrate")


async def require(conninfo: str) -> None:
    """Raise what is wrong with the schema's version or the roles, and say what to do."""
    async with _connected(conninfo) as connection:
        problem = judge(await _version(connection), wanted_version())
        if problem is None:
            for sentence in await _role_problems(connection):
                raise SchemaProblem(sentence)
    if problem is not None:
        raise problem


async def migrate(conninfo: str, say: Callable[[str], None]) -> tuple[int, int]:
    """Bring the schema to the version that this wsctl works with: from which one, to which.

    SchemaTooNew when it is further already. What fails leaves the database as it was.
    """
    due = migrations()
    async with _connected(conninfo) as connection, connection.transaction():
        await connection.execute(SQL["lock"])
        before = await _version(connection)
        wanted = wanted_version()
        if before > wanted:
            raise SchemaTooNew(_too_new(before, wanted))
        if before == 0:
            await connection.execute(SQL["prepare"])
            await connection.execute(SQL["prepare_versions"])
        for version, text in due.items():
            if version > before:
                say(f"applying schema {version}")
                await connection.execute(SQL["enter"])
                await _apply(connection, version, text)
                await connection.execute(SQL["applied"], {"version": version})
    return before, wanted


async def _apply(connection: Connection, version: int, text: str) -> None:
    try:
        await connection.execute(text.encode())
    except psycopg.OperationalError:
        raise
    except psycopg.Error as error:
        raise MigrationFailed(
            f"schema {version} can't be applied, and nothing was changed: {first_line(error)}"
        ) from error


async def check(conninfo: str) -> SchemaState:
    """Look at a database, change nothing, and tell what is wrong with it."""
    async with _connected(conninfo) as connection:
        found, wanted = await _version(connection), wanted_version()
        problems = await _server_problems(connection)
        judged = judge(found, wanted)
        if judged is None:
            problems += await _object_problems(connection)
        else:
            problems.append(str(judged))
    return SchemaState(found=found, wanted=wanted, problems=tuple(problems))


async def _server_problems(connection: Connection) -> list[str]:
    ((number, version),) = await rows(connection, SQL["server"])
    if number >= OLDEST_SERVER:
        return []
    return [f"the server is PostgreSQL {version}: wsctl needs {OLDEST_SERVER // 10000} or newer"]


async def _role_problems(connection: Connection) -> list[str]:
    found = await rows(connection, SQL["roles"], {"roles": list(UPDATES)})
    missing = [f"the role {name} is missing" for name, exists, _ in found if not exists]
    return missing + [
        f"the user {user} may not act as {name}: GRANT {name} TO {user}"
        for name, exists, user in found
        if exists and user is not None
    ]


async def _object_problems(connection: Connection) -> list[str]:
    names = {
        "relations": list(_RELATIONS),
        "functions": list(_FUNCTIONS),
        "triggers": list(_TRIGGERS),
    }
    problems = await _role_problems(connection)
    missing = await rows(connection, SQL["objects"], names)
    problems += [f"{what} is missing or disabled" for (what,) in missing]
    if problems:
        return problems
    granted = await rows(connection, SQL["privileges"], {"roles": list(UPDATES)})
    for role, column, may in granted:
        if may and column not in UPDATES[role]:
            problems.append(f"{role} may update {column}, which is another writer's")
        elif not may and column in UPDATES[role]:
            problems.append(f"{role} may not update {column}, which is its own")
    return sorted(problems)
