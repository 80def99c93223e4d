"""`wsctl up` and `wsctl demo`: the commands that run something themselves."""

import asyncio
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import attrs
from cyclopts import Parameter

from wsctl_app import bootstrap, telemetry
from wsctl_app.api import BusyPort, bound
from wsctl_app.cli import words
from wsctl_app.cli.failures import Exit, Failed
from wsctl_app.cli.options import Json
from wsctl_app.cli.where import loaded
from wsctl_app.joining import ended, unhurried
from wsctl_app.node.data import BadFolder, DataFolder, Endpoint
from wsctl_app.node.running import Broken, Node
from wsctl_app.settings import Loaded

SERVERS_SECONDS = 3.0
"""How often wsctl looks after the servers that it runs itself."""
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def up(
    *,
    data: Annotated[
        Path | None, Parameter(help="The folder that holds everything; else WSCTL_DATA.")
    ] = None,
    port: Annotated[
        int | None, Parameter(help="The port to listen on, 0 for a free one; else WSCTL_PORT.")
    ] = None,
    host: Annotated[
        str | None, Parameter(help="The address to listen on; else WSCTL_HOST.")
    ] = None,
    migrate: Annotated[
        bool,
        Parameter(help="Migrate the database of WSCTL_DATABASE_URL first.", show_default=False),
    ] = False,
    json: Json = False,
) -> None:
    """Run a whole installation on this machine: database, coordinator, API, workspaces.

    PostgreSQL and Valkey are started under the data folder, unless WSCTL_DATABASE_URL and
    WSCTL_REDIS_URL name others. A second one on the same data stands by. Ctrl-C stops it.
    """
    asked = loaded(data=data, port=port, host=host)
    settings = asked.settings
    telemetry.configure(settings.log_level)
    folder = DataFolder(settings.data.absolute())
    with _sentences(), ExitStack() as left:
        signal.signal(signal.SIGTERM, _interrupted)
        listener = left.enter_context(bound(settings.host, settings.port))
        folder.check()
        asyncio.run(bootstrap.require_database(settings, migrates=migrate))
        servers = bootstrap.start_servers(settings, _say)
        left.callback(servers.release)
        asyncio.run(_served(asked, folder, servers, listener, migrate=migrate, json=json))


def _interrupted(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _say(line: str) -> None:
    words.aside().print(line, markup=False)


@contextmanager
def _sentences() -> Iterator[None]:
    """Whatever is known to go wrong ends with one sentence."""
    try:
        yield
    except (BusyPort, BadFolder, bootstrap.NotStarted, Broken) as error:
        raise Failed(str(error)) from error


async def _served(
    asked: Loaded,
    folder: DataFolder,
    servers: bootstrap.Servers,
    listener: socket.socket,
    *,
    migrate: bool,
    json: bool,
) -> None:
    settings = asked.settings
    # A database that somebody else keeps is migrated only when somebody says so.
    if migrate or servers.own_database:
        await bootstrap.migrate(servers, _say)
    stop = _stop_on_signals()
    async with bootstrap.opened(settings, servers, folder) as outside:
        token = settings.token or folder.token()
        node = Node.built(
            outside, settings=settings, policy=asked.policy, token=token, log=telemetry.logger()
        )
        endpoint = Endpoint(url=_url(listener), pid=os.getpid())
        with ExitStack() as left:

            async def ready() -> None:
                left.callback(folder.forget_the_dead)
                left.callback(folder.announce(endpoint).unlink, missing_ok=True)
                _tell(asked, folder, endpoint, json=json)

            keeping = asyncio.create_task(_keep(servers, node.log))
            try:
                await node.run(listener, stop, ready)
            finally:
                await ended([keeping])
        running = await node.containers_running()
    if running:
        go_on = "1 running workspace goes" if running == 1 else f"{running} running workspaces go"
        _say(f"{go_on} on; the next `wsctl up` on this data finds what runs.")
    _say("wsctl has stopped.")


async def _keep(servers: bootstrap.Servers, log: telemetry.Log) -> None:
    """See to it that wsctl's own servers run, for ever."""
    while True:
        await asyncio.sleep(SERVERS_SECONDS)
        try:
            # Not cut short: what it holds meanwhile would count as another user of the servers.
            if await unhurried(asyncio.to_thread(servers.revive)):
                log.warning("a server had died, and was started again")
        except bootstrap.NotStarted as error:
            log.warning("a server has died, and can't be started", why=str(error))


def _stop_on_signals() -> asyncio.Event:
    """An event that the first signal sets; the second ends the process at once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def heard() -> None:
        if stop.is_set():
            os._exit(Exit.INTERRUPTED)
        stop.set()
        _say("stopping; once more stops at once")

    for number in _ENDS:
        loop.add_signal_handler(number, heard)
    return stop


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104  # where to reach what listens everywhere
        host = "127.0.0.1"
    return words.page(f"[{host}]:{port}" if ":" in host else f"{host}:{port}", "")


def _tell(asked: Loaded, folder: DataFolder, endpoint: Endpoint, *, json: bool) -> None:
    settings = asked.settings
    token = "WSCTL_TOKEN" if settings.token else str(folder.token_file)
    if json:
        words.tell_json(
            attrs.asdict(endpoint)
            | {"data": str(folder.path), "token": token, "runtime": "local", "isolates": False}
        )
        return
    who = (
        "whoever has the token in WSCTL_TOKEN"
        if settings.token
        else f"whoever has the token in {folder.token_file}"
    )
    rows = [
        ("address", endpoint.url),
        ("data", str(folder.path)),
        ("log in", f"{who}, as administrator"),
        ("runtime", "local: workspaces are processes of this user; nothing isolates them"),
        ("stop", "Ctrl-C; running workspaces go on (to stop them: wsctl stop --all --wait)"),
        ("begin", _hint(asked, "wsctl create NAME --wait")),
    ]
    out = words.console()
    out.print("[bold green]wsctl is up[/bold green]")
    out.print(words.table(("", ""), [(f"  [dim]{name}[/dim]", told) for name, told in rows]))


def _hint(asked: Loaded, command: str) -> str:
    """A command that finds this node."""
    where = asked.sources["data"]
    return command if where != "command line" else f"{command} --data {asked.settings.data}"


def demo(
    *,
    json: Json = False,
) -> int:
    """Show the whole life of a workspace in a temporary folder, and verify each step.

    It takes about a minute: create, start, write, stop, archive, wake, read, heal, resume after
    kill -9, delete. Exit code 0 means that every step was verified. Nothing is left behind.
    """
    from wsctl_app.cli.demonstration import demonstrated  # noqa: PLC0415  # `up` needs none of it

    return demonstrated(json=json)
