"""A service on a world in memory, for tests of whatever stands on the service."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import attrs

from wsctl_adapters.memory import Line, MemoryWorld
from wsctl_app.outside import Outside
from wsctl_app.service import Caller, Defaults, Watching, WorkspaceService
from wsctl_core import DEFAULT_POLICY, Policy, Workspace
from wsctl_core.ports import AdapterError
from wsctl_core.values.errors import AdapterCode

ADMIN = Caller(user_id="admin", is_administrator=True)
ANN = Caller(user_id="ann")
BOB = Caller(user_id="bob")


class Heard:
    """A log that remembers."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, object]]] = []

    def info(self, event: str, /, **about: object) -> None:
        self.events.append((event, about))

    warning = exception = info


class Silent:
    """Hints that can't be sent."""

    async def send(self, hint: object) -> None:
        raise AdapterError(AdapterCode.SIGNALS_UNREACHABLE, f"nobody hears {hint}")

    def listen(self) -> Any:
        raise NotImplementedError


class House:
    """A world, one node of it, and a service there."""

    def __init__(self, policy: Policy = DEFAULT_POLICY, line: Line | None = None) -> None:
        self.world = MemoryWorld(now=lambda: datetime.now(UTC))
        node = self.world.node("n1", line)
        self.outside = Outside(
            **{field.name: getattr(node, field.name) for field in attrs.fields(Outside)}
        )
        self.policy = policy
        self.heard = Heard()
        self.service = self.serving(self.outside)
        self.stop: Callable[[], None] = lambda: None
        """Ends the server, where one was started."""

    def serving(self, outside: Outside) -> WorkspaceService:
        return WorkspaceService(outside, policy=self.policy, log=self.heard, defaults=Defaults())

    def watching(self, transferred: Any = lambda _id: None) -> Watching:
        return Watching(self.outside, transferred, self.heard)

    def put(self, ws: Workspace, **columns: Any) -> Workspace:
        """The row as if others had written it."""
        return self.world.database.put(attrs.evolve(ws, **columns))

    def row(self, workspace_id: str) -> Workspace:
        return self.world.database.rows[workspace_id]
