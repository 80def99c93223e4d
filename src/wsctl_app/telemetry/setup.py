"""How events are written: structlog, for this process's own and for the libraries' it uses."""

import logging
import sys
from collections.abc import Sequence
from typing import Any, TextIO, cast

import structlog
from structlog.typing import Processor

from wsctl_app.telemetry.log import Log

_QUIET = ("uvicorn.access", "uvicorn.error", "httpx", "psycopg.pool", "asyncio")
"""Libraries of which only warnings are worth a line."""


def _shared() -> list[Processor]:
    return [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
    ]


def _rendering(human: bool) -> Sequence[Any]:
    if human:
        plain = structlog.dev.plain_traceback
        return [structlog.dev.ConsoleRenderer(timestamp_key="at", exception_formatter=plain)]
    return [
        structlog.processors.format_exc_info,
        structlog.processors.EventRenamer("event"),
        structlog.processors.JSONRenderer(default=str),
    ]


def configure(level: str, *, stream: TextIO | None = None, human: bool | None = None) -> None:
    """Write events of that level and above; human None means lines exactly on a terminal."""
    stream = stream or sys.stderr
    human = stream.isatty() if human is None else human
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_shared(),
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_rendering(human),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_shared(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def logger() -> Log:
    """The log of this process."""
    return cast("Log", structlog.get_logger("wsctl"))
