"""The coordinator: waits to lead, leads, and gives up as soon as it is in doubt (section 6, H1).

A term is one group of tasks: the beat and every component. When one of them ends, for whatever
reason, all are cancelled and joined, and the lock is given back.
"""

import asyncio
from collections.abc import Mapping

import attrs

from wsctl_app.coordinator.archive_gc import ArchiveGc
from wsctl_app.coordinator.component import Component
from wsctl_app.coordinator.event_listener import EventListener
from wsctl_app.coordinator.executor import Transferred
from wsctl_app.coordinator.fleet import Fleet
from wsctl_app.coordinator.health_monitor import HealthMonitor
from wsctl_app.coordinator.mandate import Mandate
from wsctl_app.coordinator.reaper import Reaper
from wsctl_app.coordinator.state_reconciler import StateReconciler
from wsctl_app.coordinator.ttl_manager import Expire, TtlManager
from wsctl_app.joining import JOIN_SECONDS, ended, unhurried
from wsctl_app.outside import Outside
from wsctl_app.telemetry.log import Log
from wsctl_core import Policy, Progress
from wsctl_core.ports import AdapterError, Hint, LeadershipLost, StoreUnavailable, Term

BEAT_SECONDS = 1.0
RETRY_SECONDS = 1.0
"""Between two tries to lead after one that failed."""


@attrs.frozen(kw_only=True)
class CoordinatorHealth:
    """What a node tells about its own coordinator."""

    is_leader: bool
    node_id: str
    uptime_seconds: float
    epoch: int | None
    """None while another leads."""
    ticks: Mapping[str, float | None]
    """How long ago each component's last good tick was; None before the first."""
    failed_ticks: Mapping[str, int]


class Duties:
    """The components of one term, wired to one another."""

    def __init__(self, mandate: Mandate, expire: Expire) -> None:
        fleet = Fleet(mandate.outside.reader)
        self.monitor = HealthMonitor(mandate, fleet)
        self.reconciler = StateReconciler(mandate, look=self.monitor.nudge)
        self.monitor.work = self.reconciler.nudge
        self.listener = EventListener(mandate, work=self.reconciler.nudge)
        self.components: tuple[Component, ...] = (
            self.monitor,
            self.reconciler,
            self.listener,
            Reaper(mandate, fleet),
            TtlManager(mandate, fleet, expire),
            ArchiveGc(mandate),
        )


class Coordinator:
    """One node's part in leading."""

    def __init__(
        self, outside: Outside, *, node_id: str, policy: Policy, expire: Expire, log: Log
    ) -> None:
        self._outside = outside
        self._node_id = node_id
        self._policy = policy
        self._expire = expire
        self._log = log
        self._born = outside.clock.monotonic()
        self._term: Term | None = None
        self._duties: Duties | None = None

    async def run(self) -> None:
        """Lead whenever possible, for ever. Cancel it to stop: it gives the lock back."""
        while True:
            try:
                term = await self._outside.leadership.acquire()
                if term is not None:
                    await self._lead(term)
            except StoreUnavailable as error:
                self._log.warning("the database is away", node=self._node_id, why=str(error))
                await self._outside.clock.sleep(RETRY_SECONDS)

    def health(self) -> CoordinatorHealth:
        """What this node knows of itself."""
        now = self._outside.clock.monotonic()
        components = () if self._duties is None else self._duties.components
        return CoordinatorHealth(
            is_leader=self._term is not None,
            node_id=self._node_id,
            uptime_seconds=now - self._born,
            epoch=None if self._term is None else self._term.epoch,
            ticks={c.name: None if c.last_good is None else now - c.last_good for c in components},
            failed_ticks={c.name: c.failed_ticks for c in components},
        )

    def progress(self, workspace_id: str) -> Progress | None:
        """How far this node has come with a workspace's operation; None when it has none."""
        return None if self._duties is None else self._duties.reconciler.progress(workspace_id)

    def transferred(self, workspace_id: str) -> Transferred | None:
        """How far a transfer of that workspace has come; None when none is under way here."""
        if self._duties is None:
            return None
        return self._duties.reconciler.executor.transferred.get(workspace_id)

    async def _lead(self, term: Term) -> None:
        self._log.info("leads", node=self._node_id, epoch=term.epoch)
        mandate = Mandate(
            outside=self._outside, epoch=term.epoch, policy=self._policy, log=self._log
        )
        self._term, self._duties = term, Duties(mandate, self._expire)
        try:
            await self._serve(term, self._duties)
        except (LeadershipLost, StoreUnavailable) as lost:
            why = str(lost) or type(lost).__name__
            self._log.warning("leads no more", node=self._node_id, epoch=term.epoch, why=why)
        except Exception:  # noqa: BLE001  # told, and the term ends: another may fare better
            self._log.exception("a loop failed; leads no more", node=self._node_id)
        finally:
            self._term = self._duties = None
            await unhurried(term.resign())
        await self._outside.clock.sleep(RETRY_SECONDS)

    async def _serve(self, term: Term, duties: Duties) -> None:
        """Do every duty until one of them ends, then end them all."""
        loops = (
            self._beat(term),
            *(component.run() for component in duties.components),
            self._heed(duties),
            duties.listener.listen(),
        )
        tasks = [asyncio.create_task(loop) for loop in loops]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            over = [task for task in tasks if task.done()]
            await unhurried(self._end(tasks))
        failures = [task.exception() for task in over if not task.cancelled()]
        for failure in filter(None, failures):
            raise failure

    async def _end(self, tasks: list[asyncio.Task[None]]) -> None:
        if not await ended(tasks, 2 * JOIN_SECONDS):
            self._log.warning("some duties do not end", node=self._node_id)

    async def _beat(self, term: Term) -> None:
        while True:
            await self._outside.clock.sleep(BEAT_SECONDS)
            await term.beat()

    async def _heed(self, duties: Duties) -> None:
        """Turn hints into nudges; without hints, all comes a little later (contract 2)."""
        nudges = {Hint.LOOK: duties.monitor.nudge, Hint.WORK: duties.reconciler.nudge}
        while True:
            try:
                async for hint in self._outside.hints.listen():
                    nudges[hint]()
            except AdapterError as error:
                self._log.warning("hints are away", why=str(error))
            await self._outside.clock.sleep(Component.retry_seconds)
