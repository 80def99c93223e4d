"""The SET list of an update: the columns that a patch names, and no other.

Names come from the patch types alone, whose fields are columns; values are parameters.
"""

from collections.abc import Mapping
from functools import cache

from wsctl_adapters.postgres.rows import written
from wsctl_adapters.postgres.statements import COLUMN_OF
from wsctl_core.values.patches import NEXT_NUMBER, IntentPatch, ReconcilerPatch, changes

_JSON = ("home", "error_info")


def _assignment(field: str, numbered: bool) -> str:
    value = "nextval('freshness')" if numbered else f"%({field})s"
    return f"{COLUMN_OF[field]} = {value}{'::jsonb' if field in _JSON else ''}"


@cache
def _update(statement: bytes, fields: tuple[tuple[str, bool], ...]) -> bytes:
    listed = ", ".join(_assignment(field, numbered) for field, numbered in fields)
    return statement.replace(b"{changes}", listed.encode())


def update(
    statement: bytes, patch: IntentPatch | ReconcilerPatch
) -> tuple[bytes, Mapping[str, object]]:
    """The statement that writes a patch in place of its `{changes}`, and the patch's parameters.

    NEXT_NUMBER is taken from the sequence by the statement itself (H19).

    >>> from wsctl_core import Operation
    >>> patch = ReconcilerPatch(operation=Operation.NONE, op_ended_seq=NEXT_NUMBER)
    >>> update(b"UPDATE workspaces SET {changes}", patch)[0].decode()
    "UPDATE workspaces SET operation = %(operation)s, op_ended_seq = nextval('freshness')"
    """
    values = changes(patch)
    fields = tuple((field, value is NEXT_NUMBER) for field, value in values.items())
    parameters = {
        field: written(value) for field, value in values.items() if value is not NEXT_NUMBER
    }
    return _update(statement, fields), parameters
