"""Rows and JSON columns, turned into the core's values and back. Every value is validated again.

The database's constraints say the same as the core's validators, so a row that can't be read was
not written by wsctl. Times in JSON are ISO 8601, in UTC; text that Postgres can't keep (a NUL, half
of a surrogate pair, as in the output of a tool that failed) is replaced, so that an error can
always be recorded.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC
from enum import Enum
from typing import Any, TypeVar, assert_never

import attrs
import msgspec

from wsctl_adapters.postgres.statements import COLUMN_OF
from wsctl_core.values.errors import ErrorInfo
from wsctl_core.values.observation import LastExit, Suspect
from wsctl_core.values.states import DesiredState, HealthStatus, ObservedStatus, Operation
from wsctl_core.values.workspace import Home, Workspace

Row = Sequence[Any]
"""A row as psycopg gives it: the columns of `Workspace` in its order, JSON as it came."""
E = TypeVar("E", bound=Enum)

TURN = 1000
"""How many rows are built before others get a turn: some hundredths of a second."""


def _member(kind: type[E]) -> Callable[[str], E]:
    """How a word becomes a member: by a look-up, which is quicker than asking the type."""
    return {str(member.value): member for member in kind}.__getitem__


def _error(raw: bytes) -> ErrorInfo:
    parts = msgspec.json.decode(raw, type=dict[str, Any])
    return msgspec.convert(_with_pairs(parts), ErrorInfo)


def _with_pairs(error: dict[str, Any]) -> dict[str, Any]:
    """The context is an object in the database, for people, and pairs in the core, as a value."""
    return {**error, "context": sorted(error["context"].items())}


_READ: Mapping[str, Callable[[Any], object]] = {
    "desired_state": _member(DesiredState),
    "observed_status": _member(ObservedStatus),
    "health_status": _member(HealthStatus),
    "operation": _member(Operation),
    "previous_status": _member(ObservedStatus),
    "suspect": msgspec.json.Decoder(Suspect).decode,
    "last_exit": msgspec.json.Decoder(LastExit).decode,
    "home": msgspec.json.Decoder(Home).decode,
    "error_info": _error,
}
_FIELDS = tuple(COLUMN_OF)
_TRANSLATED = tuple((_FIELDS.index(name), read) for name, read in _READ.items())


def workspace(row: Row) -> Workspace:
    """The row as a value."""
    values = list(row)
    for place, read in _TRANSLATED:
        value = values[place]
        if value is not None:
            values[place] = read(value)
    return Workspace(**dict(zip(_FIELDS, values, strict=True)))


async def workspaces(rows: Sequence[Row]) -> tuple[Workspace, ...]:
    """Rows as values; while a fleet is built, others get their turns, a leader's beat first."""
    built: list[Workspace] = []
    for start in range(0, len(rows), TURN):
        built += map(workspace, rows[start : start + TURN])
        await asyncio.sleep(0)
    return tuple(built)


def told(row_after: bytes) -> Workspace:
    """The row that an event carries, as JSON."""
    parts = msgspec.json.decode(row_after, type=dict[str, Any])
    if parts["error_info"] is not None:
        parts["error_info"] = _with_pairs(parts["error_info"])
    return msgspec.convert({name: parts[column] for name, column in COLUMN_OF.items()}, Workspace)


def _plain(text: str) -> str:
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()


def as_json(value: Home | ErrorInfo | Suspect | LastExit | None) -> str | None:
    """A value as the text of a JSON column; None stays NULL."""
    match value:
        case None:
            return None
        case ErrorInfo():
            return msgspec.json.encode(_error_parts(value)).decode()
        case LastExit():
            return msgspec.json.encode(attrs.evolve(value, at=value.at.astimezone(UTC))).decode()
        case Home() | Suspect():
            return msgspec.json.encode(value).decode()
    assert_never(value)


def _error_parts(error: ErrorInfo) -> dict[str, object]:
    plain = attrs.evolve(
        error,
        message=_plain(error.message),
        occurred_at=error.occurred_at.astimezone(UTC),
        context=(),
    )
    parts: dict[str, object] = msgspec.to_builtins(plain)
    return parts | {"context": {_plain(key): _plain(text) for key, text in error.context}}


def written(value: object) -> object:
    """The value of one column, as a parameter of a statement."""
    match value:
        case Enum():
            return value.value
        case Home() | ErrorInfo() | Suspect() | LastExit():
            return as_json(value)
        case _:
            return value
