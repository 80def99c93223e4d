"""The service: the only code that writes intent. API, TTL manager and proxy all call it.

It knows who asks and what they may see, hands wishes to the core's decisions under the store's
lock, and tells what came of them. It never touches a container, a volume or an archive: it looks
at them where a decision needs evidence.
"""

from wsctl_app.service.access import Caller
from wsctl_app.service.reading import Explained, Holder
from wsctl_app.service.refusals import (
    Gone,
    Invalid,
    LimitReached,
    NotAllowed,
    NotFound,
    NotRecoverable,
    Refusal,
    Stale,
)
from wsctl_app.service.watching import Changed, Heartbeat, Snapshot, Told, Transfer, Watching
from wsctl_app.service.workspaces import Defaults, Order, WorkspaceService

__all__ = [
    "Caller",
    "Changed",
    "Defaults",
    "Explained",
    "Gone",
    "Heartbeat",
    "Holder",
    "Invalid",
    "LimitReached",
    "NotAllowed",
    "NotFound",
    "NotRecoverable",
    "Order",
    "Refusal",
    "Snapshot",
    "Stale",
    "Told",
    "Transfer",
    "Watching",
    "WorkspaceService",
]
