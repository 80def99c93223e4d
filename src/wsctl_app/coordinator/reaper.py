"""The reaper: removes what belongs to no home any more (specification, section 6; H6, H33).

It lists first and reads rows second, and removes by identity. What has no row is reported, never
touched; what is another installation's is not looked at.
"""

from datetime import datetime

from wsctl_app.coordinator.component import Component
from wsctl_app.coordinator.fleet import Fleet
from wsctl_app.coordinator.mandate import Mandate
from wsctl_app.coordinator.safeguard import may_collect
from wsctl_core import (
    FoundContainer,
    FoundVolume,
    Keep,
    Reason,
    VolumeSeen,
    Workspace,
    effective_home,
    reap_decision,
)
from wsctl_core.ports import AdapterError

TICKS_PER_GRACE = 10


class Reaper(Component):
    """Removes strays that are older than the grace."""

    name = "reaper"

    def __init__(self, mandate: Mandate, fleet: Fleet) -> None:
        super().__init__(mandate)
        self._fleet = fleet
        self._first_seen: dict[str, datetime] = {}
        """When this leader first saw each stray. A new leader begins to count anew."""
        self._reported: set[str] = set()

    async def tick(self) -> float:
        """Look for strays, and remove those that are old enough."""
        listed: list[FoundContainer | FoundVolume] = [*await self.outside.inventory.containers()]
        listed += await self.outside.inventory.volumes()
        ours = self.outside.installation
        found = [thing for thing in listed if thing.stamp.installation == ours]
        odd = [thing for thing in found if not self._at_home(thing)]
        reading = await self.outside.reader.some({thing.stamp.workspace_id: 0 for thing in odd})
        if await may_collect(
            self.mandate, (thing.stamp.seq for thing in found), "containers or volumes"
        ):
            await self._reap(odd, {ws.id: ws for ws in reading.rows}, reading.now)
        return self.policy.reaper_grace_seconds / TICKS_PER_GRACE

    def _at_home(self, thing: FoundContainer | FoundVolume) -> bool:
        ws = self._fleet.rows.get(thing.stamp.workspace_id)
        return ws is not None and effective_home(ws).incarnation == thing.stamp.incarnation

    async def _reap(
        self,
        odd: list[FoundContainer | FoundVolume],
        rows: dict[str, Workspace],
        now: datetime,
    ) -> None:
        seen = {identity(thing): self._first_seen.get(identity(thing), now) for thing in odd}
        self._first_seen = seen
        self._reported &= seen.keys()
        for thing in odd:
            verdict = reap_decision(
                thing.seen,
                rows.get(thing.stamp.workspace_id),
                ours=True,
                first_seen_at=seen[identity(thing)],
                now=now,
                policy=self.policy,
            )
            if verdict.outcome is Keep.REMOVE:
                await self._remove(thing, verdict.reason)
            elif verdict.reason in (Reason.NO_ROW, Reason.GIVEN_UP):
                self._report(thing, verdict.reason)

    async def _remove(self, thing: FoundContainer | FoundVolume, reason: Reason) -> None:
        self.log.info("reaped", thing=identity(thing), why=reason.value)
        try:
            if isinstance(thing.seen, VolumeSeen):
                await self.outside.volumes.remove(thing.seen.name)
            else:
                await self.outside.containers.remove(thing.seen.id, self.policy.stop_grace_seconds)
        except AdapterError as error:
            self.log.warning("a stray stays", thing=identity(thing), why=str(error))

    def _report(self, thing: FoundContainer | FoundVolume, reason: Reason) -> None:
        if identity(thing) not in self._reported:
            self._reported.add(identity(thing))
            self.log.warning("left alone", thing=identity(thing), why=reason.value)


def identity(thing: FoundContainer | FoundVolume) -> str:
    """The name that a thing is removed by."""
    return thing.seen.name if isinstance(thing.seen, VolumeSeen) else thing.seen.id
