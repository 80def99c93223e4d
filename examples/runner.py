"""The smallest complete control plane: the core, the ports, and one loop between them.

Run it: `python examples/runner.py`. It creates a workspace, lets it run, archives it, wakes it up
and deletes it, on adapters in memory, with a clock that leaps instead of waiting; and it prints the
reason of every step. One upload fails on the way, and is tried again.

A control plane of your own looks like this. The core decides (`assess`, `reconcile`,
`record_failure`), the ports are what it needs from the world, and what you read here carries values
from one to the other. Nothing in here decides anything about a workspace. `Runner` and `run` know
no adapter: give them others, and they work on those.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar, assert_never

import attrs

import wsctl_core as core
from wsctl_adapters.memory import DirectLine, MemoryWorld, unreachable
from wsctl_core import ports

T = TypeVar("T")
Tell = Callable[[str], None]


@attrs.frozen(kw_only=True)
class Outside:
    """Everything that a control plane needs from the world, as ports."""

    installation: str
    reader: ports.WorkspaceReader
    intents: ports.IntentStore
    monitor: ports.MonitorStore
    reconciler: ports.ReconcilerStore
    leadership: ports.Leadership
    inventory: ports.Inventory
    containers: ports.Containers
    volumes: ports.Volumes
    transfers: ports.Transfers
    activity: ports.ActivityStore
    clock: ports.Clock
    ids: ports.Ids


class Runner:
    """A leader at work. Others on the same database wait in `acquire` until it is gone."""

    def __init__(self, outside: Outside, epoch: int, tell: Tell) -> None:
        self.outside = outside
        self.epoch = epoch  # every write carries it: one that leads no more changes nothing (H1)
        self.tell = tell
        # How far each operation has come. This is all that a crash forgets: the next leader finds
        # the operation in the row, and begins it again at its first action, under the same op_id.
        self.progress: dict[str, core.Progress] = {}

    # The health monitor: what exists?

    async def look(self) -> None:
        """One pass: its number first, then the listings, then the rows (H19)."""
        start = await self.outside.monitor.begin_pass()
        containers = await self.outside.inventory.containers()
        volumes = await self.outside.inventory.volumes()
        reading = await self.outside.reader.changed(None)
        patches, alarms = {}, {}
        for ws in reading.rows:
            ours = (self.outside.installation, ws.id)
            seen = core.Observation(
                seq=start.number,
                began_at=start.now,
                containers=tuple(c.seen for c in containers if _whose(c.stamp) == ours),
                volumes=tuple(v.seen for v in volumes if _whose(v.stamp) == ours),
            )
            judged = core.assess(ws, seen, reading.pass_seq)
            if judged.patch is not None:
                patches[ws.id] = judged.patch
                self.tell(f"  seen: {judged.patch.observed_status}. {judged.observed.sentence}")
            if judged.alarm is not None:
                alarms[ws.id] = judged.alarm
        # A complete pass speaks for every row that it does not name: those are as they were.
        found = ports.Findings(number=start.number, patches=patches, alarms=alarms, complete=True)
        await self.outside.monitor.end_pass(self.epoch, found)

    # The state reconciler: what follows from that?

    async def work(self) -> None:
        """One step for every row that needs one."""
        work = await self.outside.reconciler.work()
        for ws in work.rows:
            # Time and identity are arguments: the core reads no clock and draws no number.
            fresh_id = self.outside.ids.fresh()
            moment = core.Moment(now=work.now, fresh_id=fresh_id, pass_seq=work.pass_seq)
            await self.step(ws, moment)

    async def step(self, ws: core.Workspace, moment: core.Moment) -> None:
        """Ask the core for the next step of a workspace, and carry it out."""
        store = self.outside.reconciler
        step = core.reconcile(ws, moment, self.progress.get(ws.id))
        match step:
            case core.Skip() | core.Wait():
                return  # settled, or something will happen by itself
            case core.Claim(guard=guard, patch=patch):
                # Compare and set: somebody may have changed the row or taken the last place since
                # it was read. Then nothing is written, and the next round plans anew.
                if await store.claim(self.epoch, ws.id, guard, patch, moment.policy):
                    self.progress[ws.id] = step.after
                    self.tell(f"{step.operation}: {step.verdict.sentence}")
            case core.Resume(guard=guard, patch=patch):
                if await store.write(self.epoch, ws.id, guard, patch):
                    self.progress[ws.id] = step.after
                    self.tell(f"{ws.operation} goes on: {step.verdict.sentence}")
            case core.Act():
                await self.act(ws, step, moment)
            case core.Complete(guard=guard, patch=patch):
                if await store.write(self.epoch, ws.id, guard, patch):
                    del self.progress[ws.id]
                    self.tell(f"{ws.operation} is complete: {step.verdict.sentence}")
            case core.Fail():
                await self.fail(ws, step)
            case _:
                assert_never(step)

    async def act(self, ws: core.Workspace, step: core.Act, moment: core.Moment) -> None:
        """Carry out one action. Success is no proof: the monitor has to see it (contract 1)."""
        if not await self.outside.reconciler.holds(self.epoch, ws.id, step.guard):
            return  # not ours any more (H8)
        try:
            self.progress[ws.id] = await self.carry_out(ws, step)
        except ports.AdapterError as error:
            # Counted and repeated after a wait, or the end: the core knows which.
            await self.fail(ws, core.record_failure(ws, error.failure, moment))

    async def carry_out(self, ws: core.Workspace, step: core.Act) -> core.Progress:
        """An action is data; here it becomes a call. How far the attempt has come then."""
        outside, action = self.outside, step.action
        container_id = receipt = None
        match action:
            case core.Record(patch=patch):  # a write to the row, in its place among the actions
                if not await outside.reconciler.write(self.epoch, ws.id, step.guard, patch):
                    return step.attempt
            case core.DeleteContainers(grace_seconds=grace):
                for listed in await outside.containers.of_workspace(ws.id):
                    await outside.containers.remove(listed, grace)
            case core.MakeVolume(incarnation=incarnation):
                await outside.volumes.make(await self.stamp(ws, incarnation))
            case core.CreateContainer(incarnation=incarnation):
                stamp = await self.stamp(ws, incarnation)
                spec = ports.ContainerSpec(stamp=stamp, image=ws.image)
                container_id = await outside.containers.create(spec)
            case core.StartContainer(container_id=created):
                await outside.containers.start(created)
            case core.SetIdleTimer(seconds=seconds):
                await outside.activity.set_idle_timer(ws.id, seconds)
            case core.ArchiveHome(incarnation=incarnation, key=key):
                stamp = await self.stamp(ws, incarnation)
                receipt = await outside.transfers.archive(stamp, key, _say_nothing)
            case core.ConfirmArchive(archive=archive):
                await outside.transfers.confirm(archive)
            case core.RestoreHome(incarnation=incarnation, archive=archive):
                stamp = await self.stamp(ws, incarnation)
                await outside.transfers.restore(archive, stamp, _say_nothing)
            case core.DeleteVolume(incarnation=incarnation):
                await outside.volumes.remove(core.volume_name(ws.id, incarnation))
            case core.DeleteVolumes():
                for name in await outside.volumes.of_workspace(ws.id):
                    await outside.volumes.remove(name)
            case _:
                assert_never(action)
        done = action.kind if isinstance(action, core.Record) else type(action).__name__
        self.tell(f"  did: {done}")
        return core.stage_done(step.after, container_id=container_id, receipt=receipt)

    async def fail(self, ws: core.Workspace, step: core.Fail) -> None:
        """Write a failure down; unless it is the end, another attempt begins."""
        if await self.outside.reconciler.write(self.epoch, ws.id, step.guard, step.patch):
            self.tell(f"{step.error.reason}: {step.error.message}. {step.verdict.sentence}")
            self.progress.pop(ws.id, None)
            if step.after is not None:
                self.progress[ws.id] = step.after

    async def stamp(self, ws: core.Workspace, incarnation: str) -> core.Stamp:
        """The label of everything that is made outside: whose it is, and when it was asked for."""
        return core.Stamp(
            installation=self.outside.installation,
            workspace_id=ws.id,
            incarnation=incarnation,
            seq=await self.outside.reconciler.next_number(),
        )


def _whose(stamp: core.Stamp) -> tuple[str, str]:
    return stamp.installation, stamp.workspace_id


def _say_nothing(_done: int, _of: int | None) -> None:
    """Nobody watches this transfer."""


async def run(outside: Outside, visit: Callable[[str], None], tell: Tell = print) -> None:
    """The whole life of one workspace; `visit` is what its user does whenever it runs."""
    term = await outside.leadership.acquire()
    if term is None:
        tell("Somebody else leads.")
        return
    runner = Runner(outside, term.epoch, tell)
    new = ports.NewWorkspace(
        id=outside.ids.fresh(),
        owner_id="ann",
        name="work",
        image="ide:1",
        desired_state=core.DesiredState.RUNNING,
        standby_ttl_seconds=300,
        archive_ttl_seconds=604800,
    )

    async def live_until(status: str) -> None:
        for _ in range(200):
            await term.beat()  # still the leader? If not this raises, and all is over
            await runner.look()
            await runner.work()
            (ws,) = (await outside.reader.some([new.id])).rows
            if core.display_status(ws) == status:
                tell(f"It is {status} now.")
                return
            await outside.clock.sleep(2)
        raise TimeoutError(f"not {status} after all this time")

    async def want(wish: core.Wish) -> None:
        tell(f"\nThe user wants it {'deleted' if wish.delete else wish.desired_state}.")
        await outside.intents.change(
            new.id, lambda s: core.intent_decision(s.ws, wish, usage=s.usage, now=s.now)
        )

    tell("The user creates a workspace, to run.")
    await outside.intents.create(new, core.DEFAULT_POLICY)
    await live_until("RUNNING")
    visit(new.id)
    await want(core.Wish(desired_state=core.DesiredState.PENDING))
    await live_until("ARCHIVED")
    await want(core.Wish(desired_state=core.DesiredState.RUNNING))
    await live_until("RUNNING")
    visit(new.id)
    await want(core.Wish(delete=True))
    await live_until("DELETED")
    await term.resign()


# From here on: the world in memory. This is where other adapters would be chosen.


class LeapingClock:
    """A clock that leaps where others wait."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        """Seconds since some moment."""
        return self.now.timestamp()

    async def sleep(self, seconds: float) -> None:
        """Let that much time pass, at once."""
        self.now += timedelta(seconds=seconds)


class FlakyLine(DirectLine):
    """The way to the world, on which the first upload fails."""

    failed = False

    async def call(self, what: str, effect: Callable[[], T]) -> T:
        """Carry one call."""
        if what == "archive_puts" and not self.failed:
            self.failed = True
            raise unreachable(what)
        return await super().call(what, effect)


def main() -> None:
    """Tell the story on a world in memory."""
    clock = LeapingClock()
    world = MemoryWorld(now=lambda: clock.now)
    node = world.node("runner", FlakyLine())
    chosen = {field.name: getattr(node, field.name) for field in attrs.fields(Outside)}

    def visit(workspace_id: str) -> None:
        (home,) = world.runtime.volumes.values()
        print(f"The user finds {home.content!r}, and writes.")
        world.runtime.user_writes(workspace_id, home.content + b"a day of work; ")

    asyncio.run(run(Outside(**chosen | {"clock": clock}), visit))


if __name__ == "__main__":
    main()
