"""The two servers of a data folder together, and the wsctl processes that share them.

Whoever starts or stops holds the turn, so that two starts at once end with one pair of servers.
Every user holds a shared lock while it lives; the one that leaves last stops the servers. A user
that was killed leaves them running, and the next start finds them.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import attrs

from wsctl_app.embedded import account as accounts
from wsctl_app.embedded import wheels
from wsctl_app.embedded.account import Account
from wsctl_app.embedded.children import Child
from wsctl_app.embedded.folders import Folders
from wsctl_app.embedded.locks import Users, turn
from wsctl_app.embedded.postgres import STOP as STOP_POSTGRES
from wsctl_app.embedded.postgres import Postgres, chosen_version
from wsctl_app.embedded.trouble import EmbeddedError, told
from wsctl_app.embedded.valkey import STOP as STOP_VALKEY
from wsctl_app.embedded.valkey import Valkey

TURN_SECONDS = 60.0
"""How long a start waits for another one: a first start on a slow disk is to be outwaited."""

READY_SECONDS = 60.0
"""How long a server may take until it answers: it may have to recover from a crash first."""

Say = Callable[[str], None]
"""Takes short lines about progress."""


@attrs.define(kw_only=True)
class Running:
    """Servers that run, and this process as one of their users."""

    database_url: str
    """For psycopg: PostgreSQL over its socket, as the owner of the database."""
    redis_url: str
    """For redis-py: Valkey over its socket."""
    postgres_found: bool
    """PostgreSQL was running already."""
    valkey_found: bool
    """Valkey was running already."""
    _folders: Folders
    _servers: Sequence[Postgres | Valkey]
    _account: Account | None
    _users: Users

    def release(self) -> bool:
        """Use the servers no longer; True: nobody else did, and they were stopped.

        A second call changes nothing and returns False.
        """
        return self._leave(even_if_used=False)

    def stop(self) -> None:
        """Stop the servers, whoever uses them."""
        self._leave(even_if_used=True)

    def _leave(self, *, even_if_used: bool) -> bool:
        if self._users.has_left:
            return False
        data = self._folders.data
        with (
            told("stop the servers", data),
            turn(self._folders.turn, data, timeout_seconds=TURN_SECONDS),
        ):
            ends = self._users.is_alone() or even_if_used
            try:
                if ends:
                    _stop(self._servers, self._folders, self._account)
            finally:
                self._users.leave()
        return ends


def _unheard(_line: str) -> None:
    """Nobody listens to progress."""


def start(data: Path, say: Say = _unheard) -> Running:
    """Find the servers of a data folder or start them, and become one of their users.

    Raises `EmbeddedError` with a sentence for people. Then nothing that this call started is
    left running, and nothing half-made is left in the folder.
    """
    folders = Folders(data=data.expanduser().resolve())
    with told("keep data", folders.data):
        folders.make_home()
        with turn(folders.turn, folders.data, timeout_seconds=TURN_SECONDS) as held:
            users = Users.at(folders.users)
            alone = users.is_alone()
            try:
                return _start(folders, users, alone=alone, say=say, held=held)
            except BaseException:
                users.leave()
                raise


def _start(folders: Folders, users: Users, *, alone: bool, say: Say, held: int) -> Running:
    # First what needs nothing to be made: a wheel may be missing, a database too new.
    version, programs = chosen_version(folders)
    program = wheels.valkey_program()
    account = accounts.for_servers(folders.cluster)
    children = (
        Child(name=f"PostgreSQL {version}", folder=folders.postgres, account=account),
        Child(
            name=f"Valkey {wheels.major_version(program)}", folder=folders.valkey, account=account
        ),
    )
    folders.make_rooms(account)
    sockets = _sockets(folders, children, alone=alone)
    postgres = Postgres(folders=folders, child=children[0], sockets=sockets, programs=programs)
    valkey = Valkey(folders=folders, child=children[1], sockets=sockets, program=program)
    servers = (postgres, valkey)
    try:
        postgres_found = _ensure(postgres, say, held)
        valkey_found = _ensure(valkey, say, held)
    except BaseException as error:
        if alone:
            _stop_after(error, servers, folders, account)
        raise
    return Running(
        database_url=postgres.url,
        redis_url=valkey.url,
        postgres_found=postgres_found,
        valkey_found=valkey_found,
        folders=folders,
        servers=servers,
        account=account,
        users=users,
    )


def _sockets(folders: Folders, children: tuple[Child, Child], *, alone: bool) -> Path:
    """The folder of the sockets. Servers whose sockets are gone can't be reached, only replaced."""
    account = children[0].account
    if (found := folders.sockets(account)) is not None:
        return found
    for child, signals in zip(children, (STOP_POSTGRES, STOP_VALKEY), strict=True):
        if child.runs and not alone:
            raise EmbeddedError(
                f"{child.name} in {folders.data} runs for another wsctl, but its socket is gone; "
                "stop every wsctl on this folder, then try again"
            )
        if child.runs:
            child.stop(signals)
    return folders.make_sockets(account)


def _ensure(server: Postgres | Valkey, say: Say, held: int) -> bool:
    """Have the server ready; True: it was running already."""
    child = server.child
    found = child.runs and child.wait_until_ready(server.pid, READY_SECONDS)
    if found:
        say(f"{child.name} was found running")
    else:
        server.start(say, held)
        if not child.wait_until_ready(server.pid, READY_SECONDS):
            raise child.ended()
    server.finish()
    return found


def _stop_after(
    error: BaseException,
    servers: Sequence[Postgres | Valkey],
    folders: Folders,
    account: Account | None,
) -> None:
    """Leave nothing running after a start that failed; why it failed is what people are told."""
    try:
        _stop(servers, folders, account)
    except EmbeddedError as stuck:
        error.add_note(stuck.message)


def _stop(servers: Sequence[Postgres | Valkey], folders: Folders, account: Account | None) -> None:
    """Stop them all; a server that does not end keeps the others from nothing."""
    stuck = []
    for server in servers:
        try:
            server.stop()
        except EmbeddedError as error:
            stuck.append(error)
    if stuck:
        raise stuck[0]
    folders.remove_sockets(account)
