"""What every check is made of. It needs no test framework, and ships to users."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from wsctl_core.ports import AdapterError
from wsctl_core.values.errors import AdapterCode

S = TypeVar("S")

Check = Callable[[S], Awaitable[None]]
"""A check takes what is under test; its docstring is the promise that it checks."""


class PromiseBroken(AssertionError):
    """An implementation does not keep a promise of its port; the message says which, and how."""


def ensure(holds: bool, promise: str) -> None:
    """Raise PromiseBroken with that sentence unless the condition holds."""
    if not holds:
        raise PromiseBroken(promise)


@asynccontextmanager
async def refused(*codes: AdapterCode) -> AsyncIterator[None]:
    """What is done inside must be refused with one of these codes."""
    try:
        yield
    except AdapterError as error:
        if error.code not in codes:
            wanted = " or ".join(codes)
            raise PromiseBroken(f"refused with {error.code}, expected {wanted}") from error
    else:
        raise PromiseBroken(f"not refused, expected {' or '.join(codes)}")


@asynccontextmanager
async def raises(kind: type[Exception]) -> AsyncIterator[None]:
    """What is done inside must raise that."""
    try:
        yield
    except kind:
        return
    raise PromiseBroken(f"{kind.__name__} was expected, and nothing was raised")
