"""`python -m wsctl_app.starter`: the command line. What is wrong is said in one sentence."""

import argparse
import asyncio
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlunsplit

from wsctl_app.starter.serving import serve


def parser() -> argparse.ArgumentParser:
    """The command line that the starter workspace understands."""
    starter = argparse.ArgumentParser(
        prog="python -m wsctl_app.starter",
        description="A small workspace: files and terminals of one folder, on one port.",
    )
    starter.add_argument("--home", required=True, help="the folder; it must exist")
    starter.add_argument("--host", default="127.0.0.1", help="the address (default: loopback)")
    starter.add_argument("--port", type=_port, required=True, help="the port; 0 takes a free one")
    starter.add_argument(
        "--base-path", type=_base_path, default="", help="also answer below this path, as /w/ID"
    )
    starter.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="also answer to this host name; '*' for any, behind a proxy that checks",
    )
    return starter


def _port(told: str) -> int:
    port = int(told)
    if not 0 <= port <= 0xFFFF:
        raise argparse.ArgumentTypeError(f"{port} is no port")
    return port


def _base_path(told: str) -> str:
    if told and not told.startswith("/"):
        raise argparse.ArgumentTypeError("a base path begins with '/'")
    return told.rstrip("/")


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=128)
    # Connections inherit it. Without it every answer, and every key's echo, may wait 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _said(sentence: str) -> int:
    sys.stderr.write(f"{sentence}\n")
    return 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until a signal; the answer is the exit code."""
    asked = parser().parse_args(arguments)
    home = Path(os.path.realpath(asked.home))
    if not home.is_dir():
        return _said(f"The home {asked.home} is no folder.")
    if not os.access(home, os.R_OK | os.X_OK):
        return _said(f"The home {asked.home} can't be read.")
    try:
        listener = _listener(asked.host, asked.port)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        return _said(f"Can't listen on {asked.host}, port {asked.port}: {why}.")
    with listener:
        host = f"[{asked.host}]" if ":" in asked.host else asked.host
        where = f"{host}:{listener.getsockname()[1]}"
        sys.stdout.write(urlunsplit(("http", where, f"{asked.base_path}/", "", "")) + "\n")
        sys.stdout.flush()
        hosts = frozenset(name.lower() for name in (asked.host, *asked.allow_host))
        ended = asyncio.run(serve(home, listener, base_path=asked.base_path, hosts=hosts))
    return 0 if ended else _said("A process that was started here could not be ended.")


if __name__ == "__main__":
    sys.exit(main())
