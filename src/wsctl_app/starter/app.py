r"""What the starter workspace answers: the page, the files as JSON, and terminals over WebSocket.

In a terminal's WebSocket, binary frames are the terminal's own bytes, both ways. A text frame is an
object: {"type": "input", "data": "ls\n"}, {"type": "resize", "columns": 80, "rows": 24}, or
{"type": "taken", "bytes": 512} from a page that wants to be sent no more than it can show.

Nothing here touches the disk on the event loop, and nothing here checks who asks: that is the
door's.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qsl, quote

import attrs
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect

from wsctl_app.starter import files
from wsctl_app.starter.guard import HEALTH, Guard
from wsctl_app.starter.problems import Problem
from wsctl_app.starter.terminal import Terminal, Terminals

STATIC = Path(__file__).with_name("static")
ASSETS = {
    "/": ("index.html", "text/html"),
    "/static/style.css": ("style.css", "text/css"),
    "/static/app.js": ("app.js", "text/javascript"),
    "/static/terminal.js": ("terminal.js", "text/javascript"),
}
CHUNK_BYTES = 256 * 1024
LARGEST_SIDE = 1_000
"""The most columns or rows that a terminal has."""

AHEAD_BYTES = 256 * 1024
"""How far the output may be ahead of a page that says what it has taken."""

INERT = {"Content-Security-Policy": "default-src 'none'; sandbox"}
"""With a file of the home: whatever is in it, it is no page of ours."""


def built(home: Path, terminals: Terminals, base_path: str, hosts: frozenset[str]) -> ASGIApp:
    """The whole application, behind its door."""
    workspace = _Workspace(home, terminals)
    routes: list[Route | WebSocketRoute] = [
        *(Route(path, workspace.asset) for path in ASSETS),
        Route(HEALTH, workspace.health),
        Route("/api/files", workspace.listing),
        Route("/api/file", workspace.read),
        Route("/api/file", workspace.write, methods=["PUT"]),
        WebSocketRoute("/terminal", workspace.terminal),
    ]
    app = Starlette(
        routes=routes,
        exception_handlers=dict.fromkeys((Problem, HTTPException, Exception), _told),
    )
    app.router.redirect_slashes = False
    return Guard(app, base_path=base_path, allowed_hosts=hosts)


async def _told(request: Request, error: Exception) -> Response:
    """Every error as a problem. A fault of ours is in the log as well."""
    match error:
        case Problem():
            problem = error
        case HTTPException():
            asked = f"{request.method} {files.shown(request.scope['path'])}"
            detail = f"{asked} is nothing that is answered here."
            problem = Problem(error.status_code, error.detail, detail)
        case _:
            problem = Problem(500, "It did not work", "The program failed; its log says how.")
    return problem.response()


def _query(asked: HTTPConnection) -> dict[str, str]:
    """The query, with bytes that are not UTF-8 kept, as names of files need it."""
    told = asked.scope["query_string"].decode("ascii", "surrogateescape")
    try:
        return dict(parse_qsl(told, keep_blank_values=True, errors="surrogateescape"))
    except ValueError as error:
        raise Problem(400, "Not a query", "The query can't be read.") from error


def _size(columns: object, rows: object) -> tuple[int, int]:
    """A terminal's size, within bounds; a ValueError or a TypeError when it is none."""
    sides = (int(str(columns)), int(str(rows)))
    if not all(1 <= side <= LARGEST_SIDE for side in sides):
        raise ValueError
    return sides


class _Workspace:
    def __init__(self, home: Path, terminals: Terminals) -> None:
        self._home = home
        self._terminals = terminals
        self._writing = asyncio.Lock()

    async def asset(self, request: Request) -> Response:
        """The page, or what belongs to it."""
        name, media_type = ASSETS[request.scope["path"]]
        content = await asyncio.to_thread((STATIC / name).read_bytes)
        return Response(content, media_type=media_type)

    async def health(self, _request: Request) -> Response:
        """It answers, so it is well."""
        return Response("ok\n", media_type="text/plain")

    async def listing(self, request: Request) -> Response:
        """A folder."""
        path = _query(request).get("path", "")
        return JSONResponse(attrs.asdict(await asyncio.to_thread(files.listing, self._home, path)))

    async def read(self, request: Request) -> Response:
        """A file: its text, or with `download` all of it, whatever it is."""
        query = _query(request)
        path = query.get("path", "")
        if "download" in query:
            descriptor = await asyncio.to_thread(files.opened, self._home, path)
            name = quote(os.fsencode(Path(path).name))
            headers = INERT | {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
            return StreamingResponse(
                _chunks(descriptor), media_type="application/octet-stream", headers=headers
            )
        text = await asyncio.to_thread(files.text, self._home, path)
        headers = INERT | {"ETag": text.version}
        return Response(text.content, media_type="text/plain", headers=headers)

    async def write(self, request: Request) -> Response:
        """Write a file: with If-Match only over that version, with If-None-Match only a new one."""
        path = _query(request).get("path", "")
        try:
            content = await _body(request)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        async with self._writing:
            written = await asyncio.to_thread(
                files.written,
                self._home,
                path,
                content,
                version=request.headers.get("if-match"),
                new=request.headers.get("if-none-match") == "*",
            )
        return JSONResponse(
            {"path": files.shown(path), "size_bytes": len(content)},
            status_code=201 if written.created else 200,
            headers={"ETag": written.version},
        )

    async def terminal(self, websocket: WebSocket) -> None:
        """A terminal, for as long as its WebSocket."""
        try:
            query = _query(websocket)
            try:
                columns, rows = _size(query.get("columns", 80), query.get("rows", 24))
            except ValueError as error:
                detail = f"A terminal has 1 to {LARGEST_SIDE:,} columns and rows."
                raise Problem(400, "Not a size", detail) from error
            terminal = self._terminals.open(columns=columns, rows=rows)
        except Problem as problem:
            await websocket.send_denial_response(problem.response())
            return
        try:
            await websocket.accept()
            await _joined(websocket, terminal)
        except WebSocketDisconnect:
            pass  # the browser left, which ends the shell as well
        finally:
            terminal.hang_up()


async def _chunks(descriptor: int) -> AsyncIterator[bytes]:
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
            yield chunk


async def _body(request: Request) -> bytes:
    """What was sent, read no further than a file may be large."""
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > files.EDITED_BYTES:
            break
    return bytes(content)  # one chunk too many is refused where it would be written


class _Ahead:
    """How far the output is ahead of the page. A browser's own buffer has no end."""

    def __init__(self) -> None:
        self._bytes = 0
        self._counts = False
        self._room = asyncio.Event()

    async def sent(self, count: int) -> None:
        """So much was sent; wait while the page is far behind, if it ever says how far."""
        self._bytes += count
        self._update()
        await self._room.wait()

    def taken(self, count: int) -> None:
        """The page has shown so much of it."""
        self._counts = True
        self._bytes -= count
        self._update()

    def over(self) -> None:
        """Nobody is to be waited for any more."""
        self._bytes = 0
        self._room.set()

    def _update(self) -> None:
        if self._counts and self._bytes > AHEAD_BYTES:
            self._room.clear()
        else:
            self._room.set()


async def _joined(websocket: WebSocket, terminal: Terminal) -> None:
    """Pass bytes both ways until one side ends, and say how the shell ended."""
    ahead = _Ahead()
    listening = asyncio.create_task(_listen(websocket, terminal, ahead))
    try:
        while output := await terminal.read():
            await websocket.send_bytes(output)
            await ahead.sent(len(output))
    finally:
        listening.cancel()
        (trouble,) = await asyncio.gather(listening, return_exceptions=True)
    terminal.hang_up()
    match trouble:
        case None | WebSocketDisconnect():
            return
        case Problem():
            await websocket.close(1008, trouble.detail)
        case asyncio.CancelledError():
            await websocket.close(1000, f"The shell ended with code {await terminal.exit_code()}.")
        case _:
            raise trouble


async def _listen(websocket: WebSocket, terminal: Terminal, ahead: _Ahead) -> None:
    """Pass input on until the browser leaves, or says something that has no meaning."""
    try:
        while True:
            message = await websocket.receive()
            if message["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(message["code"])
            data = message.get("bytes")
            if data is not None:
                await terminal.write(data)
            else:
                await _obey(message["text"], terminal, ahead)
    except TimeoutError as error:
        raise Problem(503, "Stuck", "Nobody in the terminal reads the input.") from error
    finally:
        terminal.hang_up()
        ahead.over()


async def _obey(text: str, terminal: Terminal, ahead: _Ahead) -> None:
    try:
        match json.loads(text):
            case {"type": "input", "data": str(data)}:
                await terminal.write(data.encode())
                return
            case {"type": "resize", "columns": int(columns), "rows": int(rows)}:
                terminal.resize(*_size(columns, rows))
                return
            case {"type": "taken", "bytes": int(count)}:
                ahead.taken(count)
                return
            case _:
                cause = None
    except ValueError as error:
        cause = error
    raise Problem(400, "Not understood", "That text frame has no meaning here.") from cause
