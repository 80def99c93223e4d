"""Server-sent events: how what a watcher is told is written. Only some may be gone on from."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import assert_never

import msgspec

from wsctl_app.api import bodies
from wsctl_app.service import Changed, Heartbeat, Snapshot, Told, Transfer
from wsctl_core.ports import StoreUnavailable


def written(told: Told) -> bytes:
    """One event."""
    match told:
        case Snapshot():
            rows = [bodies.workspace(ws) for ws in told.rows]
            return _event("snapshot", {"workspaces": rows, "more": told.more}, None)
        case Changed(event=event):
            data = {
                "event_id": event.id,
                "at": event.at,
                "workspace": bodies.workspace(event.row),
            }
            return _event(event.kind.value, data, told.position)
        case Transfer():
            return _event("progress", bodies.plain(told), None)
        case Heartbeat():
            return _event("heartbeat", {"at": told.at}, told.position)
    assert_never(told)


def _event(kind: str, data: object, position: str | None) -> bytes:
    place = b"" if position is None else b"id: %s\n" % position.encode()
    return b"%sevent: %s\ndata: %s\n\n" % (place, kind.encode(), msgspec.json.encode(data))


async def stream(first: Told, rest: AsyncGenerator[Told, None]) -> AsyncIterator[bytes]:
    """All events; the end of the database's patience is the end of the stream.

    Whoever comes back with the last id misses nothing.
    """
    async with aclosing(rest):
        yield b"retry: 1000\n\n"
        yield written(first)
        try:
            async for told in rest:
                yield written(told)
        except StoreUnavailable:
            return
