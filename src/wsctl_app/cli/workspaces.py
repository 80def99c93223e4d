"""The commands that change workspaces. Each asks the API, and shows what it answers."""

import sys
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from wsctl_app.cli import words
from wsctl_app.cli.client import Client
from wsctl_app.cli.failures import Exit, Failed
from wsctl_app.cli.options import Json, Named, Timeout, Wait
from wsctl_app.cli.waiting import until_settled
from wsctl_app.cli.where import HERE, Where


def create(
    name: Annotated[str, Parameter(help="What to call it.")],
    /,
    *,
    image: Annotated[str | None, Parameter(help="What runs in it; else WSCTL_IMAGE.")] = None,
    owner: Annotated[str | None, Parameter(help="Whose it is; else yours.")] = None,
    state: Annotated[
        Literal["running", "standby", "pending"], Parameter(help="What it is to be.")
    ] = "running",
    standby_ttl: Annotated[int | None, Parameter(help="Idle seconds after which it stops.")] = None,
    archive_ttl: Annotated[
        int | None, Parameter(help="Unused seconds after which it is archived.")
    ] = None,
    wait: Wait = False,
    timeout: Timeout = None,
    json: Json = False,
    where: Where = HERE,
) -> None:
    """Make a workspace, and start it unless another state is named."""
    order = {
        "name": name,
        "image": image,
        "owner_id": owner,
        "desired_state": state.upper(),
        "standby_ttl_seconds": standby_ttl,
        "archive_ttl_seconds": archive_ttl,
    }
    with Client(where) as client:
        ws = client.ask("POST", "/workspaces", order)
        _done(client, ws, wait=wait, timeout=timeout, json=json)


def start(
    workspace: Named,
    /,
    *,
    wait: Wait = False,
    timeout: Timeout = None,
    json: Json = False,
    where: Where = HERE,
) -> None:
    """Have a workspace run; one that is archived is restored first."""
    _want("RUNNING", workspace, where, wait=wait, timeout=timeout, json=json)


def stop(
    workspace: Annotated[
        str | None, Parameter(help="Its id, a beginning of its id, or its name.")
    ] = None,
    /,
    *,
    all_: Annotated[
        bool,
        Parameter(name="--all", help="Stop every workspace that is to run.", show_default=False),
    ] = False,
    wait: Wait = False,
    timeout: Timeout = None,
    json: Json = False,
    where: Where = HERE,
) -> None:
    """Stop a workspace; its home stays where it is."""
    if all_ == (workspace is not None):
        raise Failed("name a workspace, or say --all", Exit.USAGE)
    if workspace is not None:
        _want("STANDBY", workspace, where, wait=wait, timeout=timeout, json=json)
        return
    with Client(where) as client:
        asked = [
            client.ask("PATCH", f"/workspaces/{ws['id']}", {"desired_state": "STANDBY"})
            for ws in client.workspaces()
            if ws["desired_state"] == "RUNNING" and not ws["deleted_at"]
        ]
        shown = [until_settled(client, ws, timeout) if wait else ws for ws in asked]
    if json:
        words.tell_json(shown)
    else:
        for ws in shown:
            words.console().print(words.one_line(ws))


def archive(
    workspace: Named,
    /,
    *,
    wait: Wait = False,
    timeout: Timeout = None,
    json: Json = False,
    where: Where = HERE,
) -> None:
    """Put a workspace's home into its archive; nothing of it runs or takes up a volume then."""
    _want("PENDING", workspace, where, wait=wait, timeout=timeout, json=json)


def delete(
    workspace: Named,
    /,
    *,
    yes: Annotated[
        bool, Parameter(name=("--yes", "-y"), help="Do not ask.", show_default=False)
    ] = False,
    wait: Wait = False,
    timeout: Timeout = None,
    json: Json = False,
    where: Where = HERE,
) -> None:
    """Delete a workspace, its home and, in time, its archives. There is no way back."""
    with Client(where) as client:
        ws = client.one(workspace)
        if not yes:
            _confirm(ws)
        ws = client.ask("DELETE", f"/workspaces/{ws['id']}")
        _done(client, ws, wait=wait, timeout=timeout, json=json)


def recover(
    workspace: Named,
    /,
    *,
    accept_loss: Annotated[
        str | None,
        Parameter(help="The incarnation or archive that is given up; `wsctl explain` names it."),
    ] = None,
    wait: Wait = False,
    timeout: Timeout = None,
    json: Json = False,
    where: Where = HERE,
) -> None:
    """End the error of a workspace: what failed is tried again."""
    with Client(where) as client:
        path = f"/workspaces/{client.one(workspace)['id']}/recover"
        ws = client.ask("POST", path, {"accept_loss": accept_loss})
        _done(client, ws, wait=wait, timeout=timeout, json=json)


def _want(
    state: str,
    workspace: str,
    where: Where,
    *,
    wait: bool,
    timeout: float | None,
    json: bool,
) -> None:
    with Client(where) as client:
        path = f"/workspaces/{client.one(workspace)['id']}"
        ws = client.ask("PATCH", path, {"desired_state": state})
        _done(client, ws, wait=wait, timeout=timeout, json=json)


def _done(
    client: Client, ws: dict[str, Any], *, wait: bool, timeout: float | None, json: bool
) -> None:
    if wait:
        ws = until_settled(client, ws, timeout)
    if json:
        words.tell_json(ws)
    else:
        words.console().print(words.one_line(ws))


def _confirm(ws: dict[str, Any]) -> None:
    if not sys.stdin.isatty():
        raise Failed("nobody is there to be asked: say --yes to delete", Exit.USAGE)
    sys.stderr.write(f"Delete {ws['name']} ({ws['id']}), its home and its archives? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Failed("nothing was deleted")
