"""The door of the starter workspace: who is let in, and with which headers answers leave.

Whoever reaches the port can use the terminal, and a browser reaches it for any page that it shows.
So a page of another origin may neither write nor open a terminal, and a name that somebody else's
DNS points here is not answered to. The door knows no route but that of the health check.
"""

import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wsctl_app.starter.problems import Problem

ANY_HOST = "*"
"""Among the allowed hosts: every name is answered to, because a proxy in front has checked it."""

HEALTH = "/healthz"

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""On every answer; a route that sets one of them itself is stricter."""


def host_name(host: str) -> str:
    """The name in a Host header, without its port; empty when it is none.

    >>> host_name("[::1]:8080"), host_name("LOCALHOST"), host_name("a:b:c")
    ('::1', 'localhost', '')
    """
    try:
        parts = urlsplit(f"//{host}")
        _port = parts.port  # raises when it is no number
    except ValueError:
        return ""
    return parts.hostname or ""


def answers_to(host: str, allowed: frozenset[str]) -> bool:
    """That name can only mean this machine, or somebody said that it may be used.

    An address can't be pointed elsewhere, and browsers resolve localhost themselves. Any other name
    belongs to whoever owns its domain, and may be pointed here to get around the same origin.
    """
    name = host_name(host)
    if not name:
        return False
    if ANY_HOST in allowed or name in allowed or name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def same_origin(headers: Headers) -> bool:
    """No browser asks, or its page came from here."""
    host = headers.get("host", "").lower()
    return all(urlsplit(origin).netloc.lower() == host for origin in headers.getlist("origin"))


class Guard:
    """An application behind the door; it is reached with and without its base path."""

    def __init__(self, app: ASGIApp, *, base_path: str, allowed_hosts: frozenset[str]) -> None:
        self._app = app
        self._base_path = base_path.rstrip("/")
        self._allowed_hosts = allowed_hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or one WebSocket."""

        async def send_with_headers(message: Message) -> None:
            if message["type"].endswith("http.response.start"):
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        app = self._answer(scope) or self._app
        await app(scope, receive, send_with_headers)

    def _answer(self, scope: Scope) -> Response | None:
        """What is said at the door; None lets in, and takes the base path off."""
        path: str = scope["path"]
        if self._base_path:
            if path == self._base_path:
                # Relative, so that it holds behind any proxy.
                return RedirectResponse(f"{path.rpartition('/')[2]}/", status_code=308)
            if path.startswith(f"{self._base_path}/"):
                path = path.removeprefix(self._base_path)
                scope["path"] = path
                scope["raw_path"] = path.encode()
        if path == HEALTH:
            return None
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not answers_to(host, self._allowed_hosts):
            detail = f"This workspace does not answer to {host!r}; --allow-host lets it."
            return Problem(421, "Not this host", detail).response()
        writes = scope["type"] == "websocket" or scope["method"] not in {"GET", "HEAD"}
        if writes and not same_origin(headers):
            detail = "Only the page of this workspace may do that: the Origin is another."
            return Problem(403, "Another origin", detail).response()
        return None
