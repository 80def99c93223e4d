"""Activity: whether people use a workspace right now (specification, section 8)."""

from collections.abc import Mapping
from typing import Protocol

from wsctl_core.values.activity import Activity


class ActivityStore(Protocol):
    """What proxies report and the TTL manager reads. AdapterError when it can't be reached."""

    async def read(self, idle_seconds: Mapping[str, int]) -> Mapping[str, Activity]:
        """The activity of each workspace that is asked about, in a constant number of calls.

        The number beside each workspace is the length of its idle timer. Activity is unknown
        until the store has been whole for that long and a minute more (H30): a store that lost
        its data doesn't make the active look idle.
        """

    async def set_idle_timer(self, workspace_id: str, seconds: int) -> None:
        """Start the idle timer anew, with that length."""

    async def keep_alive(self, workspace_id: str, seconds: int) -> None:
        """Hold the standby TTL for that long; zero lets go at once."""
