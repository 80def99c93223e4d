"""The commands that look: at many workspaces, at one, at why, and at what happens."""

import json as encoder
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any

from cyclopts import Parameter
from rich.markup import escape

from wsctl_app.cli import words
from wsctl_app.cli.client import Client
from wsctl_app.cli.failures import Failed
from wsctl_app.cli.options import Json, Named
from wsctl_app.cli.where import HERE, Where

AGAIN_SECONDS = 1.0
"""Between two tries to go on with a stream of events."""


def list_(
    *,
    status: Annotated[
        str | None, Parameter(help="Only those that are shown so, such as RUNNING or ERROR.")
    ] = None,
    owner: Annotated[str | None, Parameter(help="Only those of this owner.")] = None,
    deleted: Annotated[
        bool, Parameter(help="Also those whose deletion is finished.", show_default=False)
    ] = False,
    json: Json = False,
    where: Where = HERE,
) -> None:
    """List workspaces."""
    filters = {"deleted": "true" if deleted else "false"}
    if status is not None:
        filters["status"] = status.upper()
    if owner is not None:
        filters["owner_id"] = owner
    with Client(where) as client:
        rows = list(client.workspaces(**filters))
    if json:
        words.tell_json(rows)
    elif rows:
        words.console().print(words.listing(rows))
    else:
        words.aside().print("There are no such workspaces; `wsctl create NAME` makes one.")


def show(workspace: Named, /, *, json: Json = False, where: Where = HERE) -> None:
    """Show all about one workspace."""
    with Client(where) as client:
        ws = client.get(client.one(workspace)["id"])
    if json:
        words.tell_json(ws)
    else:
        words.console().print(words.details(ws))


def explain(workspace: Named, /, *, json: Json = False, where: Where = HERE) -> None:
    """Say why a workspace is as it is, and what can be done about it."""
    with Client(where) as client:
        why = client.explain(client.one(workspace)["id"])
    if json:
        words.tell_json(why)
        return
    out = words.console()
    out.print(words.one_line(why["workspace"]))
    out.print(f"{escape(why['because'])} It waits for {why['waits_for']}.")
    if why["next_at"]:
        out.print(f"The next thing happens at {why['next_at']}.")
    if error := why["workspace"]["error_info"]:
        out.print(f"[red]{error['reason']}[/red]: {escape(error['message'])}")
    for holder in why["holders"]:
        out.print(f"A place is held by {escape(holder['name'])} ({holder['id']}).")
    out.print("\n[bold]What can be done[/bold]")
    ways = [
        (f"  {way['way']}", escape(way["leads_to"]), ", ".join(way["who"]).lower())
        for way in why["ways_out"]
    ]
    out.print(words.table(("  WAY", "LEADS TO", "WHO"), ways))
    out.print("\n[bold]What was looked at[/bold]")
    looked = [
        (f"  {rule['rule']}", escape(rule["says"]), "decided" if rule["decided"] else "no")
        for rule in why["looked_at"]
    ]
    out.print(words.table(("  RULE", "SAYS", ""), looked))


def events(
    workspace: Annotated[
        str | None, Parameter(help="Only of this one: its id, a beginning of it, or its name.")
    ] = None,
    /,
    *,
    json: Json = False,
    where: Where = HERE,
) -> None:
    """Show what happens, as it happens, until Ctrl-C; with --json one object per line."""
    with Client(where) as client:
        ws_id = None if workspace is None else client.one(workspace)["id"]
        for event in _followed(client, ws_id):
            if json:
                sys.stdout.write(encoder.dumps(event, ensure_ascii=False) + "\n")
                sys.stdout.flush()
            else:
                _print_event(event)


def _followed(client: Client, ws_id: str | None) -> Iterator[dict[str, Any]]:
    """Events for ever: a stream that ends is gone on with where it ended, so nothing is missed."""
    after: str | None = None
    heard = False
    while True:
        try:
            for event in client.events(ws_id, after):
                after, heard = event.get("id", after), True
                yield event
        except Failed as failed:
            if not heard:
                raise
            words.aside().print(f"{failed}; trying again", markup=False)
        time.sleep(AGAIN_SECONDS)


def _print_event(event: Mapping[str, Any]) -> None:
    out, data, kind = words.console(), event["data"], str(event["event"])
    if kind == "snapshot":
        for ws in data["workspaces"]:
            out.print(words.one_line(ws))
    elif kind == "progress":
        out.print(f"{data['workspace_id'][: words.ID_LENGTH]}  {words.moved(data)}")
    elif kind in ("state_changed", "error"):
        at = datetime.fromisoformat(data["at"]).astimezone().strftime("%H:%M:%S")
        ws = data["workspace"]
        told = f"{at}  {words.one_line(ws)}"
        if error := ws["error_info"]:
            told += f"  [red]{error['reason']}[/red]: {escape(error['message'])}"
        out.print(told)
