"""One event per verdict: the outcome, the reason's code, and nothing else that could drift."""

from enum import Enum
from typing import Any

from wsctl_app.telemetry.log import Log
from wsctl_core.decisions.rules import Verdict


def verdict_told(log: Log, event: str, verdict: Verdict[Any], **about: object) -> None:
    """Tell a verdict; what is None is left out."""
    said = {name: value for name, value in about.items() if value is not None}
    log.info(event, outcome=_word(verdict.outcome), why=verdict.reason.value, **said)


def _word(outcome: object) -> str:
    return str(outcome.value) if isinstance(outcome, Enum) else str(outcome)
