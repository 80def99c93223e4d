"""What can go wrong with a database, in the words of the ports: no psycopg error passes by here.

A message is one sentence; it names the server, and never a password.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import PoolClosed, PoolTimeout

from wsctl_core.ports import LeadershipLost, StoreUnavailable
from wsctl_core.values.validation import InvalidValue

UNREADABLE = (
    "the address of the database can't be read: it is postgresql://user@host/name, or "
    "host=... dbname=..."
)
FENCED = "WS001"
"""The SQLSTATE with which `fence` refuses a write of an old epoch."""


def place_of(conninfo: str) -> str:
    """Where a database is, for people: host or socket, port and name, and nothing secret.

    StoreUnavailable when that can't be read; what libpq says then may quote a password.

    >>> place_of("postgresql://ann:secret@db.example.com:6432/ws")
    'ws at db.example.com:6432'
    >>> place_of("host=/run/pg dbname=ws password=secret")
    'ws at /run/pg'
    """
    try:
        parts = conninfo_to_dict(conninfo)
    except psycopg.ProgrammingError:
        raise StoreUnavailable(UNREADABLE) from None
    host = str(parts.get("host") or parts.get("hostaddr") or "the local socket")
    port = f":{parts['port']}" if parts.get("port") and not host.startswith("/") else ""
    return f"{parts.get('dbname') or 'the default database'} at {host}{port}"


def first_line(error: BaseException) -> str:
    """The first line of what an error says: a server's hints and details come after it.

    >>> first_line(ValueError("no route" + chr(10) + "Is it running?"))
    'no route'
    """
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


@contextmanager
def translated(place: str) -> Iterator[None]:
    """What is done inside raises what the ports name, and nothing of psycopg's."""
    try:
        yield
    except PoolTimeout as error:
        raise StoreUnavailable(f"the database {place} gave no connection in time") from error
    except PoolClosed as error:
        raise StoreUnavailable(f"the connections to {place} are closed") from error
    except (psycopg.IntegrityError, psycopg.DataError) as error:
        raise _refused(error) from error
    except psycopg.Error as error:
        if error.sqlstate == FENCED:
            raise LeadershipLost(first_line(error)) from error
        raise StoreUnavailable(f"the database {place}: {first_line(error)}") from error


def _refused(error: psycopg.Error) -> InvalidValue:
    """A row that the database refuses is one that the core would not have made either."""
    field = error.diag.constraint_name or error.diag.column_name or "value"
    return InvalidValue("Workspace", field, first_line(error))
