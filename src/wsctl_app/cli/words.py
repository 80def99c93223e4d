"""Words for people: tables, lines and sizes. With `--json` none of this is used."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlunsplit

from rich.console import Console
from rich.markup import escape
from rich.table import Table

ID_LENGTH = 12
"""How much of an identity a listing shows: more than enough to name one by."""

_STYLES = {
    "RUNNING": "green",
    "STANDBY": "yellow",
    "ARCHIVED": "blue",
    "ERROR": "bold red",
    "DELETED": "dim",
}

_WIDE = 240
"""The width of output that nobody looks at: lines are not to be broken there."""


def console() -> Console:
    """Where answers go."""
    return Console(width=None if sys.stdout.isatty() else _WIDE, highlight=False)


def aside() -> Console:
    """Where everything goes that is no answer."""
    return Console(
        stderr=True, width=None if sys.stderr.isatty() else _WIDE, highlight=False, soft_wrap=True
    )


def tell_json(value: object) -> None:
    """An answer for programs."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def page(address: str, path: str = "/") -> str:
    """Where a browser finds what answers at that host and port.

    >>> page("localhost:8080")
    'http://localhost:8080/'
    """
    return urlunsplit(("http", address, path, "", ""))


def status(word: str) -> str:
    """A status in its colour."""
    style = _STYLES.get(word, "cyan")
    return f"[{style}]{word}[/{style}]"


def size(count: int) -> str:
    """A number of bytes.

    >>> size(999), size(1536), size(3 * 2**30)
    ('999 B', '1.5 KiB', '3.0 GiB')
    """
    amount, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}"


def ago(moment: str | None, now: datetime | None = None) -> str:
    """How long ago a time is.

    >>> ago("2026-01-01T12:00:00Z", datetime(2026, 1, 1, 14, 30, tzinfo=UTC))
    '2 h ago'
    """
    if moment is None:
        return "never"
    seconds = ((now or datetime.now(UTC)) - datetime.fromisoformat(moment)).total_seconds()
    for length, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= length:
            return f"{int(seconds // length)} {unit} ago"
    return "just now" if seconds < 5 else f"{int(seconds)} s ago"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table; its cells are markup."""
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


def listing(workspaces: Iterable[dict[str, Any]]) -> Table:
    """Workspaces, one line each."""
    return table(
        ("ID", "NAME", "OWNER", "STATUS", "WANTED", "CREATED"),
        [
            (
                ws["id"][:ID_LENGTH],
                escape(ws["name"]),
                escape(ws["owner_id"]),
                status(ws["display_status"]),
                "deleted" if ws["deleted_at"] else ws["desired_state"],
                ago(ws["created_at"]),
            )
            for ws in workspaces
        ],
    )


def one_line(ws: dict[str, Any]) -> str:
    """What a workspace is and is to be."""
    wanted = "deleted" if ws["deleted_at"] else ws["desired_state"]
    line = f"{escape(ws['name'])} ({ws['id'][:ID_LENGTH]}) is {status(ws['display_status'])}"
    if ws["display_status"] == wanted or (wanted, ws["display_status"]) == ("PENDING", "ARCHIVED"):
        where = f" at {page(ws['address'])}" if ws.get("address") else ""
        return line + where
    return line if ws["display_status"] == "DELETED" else f"{line}; it is to be {wanted}"


def details(ws: dict[str, Any]) -> Table:
    """All about one workspace that people ask for."""
    archive = f"{ws['archive_key']} ({size(ws['archive_size'])})" if ws["archive_key"] else "none"
    home = ws["home"]
    rows = [
        ("id", ws["id"]),
        ("name", escape(ws["name"])),
        ("owner", escape(ws["owner_id"])),
        ("image", escape(ws["image"])),
        ("status", status(ws["display_status"])),
        ("wanted", "deleted" if ws["deleted_at"] else ws["desired_state"]),
        ("address", page(ws["address"]) if ws.get("address") else "none"),
        ("home", f"{home['state']}{' ' + home['incarnation'] if home['incarnation'] else ''}"),
        ("archive", archive),
        ("stops when idle for", f"{ws['standby_ttl_seconds']} s"),
        ("is archived when unused for", f"{ws['archive_ttl_seconds']} s"),
        ("created", ago(ws["created_at"])),
    ]
    if transfer := ws.get("transfer"):
        rows.append(("transfer", moved(transfer)))
    if error := ws["error_info"]:
        rows.append(("error", f"[red]{error['reason']}[/red]: {escape(error['message'])}"))
    return table(("", ""), [(f"[dim]{name}[/dim]", value) for name, value in rows])


def moved(transfer: dict[str, Any]) -> str:
    """How far a transfer has come."""
    of = "" if transfer["of"] is None else f" of {size(transfer['of'])}"
    return f"{size(transfer['done'])}{of}"
