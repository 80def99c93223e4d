"""The health monitor: the only one that says what exists (specification, section 6).

A pass takes its number, lists containers and volumes, then reads the rows that changed, judges and
writes: in this order, so that nothing it says is older than its number (H19). An unchanged row with
an unchanged listing was judged before, and is not judged again.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import attrs

from wsctl_app.coordinator.component import Component
from wsctl_app.coordinator.fleet import Fleet
from wsctl_app.coordinator.mandate import Mandate
from wsctl_core import (
    Alarm,
    ContainerSeen,
    FoundContainer,
    FoundVolume,
    InvalidValue,
    MonitorPatch,
    Observation,
    PollFacts,
    Reason,
    VolumeSeen,
    assess,
    poll_interval,
)
from wsctl_core.ports import Findings, PassStart
from wsctl_core.values.states import Component as Name

T = TypeVar("T")

MANY = 10
"""An empty listing where the last had more than this is asked for again (H34)."""


@attrs.frozen
class Seen:
    """What a pass saw of one workspace."""

    containers: tuple[ContainerSeen, ...] = ()
    volumes: tuple[VolumeSeen, ...] = ()


NOTHING = Seen()


@attrs.frozen
class Judged:
    """What a pass made of what it saw."""

    findings: Findings
    again: dict[str, None]
    """Workspaces to be judged again by the next pass."""


class HealthMonitor(Component):
    """Looks at everything, in a constant number of calls."""

    name = "health_monitor"
    retry_seconds = 2.0

    def __init__(self, mandate: Mandate, fleet: Fleet) -> None:
        super().__init__(mandate)
        self._fleet = fleet
        self.work: Callable[[], None] = lambda: None
        """Called when a pass may have made a step due."""
        self._last: Mapping[str, Seen] = {}
        self._due: dict[str, None] = {}
        """Workspaces that changed, or look otherwise, since they were judged and that was written;
        and those whose judgement may differ although nothing changed: a suspicion stands."""
        self._counts = (0, 0)

    async def tick(self) -> float:
        """One pass. Passes never overlap: the next begins when this one has ended."""
        start = await self.outside.monitor.begin_pass()
        seen = await self._look()
        changes = await self._fleet.refresh()
        self._due |= dict.fromkeys(
            (
                *(ws.id for ws in changes.rows),
                *(ws_id for ws_id in seen if seen[ws_id] != self._last.get(ws_id)),
                *(ws_id for ws_id in self._last if ws_id not in seen),
            )
        )
        self._last = seen
        judged = self._judge(seen, start, changes.pass_seq)
        written = await self.outside.monitor.end_pass(self.mandate.epoch, judged.findings)
        self._due = judged.again
        if written or self._fleet.active:
            self.work()
        return self._pause(bool(judged.findings.patches or judged.findings.alarms))

    def _judge(self, seen: Mapping[str, Seen], start: PassStart, pass_seq: int) -> Judged:
        patches: dict[str, MonitorPatch] = {}
        alarms: dict[str, Alarm] = {}
        again: dict[str, None] = {}
        complete = True
        for ws_id in self._due:
            ws = self._fleet.rows.get(ws_id)
            if ws is None:
                continue
            try:
                judged = assess(ws, _observation(seen.get(ws_id, NOTHING), start), pass_seq)
            except InvalidValue:
                # One that can't be judged is unknown, and so the pass speaks for nobody else.
                self.log.exception("a workspace can't be judged", workspace=ws_id)
                complete = False
                again[ws_id] = None
                continue
            if judged.patch is not None:
                patches[ws_id] = judged.patch
                self._tell(ws_id, judged.patch, judged.observed.reason)
            if judged.alarm is not None:
                alarms[ws_id] = judged.alarm
            if judged.patch is not None or judged.alarm is not None or ws.suspect is not None:
                again[ws_id] = None
        findings = Findings(number=start.number, patches=patches, alarms=alarms, complete=complete)
        return Judged(findings, again)

    def _tell(self, ws_id: str, patch: MonitorPatch, reason: Reason) -> None:
        self.log.info(
            "observed",
            workspace=ws_id,
            status=patch.observed_status.value,
            why=reason.value,
            health=patch.health_status.value,
        )

    async def _look(self) -> Mapping[str, Seen]:
        had_containers, had_volumes = self._counts
        containers = await self._whole(self.outside.inventory.containers, had_containers)
        volumes = await self._whole(self.outside.inventory.volumes, had_volumes)
        self._counts = len(containers), len(volumes)
        return group(containers, volumes, self.outside.installation)

    async def _whole(
        self, listing: Callable[[], Awaitable[tuple[T, ...]]], had: int
    ) -> tuple[T, ...]:
        found = await listing()
        if not found and had > MANY:
            self.log.warning("an empty listing is asked for again", had=had)
            found = await listing()
        return found

    def _pause(self, wrote: bool) -> float:
        active = self._fleet.active.values()
        facts = PollFacts(
            component=Name.MONITOR,
            operation_runs=any(ws.operation != "NONE" for ws in active),
            observation_awaited=wrote or bool(active),
            unconverged=False,
        )
        return poll_interval(facts, self.policy).outcome


def _observation(seen: Seen, start: PassStart) -> Observation:
    return Observation(
        seq=start.number,
        began_at=start.now,
        containers=seen.containers,
        volumes=seen.volumes,
    )


def group(
    containers: tuple[FoundContainer, ...], volumes: tuple[FoundVolume, ...], installation: str
) -> dict[str, Seen]:
    """What was listed, by workspace; another installation's is invisible (H33)."""
    by_workspace: dict[str, tuple[list[ContainerSeen], list[VolumeSeen]]] = {}
    for container in containers:
        if container.stamp.installation == installation:
            lists = by_workspace.setdefault(container.stamp.workspace_id, ([], []))
            lists[0].append(container.seen)
    for volume in volumes:
        if volume.stamp.installation == installation:
            lists = by_workspace.setdefault(volume.stamp.workspace_id, ([], []))
            lists[1].append(volume.seen)
    return {
        ws_id: Seen(
            tuple(sorted(c, key=lambda one: one.id)), tuple(sorted(v, key=lambda one: one.name))
        )
        for ws_id, (c, v) in by_workspace.items()
    }
