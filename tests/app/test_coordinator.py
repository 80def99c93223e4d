"""The coordinator and its components, on memory adapters, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import attrs
import pytest

from wsctl_adapters.memory import MemoryWorld, unreachable
from wsctl_app.coordinator import Coordinator, health_monitor
from wsctl_app.coordinator.slots import SHORT, TRANSFERS
from wsctl_app.joining import ended, unhurried
from wsctl_app.outside import Outside
from wsctl_app.simulation.story import Story
from wsctl_app.simulation.virtual_time import run
from wsctl_core import (
    AdapterCode,
    ContainerPhase,
    DesiredState,
    ErrorReason,
    HealthStatus,
    IntentAnswer,
    InvalidValue,
    ObservedStatus,
    Operation,
    Policy,
    Stamp,
    Wish,
    Workspace,
    archive_key,
    assess,
    finished_deleting,
    intent_decision,
)
from wsctl_core.ports import AdapterError, ContainerSpec, NewWorkspace

T = TypeVar("T")
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
RUNNING, STANDBY, PENDING = DesiredState.RUNNING, DesiredState.STANDBY, DesiredState.PENDING
MANY = Policy(max_running_per_user=100)


class Wire:
    """A line on which a test may hold calls, or have them fail."""

    def __init__(self) -> None:
        self.failing: dict[str, Exception] = {}
        self.held: set[str] = set()
        self.slow_to_end: set[str] = set()
        self.deaf: set[str] = set()
        self.fails_every_third: set[str] = set()
        self.under_way: dict[str, int] = {}
        self.most: dict[str, int] = {}
        self.calls: list[str] = []
        self.cancelled: list[str] = []

    async def call(self, what: str, effect: Callable[[], T]) -> T:
        self.calls.append(what)
        self.under_way[what] = self.under_way.get(what, 0) + 1
        self.most[what] = max(self.most.get(what, 0), self.under_way[what])
        try:
            await asyncio.sleep(0.01)
            while what in self.deaf and what in self.held:
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(0.1)
            while what in self.held:  # noqa: ASYNC110  # a test lets go by changing the set
                await asyncio.sleep(0.1)
            if what in self.failing:
                raise self.failing[what]
            if what in self.fails_every_third and self.calls.count(what) % 3 == 0:
                raise unreachable(what)
            return effect()
        except asyncio.CancelledError:
            self.cancelled.append(what)
            if what in self.slow_to_end:
                await unhurried(asyncio.sleep(3))
            raise
        finally:
            self.under_way[what] -= 1


class Stage:
    """A world, nodes on it, and somebody who wants things."""

    def __init__(self, policy: Policy = MANY) -> None:
        self.loop = asyncio.get_running_loop()
        self.policy = policy
        self.world = MemoryWorld(now=self.now)
        self.story = Story(self.loop.time)
        self.service = self.world.node("service").intents
        self.wires: dict[str, Wire] = {}
        self.coordinators: dict[str, Coordinator] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    def now(self) -> datetime:
        return BEGINNING + timedelta(seconds=self.loop.time())

    def start(self, name: str = "node") -> Wire:
        wire = self.wires[name] = Wire()
        node = self.world.node(name, wire)
        outside = Outside(**{f.name: getattr(node, f.name) for f in attrs.fields(Outside)})
        coordinator = Coordinator(
            outside, node_id=name, policy=self.policy, expire=self.wish, log=self.story
        )
        self.coordinators[name] = coordinator
        self.tasks[name] = asyncio.create_task(coordinator.run())
        return wire

    async def create(self, id: str = "w1", wanted: DesiredState = RUNNING, **more: Any) -> None:
        new = NewWorkspace(
            id=id,
            owner_id=more.pop("owner_id", "ann"),
            name=id,
            image="ide:1",
            desired_state=wanted,
            standby_ttl_seconds=more.pop("standby_ttl_seconds", 300),
            archive_ttl_seconds=more.pop("archive_ttl_seconds", 604800),
        )
        await self.service.create(new, self.policy)

    async def wish(self, id: str, wish: Wish) -> IntentAnswer | None:
        return await self.service.change(
            id,
            lambda s: intent_decision(s.ws, wish, usage=s.usage, now=s.now, policy=self.policy),
        )

    async def want(self, id: str, state: DesiredState) -> None:
        await self.wish(id, Wish(desired_state=state))

    def row(self, id: str = "w1") -> Workspace:
        return self.world.database.rows[id]

    def is_(self, status: ObservedStatus, id: str = "w1") -> bool:
        ws = self.row(id)
        return ws.observed_status is status and ws.operation is Operation.NONE

    async def until(self, what: Callable[[], object], seconds: float = 120.0) -> None:
        ends = self.loop.time() + seconds
        while not what():
            assert self.loop.time() < ends, "\n".join(self.story.lines[-20:])
            await asyncio.sleep(0.05)

    async def runs(self, id: str = "w1") -> None:
        await self.until(lambda: self.is_(ObservedStatus.RUNNING, id))

    def told(self, word: str) -> list[str]:
        return [line for line in self.story.lines if word in line]


def stage(story: Callable[[Stage], Awaitable[None]], policy: Policy = MANY) -> None:
    """Run one story to its end, then stop every node."""

    async def main() -> None:
        scene = Stage(policy)
        try:
            await story(scene)
        finally:
            assert await ended(tuple(scene.tasks.values()))

    run(main())


def test_a_whole_life():
    """Made, started, stopped, archived, woken with its data, deleted: nothing is left."""

    async def story(s: Stage) -> None:
        s.start()
        await s.create()
        await s.runs()
        assert s.world.runtime.user_writes("w1", b"thesis")
        await s.want("w1", PENDING)
        await s.until(lambda: s.is_(ObservedStatus.PENDING) and s.row().archive_key)
        assert s.world.runtime.volumes == {}
        await s.want("w1", RUNNING)
        await s.runs()
        assert [v.content for v in s.world.runtime.volumes.values()] == [b"thesis"]
        await s.wish("w1", Wish(delete=True))
        await s.until(lambda: finished_deleting(s.row()))
        assert s.world.runtime.volumes == {}
        assert s.world.runtime.containers == {}

    stage(story)


def test_hints_are_not_needed():
    """Contract 2: with every hint lost and every wake too, all of it happens, only later."""

    async def story(s: Stage) -> None:
        wire = s.start()
        for what in ("listen_to_hints", "send_hint"):
            wire.failing[what] = unreachable("send_hint")
        wire.held.add("watch_feed")
        wire.held.add("read_feed")
        await s.create()
        await s.runs()

    stage(story)


def test_at_most_ten_act_at_once():
    """However many are wanted, ten short operations act at once, and transfers have their own."""

    async def story(s: Stage) -> None:
        wire = s.start()
        wire.held.add("make_volume")
        for number in range(25):
            await s.create(f"w{number}")
        await asyncio.sleep(60)
        assert wire.most["make_volume"] == SHORT
        claimed = [ws for ws in s.world.database.rows.values() if ws.operation != "NONE"]
        assert len(claimed) == SHORT  # H37: a slot is taken before the claim
        wire.held.clear()
        await s.until(lambda: all(s.is_(ObservedStatus.RUNNING, f"w{n}") for n in range(25)), 300)
        wire.held.add("archive_packs")
        for number in range(25):
            await s.want(f"w{number}", PENDING)
        await asyncio.sleep(60)
        assert wire.most["archive_packs"] == TRANSFERS
        wire.held.clear()
        await s.until(lambda: all(s.is_(ObservedStatus.PENDING, f"w{n}") for n in range(25)), 300)

    stage(story)


def test_an_action_that_hangs_is_cancelled_and_joined():
    """H8: past its timeout the action is cancelled, then the error is written."""

    async def story(s: Stage) -> None:
        wire = s.start()
        wire.held.add("make_volume")
        await s.create()
        await s.until(lambda: s.row().error_info is not None, 400)
        error = s.row().error_info
        assert error is not None
        assert error.reason is ErrorReason.TIMEOUT
        assert "make_volume" in wire.cancelled
        assert s.row().operation is Operation.NONE
        await s.until(lambda: s.row().health_status is HealthStatus.ERROR)
        assert wire.under_way["make_volume"] == 0

    stage(story)


def test_a_failed_action_is_repeated_and_then_a_person_is_needed():
    """Contract 10: three attempts, thirty seconds apart."""

    async def story(s: Stage) -> None:
        wire = s.start()
        full = AdapterError(AdapterCode.VOLUME_CREATE_FAILED, "no space left")
        wire.failing["make_volume"] = full
        await s.create()
        await s.until(lambda: s.row().health_status is HealthStatus.ERROR)
        assert wire.calls.count("make_volume") == 3
        error = s.row().error_info
        assert error is not None
        assert (error.reason, error.message) == (ErrorReason.RETRY_EXCEEDED, "no space left")
        assert 60 <= s.loop.time() <= 75

    stage(story)


def test_a_fault_of_ours_is_counted_like_any_other():
    """An exception that nobody foresaw is told, counted, and ends nobody's term."""

    async def story(s: Stage) -> None:
        wire = s.start()
        wire.failing["make_volume"] = ZeroDivisionError("a bug")
        await s.create()
        await s.until(lambda: s.row().error_info is not None)
        wire.failing.clear()
        await s.runs()
        assert s.world.database.epoch == 1
        assert s.told("ZeroDivisionError: a bug")

    stage(story)


def test_a_failed_tick_is_skipped_and_counted():
    """A runtime that can't be listed leaves everything as it was; the next tick tries again."""

    async def story(s: Stage) -> None:
        wire = s.start()
        await s.create()
        await s.runs()
        wire.failing["list_volumes"] = unreachable("list_volumes")
        await asyncio.sleep(120)
        health = s.coordinators["node"].health()
        assert health.failed_ticks["health_monitor"] > 1
        assert s.is_(ObservedStatus.RUNNING)
        assert s.world.database.epoch == 1
        assert (health.ticks["health_monitor"] or 0) > 100
        wire.failing.clear()
        await asyncio.sleep(60)
        assert (s.coordinators["node"].health().ticks["health_monitor"] or 0) < 60

    stage(story)


def test_a_database_that_goes_away_ends_the_term():
    """A lost connection gives up the lead; when the database is back, somebody leads again."""

    async def story(s: Stage) -> None:
        wire = s.start()
        await s.until(lambda: s.coordinators["node"].health().is_leader)
        wire.failing["work"] = unreachable("work")
        await s.until(lambda: not s.coordinators["node"].health().is_leader)
        wire.failing.clear()
        await s.until(lambda: s.coordinators["node"].health().is_leader)
        assert s.world.database.epoch > 1
        assert s.told("leads no more")

    stage(story)


def test_a_lost_lock_cancels_everything_first():
    """H1: when the beat fails, whatever acts is cancelled and joined before anything else."""

    async def story(s: Stage) -> None:
        wire = s.start("old")
        await s.until(lambda: s.coordinators["old"].health().is_leader)
        s.start("new")
        wire.held.add("make_volume")
        await s.create()
        await s.until(lambda: wire.under_way.get("make_volume"))
        s.world.database.drop_session("old")
        await s.until(lambda: s.coordinators["new"].health().is_leader)
        await s.until(lambda: not s.coordinators["old"].health().is_leader)
        assert wire.cancelled.count("make_volume") == 1
        assert wire.under_way["make_volume"] == 0
        await s.runs()  # the new leader resumes from the first action

    stage(story)


def test_an_empty_listing_is_asked_for_again():
    """H34: where the last listing had more than ten, nothing at all is not believed at once."""

    async def story(s: Stage) -> None:
        wire = s.start()
        for number in range(12):
            await s.create(f"w{number}")
        await s.until(lambda: all(s.is_(ObservedStatus.RUNNING, f"w{n}") for n in range(12)), 300)
        node = s.world.runtime
        volumes, node.volumes = node.volumes, {}
        before = wire.calls.count("list_volumes")
        await s.until(lambda: wire.calls.count("list_volumes") >= before + 2)
        assert s.told("an empty listing is asked for again")
        node.volumes = volumes

    stage(story)


def test_a_home_that_vanished_is_told_and_nothing_is_made_in_its_place():
    """H16: seen twice, it is DataLost; when the volume comes back, a recovery uses it."""

    async def story(s: Stage) -> None:
        s.start()
        await s.create()
        await s.runs()
        s.world.runtime.user_writes("w1", b"thesis")
        await s.want("w1", STANDBY)
        await s.until(lambda: s.is_(ObservedStatus.STANDBY))
        (name,) = s.world.runtime.volumes
        gone = s.world.runtime.remove_volume_by_force(name)
        await s.until(lambda: s.row().health_status is HealthStatus.ERROR)
        error = s.row().error_info
        assert error is not None
        assert error.reason is ErrorReason.DATA_LOST
        assert s.world.runtime.volumes == {}
        s.world.runtime.bring_back(gone)
        assert s.row().home.incarnation == gone.stamp.incarnation if gone.stamp else False

    stage(story)


def stray(s: Stage, workspace_id: str, incarnation: str, seq: int = 1) -> Stamp:
    """Something of ours that is of no home."""
    return Stamp(
        installation=s.world.database.installation,
        workspace_id=workspace_id,
        incarnation=incarnation,
        seq=seq,
    )


def test_the_reaper_removes_strays_and_leaves_what_has_no_row():
    """I10, H33: of another incarnation and old enough: removed; without a row: reported."""

    async def story(s: Stage) -> None:
        s.start()
        await s.create()
        await s.runs()
        node = s.world.node("hand")
        await node.volumes.make(stray(s, "w1", "late"))
        await node.volumes.make(stray(s, "stranger", "x1"))
        other = attrs.evolve(stray(s, "w1", "theirs"), installation="elsewhere")
        await node.volumes.make(other)
        await asyncio.sleep(s.policy.reaper_grace_seconds - 60)
        assert "ws-w1-late" in s.world.runtime.volumes
        await asyncio.sleep(180)
        left = {v for v in s.world.runtime.volumes if "w1-late" in v or "stranger" in v}
        assert left == {"ws-stranger-x1"}
        assert "ws-w1-theirs" in s.world.runtime.volumes
        assert len(s.told("left alone")) == 1  # told once, not with every tick
        assert s.is_(ObservedStatus.STANDBY) or s.is_(ObservedStatus.RUNNING)

    stage(story)


def test_a_stray_container_is_removed_by_its_identity():
    """H6: a container that a late create left is nobody's, and goes."""

    async def story(s: Stage) -> None:
        s.start()
        await s.create(wanted=STANDBY)
        await s.until(lambda: s.is_(ObservedStatus.STANDBY))
        node = s.world.node("hand")
        await node.volumes.make(stray(s, "w1", "late"))
        spec = ContainerSpec(stamp=stray(s, "w1", "late"), image="ide:1")
        await node.containers.create(spec)
        await asyncio.sleep(2 * s.policy.reaper_grace_seconds)
        assert s.world.runtime.containers == {}
        assert [v for v in s.world.runtime.volumes if "late" in v] == []

    stage(story)


def test_a_database_that_was_rolled_back_collects_nothing():
    """H33: what carries a larger number than was ever given stops all collection."""

    async def story(s: Stage) -> None:
        s.start()
        await s.create(wanted=STANDBY)
        await s.until(lambda: s.is_(ObservedStatus.STANDBY))
        node = s.world.node("hand")
        await node.volumes.make(stray(s, "w1", "newer", seq=10**6))
        await asyncio.sleep(3 * s.policy.reaper_grace_seconds)
        assert "ws-w1-newer" in s.world.runtime.volumes
        guard = await node.housekeeping.safeguard()
        assert guard.latched is not None
        assert "restored from a backup" in guard.latched
        assert guard.number >= 10**6  # and the sequence was moved past it
        assert await node.housekeeping.clear_latch()
        await asyncio.sleep(3 * s.policy.reaper_grace_seconds)
        assert "ws-w1-newer" not in s.world.runtime.volumes

    stage(story)


def test_idle_workspaces_step_down():
    """4.6: a running one nobody uses goes to standby, and much later to its archive."""

    async def story(s: Stage) -> None:
        s.start()
        await s.create(standby_ttl_seconds=300, archive_ttl_seconds=3600)
        await s.runs()
        await asyncio.sleep(240)
        assert s.is_(ObservedStatus.RUNNING)
        await s.until(lambda: s.is_(ObservedStatus.STANDBY), 300)
        assert s.row().desired_state is STANDBY
        await s.until(lambda: s.is_(ObservedStatus.PENDING), 2 * 3600)
        assert s.row().archive_key is not None

    stage(story)


def test_a_keepalive_and_an_outage_stop_nobody():
    """H30: who is kept alive, or whose activity is unknown, stays up."""

    async def story(s: Stage) -> None:
        wire = s.start()
        await s.create(standby_ttl_seconds=300)
        await s.runs()
        await s.world.node("hand").activity.keep_alive("w1", 2000)
        await asyncio.sleep(1800)
        assert s.is_(ObservedStatus.RUNNING)
        wire.failing["read_activity"] = unreachable("read_activity")
        await asyncio.sleep(1800)
        assert s.is_(ObservedStatus.RUNNING)
        wire.failing.clear()
        await s.until(lambda: s.is_(ObservedStatus.STANDBY), 600)

    stage(story)


def test_no_idle_timer_is_no_failure():
    """With the activity store away, a workspace starts all the same."""

    async def story(s: Stage) -> None:
        wire = s.start()
        wire.failing["set_idle_timer"] = unreachable("set_idle_timer")
        await s.create()
        await s.runs()
        assert s.told("no idle timer")

    stage(story)


def test_archives_are_collected_and_rows_go_after_them():
    """Contract 9: the archive in use stays; older ones go; a deleted row goes after its last."""

    async def story(s: Stage) -> None:
        s.start()
        await s.create()
        for _ in range(2):
            await s.runs()
            await s.want("w1", PENDING)
            await s.until(lambda: s.is_(ObservedStatus.PENDING))
            await s.want("w1", RUNNING)
        await s.runs()
        await s.want("w1", PENDING)
        await s.until(lambda: s.is_(ObservedStatus.PENDING))
        assert len(s.world.archives.objects) == 3
        node = s.world.node("hand")
        strange = archive_key("stranger", "op1")
        s.world.archives.put(strange, stray(s, "stranger", "x1"), b"")
        await asyncio.sleep(4 * 3600)
        assert sorted(s.world.archives.objects) == sorted((s.row().archive_key or "", strange))
        await s.wish("w1", Wish(delete=True))
        await asyncio.sleep(5 * 3600)
        assert list(s.world.archives.objects) == [strange]
        await asyncio.sleep(2 * 3600)
        assert s.world.database.rows == {}
        assert (await node.housekeeping.safeguard()).latched is None

    stage(story)


def test_a_container_that_dies_is_started_again():
    """H28: it heals after the back-off, and not before."""

    async def story(s: Stage) -> None:
        s.start()
        await s.create()
        await s.runs()
        (container,) = s.world.runtime.containers.values()
        s.world.runtime.end_container(container.id, 137)
        died = s.loop.time()
        await s.until(lambda: s.row().last_exit is not None)
        await s.until(
            lambda: any(
                c.id != container.id and c.phase is ContainerPhase.RUNNING
                for c in s.world.runtime.containers.values()
            )
        )
        assert s.loop.time() - died >= 10

    stage(story)


def test_a_place_is_waited_for():
    """H32: a start waits for a place that a stopping workspace still holds."""

    async def story(s: Stage) -> None:
        wire = s.start()
        await s.create("w1")
        await s.runs("w1")
        await s.create("w2", STANDBY)
        await s.until(lambda: s.is_(ObservedStatus.STANDBY, "w2"))
        wire.held.add("remove_container")
        await s.want("w1", STANDBY)
        await s.want("w2", RUNNING)
        await asyncio.sleep(60)
        assert s.row("w2").operation is Operation.NONE
        assert len([c for c in s.world.runtime.containers.values() if c.runs]) == 1
        wire.held.clear()
        await s.runs("w2")

    stage(story, Policy(max_running_per_user=1))


def test_events_reach_those_who_watch():
    """Every change of a row is told, in order, and once by each leader."""

    async def story(s: Stage) -> None:
        s.start()
        ids: list[int] = []

        async def watch() -> None:
            async for event in s.world.signals.watch("w1"):
                ids.append(event.id)  # noqa: PERF401  # read while it grows

        watching = asyncio.create_task(watch())
        await asyncio.sleep(5)  # the leader tells what happens from its first look on
        await s.create()
        await s.runs()
        await asyncio.sleep(10)
        assert await ended([watching])
        assert ids == sorted(ids)
        assert ids == [e.id for e in s.world.database.outbox if e.workspace_id == "w1"]

    stage(story)


def test_health_tells_who_leads():
    """One leads, the other stands by; each tells of itself."""

    async def story(s: Stage) -> None:
        s.start("one")
        await s.until(lambda: s.coordinators["one"].health().is_leader)
        s.start("two")
        await asyncio.sleep(40)
        one, two = (s.coordinators[name].health() for name in ("one", "two"))
        assert (one.is_leader, one.epoch, one.node_id) == (True, 1, "one")
        assert (two.is_leader, two.epoch, two.ticks) == (False, None, {})
        assert set(one.ticks) == {
            *("health_monitor", "state_reconciler", "event_listener"),
            *("reaper", "ttl_manager", "archive_gc"),
        }
        assert all(age is not None for age in one.ticks.values())

    stage(story)


def test_a_cancellation_that_was_lost_is_said_again():
    """A task that goes on after the first is ended by the next; one that never ends is told."""

    async def story() -> None:
        async def deaf(times: int) -> None:
            for _ in range(times):
                try:
                    await asyncio.sleep(1000)
                except asyncio.CancelledError:
                    continue
            await asyncio.sleep(1000)

        twice, never = asyncio.create_task(deaf(2)), asyncio.create_task(deaf(100))
        await asyncio.sleep(0)
        assert await ended([twice])
        assert not await ended([never])
        assert twice.cancelled()
        assert await ended([never], 300)

    run(story())


def test_what_must_be_done_on_the_way_out_is_done():
    """Told to hurry again and again, it finishes first, and then does as it was told."""

    async def story() -> None:
        done: list[str] = []

        async def tidy_up() -> None:
            await asyncio.sleep(2)
            done.append("tidy")

        async def working() -> None:
            try:
                await asyncio.sleep(1000)
            finally:
                await unhurried(tidy_up())

        task = asyncio.create_task(working())
        await asyncio.sleep(1)
        assert await ended([task])
        assert done == ["tidy"]
        assert task.cancelled()

    run(story())


def test_a_driver_that_takes_its_time_is_joined():
    """H8: a term is over only when what it had begun has ended, however long that takes."""

    async def story(s: Stage) -> None:
        wire = s.start("old")
        wire.slow_to_end.add("make_volume")
        wire.held.add("make_volume")
        await s.create()
        await s.until(lambda: wire.under_way.get("make_volume"))
        s.world.database.drop_session("old")
        await s.until(lambda: s.told("leads no more"))
        assert wire.under_way["make_volume"] == 0

    stage(story)


def test_one_workspace_that_cannot_be_moved_holds_up_no_other():
    """A write that the database refuses as nonsense is told, and tried again; others go on."""

    async def story(s: Stage) -> None:
        wire = s.start()
        await s.create("w1")
        await s.until(lambda: s.row("w1").operation is Operation.PROVISIONING)
        wire.failing["write"] = InvalidValue("Workspace", "home", "refused by the database")
        await asyncio.sleep(3)
        wire.failing.clear()
        await s.create("w2")
        await s.runs("w2")
        await s.runs("w1")
        assert s.told("a workspace can't be moved")
        assert s.world.database.epoch == 1

    stage(story)


def test_a_pass_that_failed_forgets_nothing(monkeypatch: pytest.MonkeyPatch):
    """H19: rows of a pass that judged one of them wrongly are judged by the next."""

    async def story(s: Stage) -> None:
        s.start()
        await s.create("w1")
        await s.create("w2")
        await s.runs("w1")
        await s.runs("w2")
        failures = iter([InvalidValue("Observation", "seq", "odd"), ValueError("odder")])

        def failing(ws: Workspace, *rest: Any) -> Any:
            failure = next(failures, None) if ws.id == "w1" else None
            if failure is not None:
                raise failure
            return assess(ws, *rest)

        monkeypatch.setattr(health_monitor, "assess", failing)
        for container in tuple(s.world.runtime.containers.values()):
            s.world.runtime.end_container(container.id)
        await s.until(lambda: s.row("w1").last_exit and s.row("w2").last_exit)
        await s.runs("w1")
        await s.runs("w2")
        assert next(failures, None) is None

    stage(story)


def test_an_action_that_ends_too_late_changes_no_terminal_error():
    """H22: what could not be joined fails later; the error that ended its operation stands."""

    async def story(s: Stage) -> None:
        wire = s.start()
        wire.deaf.add("make_volume")
        wire.held.add("make_volume")
        await s.create()
        await s.until(lambda: s.row().error_info is not None, 400)
        assert s.told("an action could not be joined")
        wire.failing["make_volume"] = AdapterError(AdapterCode.VOLUME_CREATE_FAILED, "late")
        wire.held.clear()
        await asyncio.sleep(120)
        error = s.row().error_info
        assert error is not None
        assert (error.reason, error.is_terminal) == (ErrorReason.TIMEOUT, True)
        assert s.row().health_status is HealthStatus.ERROR
        assert s.row().operation is Operation.NONE

    stage(story)


def test_a_retry_does_not_wait_behind_new_claims():
    """H37: with more to archive than there are slots, a failed attempt gets its turn first."""

    async def story(s: Stage) -> None:
        wire = s.start()
        for number in range(10):
            await s.create(f"w{number}", STANDBY)
        await s.until(lambda: all(s.is_(ObservedStatus.STANDBY, f"w{n}") for n in range(10)), 300)
        wire.failing["archive_packs"] = AdapterError(AdapterCode.TAR_CREATE_FAILED, "a blip")
        await s.want("w9", PENDING)
        await s.until(lambda: s.row("w9").error_count == 1)
        wire.failing.clear()
        wire.held.add("archive_packs")
        for number in range(9):
            await s.want(f"w{number}", PENDING)
        await s.until(lambda: wire.under_way["archive_packs"] == TRANSFERS)
        await asyncio.sleep(60)  # the retry is due, and every slot is taken
        wire.held.clear()
        await s.until(lambda: s.is_(ObservedStatus.PENDING, "w9"), 60)
        waiting = [n for n in range(9) if s.row(f"w{n}").observed_status is ObservedStatus.STANDBY]
        assert waiting  # it did not come last

    stage(story)


def test_an_outage_of_activity_does_not_keep_the_unused():
    """4.6: unknown activity keeps up those who run; who stands by unused is archived."""

    async def story(s: Stage) -> None:
        wire = s.start()
        await s.create("w1")
        await s.create("w2", STANDBY, archive_ttl_seconds=600)
        await s.runs("w1")
        wire.failing["read_activity"] = unreachable("read_activity")
        await s.until(lambda: s.is_(ObservedStatus.PENDING, "w2"), 1200)
        assert s.is_(ObservedStatus.RUNNING, "w1")

    stage(story)


def test_nobody_acts_who_was_replaced_a_moment_ago():
    """H8: epoch, operation and op_id are asked for before every action, also the first."""

    async def story(s: Stage) -> None:
        wire = s.start()
        wire.held.add("holds")
        await s.create()
        await s.until(lambda: wire.under_way.get("holds"))
        s.world.database.epoch += 1  # somebody else has taken office
        wire.held.clear()
        await s.until(lambda: not s.coordinators["node"].health().is_leader)
        assert "containers_of_workspace" not in wire.calls

    stage(story)


def test_an_event_is_told_once_though_telling_fails():
    """Those who watch hear of what could not be told later, and of nothing twice."""

    async def story(s: Stage) -> None:
        wire = s.start()
        heard: list[int] = []

        async def watch() -> None:
            async for event in s.world.signals.watch("w1"):
                heard.append(event.id)  # noqa: PERF401  # read while it grows

        watching = asyncio.create_task(watch())
        await asyncio.sleep(5)  # the leader tells what happens from its first look on
        wire.fails_every_third.add("publish_event")
        await s.create()
        await s.runs()
        await asyncio.sleep(60)
        assert await ended([watching])
        assert s.coordinators["node"].health().failed_ticks["event_listener"] > 0
        assert heard == [e.id for e in s.world.database.outbox if e.workspace_id == "w1"]

    stage(story)
