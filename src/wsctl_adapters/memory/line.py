"""The line between a node and a world: every call of every port goes through one.

A call is one synchronous effect on a world, which checks and changes all that it does at the moment
at which it lands. A simulator's line lets it land late, after its caller has died, or never, loses
its answer, or fails it. Nothing reaches a world by any other way.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from wsctl_core.ports import AdapterError, StoreUnavailable
from wsctl_core.values.errors import AdapterCode

T = TypeVar("T")


class Line(Protocol):
    """What carries calls of one node."""

    async def call(self, what: str, effect: Callable[[], T]) -> T:
        """Run the effect, now or later, and give its answer; what it raises reaches the caller.

        `what` is one of `CALLS`.
        """


class DirectLine:
    """A line that loses no time: others get a turn, then the effect takes place."""

    async def call(self, what: str, effect: Callable[[], T]) -> T:
        """Run the effect in the next turn of the loop; a call that is cancelled has none."""
        del what
        await asyncio.sleep(0)
        return effect()


_DATABASE = (
    *("some_rows", "page_of_rows", "finished_rows", "changed_rows"),
    *("create_workspace", "change_intent", "recover"),
    *("begin_pass", "end_pass"),
    *("work", "one_row", "next_number", "holds", "write", "claim"),
    *("installation", "safeguard", "latch", "clear_latch", "purge", "trim_events"),
    *("acquire", "beat", "resign", "holder"),
    *("read_feed", "watch_feed"),
)
_RUNTIME = (
    *("list_containers", "list_volumes"),
    *("containers_of_workspace", "create_container", "start_container", "remove_container"),
    *("container_address", "volumes_of_workspace", "make_volume", "remove_volume"),
    *("pack_volume", "unpack_begins", "unpack_ends"),
    *("archive_packs", "restore_begins", "restore_ends"),
)
_ARCHIVES = (
    *("put_begins", "put_ends", "head", "read_archive", "tail", "list_archives", "delete_archive"),
    *("archive_looks", "archive_puts", "confirm_archive", "look_at_archive"),
)
_ACTIVITY = ("read_activity", "set_idle_timer", "keep_alive")
_SIGNALS = ("send_hint", "listen_to_hints", "publish_event")

CALLS: Mapping[str, AdapterCode | None] = {
    **dict.fromkeys(_DATABASE),
    **dict.fromkeys(_RUNTIME, AdapterCode.LOCAL_IO_ERROR),
    **dict.fromkeys(_ARCHIVES, AdapterCode.S3_ACCESS_ERROR),
    **dict.fromkeys(_ACTIVITY, AdapterCode.ACTIVITY_UNREACHABLE),
    **dict.fromkeys(_SIGNALS, AdapterCode.SIGNALS_UNREACHABLE),
}
"""Every call there is, with the code for a world that can't be reached; None is the database."""


def unreachable(what: str) -> AdapterError | StoreUnavailable:
    """How a call fails when its world can't be reached.

    >>> unreachable("list_archives").failure.reason.value
    'Unreachable'
    >>> type(unreachable("claim")).__name__
    'StoreUnavailable'
    """
    code = CALLS[what]
    if code is None:
        return StoreUnavailable(f"the database can't be reached: {what}")
    return AdapterError(code, f"can't be reached: {what}")
