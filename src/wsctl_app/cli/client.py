"""A client of the API: it asks, and turns problems into sentences. It tries nothing twice."""

import json
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Self

import httpx

from wsctl_app.cli.failures import Exit, Failed
from wsctl_app.cli.where import Where, found

ROOT = "/api/v1"
TIMEOUT = httpx.Timeout(60.0, connect=5.0)
STREAM_TIMEOUT = httpx.Timeout(75.0, connect=5.0)
"""A stream has a heartbeat every 30 seconds: after two and a half, it is dead."""

Workspace = dict[str, Any]


class Client:
    """One wsctl, spoken to."""

    def __init__(self, where: Where) -> None:
        urls, token = found(where)
        # Settings of proxies are for other hosts: a token is sent to wsctl and nobody else, and
        # only after something that looks like wsctl has answered.
        self._http = httpx.Client(timeout=TIMEOUT, trust_env=False)
        self.url = self._living(urls)
        self._http.headers["Authorization"] = f"Bearer {token}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Speak no more."""
        self._http.close()

    def _living(self, urls: list[str]) -> str:
        """The first address that answers."""
        why = ""
        for url in urls:
            try:
                if self._http.get(f"{url.rstrip('/')}/health/live", timeout=5.0).is_success:
                    return url.rstrip("/")
                why = "it answers, and is no wsctl"
            except httpx.HTTPError as error:
                why = str(error) or type(error).__name__
            except httpx.InvalidURL as error:
                why = str(error)
        self.close()
        raise Failed(f"wsctl can't be reached at {', '.join(urls)}: {why}", Exit.NOT_RUNNING)

    # ------------------------------------------------------------------------------- asking

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        params: Mapping[str, str] | None = None,
    ) -> Any:
        """One call; Failed when it is refused, or nobody answers."""
        try:
            answer = self._http.request(method, f"{self.url}{ROOT}{path}", json=body, params=params)
        except httpx.HTTPError as error:
            raise _away(self.url, error) from None
        if not answer.is_success:
            raise _refused(answer)
        return answer.json()

    def workspaces(self, **filters: str) -> Iterator[Workspace]:
        """Every workspace that may be seen, page by page."""
        after: str | None = None
        while True:
            params = filters | ({"after": after} if after else {})
            page = self.ask("GET", "/workspaces", params={"limit": "500", **params})
            yield from page["workspaces"]
            after = page["after"]
            if after is None:
                return

    def one(self, named: str) -> Workspace:
        """The workspace of that identity, that unique beginning of one, or that unique name."""
        alike = [
            ws for ws in self.workspaces() if ws["name"] == named or ws["id"].startswith(named)
        ]
        exact = [ws for ws in alike if ws["id"] == named]
        chosen = exact or [ws for ws in alike if ws["name"] == named] or alike
        if not chosen:
            raise Failed(f"there is no workspace {named}; `wsctl list` shows those there are")
        if len(chosen) > 1:
            ids = ", ".join(ws["id"] for ws in chosen[:5])
            raise Failed(f"{named} may mean {len(chosen)} workspaces ({ids}); name one by its id")
        return chosen[0]

    def get(self, workspace_id: str) -> Workspace:
        """One workspace, with its address and the progress of its transfer."""
        shown: Workspace = self.ask("GET", f"/workspaces/{workspace_id}")
        return shown

    def explain(self, workspace_id: str) -> dict[str, Any]:
        """Why it is as it is."""
        why: dict[str, Any] = self.ask("GET", f"/workspaces/{workspace_id}/explain")
        return why

    def events(self, workspace_id: str | None, after: str | None) -> Iterator[dict[str, Any]]:
        """Events as they come, until the stream ends; each with its `id` when it has one."""
        path = "/events" if workspace_id is None else f"/workspaces/{workspace_id}/events"
        headers = {} if after is None else {"Last-Event-ID": after}
        try:
            with self._http.stream(
                "GET", f"{self.url}{ROOT}{path}", headers=headers, timeout=STREAM_TIMEOUT
            ) as answer:
                if not answer.is_success:
                    answer.read()
                    raise _refused(answer)
                yield from _parsed(answer.iter_lines())
        except httpx.HTTPError as error:
            raise _away(self.url, error) from None


def _parsed(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    event: dict[str, Any] = {}
    for line in lines:
        field, _, value = line.partition(": ")
        if field == "data":
            event["data"] = json.loads(value)
        elif field in ("id", "event"):
            event[field] = value
        elif not line and event:
            if "event" in event:
                yield event
            event = {}


def _away(url: str, error: Exception) -> Failed:
    why = str(error) or type(error).__name__
    return Failed(f"wsctl at {url} does not answer: {why}", Exit.NOT_RUNNING)


def _refused(answer: httpx.Response) -> Failed:
    try:
        problem = answer.json()
        detail = str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        return Failed(f"wsctl answered {answer.status_code} {answer.reason_phrase}")
    if answer.status_code == 401:
        return Failed("wsctl does not know this token; give another with --token or WSCTL_TOKEN")
    if holders := problem.get("holders"):
        held = ", ".join(f"{one['name']} ({one['id'][:12]}, {one['status']})" for one in holders)
        detail = f"{detail} These hold the places: {held}; `wsctl stop` one of them."
    return Failed(detail)
