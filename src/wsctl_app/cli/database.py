"""`wsctl db`: what is done to the database by hand."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypeVar

import attrs
from cyclopts import App, Parameter

from wsctl_app import bootstrap
from wsctl_app.cli import words
from wsctl_app.cli.failures import Exit, Failed
from wsctl_app.cli.options import Json
from wsctl_app.cli.where import loaded
from wsctl_app.node.data import DataFolder

T = TypeVar("T")

app = App(name="db", help="Migrate and check the database.", version_flags=[])
Data = Annotated[
    Path | None,
    Parameter(help="The data folder, when WSCTL_DATABASE_URL is not set; else WSCTL_DATA."),
]


@app.command
def migrate(*, data: Data = None, json: Json = False) -> None:
    """Bring the database to the schema that this wsctl needs. Done already is as good."""
    steps: list[str] = []

    def say(line: str) -> None:
        steps.append(line)
        _say(line)

    before, after = _on(data, lambda servers: bootstrap.migrate(servers, say))
    if json:
        words.tell_json({"before": before, "schema": after, "steps": steps})
    else:
        done = "already" if before == after else "now"
        words.console().print(f"the database has schema {after} {done}")


@app.command
def check(*, data: Data = None, json: Json = False) -> int:
    """Say whether the database can be reached, has the right schema, and needs a person."""
    settings = loaded(data=data).settings
    state = _on(data, lambda servers: bootstrap.check(settings, servers))
    if json:
        words.tell_json(attrs.asdict(state))
    elif not state.problems:
        words.console().print(f"the database is usable: it has schema {state.found}")
    else:
        for problem in state.problems:
            _say(f"wsctl: {problem}")
    return Exit.REFUSED if state.problems else Exit.OK


@app.command
def unlatch(*, data: Data = None, json: Json = False) -> None:
    """Allow collection again, after it was refused because the database had been rolled back.

    Look first: what the database does not know of may be somebody's home (`wsctl list`).
    """
    settings = loaded(data=data).settings
    cleared = _on(data, lambda servers: bootstrap.clear_latch(settings, servers))
    if json:
        words.tell_json({"cleared": cleared})
    elif cleared:
        words.console().print("collection may run again")
    else:
        words.console().print("nothing was latched: collection may run")


def _say(line: str) -> None:
    words.aside().print(line, markup=False)


def _on(data: Path | None, act: Callable[[bootstrap.Servers], Awaitable[T]]) -> T:
    """Do something with the database that settings name, or with wsctl's own."""
    settings = loaded(data=data).settings

    async def acted(servers: bootstrap.Servers) -> T:
        return await act(servers)

    try:
        folder = DataFolder(settings.data.absolute())
        if settings.database_url is None and folder.is_new:
            raise Failed(
                f"there is no database in {folder.path} yet: `wsctl up` makes one, "
                "or name another with WSCTL_DATABASE_URL"
            )
        servers = bootstrap.database_server(settings, _say)
        try:
            return asyncio.run(acted(servers))
        finally:
            servers.release()
    except bootstrap.NotStarted as error:
        raise Failed(str(error)) from error
