"""Problems: every answer that is not what was asked for, as RFC 9457 has it.

Each kind has a type of its own, so that a program need not read the sentence. What went wrong
inside of wsctl is in its log and not in the answer.
"""

from collections.abc import Mapping
from http import HTTPStatus

import attrs
import msgspec
from starlette.responses import Response

from wsctl_app.service import (
    Gone,
    Invalid,
    LimitReached,
    NotAllowed,
    NotFound,
    NotRecoverable,
    Refusal,
    Stale,
)
from wsctl_core.ports import AdapterError, StoreUnavailable


@attrs.frozen(kw_only=True)
class Problem(Exception):
    """One problem. `more` are members of its own kind."""

    status: int
    kind: str
    detail: str
    more: Mapping[str, object] = attrs.field(factory=dict)
    headers: Mapping[str, str] = attrs.field(factory=dict)

    def response(self) -> Response:
        """The answer."""
        body = {
            "type": f"urn:wsctl:problem:{self.kind}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            **self.more,
        }
        return Response(
            msgspec.json.encode(body),
            status_code=self.status,
            headers=dict(self.headers),
            media_type="application/problem+json",
        )


def unauthenticated() -> Problem:
    """Nobody known asks."""
    return Problem(
        status=401,
        kind="unauthenticated",
        detail="This needs `Authorization: Bearer TOKEN`, with a token that is known here.",
        headers={"WWW-Authenticate": 'Bearer realm="wsctl"'},
    )


def inside() -> Problem:
    """A fault of wsctl's own."""
    return Problem(status=500, kind="internal", detail="wsctl failed at this; its log says how.")


def of_refusal(refusal: Refusal) -> Problem:  # noqa: PLR0911  # one case per kind
    """What the service refused."""
    told = str(refusal)
    more: dict[str, object]
    match refusal:
        case NotFound():
            return Problem(status=404, kind="not-found", detail=told)
        case Invalid(field=field, problem=problem):
            more = {"errors": [{"path": field, "problem": problem}]}
            return Problem(status=422, kind="invalid", detail=told, more=more)
        case NotAllowed():
            return Problem(status=403, kind="not-allowed", detail=told)
        case Stale(current=current):
            more = {"intent_version": current}
            return Problem(status=412, kind="stale", detail=told, more=more)
        case Gone():
            return Problem(status=410, kind="gone", detail=told)
        case LimitReached(reason=reason, limit=limit, holders=holders):
            held = {"reason": reason.value, "limit": limit, "holders": holders}
            return Problem(status=429, kind="limit-reached", detail=told, more=held)
        case NotRecoverable(verdict=verdict):
            ruled = {"reason": verdict.reason.value, "rule": verdict.rule}
            return Problem(status=409, kind="not-recoverable", detail=told, more=ruled)
        case _:
            return Problem(status=409, kind="refused", detail=told)


def of_outside(error: AdapterError | StoreUnavailable, *, changes: bool) -> Problem:
    """The database, or something else outside, is away."""
    if isinstance(error, StoreUnavailable):
        unsure = "; whether the change took place is not known" if changes else ""
        return Problem(
            status=503,
            kind="database-away",
            detail=f"The database can't be reached{unsure}.",
        )
    return Problem(status=503, kind="outside", detail=str(error), more={"code": error.code.value})
