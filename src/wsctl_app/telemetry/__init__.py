"""Telemetry: what wsctl tells about itself, as events with what they are about beside them.

On a terminal they are lines for people, elsewhere one JSON object each. One event per verdict: it
renders the verdict and adds nothing that the verdict does not say. Secrets are never among them.
"""

from wsctl_app.telemetry.events import verdict_told
from wsctl_app.telemetry.log import Log
from wsctl_app.telemetry.setup import configure, logger

__all__ = ["Log", "configure", "logger", "verdict_told"]
