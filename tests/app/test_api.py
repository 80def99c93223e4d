"""The HTTP API, spoken to over HTTP: what each call answers, and to whom."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import attrs
import httpx
import pytest

from tests.app.house import House
from tests.core.builders import DIRTY, T0
from wsctl_app.api import BusyPort, Door, Parts, Server, bound, built
from wsctl_app.api.health import Health
from wsctl_app.coordinator import Coordinator
from wsctl_app.outside import Outside
from wsctl_core import (
    ErrorInfo,
    ErrorReason,
    HealthStatus,
    Operation,
    Policy,
    Reason,
)
from wsctl_core.ports import StoreUnavailable

TOKEN = "a-token-for-tests"
WORKSPACES = "/api/v1/workspaces"


@attrs.frozen(kw_only=True)
class Running:
    """A server, a client with the token, and the house behind it."""

    house: House
    client: httpx.AsyncClient
    coordinator: Coordinator

    async def made(self, **body: Any) -> Any:
        answer = await self.client.post(WORKSPACES, json={"name": "thesis", **body})
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def until(self, ws_id: str, status: str) -> Any:
        async with asyncio.timeout(20):
            while True:
                ws = (await self.client.get(f"{WORKSPACES}/{ws_id}")).json()
                if ws["display_status"] == status:
                    return ws
                await asyncio.sleep(0.02)


@asynccontextmanager
async def running(
    house: House | None = None, *, outside: Outside | None = None, leads: bool = False
) -> AsyncIterator[Running]:
    house = house or House()
    outside = outside or house.outside
    service = house.serving(outside)
    coordinator = Coordinator(
        outside, node_id="n1", policy=house.policy, expire=service.expire, log=house.heard
    )
    watching = house.watching(coordinator.transferred)
    app = built(
        Parts(
            service=service,
            watching=watching,
            health=Health(outside.reader, coordinator.health),
            progress_of=coordinator.progress,
            transferred_of=coordinator.transferred,
            door=Door(TOKEN),
            log=house.heard,
        )
    )
    taken = bound("127.0.0.1", 0)
    server = Server(app)
    tasks = [asyncio.create_task(server.serve(sockets=[taken]))]
    others = [asyncio.create_task(watching.run())]
    if leads:
        others.append(asyncio.create_task(coordinator.run()))
    url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    try:
        async with httpx.AsyncClient(base_url=url, headers=headers, trust_env=False) as client:
            yield Running(house=house, client=client, coordinator=coordinator)
    finally:
        server.stop()
        await asyncio.gather(*tasks)
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


def told(story: Callable[[Running], Awaitable[None]], **how: Any) -> None:
    async def whole() -> None:
        async with running(**how) as here:
            await story(here)

    asyncio.run(whole())


def problem(answer: httpx.Response, status: int, kind: str) -> Any:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["type"] == f"urn:wsctl:problem:{kind}"
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    return body


# -------------------------------------------------------------------------------------- access

CALLS = [
    ("POST", WORKSPACES),
    ("GET", WORKSPACES),
    ("GET", f"{WORKSPACES}/w1"),
    ("PATCH", f"{WORKSPACES}/w1"),
    ("DELETE", f"{WORKSPACES}/w1"),
    ("POST", f"{WORKSPACES}/w1/recover"),
    ("POST", f"{WORKSPACES}/w1/keepalive"),
    ("GET", f"{WORKSPACES}/w1/explain"),
    ("GET", f"{WORKSPACES}/w1/events"),
    ("GET", "/api/v1/events"),
]


def test_every_call_but_health_needs_the_token():
    """Without a token, with a wrong one, or with another scheme: 401, and how to do it right."""

    async def story(here: Running) -> None:
        for method, path in CALLS:
            for said in ("", "Bearer wrong", f"Basic {TOKEN}", "Bearer", "Bearer \u00e9"):
                answer = await here.client.request(
                    method, path, headers={b"Authorization": said.encode()}
                )
                problem(answer, 401, "unauthenticated")
                assert answer.headers["www-authenticate"] == 'Bearer realm="wsctl"'
        assert not here.house.world.database.rows

    told(story)


def test_health_is_open():
    """Probes have no token, and are told nothing about workspaces."""

    async def story(here: Running) -> None:
        closed = {"Authorization": ""}
        live = await here.client.get("/health/live", headers=closed)
        assert (live.status_code, live.json()) == (200, {"status": "live"})
        ready = await here.client.get("/health/ready", headers=closed)
        assert (ready.status_code, ready.json()) == (200, {"status": "ready"})
        health = (await here.client.get("/health/coordinator", headers=closed)).json()
        assert (health["is_leader"], health["node_id"], health["epoch"]) == (False, "n1", None)
        assert health["uptime_seconds"] >= 0

    told(story)


def test_the_leader_tells_its_epoch_and_its_components():
    """The age of every component's last good tick is there while this process leads."""

    async def story(here: Running) -> None:
        async with asyncio.timeout(20):
            while True:
                health = (await here.client.get("/health/coordinator")).json()
                if health["is_leader"] and health["ticks"]["health_monitor"] is not None:
                    break
                await asyncio.sleep(0.02)
        assert health["epoch"] == 1
        assert {"health_monitor", "state_reconciler", "archive_gc"} <= health["ticks"].keys()

    told(story, leads=True)


# --------------------------------------------------------------------------------------- calls


def test_a_workspace_is_created_shown_listed_changed_and_deleted():
    """The plain life of a row over HTTP, with the codes of the specification."""

    async def story(here: Running) -> None:
        client = here.client
        answer = await client.post(WORKSPACES, json={"name": "thesis"})
        ws = answer.json()
        path = f"{WORKSPACES}/{ws['id']}"
        assert answer.status_code == 201
        assert (answer.headers["location"], answer.headers["etag"]) == (path, '"0"')
        assert (ws["owner_id"], ws["display_status"], ws["address"]) == ("admin", "PENDING", None)
        shown = await client.get(path)
        assert (shown.status_code, shown.json()) == (200, ws)
        listed = (await client.get(WORKSPACES)).json()
        assert [row["id"] for row in listed["workspaces"]] == [ws["id"]]
        changed = await client.patch(path, json={"desired_state": "STANDBY", "name": "lab"})
        assert (changed.status_code, changed.headers["etag"]) == (200, '"1"')
        assert (changed.json()["desired_state"], changed.json()["name"]) == ("STANDBY", "lab")
        gone = await client.delete(path)
        assert gone.status_code == 202
        assert gone.json()["deleted_at"]
        problem(await client.patch(path, json={"name": "x"}), 410, "gone")
        problem(await client.get(f"{WORKSPACES}/nobody"), 404, "not-found")

    told(story)


def test_a_listing_is_filtered_and_goes_on_page_by_page():
    """By owner, by what is shown, by name; an unknown filter is no silent success."""

    async def story(here: Running) -> None:
        client = here.client
        for name in ("a", "b", "c"):
            await here.made(name=name, desired_state="STANDBY", owner_id=f"user-{name}")
        first = (await client.get(WORKSPACES, params={"limit": 2})).json()
        rest = (await client.get(WORKSPACES, params={"after": first["after"]})).json()
        names = [ws["name"] for ws in (*first["workspaces"], *rest["workspaces"])]
        assert (sorted(names), rest["after"]) == (["a", "b", "c"], None)
        for params, names in (
            ({"owner_id": "user-b"}, ["b"]),
            ({"name": "c"}, ["c"]),
            ({"status": "RUNNING"}, []),
        ):
            listed = (await client.get(WORKSPACES, params=params)).json()
            assert [ws["name"] for ws in listed["workspaces"]] == names
        bad = ({"limit": "x"}, {"limit": "0"}, {"deleted": "maybe"}, {"colour": "red"})
        for params in (*bad, {"status": "running"}):
            refused = problem(await client.get(WORKSPACES, params=params), 422, "invalid")
            assert refused["errors"][0]["path"] == next(iter(params))

    told(story)


@pytest.mark.parametrize(
    ("body", "status", "path"),
    [
        (b'{"desired_state": "FLYING"}', 422, "$.desired_state"),
        (b'{"desired_state": 3}', 422, "$.desired_state"),
        (b'{"colour": "red"}', 422, "$"),
        (b'{"name": null}', 422, "$.name"),
        (b'{"name": " "}', 422, "name"),
        (b'{"standby_ttl_seconds": 1.5}', 422, "$.standby_ttl_seconds"),
        (b'{"archive_ttl_seconds": 0}', 422, "archive_ttl_seconds"),
        (b"[1]", 422, "$"),
        (b"{", 400, None),
        (b"\xff", 400, None),
        (b" " * 70_000, 413, None),
    ],
)
def test_a_bad_body_is_told_where_and_changes_nothing(body: bytes, status: int, path: str | None):
    """Unknown fields and wrong types are errors with a path and a reason."""

    async def story(here: Running) -> None:
        ws = await here.made()
        before = here.house.row(ws["id"])
        answer = await here.client.patch(f"{WORKSPACES}/{ws['id']}", content=body)
        kind = {400: "not-json", 413: "too-large", 422: "invalid"}[status]
        refused = problem(answer, status, kind)
        if path is not None:
            assert refused["errors"][0]["path"] == path
            assert refused["errors"][0]["problem"]
        assert here.house.row(ws["id"]) == before

    told(story)


def test_if_match_holds_a_change_to_the_version_that_was_seen():
    """412 tells the present version; a header that is no version is a 400."""

    async def story(here: Running) -> None:
        client, ws = here.client, await here.made()
        path = f"{WORKSPACES}/{ws['id']}"
        stop = {"desired_state": "STANDBY"}
        stale = await client.patch(path, json=stop, headers={"If-Match": '"7"'})
        assert problem(stale, 412, "stale")["intent_version"] == 0
        assert (await client.patch(path, json=stop, headers={"If-Match": '"0"'})).is_success
        problem(await client.delete(path, headers={"If-Match": '"0"'}), 412, "stale")
        nonsense = await client.patch(path, json=stop, headers={"If-Match": "x"})
        problem(nonsense, 400, "bad-if-match")
        assert (await client.patch(path, json=stop, headers={"If-Match": "*"})).is_success

    told(story)


def test_over_a_limit_429_names_what_holds_the_places():
    """The answer says which limit, and lists the workspaces that run."""

    async def story(here: Running) -> None:
        ids = {(await here.made(name=name))["id"] for name in ("a", "b")}
        refused = problem(
            await here.client.post(WORKSPACES, json={"name": "c"}), 429, "limit-reached"
        )
        assert (refused["reason"], refused["limit"]) == ("user_limit_reached", 2)
        assert {holder["id"] for holder in refused["holders"]} == ids
        assert {holder["name"] for holder in refused["holders"]} == {"a", "b"}

    told(story)


def test_recovery_is_refused_with_its_rule_and_granted_otherwise():
    """409 unless in ERROR; an administrator's plain recovery resets the error."""

    async def story(here: Running) -> None:
        ws = await here.made()
        path = f"{WORKSPACES}/{ws['id']}"
        refused = problem(await here.client.post(f"{path}/recover"), 409, "not-recoverable")
        assert (refused["reason"], refused["rule"]) == (Reason.NOT_IN_ERROR.value, "E1")
        error = ErrorInfo(
            reason=ErrorReason.DATA_LOST,
            message="gone",
            is_terminal=True,
            operation=Operation.NONE,
            error_count=1,
            context={"detail": "no volume"},
            occurred_at=T0,
        )
        here.house.put(
            here.house.row(ws["id"]),
            health_status=HealthStatus.ERROR,
            error_info=error,
            home=DIRTY,
        )
        shown = (await here.client.get(path)).json()
        assert shown["display_status"] == "ERROR"
        assert shown["error_info"]["context"] == {"detail": "no volume"}
        why = (await here.client.get(f"{path}/explain")).json()
        ways = {(way["way"], way["gives_up"]) for way in why["ways_out"]}
        assert ways == {("recover", None), ("accept_loss", "i1"), ("delete", None)}
        recovered = await here.client.post(f"{path}/recover", json={"accept_loss": "i1"})
        assert recovered.status_code == 200
        assert recovered.json()["loss_accepted"] == "i1"
        assert recovered.json()["error_info"] is None

    told(story)


def test_keepalive_takes_a_bounded_number_of_seconds():
    """The answer repeats what was granted."""

    async def story(here: Running) -> None:
        path = f"{WORKSPACES}/{(await here.made())['id']}/keepalive"
        granted = await here.client.post(path, json={"seconds": 60})
        assert (granted.status_code, granted.json()) == (200, {"seconds": 60})
        problem(await here.client.post(path, json={"seconds": 10**9}), 422, "invalid")
        problem(await here.client.post(path), 422, "invalid")

    told(story)


def test_an_explanation_has_the_rules_and_what_would_change_it():
    """The core's words, as JSON."""

    async def story(here: Running) -> None:
        ws = await here.made()
        why = (await here.client.get(f"{WORKSPACES}/{ws['id']}/explain")).json()
        assert why["because"] == "Nothing has been observed since the last operation ended."
        assert why["waits_for"] == "the monitor's next look"
        assert why["looked_at"][-1]["decided"]
        assert why["would_differ"][0]["facts"]
        assert {way["way"] for way in why["ways_out"]} == {"stop", "archive", "delete"}

    told(story)


def test_what_is_not_there_is_a_problem_too():
    """Unknown paths and wrong methods are told in the same form."""

    async def story(here: Running) -> None:
        problem(await here.client.get("/nowhere"), 404, "no-such-call")
        wrong = await here.client.put(WORKSPACES)
        problem(wrong, 405, "no-such-call")
        assert set(wrong.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}

    told(story)


class _Away:
    """A reader whose database is away, or that fails in a way that nobody foresaw."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def _fail(self, *_: Any, **__: Any) -> Any:
        raise self._error

    some: Any = _fail
    page: Any = _fail
    finished: Any = _fail
    changed: Any = _fail


@pytest.mark.parametrize(
    ("error", "status", "kind", "ready"),
    [
        (StoreUnavailable("no route to the host"), 503, "database-away", "not-ready"),
        (KeyError("a fault of ours"), 500, "internal", "internal"),
    ],
)
def test_what_fails_inside_is_logged_and_not_told(
    error: Exception, status: int, kind: str, ready: str
):
    """No exception's text reaches the caller, whatever it was."""
    house = House()
    outside = attrs.evolve(house.outside, reader=_Away(error))

    async def story(here: Running) -> None:
        answer = await here.client.get(f"{WORKSPACES}/w1")
        problem(answer, status, kind)
        assert str(error) not in answer.text
        assert "the change" not in answer.text  # it was no change
        problem(await here.client.get("/health/ready"), status, ready)
        assert (await here.client.get("/health/live")).is_success
        failed = ("a request failed", {"path": f"{WORKSPACES}/w1"})
        assert (failed in house.heard.events) is (status == 500)

    told(story, house=house, outside=outside)


# -------------------------------------------------------------------------------------- events


async def events(response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    event: dict[str, Any] = {}
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        if name == "data":
            event["data"] = json.loads(value)
        elif name in ("id", "event"):
            event[name] = value
        elif not line:
            if "event" in event:
                yield event
            event = {}


def test_a_stream_begins_with_a_snapshot_and_is_gone_on_from():
    """Last-Event-ID brings exactly what came after, without a snapshot."""

    async def story(here: Running) -> None:
        client, ws = here.client, await here.made()
        path = f"{WORKSPACES}/{ws['id']}"
        async with client.stream("GET", f"{path}/events") as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            stream = events(response)
            first = await anext(stream)
            assert (first["event"], first["data"]["more"]) == ("snapshot", False)
            assert [row["id"] for row in first["data"]["workspaces"]] == [ws["id"]]
            await client.patch(path, json={"desired_state": "STANDBY"})
            change = await anext(stream)
            assert change["event"] == "state_changed"
            assert change["data"]["workspace"]["desired_state"] == "STANDBY"
        await client.patch(path, json={"name": "lab"})
        resumed = {"Last-Event-ID": change["id"]}
        async with client.stream("GET", "/api/v1/events", headers=resumed) as response:
            assert (await anext(events(response)))["data"]["workspace"]["name"] == "lab"
        problem(await client.get(f"{WORKSPACES}/nobody/events"), 404, "not-found")

    told(story)


def test_a_stream_does_not_hold_up_the_end():
    """The server stops while somebody is still listening."""

    async def whole() -> None:
        async with running() as here:
            ws = await here.made()
            request = here.client.build_request("GET", f"{WORKSPACES}/{ws['id']}/events")
            response = await here.client.send(request, stream=True)
            await anext(events(response))
            closing = response.aclose
        await closing()

    asyncio.run(whole())


def test_the_whole_life_over_http():
    """Create, run, stop, archive, wake, delete: carried out by a coordinator, seen in events."""

    async def story(here: Running) -> None:
        client, ws_id = here.client, (await here.made())["id"]
        path = f"{WORKSPACES}/{ws_id}"
        running_now = await here.until(ws_id, "RUNNING")
        assert running_now["address"]
        for wanted, shown in (("STANDBY", "STANDBY"), ("PENDING", "ARCHIVED")):
            await client.patch(path, json={"desired_state": wanted})
            assert (await here.until(ws_id, shown))["address"] is None
        await client.patch(path, json={"desired_state": "RUNNING"})
        await here.until(ws_id, "RUNNING")
        await client.delete(path)
        await here.until(ws_id, "DELETED")
        assert not here.house.world.runtime.containers
        assert not here.house.world.runtime.volumes

    policy = Policy(busy_poll_seconds=1, unconverged_poll_seconds=1)
    told(story, house=House(policy), leads=True)


# ---------------------------------------------------------------------------------------- port


def test_a_port_that_is_taken_is_told_with_what_to_do():
    """A listener, and somebody who has bound and will listen, both keep wsctl away."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(BusyPort, match=f"port {port} on 127.0.0.1 is in use.*--port"):
            bound("127.0.0.1", port)


@pytest.mark.parametrize("host", ["203.0.113.7", "no-such-host.invalid"])
def test_an_address_of_another_machine_is_told(host: str):
    """An address that can't be had is a sentence."""
    with pytest.raises(BusyPort, match="--host"):
        bound(host, 0)
