"""A simulation: several nodes, people and misfortune on one world in memory, from one seed.

First chaos, then calm. During chaos the witness checks every contract after every call; in the calm
everything must come to rest within bounds, and nothing may be lost (contract 13).
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from random import Random

import attrs

from wsctl_adapters.memory import MemoryNode, MemoryWorld
from wsctl_app.coordinator import Coordinator
from wsctl_app.outside import Outside
from wsctl_app.simulation.faults import CALM, Faults
from wsctl_app.simulation.line import EpochTold, SimulatedLine
from wsctl_app.simulation.story import Story
from wsctl_app.simulation.virtual_time import run
from wsctl_app.simulation.witness import ContractBroken, Witness, strays
from wsctl_core import (
    DesiredState,
    IntentAnswer,
    Moment,
    Policy,
    Wish,
    Workspace,
    intent_decision,
)
from wsctl_core.contracts import Settled, settled, strays_are_removed
from wsctl_core.ports import NewWorkspace

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
LONG = 4 * 3600.0
"""Virtual seconds within which calm must lead to rest: the longest waits are an hour."""
DELETES = 0.01
"""The part of all wishes that ask for deletion."""


@attrs.frozen(kw_only=True)
class Setting:
    """What is simulated."""

    seed: int
    faults: Faults
    nodes: int = 3
    workspaces: int = 4
    chaos_seconds: float = 1200.0


@attrs.frozen(kw_only=True)
class Outcome:
    """How a simulation ended."""

    setting: Setting
    rests: dict[str, Settled]
    calls: int
    """Calls that landed, each followed by a check of every contract."""
    terms: int
    broken: str | None
    story: tuple[str, ...]


@attrs.define(eq=False)
class Process:
    """One node's process, from its start to its death."""

    name: str
    line: SimulatedLine
    coordinator: Coordinator
    task: "asyncio.Task[None]"


class Simulation:
    """One run."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._chance = Random(setting.seed)  # noqa: S311  # chance that can be had again
        self._policy = Policy(max_running_per_user=2, max_running_global=3)
        self._loop = asyncio.get_running_loop()
        self._world = MemoryWorld(now=self._now)
        self._witness = Witness(self._world, self._policy)
        self._story = Story(self._loop.time)
        self._service = self._world.node("service").intents
        self._faults = setting.faults
        self._processes: dict[int, Process] = {}
        self._births = 0
        self._broken: asyncio.Future[None] = self._loop.create_future()

    async def run(self) -> Outcome:
        """Chaos, then calm."""
        broken = None
        try:
            async with asyncio.TaskGroup() as group:
                watch = group.create_task(self._watch())
                await self._live()
                watch.cancel()
        except* ContractBroken as found:
            broken = str(found.exceptions[0])
            self._story.info(f"BROKEN: {broken}")
        for process in self._processes.values():
            self._end(process)
        await asyncio.sleep(1)
        rests = {ws.id: self._rest(ws) for ws in self._world.database.rows.values()}
        return Outcome(
            setting=self._setting,
            rests=rests,
            calls=self._witness.checked,
            terms=self._world.database.epoch,
            broken=broken,
            story=self._story.lines,
        )

    def _now(self) -> datetime:
        return BEGINNING + timedelta(seconds=self._loop.time())

    async def _watch(self) -> None:
        await self._broken

    def _report(self, broken: Exception) -> None:
        if not self._broken.done():
            self._broken.set_exception(broken)

    async def _live(self) -> None:
        for place in range(self._setting.nodes):
            self._start(place)
        for number in range(self._setting.workspaces):
            await self._create(number)
        misfortunes = [
            self._loop.create_task(self._every(seconds, what))
            for seconds, what in (
                (12.0, self._somebody_wishes),
                (9.0, self._somebody_writes),
                (self._faults.crash_every, self._node_crashes),
                (self._faults.freeze_every, self._node_freezes),
                (self._faults.container_dies_every, self._container_dies),
            )
            if seconds
        ]
        await asyncio.sleep(self._setting.chaos_seconds)
        for task in misfortunes:
            task.cancel()
        await self._calm()

    async def _calm(self) -> None:
        self._story.info("calm")
        self._faults = CALM
        for place, process in self._processes.items():
            process.line.faults = CALM
            process.line.thaw()
            if process.line.dead:
                self._start(place)
        ends = self._loop.time() + LONG
        while not all(self._rest(ws) is not Settled.NOT for ws in self._rows()):
            if self._loop.time() > ends:
                moving = [ws.id for ws in self._rows() if self._rest(ws) is Settled.NOT]
                raise ContractBroken(f"not at rest after {LONG:.0f} s of calm: {moving}")
            await asyncio.sleep(10)
        rests = {ws.id: self._rest(ws) for ws in self._rows()}
        # Late calls still land; what they leave is removed when its grace is over (I10).
        await asyncio.sleep(2 * self._policy.reaper_grace_seconds)
        if {ws.id: self._rest(ws) for ws in self._rows()} != rests:
            raise ContractBroken("at rest, and did not stay so")
        left = strays_are_removed(strays(self._witness.look()))
        if left is not None:
            raise ContractBroken(left)

    def _rows(self) -> tuple[Workspace, ...]:
        return tuple(self._world.database.rows.values())

    def _rest(self, ws: Workspace) -> Settled:
        database = self._world.database
        usage = database.places(ws.owner_id, ws.id)
        full = (
            usage.by_user >= self._policy.max_running_per_user
            or usage.in_all >= self._policy.max_running_global
        )
        return settled(
            ws,
            Moment(
                now=self._now(),
                fresh_id="rest",
                pass_seq=database.pass_number,
                place_free=not full,
                policy=self._policy,
            ),
        )

    # Nodes.

    def _start(self, place: int) -> None:
        self._births += 1
        name = f"node{place}.{self._births}"
        line = SimulatedLine(self._chance, self._witness, self._report)
        line.faults = self._faults
        coordinator = Coordinator(
            _outside(self._world.node(name, line), line),
            node_id=name,
            policy=self._policy,
            expire=self._change,
            log=self._story,
        )
        self._processes[place] = Process(
            name, line, coordinator, self._loop.create_task(coordinator.run())
        )

    def _end(self, process: Process) -> None:
        process.line.dead = True
        process.line.thaw()
        self._world.crash(process.name)
        process.task.cancel()

    async def _node_crashes(self) -> None:
        place = self._chance.choice(sorted(self._processes))
        process = self._processes[place]
        if process.line.dead:
            return
        self._story.info("crashes", node=process.name, led=process.coordinator.health().is_leader)
        self._end(process)
        await asyncio.sleep(self._chance.uniform(0.5, 60))
        self._start(place)

    async def _node_freezes(self) -> None:
        process = self._processes[self._chance.choice(sorted(self._processes))]
        self._story.info("stops", node=process.name)
        process.line.freeze()
        await asyncio.sleep(self._chance.uniform(1, 90))
        self._story.info("wakes", node=process.name)
        process.line.thaw()

    # People.

    async def _create(self, number: int) -> None:
        new = NewWorkspace(
            id=f"w{number}",
            owner_id=self._chance.choice(("ann", "bob")),
            name=f"work{number}",
            image="ide:1",
            desired_state=DesiredState.STANDBY,
            standby_ttl_seconds=300,
            archive_ttl_seconds=604800,
        )
        await self._service.create(new, self._policy)

    async def _change(self, workspace_id: str, wish: Wish) -> IntentAnswer | None:
        answer = await self._service.change(
            workspace_id,
            lambda s: intent_decision(s.ws, wish, usage=s.usage, now=s.now, policy=self._policy),
        )
        if answer is not None:
            self._story.info("wished", workspace=workspace_id, why=answer.verdict.reason.value)
        return answer

    async def _somebody_wishes(self) -> None:
        alive = [ws.id for ws in self._rows() if ws.deleted_at is None]
        if not alive:
            return
        wish = Wish(desired_state=self._chance.choice(tuple(DesiredState)))
        if self._chance.random() < DELETES:
            wish = Wish(delete=True)
        await self._change(self._chance.choice(alive), wish)

    async def _somebody_writes(self) -> None:
        for ws in self._rows():
            data = f"{ws.id} at {self._loop.time():.3f}".encode()
            before = self._witness.look()
            if self._world.runtime.user_writes(ws.id, data):
                self._witness.newest[ws.id] = data
                self._witness.check("user_writes", before, None)

    async def _container_dies(self) -> None:
        running = [c.id for c in self._world.runtime.containers.values() if c.runs]
        if running:
            self._world.runtime.end_container(self._chance.choice(running))

    async def _every(self, seconds: float, what: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(self._chance.expovariate(1 / seconds))
            await what()


def _outside(node: MemoryNode, line: SimulatedLine) -> Outside:
    ports = {field.name: getattr(node, field.name) for field in attrs.fields(Outside)}
    told = {name: EpochTold(ports[name], line) for name in ("monitor", "reconciler")}
    return Outside(**ports | told)


def simulate(setting: Setting) -> Outcome:
    """Run one simulation, in virtual time."""

    async def main() -> Outcome:
        return await Simulation(setting).run()

    return run(main())
