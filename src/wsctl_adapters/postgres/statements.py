"""The tiny loader: every statement is in a `.sql` file, under a sentence that says what it does.

A statement begins with a line `-- name: sentence` and goes on to the next such line. `{columns}`
stands for the columns of a row, in the order of the core's `Workspace`; `{w_columns}` for the same
of the table that a statement calls w. Nothing else is ever put into a statement's text.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import attrs

from wsctl_core.values.workspace import Workspace

_BEGINS = re.compile(r"^-- (\w+): ", re.MULTILINE)

COLUMN_OF = {
    field.name: "home_ctx" if field.name == "home" else field.name
    for field in attrs.fields(Workspace)
}
"""The column that keeps each field of a row."""


def _filled(text: str) -> bytes:
    columns = tuple(COLUMN_OF.values())
    text = text.replace("{columns}", ", ".join(columns))
    return text.replace("{w_columns}", ", ".join(f"w.{name}" for name in columns)).encode()


@cache
def statements(name: str) -> Mapping[str, bytes]:
    """The statements of one file, by their names.

    >>> statements("housekeeping")["installation"].decode().splitlines()[-1]
    'SELECT id FROM installation;'
    """
    text = (files(__package__) / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    starts = list(_BEGINS.finditer(text))
    ends = [start.start() for start in starts[1:]] + [len(text)]
    return {
        start[1]: _filled(text[start.start() : end].strip())
        for start, end in zip(starts, ends, strict=True)
    }


def migrations() -> Mapping[int, str]:
    """The text of every migration, by its number, in order.

    >>> min(migrations())
    1
    """
    folder = files(__package__) / "sql" / "migrations"
    found = {
        int(entry.name.partition("_")[0]): entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    }
    return dict(sorted(found.items()))
