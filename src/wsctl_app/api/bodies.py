"""What requests carry and answers show, as JSON. An unknown field is an error, not a wish."""

from typing import Any, TypeVar

import attrs
import msgspec
from starlette.requests import Request

from wsctl_app.api.problems import Problem
from wsctl_app.coordinator.executor import Transferred
from wsctl_app.service import Explained, Order
from wsctl_core.decisions.intent import Wish
from wsctl_core.values.patches import UNSET
from wsctl_core.values.states import DesiredState
from wsctl_core.values.workspace import Workspace
from wsctl_core.views.display import display_status

LARGEST_BODY_BYTES = 64 * 1024

B = TypeVar("B", bound=msgspec.Struct)


class _Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request's body."""


class Creation(_Body, frozen=True, kw_only=True):
    """`POST /workspaces`."""

    name: str
    image: str | None = None
    owner_id: str | None = None
    desired_state: DesiredState = DesiredState.RUNNING
    standby_ttl_seconds: int | None = None
    archive_ttl_seconds: int | None = None

    def order(self) -> Order:
        """What the service is asked for."""
        return Order(**{field: getattr(self, field) for field in self.__struct_fields__})


class Change(_Body, frozen=True, kw_only=True):
    """`PATCH /workspaces/{id}`: what is not named stays as it is."""

    desired_state: DesiredState | msgspec.UnsetType = msgspec.UNSET
    name: str | msgspec.UnsetType = msgspec.UNSET
    standby_ttl_seconds: int | msgspec.UnsetType = msgspec.UNSET
    archive_ttl_seconds: int | msgspec.UnsetType = msgspec.UNSET

    def wish(self, intent_version: int | None) -> Wish:
        """What the service is asked for."""
        said: dict[str, Any] = {
            field: UNSET if (value := getattr(self, field)) is msgspec.UNSET else value
            for field in self.__struct_fields__
        }
        return Wish(**said, intent_version=intent_version)


class Recovering(_Body, frozen=True, kw_only=True):
    """`POST /workspaces/{id}/recover`."""

    accept_loss: str | None = None


class KeepAlive(_Body, frozen=True, kw_only=True):
    """`POST /workspaces/{id}/keepalive`."""

    seconds: int


async def read(request: Request, kind: type[B]) -> B:
    """The body of a request; a problem with path and reason when it is another thing.

    No body at all is an empty object.
    """
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > LARGEST_BODY_BYTES:
            raise Problem(
                status=413,
                kind="too-large",
                detail=f"A body has at most {LARGEST_BODY_BYTES} bytes.",
            )
    try:
        return msgspec.json.decode(bytes(content) or b"{}", type=kind)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at ")
        where = {"path": path.strip("`") or "$", "problem": problem}
        raise Problem(
            status=422, kind="invalid", detail=str(error), more={"errors": [where]}
        ) from None
    except msgspec.DecodeError as error:
        raise Problem(status=400, kind="not-json", detail=str(error)) from None


def plain(value: object) -> Any:
    """A value as JSON has it."""
    return msgspec.to_builtins(value)


def workspace(ws: Workspace) -> dict[str, Any]:
    """A workspace as it is shown."""
    shown: dict[str, Any] = {"display_status": display_status(ws), **plain(ws)}
    if ws.error_info is not None:
        shown["error_info"]["context"] = dict(ws.error_info.context)
    return shown


def details(ws: Workspace, address: str | None, transferred: Transferred | None) -> dict[str, Any]:
    """One workspace, with where it answers and how far a transfer of it has come."""
    return workspace(ws) | {"address": address, "transfer": plain(transferred)}


def explained(why: Explained) -> dict[str, Any]:
    """An explanation as it is shown."""
    explanation = why.explanation
    return {
        "workspace": workspace(why.ws),
        "status": explanation.status,
        "because": explanation.because,
        "reason": explanation.reason.value,
        "outcome": explanation.outcome,
        "waits_for": explanation.waits_for,
        "next_at": plain(explanation.next_at),
        "looked_at": plain(explanation.looked_at),
        "would_differ": [
            {
                "facts": dict(change.facts),
                "outcome": str(change.outcome),
                "reason": change.reason.value,
            }
            for change in explanation.would_differ
        ],
        "ways_out": [
            attrs.asdict(way) | {"way": way.way.value, "who": sorted(way.who)}
            for way in why.ways_out
        ],
        "holders": plain(why.holders),
    }
