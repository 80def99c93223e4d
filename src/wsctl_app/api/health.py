"""Health: open to everyone, and without details of workspaces."""

from collections.abc import Callable

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from wsctl_app.api.problems import Problem
from wsctl_app.coordinator import CoordinatorHealth
from wsctl_core.ports import StoreUnavailable, WorkspaceReader


def answer(value: object, status: int = 200) -> Response:
    """An answer in JSON."""
    return Response(msgspec.json.encode(value), status_code=status, media_type="application/json")


class Health:
    """What this process tells about itself."""

    def __init__(
        self, reader: WorkspaceReader, coordinator: Callable[[], CoordinatorHealth]
    ) -> None:
        self._reader = reader
        self._coordinator = coordinator

    async def live(self, _request: Request) -> Response:
        """It answers, so it lives."""
        return answer({"status": "live"})

    async def ready(self, _request: Request) -> Response:
        """It can do its work: the database answers."""
        try:
            await self._reader.some(())
        except StoreUnavailable:
            raise Problem(
                status=503, kind="not-ready", detail="The database can't be reached."
            ) from None
        return answer({"status": "ready"})

    async def coordinator(self, _request: Request) -> Response:
        """What the coordinator of this process does."""
        return answer(self._coordinator())
