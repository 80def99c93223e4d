"""Who is let in: whoever brings the token. It is compared in constant time and never told."""

import hmac

from starlette.requests import Request

from wsctl_app.api.problems import unauthenticated
from wsctl_app.service import Caller

ADMINISTRATOR = Caller(user_id="admin", is_administrator=True)


class Door:
    """Turns a token into a caller. There is one token, the administrator's."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    def caller(self, request: Request) -> Caller:
        """Who asks; a problem when nobody known does."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        known = hmac.compare_digest(token.strip().encode(), self._token)
        if scheme.lower() != "bearer" or not known:
            raise unauthenticated()
        return ADMINISTRATOR
