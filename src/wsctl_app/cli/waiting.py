"""Waiting until a workspace is as it is wanted, and telling meanwhile what is done and why."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs
from rich.console import Console
from rich.markup import escape
from rich.status import Status

from wsctl_app.cli import words
from wsctl_app.cli.client import Client
from wsctl_app.cli.failures import Exit, Failed

LOOK_SECONDS = 0.2
WHY_SECONDS = 1.0


@attrs.define
class Said:
    """What was said last: on a terminal a line that changes, elsewhere a line per change."""

    _console: Console
    _status: Status | None
    _last: str = ""

    def say(self, line: str) -> None:
        """Say it, unless it was said last."""
        if line == self._last:
            return
        self._last = line
        if self._status is None:
            self._console.print(line)
        else:
            self._status.update(line)


@contextmanager
def saying() -> Iterator[Said]:
    """Progress on standard error."""
    console = words.aside()
    if not console.is_terminal:
        yield Said(console, None)
        return
    with console.status("") as status:
        yield Said(console, status)


def until_settled(client: Client, asked: dict[str, Any], timeout_seconds: float | None) -> Any:
    """The workspace, once it is what was asked for. Failed when it can't become so."""
    ends_at = None if timeout_seconds is None else time.monotonic() + timeout_seconds
    why_at, why, why_of = 0.0, "", ""
    with saying() as said:
        while True:
            try:
                ws = client.get(asked["id"])
            except Failed:
                if asked["deleted_at"]:  # its row was removed: nothing is left at all
                    return asked | {"display_status": "DELETED"}
                raise
            if settled(ws):
                return ws
            _still_possible(client, asked, ws)
            now = time.monotonic()
            if now >= why_at:
                explained = client.explain(ws["id"])
                why, why_of = explained["because"], explained["status"]
                why_at = now + WHY_SECONDS
            said.say(_line(ws, why if why_of == ws["display_status"] else ""))
            if ends_at is not None and now >= ends_at:
                raise Failed(
                    f"{ws['name']} is still {ws['display_status']} after {timeout_seconds:g} s: "
                    f"{why} It goes on; `wsctl explain {ws['id'][: words.ID_LENGTH]}` says why.",
                    Exit.TIMED_OUT,
                )
            time.sleep(LOOK_SECONDS)


def settled(ws: dict[str, Any]) -> bool:
    """It is as it is wanted, and nothing is left to be done."""
    if ws["operation"] != "NONE" or ws["error_info"] or ws["health_status"] != "OK":
        return False
    wanted = "DELETED" if ws["deleted_at"] else ws["desired_state"]
    # What runs answers somewhere; the last look may be older than what became of it.
    lives = wanted != "RUNNING" or ws["address"] is not None
    return bool(ws["observed_status"] == wanted and lives)


def _still_possible(client: Client, asked: dict[str, Any], ws: dict[str, Any]) -> None:
    """It may yet become what was asked for; else say why not."""
    if ws["intent_version"] != asked["intent_version"] and not asked["deleted_at"]:
        wanted = "deleted" if ws["deleted_at"] else ws["desired_state"]
        raise Failed(f"somebody else has changed what is wanted: {ws['name']} is to be {wanted}")
    error = ws["error_info"]
    if error and error["is_terminal"] and not ws["deleted_at"]:
        ways = ", ".join(dict.fromkeys(w["way"] for w in client.explain(ws["id"])["ways_out"]))
        raise Failed(f"{ws['name']}: {error['reason']}: {error['message']} (ways out: {ways})")


def _line(ws: dict[str, Any], why: str) -> str:
    parts = [f"{escape(ws['name'])}: {words.status(ws['display_status'])}"]
    if transfer := ws["transfer"]:
        parts.append(words.moved(transfer))
    return f"{' '.join(parts)}  [dim]{escape(why)}[/dim]"
