"""The application: routes, who may use them, and what becomes of every error."""

from collections.abc import Awaitable, Callable

import attrs
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from wsctl_app.api.access import Door
from wsctl_app.api.health import Health
from wsctl_app.api.problems import Problem, inside, of_outside, of_refusal
from wsctl_app.api.workspaces import Workspaces
from wsctl_app.service import Caller, Refusal, Watching, WorkspaceService
from wsctl_app.service.reading import ProgressOf
from wsctl_app.service.watching import TransferredOf
from wsctl_app.telemetry import Log
from wsctl_core.ports import AdapterError, StoreUnavailable

ROOT = "/api/v1"


@attrs.frozen(kw_only=True)
class Parts:
    """What the API is a door to."""

    service: WorkspaceService
    watching: Watching
    health: Health
    progress_of: ProgressOf
    transferred_of: TransferredOf
    door: Door
    log: Log


Answer = Callable[[Request, Caller], Awaitable[Response]]


def built(parts: Parts) -> ASGIApp:
    """The whole application."""
    workspaces = Workspaces(parts.service, parts.watching, parts.progress_of, parts.transferred_of)

    def guarded(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return await answer(request, parts.door.caller(request))

        return endpoint

    one = f"{ROOT}/workspaces/{{id}}"
    calls: list[tuple[str, str, Answer]] = [
        ("POST", f"{ROOT}/workspaces", workspaces.create),
        ("GET", f"{ROOT}/workspaces", workspaces.list),
        ("GET", one, workspaces.get),
        ("PATCH", one, workspaces.change),
        ("DELETE", one, workspaces.delete),
        ("POST", f"{one}/recover", workspaces.recover),
        ("POST", f"{one}/keepalive", workspaces.keep_alive),
        ("GET", f"{one}/explain", workspaces.explain),
        ("GET", f"{one}/events", workspaces.events),
        ("GET", f"{ROOT}/events", workspaces.all_events),
    ]
    app = Starlette(
        routes=[
            Route("/health/live", parts.health.live),
            Route("/health/ready", parts.health.ready),
            Route("/health/coordinator", parts.health.coordinator),
            *_routes(calls, guarded),
        ],
        # Whatever else is raised is answered too, then raised again and logged by the last resort.
        exception_handlers=dict.fromkeys(
            (Problem, Refusal, HTTPException, AdapterError, StoreUnavailable, Exception), _told
        ),
    )
    app.router.redirect_slashes = False
    return _LastResort(app, parts.log)


def _routes(
    calls: list[tuple[str, str, Answer]],
    guarded: Callable[[Answer], Callable[[Request], Awaitable[Response]]],
) -> list[Route]:
    """One route for each path, so that a wrong method is told which ones there are."""
    by_path: dict[str, dict[str, Callable[[Request], Awaitable[Response]]]] = {}
    for method, path, answer in calls:
        by_path.setdefault(path, {})[method] = guarded(answer)

    def chosen(
        answers: dict[str, Callable[[Request], Awaitable[Response]]],
    ) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            method = "GET" if request.method == "HEAD" else request.method
            return await answers[method](request)

        return endpoint

    return [
        Route(path, chosen(answers), methods=list(answers)) for path, answers in by_path.items()
    ]


async def _told(request: Request, error: Exception) -> Response:
    match error:
        case Problem():
            problem = error
        case Refusal():
            problem = of_refusal(error)
        case AdapterError() | StoreUnavailable():
            problem = of_outside(error, changes=request.method not in ("GET", "HEAD"))
        case HTTPException():
            problem = Problem(
                status=error.status_code,
                kind="no-such-call",
                detail=f"{request.method} {request.url.path} is nothing that is answered here.",
                headers=error.headers or {},
            )
        case _:
            problem = inside()
    return problem.response()


class _LastResort:
    """What nobody foresaw is logged with its traceback; its caller was told that it failed."""

    def __init__(self, app: ASGIApp, log: Log) -> None:
        self._app = app
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except ClientDisconnect:
            return  # nobody is there to be told
        except Exception:  # noqa: BLE001  # whatever it was, the server goes on
            self._log.exception("a request failed", path=scope.get("path"))
