"""What is told when something can't be done: a title, a sentence and a status (RFC 9457).

Every refusal of the starter workspace has this form, whoever refuses. A problem never carries a
traceback, nor a path outside the home.
"""

import errno
import os

from starlette.responses import JSONResponse

STATUSES = {
    errno.ENOENT: (404, "Not found"),
    errno.ENOTDIR: (404, "Not found"),
    errno.EACCES: (403, "Not allowed"),
    errno.EPERM: (403, "Not allowed"),
    errno.EROFS: (403, "Not allowed"),
    errno.ENAMETOOLONG: (400, "Not a path"),
    errno.ELOOP: (400, "Not a path"),
    errno.ENOSPC: (507, "No space left"),
    errno.EDQUOT: (507, "No space left"),
}
"""What an error of the system means to somebody who asked over HTTP. Any other is a 500."""


class Problem(Exception):
    """A request that is refused, in words for the person who made it."""

    def __init__(self, status: int, title: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.title = title
        self.detail = detail

    @classmethod
    def of(cls, error: OSError, what: str) -> "Problem":
        """The problem that an error of the system is, said about something that has a name."""
        code = error.errno or 0
        status, title = STATUSES.get(code, (500, "It did not work"))
        return cls(status, title, f"{what}: {os.strerror(code)}.")

    def response(self) -> JSONResponse:
        """The answer that says so."""
        return JSONResponse(
            {"title": self.title, "detail": self.detail, "status": self.status},
            status_code=self.status,
            media_type="application/problem+json",
        )
