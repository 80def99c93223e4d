"""PostgreSQL from the wheel: made, started and asked by its own programs.

It listens on a socket that only its user can open, never on a network, so whoever can connect is
trusted. A database is made in a folder beside its place and moved there when it is whole. `fsync`
stays on: these are people's workspaces.
"""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree
from urllib.parse import quote

import attrs

from wsctl_app.embedded import wheels
from wsctl_app.embedded.children import Child, environment, run_tool
from wsctl_app.embedded.folders import Folders
from wsctl_app.embedded.trouble import EmbeddedError, from_output

NAME = "wsctl"
"""The database, and the role that owns it and everything else."""

SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "port": "5432",  # a part of the socket's name, nothing more
    "fsync": "on",
    "max_connections": "100",
    "shared_buffers": "64MB",
    # A query whose client is gone ends soon: a leader that was killed must not hold its lock.
    "client_connection_check_interval": "100ms",
    "logging_collector": "off",
    "log_line_prefix": "%m [%p] ",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
"""They are given at every start, so that a newer wsctl needs to change no file."""

STOP = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 10.0))
"""A fast shutdown; then one that is recovered from at the next start; then no choice."""

_MAKING = "making-"
_MAKE_SECONDS = 120
_ASK_SECONDS = 15

_WHO = (
    "SELECT split_part(pg_read_file('postmaster.pid'), chr(10), 1), "
    "EXISTS (SELECT FROM pg_database WHERE datname = 'wsctl')"
)
"""The process that serves, and whether it has our database."""


@attrs.define(kw_only=True)
class Postgres:
    """The PostgreSQL of one data folder."""

    folders: Folders
    child: Child
    sockets: Path
    programs: Path
    """The `bin` folder of the version that the database was made by."""

    @property
    def url(self) -> str:
        """Where clients find wsctl's database."""
        return self._url(NAME)

    def _url(self, database: str) -> str:
        host = quote(os.fsencode(self.sockets), safe="")
        return f"postgresql://{NAME}@/{database}?host={host}&port={SETTINGS['port']}"

    # -------------------------------------------------------------------------------- start

    def start(self, say: Callable[[str], None], turn: int) -> None:
        """Make the database if there is none, and start the server on it."""
        if not self.folders.cluster.exists():
            say(f"{self.child.name} is making its database")
            self._make(turn)
        self._clear_stale_files()
        say(f"{self.child.name} is starting")
        # Quoted, because this setting is a list.
        sockets = str(self.sockets).replace('"', '""')
        settings = SETTINGS | {"unix_socket_directories": f'"{sockets}"'}
        options = [f"--{name}={value}" for name, value in settings.items()]
        self.child.launch(
            [self.programs / "postgres", "-D", self.folders.cluster, *options],
            needs=(self.sockets,),
        )

    def _make(self, turn: int) -> None:
        for left in self.folders.postgres.glob(f"{_MAKING}*"):
            rmtree(left)  # a start that was killed, and its initdb has ended: we have the turn
        fresh = Path(tempfile.mkdtemp(prefix=_MAKING, dir=self.folders.postgres))
        try:
            if (account := self.child.account) is not None:
                account.adopt(fresh)
            self._initdb(fresh, turn)
            fresh.rename(self.folders.cluster)
        finally:
            if fresh.exists():
                rmtree(fresh)
        _sync(self.folders.postgres)

    def _initdb(self, fresh: Path, turn: int) -> None:
        command = [
            str(self.programs / "initdb"),
            *("-D", str(fresh), "-U", NAME, "--encoding=UTF8", "--locale=C"),
            *("--auth-local=trust", "--auth-host=reject", "--no-instructions"),
        ]
        where = self.folders.data
        try:
            done = run_tool(
                command,
                self.folders.postgres,
                account=self.child.account,
                turn=turn,
                timeout_seconds=_MAKE_SECONDS,
            )
        except subprocess.TimeoutExpired as error:
            raise EmbeddedError(
                f"cannot make the database in {where}: it was not done in {_MAKE_SECONDS} "
                "seconds; choose a faster disk with --data"
            ) from error
        if done.returncode != 0:
            raise from_output("make the database", where, done.stdout)

    def _clear_stale_files(self) -> None:
        """Remove what a server that was cut off left behind.

        Our lock is free, so no server of ours is alive, nor any process of it. PostgreSQL itself
        would take any living process with the pid in these files for one, and after a restart of
        a machine or a container there often is one.
        """
        stale = self.folders.cluster / "postmaster.pid"
        if stale.exists() and (pid := self._serving_pid(stale)) is not None:
            raise EmbeddedError(
                f"the database in {self.folders.data} is served by a PostgreSQL that wsctl did "
                f"not start (process {pid}); stop it, then try again"
            )
        stale.unlink(missing_ok=True)
        for name in (f".s.PGSQL.{SETTINGS['port']}", f".s.PGSQL.{SETTINGS['port']}.lock"):
            (self.sockets / name).unlink(missing_ok=True)

    def _serving_pid(self, file: Path) -> int | None:
        """The PostgreSQL that somebody else started on this database; None: there is none."""
        pid = file.read_text().partition("\n")[0].strip()
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            return None
        is_postgres = Path(os.fsdecode(command[0])).name in ("postgres", "postmaster")
        return int(pid) if is_postgres and os.fsencode(self.folders.cluster) in command else None

    # --------------------------------------------------------------------------- once it runs

    def pid(self) -> int | None:
        """The process that answers on the socket; None: nobody answers yet."""
        answer = self._asked(_WHO)
        return None if answer is None else int(answer.partition("|")[0])

    def finish(self) -> None:
        """Make wsctl's database if the server has none of that name."""
        answer = self._asked(_WHO)
        if answer is not None and answer.endswith("|f"):
            self._ask(f"CREATE DATABASE {NAME}")

    def _asked(self, statement: str) -> str | None:
        try:
            return self._ask(statement)
        except EmbeddedError:  # it is starting, or ending: whoever waits knows for how long
            return None

    def _ask(self, statement: str) -> str:
        psql = str(self.programs / "psql")
        try:
            done = subprocess.run(  # noqa: S603  # a program of the wheel
                [psql, "-XAtq", "-d", self._url("postgres"), "-c", statement],
                env=environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=_ASK_SECONDS,
            )
        except subprocess.TimeoutExpired as error:
            raise EmbeddedError(f"{self.child.name} in {self.folders.data} hangs") from error
        if done.returncode != 0:
            raise from_output("use the database", self.folders.data, done.stderr)
        return done.stdout.strip()

    def stop(self) -> None:
        """End it; what was committed is on disk."""
        self.child.stop(STOP)


def chosen_version(folders: Folders) -> tuple[int, Path]:
    """The version of the database and its programs; for a new one, the newest there is."""
    offered = wheels.postgres_folders()
    if not folders.cluster.exists():
        return max(offered.items())
    told = folders.cluster / "PG_VERSION"
    made_by = told.read_text().strip() if told.exists() else ""
    if not made_by.isdecimal():
        raise EmbeddedError(
            f"{folders.cluster} is damaged: it does not say which PostgreSQL made it; "
            "restore it from a backup or choose another folder with --data"
        )
    if int(made_by) not in offered:
        have = " and ".join(str(version) for version in sorted(offered))
        raise EmbeddedError(
            f"the database in {folders.data} was made by PostgreSQL {made_by}, and here is "
            f"PostgreSQL {have}; use the wsctl that made it, or choose another folder with --data"
        )
    return int(made_by), offered[int(made_by)]


def _sync(folder: Path) -> None:
    """Make the new name of a folder as durable as what is in it."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
