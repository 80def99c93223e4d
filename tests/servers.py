"""A real PostgreSQL for tests: one server per test process, one clean database per test.

The server is the one of the embedded default. It is started when a test first asks for it and
ended with the process. A database is a copy of one that was migrated, or one that is swept after
use.
"""

import asyncio
import atexit
import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from wsctl_adapters.postgres import migrate
from wsctl_app.embedded.wheels import postgres_folders

PATIENCE_SECONDS = 30
QUICK = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "shared_buffers=32MB")

_numbers = count(1)


def _account() -> dict[str, Any]:
    """Postgres refuses to run as root: then it runs as somebody who owns nothing."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _end_with_the_tests() -> None:
    """Tests that are killed take their server with them: SIGQUIT when their process ends."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGQUIT)


class Server:
    """A server in a folder of its own, reached by a socket in that folder."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="wsctl-pg-"))
        self._account = _account()
        if self._account:
            os.chown(self.folder, self._account["user"], self._account["group"])
        programs = postgres_folders()
        self._programs = programs[max(programs)]
        data = ("-D", str(self.folder / "data"))
        program = self._programs / "initdb"
        make = (program, *data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N")
        subprocess.run(
            make, check=True, cwd=self.folder, stdout=subprocess.DEVNULL, **self._account
        )
        self.start()

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = [part for setting in QUICK for part in ("-c", setting)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    self._programs / "postgres",
                    "-D",
                    "data",
                    "-k",
                    str(self.folder),
                    "-h",
                    "",
                    *options,
                ],
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_the_tests,  # noqa: PLW1509  # no other thread runs yet
                **self._account,
            )
        for _ in range(PATIENCE_SECONDS * 20):
            try:
                psycopg.connect(self.url("postgres")).close()
            except psycopg.OperationalError:
                time.sleep(0.05)
            else:
                return
        raise TimeoutError((self.folder / "log").read_text())

    def url(self, database: str) -> str:
        """Where one of the server's databases is."""
        return f"host={self.folder} user=postgres dbname={database}"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run one statement as the superuser, outside of any transaction."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the server; SIGINT breaks connections off, SIGQUIT does so without a word."""
        self.process.send_signal(how)
        self.process.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        """End the server for good, and remove what it left."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)


@cache
def postgres() -> Server:
    """The server of this test process."""
    server = Server()
    atexit.register(server.close)
    return server


@cache
def _template() -> str:
    server = postgres()
    server.execute("CREATE DATABASE migrated")
    asyncio.run(migrate(server.url("migrated"), lambda _: None))
    return "migrated"


@contextmanager
def database(*, empty: bool = False) -> Iterator[str]:
    """The address of a new database: with wsctl's schema, unless it is to be empty."""
    server, name = postgres(), f"test{next(_numbers)}"
    template = "template1" if empty else _template()
    server.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    try:
        yield server.url(name)
    finally:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


_SWEEP = """
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid();
    TRUNCATE wsctl.workspaces, wsctl.outbox, wsctl.latches RESTART IDENTITY;
    UPDATE wsctl.monitor_pass SET number = 0;
    UPDATE wsctl.system_locks SET epoch = 0, holder_id = NULL, acquired_at = NULL;
    ALTER SEQUENCE wsctl.freshness RESTART;
"""


@contextmanager
def swept_database() -> Iterator[str]:
    """The address of a database with nothing in it: one that others used, swept, which is quicker.

    It is not for a test that changes the schema.
    """
    server, name = postgres(), _used()
    try:
        yield server.url(name)
    finally:
        server.execute(_SWEEP, name)


@cache
def _used() -> str:
    postgres().execute(f"CREATE DATABASE used TEMPLATE {_template()}")
    return "used"
