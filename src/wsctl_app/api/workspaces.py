"""The calls about workspaces: each reads a request, asks the service, and shows what it answers."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from wsctl_app.api import bodies
from wsctl_app.api.health import answer
from wsctl_app.api.problems import Problem
from wsctl_app.api.streams import stream
from wsctl_app.service import Caller, Watching, WorkspaceService
from wsctl_app.service.reading import ProgressOf
from wsctl_app.service.watching import TransferredOf
from wsctl_core.values.states import ObservedStatus, Operation
from wsctl_core.values.workspace import Workspace
from wsctl_core.views.display import display_status


def _if_match(request: Request) -> int | None:
    """The version that the caller has seen; None when they do not say, or take any."""
    said = request.headers.get("if-match")
    if said is None or said.strip() == "*":
        return None
    version = said.strip().removeprefix("W/").strip('"')
    if not version.isdecimal():
        raise Problem(
            status=400, kind="bad-if-match", detail=f"If-Match is no intent_version: {said}"
        )
    return int(version)


def _etag(ws: Workspace) -> Mapping[str, str]:
    return {"ETag": f'"{ws.intent_version}"'}


def _number(query: Mapping[str, str], name: str, default: int) -> int:
    said = query.get(name, str(default))
    if not said.isdecimal():
        raise _invalid(name, f"expected a whole number, got {said!r}")
    return int(said)


def _truth(query: Mapping[str, str], name: str) -> bool:
    said = query.get(name, "false").lower()
    if said not in ("true", "false"):
        raise _invalid(name, f"expected true or false, got {said!r}")
    return said == "true"


def _invalid(path: str, problem: str) -> Problem:
    more = {"errors": [{"path": path, "problem": problem}]}
    return Problem(status=422, kind="invalid", detail=f"{path}: {problem}", more=more)


_STATUSES = (
    "ERROR",
    "ARCHIVED",
    *(status.value for status in ObservedStatus),
    *(operation.value for operation in Operation if operation is not Operation.NONE),
)
"""Every word that `display_status` can show."""
_LISTING = {"owner_id", "deleted", "status", "name", "after", "limit"}


class Workspaces:
    """The endpoints."""

    def __init__(
        self,
        service: WorkspaceService,
        watching: Watching,
        progress_of: ProgressOf,
        transferred_of: TransferredOf,
    ) -> None:
        self._service = service
        self._watching = watching
        self._progress_of = progress_of
        self._transferred_of = transferred_of

    async def create(self, request: Request, caller: Caller) -> Response:
        """`POST /workspaces`."""
        body = await bodies.read(request, bodies.Creation)
        ws = await self._service.create(caller, body.order())
        created = answer(bodies.details(ws, None, None), 201)
        created.headers.update({"Location": f"{request.url.path}/{ws.id}", **_etag(ws)})
        return created

    async def list(self, request: Request, caller: Caller) -> Response:
        """`GET /workspaces`: a page; status and name choose among its rows, so it may be short."""
        query = request.query_params
        for unknown in query.keys() - _LISTING:
            raise _invalid(unknown, "no such filter")
        if query.get("status", "ERROR") not in _STATUSES:
            raise _invalid("status", f"expected one of {', '.join(_STATUSES)}")
        page = await self._service.list(
            caller,
            owner_id=query.get("owner_id"),
            deleted=_truth(query, "deleted"),
            after=query.get("after"),
            limit=_number(query, "limit", 100),
        )
        rows = [
            ws
            for ws in page.rows
            if query.get("status", display_status(ws)) == display_status(ws)
            and query.get("name", ws.name) == ws.name
        ]
        return answer({"workspaces": [bodies.workspace(ws) for ws in rows], "after": page.after})

    async def get(self, request: Request, caller: Caller) -> Response:
        """`GET /workspaces/{id}`."""
        ws = await self._service.get(caller, request.path_params["id"])
        address = await self._service.address(caller, ws.id)
        shown = answer(bodies.details(ws, address, self._transferred_of(ws.id)))
        shown.headers.update(_etag(ws))
        return shown

    async def change(self, request: Request, caller: Caller) -> Response:
        """`PATCH /workspaces/{id}`."""
        body = await bodies.read(request, bodies.Change)
        wish = body.wish(_if_match(request))
        ws = await self._service.change(caller, request.path_params["id"], wish)
        return self._row(ws)

    async def delete(self, request: Request, caller: Caller) -> Response:
        """`DELETE /workspaces/{id}`: asked for, and carried out in time."""
        ws = await self._service.delete(
            caller, request.path_params["id"], intent_version=_if_match(request)
        )
        return self._row(ws, 202)

    async def recover(self, request: Request, caller: Caller) -> Response:
        """`POST /workspaces/{id}/recover`."""
        body = await bodies.read(request, bodies.Recovering)
        ws = await self._service.recover(
            caller, request.path_params["id"], accept_loss=body.accept_loss
        )
        return self._row(ws)

    async def keep_alive(self, request: Request, caller: Caller) -> Response:
        """`POST /workspaces/{id}/keepalive`."""
        body = await bodies.read(request, bodies.KeepAlive)
        await self._service.keep_alive(caller, request.path_params["id"], body.seconds)
        return answer({"seconds": body.seconds})

    async def explain(self, request: Request, caller: Caller) -> Response:
        """`GET /workspaces/{id}/explain`."""
        why = await self._service.explain(caller, request.path_params["id"], self._progress_of)
        return answer(bodies.explained(why))

    async def events(self, request: Request, caller: Caller) -> Response:
        """`GET /workspaces/{id}/events`."""
        return await self._events(request, caller, request.path_params["id"])

    async def all_events(self, request: Request, caller: Caller) -> Response:
        """`GET /events`."""
        return await self._events(request, caller, None)

    async def _events(self, request: Request, caller: Caller, workspace_id: str | None) -> Response:
        after = request.headers.get("last-event-id")
        watched = self._watching.watch(caller, workspace_id, after)
        first = await anext(watched)  # so that a refusal is an answer and not a broken stream
        return StreamingResponse(
            stream(first, watched),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    def _row(self, ws: Workspace, status: int = 200) -> Response:
        shown = answer(bodies.workspace(ws), status)
        shown.headers.update(_etag(ws))
        return shown
