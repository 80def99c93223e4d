"""Migrations: whole or not at all, and a clear sentence for every database that can't be used."""

import asyncio
from contextlib import closing

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.servers import Server, database, postgres
from wsctl_adapters.postgres import (
    MigrationFailed,
    SchemaMissing,
    SchemaOld,
    SchemaProblem,
    SchemaState,
    SchemaTooNew,
    check,
    migrate,
    open_postgres,
    schema,
)
from wsctl_adapters.postgres.statements import migrations
from wsctl_core.ports import StoreUnavailable

WANTED = schema.wanted_version()


def opening(url: str) -> None:
    async def open_and_close() -> None:
        async with open_postgres(url, node_id="here"):
            pass

    asyncio.run(open_and_close())


def name_of(url: str) -> str:
    return str(conninfo_to_dict(url)["dbname"])


def everything_in(url: str) -> list[tuple[str, ...]]:
    """Every relation, function and schema that is not the server's own."""
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT nspname, '' FROM pg_namespace WHERE nspname = 'wsctl' UNION ALL"
            " SELECT nspname, relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace"
            " WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema'"
        ).fetchall()


def test_a_database_is_migrated_once():
    """The first time everything is made and told; the second time there is nothing to do."""
    said: list[str] = []
    with database(empty=True) as url:
        assert asyncio.run(check(url)).found == 0
        assert asyncio.run(migrate(url, said.append)) == (0, WANTED)
        assert said == [f"applying schema {n}" for n in range(1, WANTED + 1)]
        assert asyncio.run(migrate(url, said.append)) == (WANTED, WANTED)
        assert len(said) == WANTED
        state = SchemaState(found=WANTED, wanted=WANTED, problems=())
        assert asyncio.run(check(url)) == state
        opening(url)


def test_two_that_migrate_at_once_make_one_schema():
    """One of them waits, and finds everything done."""

    async def both(url: str) -> list[tuple[int, int]]:
        return await asyncio.gather(*(migrate(url, lambda _: None) for _ in range(3)))

    with database(empty=True) as url:
        made = asyncio.run(both(url))
        assert sorted(made) == [(0, WANTED), (WANTED, WANTED), (WANTED, WANTED)]


def test_a_migration_that_fails_leaves_nothing(monkeypatch: pytest.MonkeyPatch):
    """What was applied before it in the same run is undone, too."""
    texts = {**migrations(), WANTED + 1: "CREATE TABLE half (); SELECT 1 / 0"}
    monkeypatch.setattr(schema, "migrations", lambda: texts)
    with database(empty=True) as url:
        with pytest.raises(MigrationFailed) as told:
            asyncio.run(migrate(url, lambda _: None))
        assert str(told.value) == (
            f"schema {WANTED + 1} can't be applied, and nothing was changed: division by zero"
        )
        assert everything_in(url) == []


def test_migrations_go_on_from_where_they_were(monkeypatch: pytest.MonkeyPatch):
    """A database of an older schema gets what it lacks, and keeps what it has."""
    texts = {**migrations(), WANTED + 1: "CREATE TABLE more ()"}
    with database() as url:
        monkeypatch.setattr(schema, "migrations", lambda: texts)
        with pytest.raises(SchemaOld) as told:
            opening(url)
        words = f"the database has schema {WANTED}, this wsctl {WANTED + 1}: run: wsctl db migrate"
        assert str(told.value) == words
        assert asyncio.run(check(url)).problems == (words,)
        assert asyncio.run(migrate(url, lambda _: None)) == (WANTED, WANTED + 1)
        assert ("wsctl", "more") in everything_in(url)


def test_a_database_without_a_schema_is_told():
    """Nothing is read from it, and the sentence says what to run."""
    with database(empty=True) as url:
        with pytest.raises(SchemaMissing) as told:
            opening(url)
        words = "the database has no schema of wsctl: run: wsctl db migrate"
        assert str(told.value) == words
        assert asyncio.run(check(url)).problems == (words,)


def test_a_newer_schema_is_left_alone():
    """A database of a newer wsctl is neither opened nor migrated."""
    newer = WANTED + 4
    words = f"the database has schema {newer}, this wsctl knows {WANTED}: use a newer wsctl"
    with database() as url:
        with psycopg.connect(url) as owner:
            owner.execute("INSERT INTO wsctl.schema_version (version) VALUES (%s)", [newer])
        with pytest.raises(SchemaTooNew) as told:
            opening(url)
        assert str(told.value) == words
        with pytest.raises(SchemaTooNew):
            asyncio.run(migrate(url, lambda _: None))
        assert asyncio.run(check(url)).problems == (words,)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://ann:secret@127.0.0.1:1/ws", "ws at 127.0.0.1:1"),
        ("host=/nowhere/at/all dbname=ws password=secret", "ws at /nowhere/at/all"),
        ("secret nonsense", "the address of the database can't be read"),
    ],
)
def test_a_database_that_is_away_is_named(url: str, words: str):
    """One sentence says where it was looked for and why not, and never tells a password."""
    for use in (opening, lambda url: asyncio.run(migrate(url, print)), run_check):
        with pytest.raises(StoreUnavailable) as told:
            use(url)
        assert words in str(told.value)
        assert "secret" not in str(told.value)
        assert "\n" not in str(told.value)


def run_check(url: str) -> None:
    asyncio.run(check(url))


def test_a_user_that_is_no_member_of_the_roles_is_told():
    """Whoever runs wsctl must be able to act as its roles; a check says which are lacking."""
    server = postgres()
    with database() as url:
        name = name_of(url)
        server.execute("CREATE ROLE stranger LOGIN")
        try:
            server.execute("GRANT USAGE ON SCHEMA wsctl TO stranger", name)
            server.execute("GRANT SELECT ON wsctl.schema_version TO stranger", name)
            theirs = url.replace("user=postgres", "user=stranger")
            problems = tuple(
                f"the user stranger may not act as {role}: GRANT {role} TO stranger"
                for role in sorted(schema.UPDATES)
            )
            assert asyncio.run(check(theirs)).problems == problems
            with pytest.raises(SchemaProblem) as told:
                opening(theirs)
            assert str(told.value) == problems[0]
        finally:
            server.execute("DROP OWNED BY stranger", name)
            server.execute("DROP ROLE stranger")


def test_an_ordinary_user_can_own_a_database():
    """No superuser is needed: who may create roles and owns the database migrates and runs it."""
    with closing(Server()) as server:
        server.execute("CREATE ROLE ordinary LOGIN CREATEROLE")
        server.execute("CREATE DATABASE theirs OWNER ordinary")
        url = server.url("theirs").replace("user=postgres", "user=ordinary")
        assert asyncio.run(migrate(url, lambda _: None)) == (0, WANTED)
        assert asyncio.run(check(url)).problems == ()
        opening(url)


def test_a_user_without_the_right_is_told_and_nothing_is_made():
    """Who may not create roles is refused by a sentence, and the database is as it was."""
    with closing(Server()) as server:
        server.execute("CREATE ROLE ordinary LOGIN")
        server.execute("CREATE DATABASE theirs OWNER ordinary")
        url = server.url("theirs").replace("user=postgres", "user=ordinary")
        with pytest.raises(MigrationFailed, match="permission denied to create role"):
            asyncio.run(migrate(url, lambda _: None))
        assert everything_in(url) == []
