"""Worlds in memory, when calls land late, answers are lost, and leaders fall silent."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import attrs
import pytest

from tests.adapters.memory_subjects import FakeTime, SwitchedLine
from wsctl_adapters import memory
from wsctl_adapters.memory import CALLS, DirectLine, MemoryNode, MemoryWorld, unreachable
from wsctl_app.outside import Outside
from wsctl_app.simulation.virtual_time import run
from wsctl_core import (
    DEFAULT_POLICY,
    AdapterCode,
    ArchiveReceipt,
    ClaimGuard,
    DesiredState,
    HealthStatus,
    MonitorPatch,
    ObservedStatus,
    Operation,
    ReconcilerPatch,
    Stamp,
    archive_key,
)
from wsctl_core.ports import (
    AdapterError,
    ContainerSpec,
    Findings,
    LeadershipLost,
    NewWorkspace,
    StoreUnavailable,
)

T = TypeVar("T")

STAMP = Stamp(installation="memory", workspace_id="w1", incarnation="i1", seq=1)
KEY = archive_key("w1", "op1")


class LateLine:
    """A line on which calls wait until the test lets them land, whatever became of the caller."""

    def __init__(self) -> None:
        self.waiting: list[tuple[str, Callable[[], None]]] = []

    async def call(self, what: str, effect: Callable[[], T]) -> T:
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def land() -> None:
            try:
                result = effect()
            except (AdapterError, StoreUnavailable, LeadershipLost) as error:
                if not answer.done():
                    answer.set_exception(error)
            else:
                if not answer.done():
                    answer.set_result(result)

        self.waiting.append((what, land))
        return await answer

    async def land(self, what: str) -> None:
        """Let the one call that waits take place."""
        ((waits, land),) = self.waiting
        assert waits == what
        self.waiting.clear()
        land()
        await asyncio.sleep(0)


class Scene:
    """A world with one node whose calls are late, and one whose calls are not."""

    def __init__(self) -> None:
        self.time = FakeTime()
        self.world = MemoryWorld(now=self.time)
        self.line = LateLine()
        self.late = self.world.node("late", self.line)
        self.node = self.world.node("soon")

    async def sent(self, call: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """A call under way."""
        task = asyncio.ensure_future(call)
        await asyncio.sleep(0)
        return task

    async def orphan(self, call: Coroutine[Any, Any, object]) -> None:
        """A call whose caller has died."""
        task = await self.sent(call)
        task.cancel()
        await asyncio.wait({task})


def silent(_done: int, _of: int | None) -> None:
    pass


def outside_of(node: MemoryNode) -> Outside:
    """Every adapter, as the port that it is: checked by the type checker."""
    return Outside(
        installation=node.installation,
        reader=node.reader,
        intents=node.intents,
        monitor=node.monitor,
        reconciler=node.reconciler,
        housekeeping=node.housekeeping,
        leadership=node.leadership,
        feed=node.feed,
        inventory=node.inventory,
        containers=node.containers,
        volumes=node.volumes,
        transfers=node.transfers,
        storage=node.storage,
        activity=node.activity,
        hints=node.hints,
        broadcast=node.broadcast,
        clock=node.clock,
        ids=node.ids,
    )


def test_a_node_is_a_whole_outside():
    """A node has an adapter for every port that the application uses."""
    outside = outside_of(MemoryWorld(now=FakeTime()).node("n1"))
    assert {field.name for field in attrs.fields(Outside)} <= set(dir(outside))


def test_the_list_of_calls_is_complete():
    """`CALLS` names every call that an adapter makes, and no other."""
    sources = Path(memory.__file__).parent.glob("*.py")
    made = [re.findall(r'\.call\(\s*"(\w+)"', source.read_text()) for source in sources]
    assert sorted(name for names in made for name in names) == sorted(CALLS)


def test_every_call_has_a_way_to_fail():
    """Each name is of the database, or has the code of what can't be reached."""
    for what in CALLS:
        failure = unreachable(what)
        if isinstance(failure, AdapterError):
            assert failure.failure.reason.value == "Unreachable"
        else:
            assert isinstance(failure, StoreUnavailable)


def test_a_create_that_lands_after_its_volume_went():
    """Nothing is made, neither container nor volume (H5)."""

    async def story() -> None:
        scene = Scene()
        await scene.node.volumes.make(STAMP)
        await scene.orphan(scene.late.containers.create(ContainerSpec(stamp=STAMP, image="x")))
        await scene.node.volumes.remove("ws-w1-i1")
        await scene.line.land("create_container")
        assert (scene.world.runtime.containers, scene.world.runtime.volumes) == ({}, {})

    asyncio.run(story())


def test_a_restore_that_dies_in_the_middle_leaves_a_part():
    """Between its two effects a volume is marked; the second may still land."""

    async def story() -> None:
        scene = Scene()
        receipt = await archived(scene, b"the home")
        runtime = scene.world.runtime
        await scene.node.volumes.make(attrs.evolve(STAMP, incarnation="i2"))
        task = await scene.sent(
            scene.late.transfers.restore(receipt, attrs.evolve(STAMP, incarnation="i2"), silent)
        )
        await scene.line.land("restore_begins")
        task.cancel()
        await asyncio.wait({task})
        part = runtime.volumes["ws-w1-i2"]
        assert (part.content, part.partial) == (b"the ", True)
        await scene.line.land("restore_ends")
        whole = runtime.volumes["ws-w1-i2"]
        assert (whole.content, whole.partial) == (b"the home", False)

    asyncio.run(story())


async def archived(scene: Scene, content: bytes) -> ArchiveReceipt:
    await scene.node.volumes.make(STAMP)
    scene.world.runtime.fill("ws-w1-i1", content)
    return await scene.node.transfers.archive(STAMP, KEY, silent)


def test_a_put_that_lands_after_another_put():
    """The archive stays what it was, and the late caller is told what is there (H3)."""

    async def story() -> None:
        scene = Scene()
        await scene.node.volumes.make(STAMP)
        scene.world.runtime.fill("ws-w1-i1", b"early")
        task = await scene.sent(scene.late.transfers.archive(STAMP, KEY, silent))
        await scene.line.land("archive_looks")
        await scene.line.land("archive_packs")
        scene.world.runtime.fill("ws-w1-i1", b"later")
        receipt = await scene.node.transfers.archive(STAMP, KEY, silent)
        await scene.line.land("archive_puts")
        assert await task == receipt
        assert scene.world.archives.objects[KEY].data == b"later"

    asyncio.run(story())


NEW = NewWorkspace(
    id="w1",
    owner_id="ann",
    name="work",
    image="ide:1",
    desired_state=DesiredState.RUNNING,
    standby_ttl_seconds=300,
    archive_ttl_seconds=604800,
)


def test_a_pass_that_lands_after_a_newer_complete_one():
    """It changes no row, also where the newer pass had nothing to write (H19)."""

    async def story() -> None:
        scene = Scene()
        await scene.node.intents.create(NEW, DEFAULT_POLICY)
        term = await scene.node.leadership.acquire()
        assert term is not None
        old, new = [await scene.node.monitor.begin_pass() for _ in range(2)]
        seen = MonitorPatch(
            observed_status=ObservedStatus.RUNNING,
            health_status=HealthStatus.OK,
            observed_at=old.now,
            observed_seq=old.number,
            suspect=None,
            last_exit=None,
        )
        late = Findings(number=old.number, patches={"w1": seen}, alarms={}, complete=True)
        await scene.orphan(scene.late.monitor.end_pass(term.epoch, late))
        found = Findings(number=new.number, patches={}, alarms={}, complete=True)
        await scene.node.monitor.end_pass(term.epoch, found)
        await scene.line.land("end_pass")
        (ws,) = (await scene.node.reader.some(["w1"])).rows
        assert ws.observed_status is ObservedStatus.PENDING
        assert scene.world.database.pass_number == new.number

    asyncio.run(story())


def test_a_claim_of_an_old_leader_that_lands_late():
    """The epoch is checked when the claim lands, not when it was sent (H1)."""

    async def story() -> None:
        scene = Scene()
        await scene.node.intents.create(NEW, DEFAULT_POLICY)
        (ws,) = (await scene.node.reader.some(["w1"])).rows
        term = await scene.node.leadership.acquire()
        assert term is not None
        claim = ReconcilerPatch(
            operation=Operation.PROVISIONING, op_id="op1", op_started_at=scene.time()
        )
        guard = ClaimGuard(intent_version=0, observed_seq=0, home=ws.home)
        task = await scene.sent(
            scene.late.reconciler.claim(term.epoch, "w1", guard, claim, DEFAULT_POLICY)
        )
        await term.resign()
        assert await scene.node.leadership.acquire() is not None
        await scene.line.land("claim")
        with pytest.raises(LeadershipLost):
            await task
        assert (await scene.node.reader.some(["w1"])).rows == (ws,)

    asyncio.run(story())


def test_an_acquisition_that_lands_after_its_node_died():
    """The dead lead nobody: the lock stays free, and the epoch as it was."""

    async def story() -> None:
        scene = Scene()
        for die in (scene.world.crash, None):
            task = await scene.sent(scene.late.leadership.acquire())
            if die is not None:
                die("late")
            task.cancel()
            await asyncio.wait({task})
            await scene.line.land("acquire")
            assert scene.world.database.leader is None
        assert scene.world.database.epoch == 0

    asyncio.run(story())


def test_a_silent_leader_is_unseated():
    """After three beats without a sign of life a waiter gets the lock, and the old one learns."""

    async def story() -> None:
        world = MemoryWorld(now=FakeTime())
        old = await world.node("n1").leadership.acquire()
        assert old is not None
        for _ in range(5):
            await asyncio.sleep(1)
            await old.beat()
        began = asyncio.get_running_loop().time()
        new = await world.node("n2").leadership.acquire()
        assert new is not None
        assert 3 <= asyncio.get_running_loop().time() - began < 4
        with pytest.raises(LeadershipLost):
            await old.beat()
        await new.beat()

    run(story())


def test_a_leader_that_nobody_follows_is_unseated_too():
    """Who was silent for too long does not lead, even if nobody else wants to."""

    async def story() -> None:
        term = await MemoryWorld(now=FakeTime()).node("n1").leadership.acquire()
        assert term is not None
        await asyncio.sleep(4)
        with pytest.raises(LeadershipLost):
            await term.beat()

    run(story())


def test_a_waiter_follows_a_crash_at_once():
    """The lock of a process that died is free in the same moment."""

    async def story() -> None:
        world = MemoryWorld(now=FakeTime())
        assert await world.node("n1").leadership.acquire() is not None
        waiting = asyncio.ensure_future(world.node("n2").leadership.acquire())
        await asyncio.sleep(1)
        world.crash("n1")
        began = asyncio.get_running_loop().time()
        assert await waiting is not None
        assert asyncio.get_running_loop().time() == began
        assert world.database.holder == "n2"

    run(story())


class HangingLine(DirectLine):
    """A line on which nothing is answered once it hangs."""

    hangs = False

    async def call(self, what: str, effect: Callable[[], T]) -> T:
        if self.hangs:
            await asyncio.sleep(3600)
        return await super().call(what, effect)


def test_a_beat_without_an_answer_proves_nothing():
    """A beat that takes more than two seconds, or finds no database, is a term that is over."""

    async def story() -> None:
        hanging, cut = HangingLine(), SwitchedLine()
        for line in (hanging, cut):
            world = MemoryWorld(now=FakeTime())
            term = await world.node("n1", line).leadership.acquire()
            assert term is not None
            hanging.hangs = cut.cut = True
            began = asyncio.get_running_loop().time()
            with pytest.raises(LeadershipLost):
                await term.beat()
            assert asyncio.get_running_loop().time() - began <= 2
            hanging.hangs = cut.cut = False

    run(story())


def test_people_write_only_where_something_runs():
    """A user's words go into the home of the container that runs, and nowhere else."""

    async def story() -> None:
        scene = Scene()
        runtime, node = scene.world.runtime, scene.node
        await node.volumes.make(STAMP)
        assert not runtime.user_writes("w1", b"too early")
        container_id = await node.containers.create(ContainerSpec(stamp=STAMP, image="x"))
        assert not runtime.user_writes("w1", b"not started")
        await node.containers.start(container_id)
        assert runtime.user_writes("w1", b"words")
        runtime.end_container(container_id, 137)
        assert not runtime.user_writes("w1", b"too late")
        home = runtime.remove_volume_by_force("ws-w1-i1")
        assert home.content == b"words"
        runtime.bring_back(home)
        assert runtime.volumes["ws-w1-i1"] == home

    asyncio.run(story())


def test_an_archive_can_be_spoilt_and_mended():
    """A spoilt archive is refused; mended, it is restored."""

    async def story() -> None:
        scene = Scene()
        receipt = await archived(scene, b"the home")
        was = scene.world.archives.spoil_archive(KEY)
        await scene.node.volumes.make(attrs.evolve(STAMP, incarnation="i2"))
        target = attrs.evolve(STAMP, incarnation="i2")
        with pytest.raises(AdapterError) as refused:
            await scene.node.transfers.restore(receipt, target, silent)
        assert refused.value.code is AdapterCode.CHECKSUM_MISMATCH
        scene.world.archives.mend_archive(KEY, was)
        await scene.node.transfers.restore(receipt, target, silent)
        assert scene.world.runtime.volumes["ws-w1-i2"].content == b"the home"

    asyncio.run(story())
