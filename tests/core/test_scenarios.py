"""The scenarios of the design documents, step by step, in a world small enough to read."""

from datetime import timedelta

import pytest

from tests.core.tiny_world import TinyWorld
from wsctl_core import (
    Activity,
    Actor,
    AdapterCode,
    ArchiveHome,
    CreateContainer,
    DeleteContainers,
    DeleteVolume,
    DesiredState,
    Failure,
    HealthStatus,
    HomeState,
    MakeVolume,
    ObservedStatus,
    Operation,
    Reason,
    RestoreHome,
    Skip,
    StartContainer,
    StoredArchive,
    Ttl,
    Wait,
    display_status,
    gc_decision,
    ttl_decision,
)

PENDING, STANDBY, RUNNING = DesiredState
OWNER, ADMIN = Actor
UNREACHABLE = Failure.of_code(AdapterCode.DOCKER_API_ERROR, "no route to docker")
NO_BUCKET = Failure.of_code(AdapterCode.S3_ACCESS_ERROR, "no route to storage")


def running_world(text: str = "v1") -> TinyWorld:
    """A workspace that runs, with something in its home."""
    world = TinyWorld()
    world.settle()
    world.write(text)
    return world


def archived_world(text: str = "v1") -> TinyWorld:
    """A workspace whose home is in its archive."""
    world = running_world(text)
    world.want(PENDING)
    world.settle()
    return world


def test_a_new_workspace_starts() -> None:
    """PENDING to STANDBY by PROVISIONING, to RUNNING by STARTING, and there it stays."""
    world = TinyWorld()
    assert world.settle() == [
        "Claim PROVISIONING",
        "Complete PROVISIONING",
        "Claim STARTING",
        "Complete STARTING",
    ]
    assert display_status(world.ws) == "RUNNING"
    assert world.ws.home.dirty
    assert world.ws.restart_count == 1
    assert isinstance(world.tick(), Skip)


def test_nothing_is_planned_before_anything_was_seen() -> None:
    """A new row waits for the monitor's first look."""
    step = TinyWorld().tick()
    assert isinstance(step, Wait)
    assert step.verdict.reason is Reason.OBSERVATION_DUE


def test_an_archived_workspace_is_restored() -> None:
    """ARCHIVED to RUNNING by RESTORING and STARTING, with the home as it was."""
    world = archived_world("precious")
    assert display_status(world.ws) == "ARCHIVED"
    assert (world.volumes, world.containers) == ({}, {})
    world.want(RUNNING)
    assert world.settle() == [
        "Claim RESTORING",
        "Complete RESTORING",
        "Claim STARTING",
        "Complete STARTING",
    ]
    assert world.home() == "precious"
    assert world.ws.home.restore_marker == world.ws.archive_key


def test_a_crashed_container_is_started_again() -> None:
    """A container that was killed is seen, told about, and started again after its back-off."""
    world = running_world("kept")
    world.wait(60)
    world.kill_container(137)
    assert world.settle() == []
    assert world.ws.observed_status is ObservedStatus.STANDBY
    assert world.ws.last_exit is not None
    assert world.ws.last_exit.exit_code == 137
    step = world.tick()
    assert isinstance(step, Wait)
    assert step.verdict.reason is Reason.RESTART_BACKS_OFF
    world.wait(10)
    assert world.settle() == ["Claim STARTING", "Complete STARTING"]
    assert (world.home(), world.ws.restart_count) == ("kept", 2)


def test_a_container_that_keeps_crashing_ends_in_error() -> None:
    """Five starts without a stable run, and a person is needed; a recovery begins anew (H28)."""
    world = running_world()
    for _ in range(4):
        world.kill_container()
        world.settle()
        world.wait(80)
        assert world.settle() == ["Claim STARTING", "Complete STARTING"]
    world.kill_container()
    assert world.settle() == ["Fail RetryExceeded"]
    assert display_status(world.ws) == "ERROR"
    assert world.recover(OWNER)
    assert world.settle()[:1] == ["Claim STARTING"]
    assert display_status(world.ws) == "RUNNING"


def test_a_stable_run_forgives_earlier_crashes() -> None:
    """After more than ten minutes a crash counts as the first again."""
    world = running_world()
    for _ in range(7):
        world.wait(601)
        world.kill_container()
        assert world.settle() == ["Claim STARTING", "Complete STARTING"]
        assert world.ws.restart_count == 1


def test_an_unused_workspace_is_archived() -> None:
    """On standby for longer than its archive TTL: desired PENDING, ARCHIVING, ARCHIVED."""
    world = running_world("old work")
    world.want(STANDBY)
    assert world.settle() == ["Claim STOPPING", "Complete STOPPING"]
    assert world.ws.last_access_at == world.now
    world.wait(604800)
    assert ttl_decision(world.ws, Activity(), world.now).outcome is Ttl.SKIP
    world.wait(1)
    assert ttl_decision(world.ws, Activity(), world.now).outcome is Ttl.TO_PENDING
    world.want(PENDING)
    assert world.settle() == ["Claim ARCHIVING", "Complete ARCHIVING"]
    assert display_status(world.ws) == "ARCHIVED"
    assert list(world.archives) == [world.ws.archive_key]
    assert world.ws.home.state is HomeState.NONE


def test_running_reaches_pending_through_standby() -> None:
    """RUNNING to PENDING is STOPPING, then ARCHIVING: one level at a time (contract 5)."""
    world = running_world()
    world.want(PENDING)
    assert world.settle() == [
        "Claim STOPPING",
        "Complete STOPPING",
        "Claim ARCHIVING",
        "Complete ARCHIVING",
    ]


def test_the_second_archive_holds_the_second_home() -> None:
    """Archived, restored, changed and archived again: the newest data is what comes back (H9)."""
    world = archived_world("v1")
    first = world.ws.archive_key
    world.want(RUNNING)
    world.settle()
    world.write("v2")
    world.want(PENDING)
    world.settle()
    assert world.ws.archive_key != first
    world.want(RUNNING)
    world.settle()
    assert world.home() == "v2"


@pytest.mark.parametrize("steps", range(1, 14))
def test_a_crashed_reconciler_is_taken_over_anywhere(steps: int) -> None:
    """Wherever the coordinator dies on the way up, its successor ends with a running workspace."""
    world = archived_world("kept")
    world.want(RUNNING)
    for _ in range(steps):
        world.look()
        world.tick()
    in_operation = world.ws.operation is not Operation.NONE
    world.crash()
    world.wait(36_000)
    story = world.settle()
    assert ("Resume" in " ".join(story)) is in_operation
    assert display_status(world.ws) == "RUNNING"
    assert world.home() == "kept"
    assert world.ws.error_info is None


@pytest.mark.parametrize("steps", range(1, 16))
def test_a_crash_on_the_way_down_loses_nothing(steps: int) -> None:
    """Wherever the coordinator dies between RUNNING and ARCHIVED, the home is in the archive."""
    world = running_world("kept")
    world.want(PENDING)
    for _ in range(steps):
        world.look()
        world.tick()
    world.crash()
    world.settle()
    assert display_status(world.ws) == "ARCHIVED"
    assert world.archives[str(world.ws.archive_key)] == "kept"


def test_a_resumed_restore_fills_a_new_volume() -> None:
    """A restore that was cut short is done again from the start, into a new incarnation (H2)."""
    world = archived_world("kept")
    world.want(RUNNING)
    while not world.volumes:
        world.look()
        world.tick()
    (partial,) = world.volumes
    world.crash()
    world.settle()
    assert world.ws.home.incarnation != partial
    assert world.volumes[partial] == ""
    assert world.home() == "kept"


def test_three_failures_end_in_error() -> None:
    """Three attempts, thirty seconds apart, then terminal: operation NONE, op_id kept, ERROR."""
    world = TinyWorld()
    world.failing[MakeVolume] = UNREACHABLE
    assert world.settle() == ["Claim PROVISIONING", "Fail Unreachable"]
    op_id = world.ws.op_id
    world.wait(29)
    assert world.settle() == []
    world.wait(1)
    assert world.settle() == ["Fail Unreachable"]
    assert world.ws.health_status is HealthStatus.OK
    world.wait(30)
    assert world.settle() == ["Fail RetryExceeded"]
    assert (world.ws.operation, world.ws.op_id) == (Operation.NONE, op_id)
    assert display_status(world.ws) == "ERROR"
    assert world.ws.previous_status is ObservedStatus.PENDING
    assert world.ws.error_info is not None
    assert dict(world.ws.error_info.context)["last_error"] == "Unreachable: no route to docker"
    step = world.tick()
    assert isinstance(step, Skip)
    assert step.verdict.reason is Reason.PERSON_NEEDED


def test_a_failure_that_passes_leaves_no_trace() -> None:
    """The second attempt succeeds: no error is left, and the workspace runs."""
    world = TinyWorld()
    world.failing[StartContainer] = UNREACHABLE
    world.settle()
    world.failing.clear()
    world.wait(30)
    assert world.settle() == ["Complete STARTING"]
    assert (world.ws.error_count, world.ws.error_info) == (0, None)


def test_an_operation_that_takes_too_long_ends_in_error() -> None:
    """Past its timeout an operation is terminal at once, and is not repeated."""
    world = running_world()
    world.want(PENDING)
    world.look()
    world.tick()
    world.wait(301)
    assert world.settle() == ["Claim STOPPING", "Fail Timeout"]
    assert display_status(world.ws) == "ERROR"
    assert world.ws.observed_status is ObservedStatus.RUNNING
    world.wait(3600)
    assert world.settle() == []


@pytest.mark.parametrize("actor", Actor)
def test_a_recovery_tries_again(actor: Actor) -> None:
    """Owner or administrator resets a plain error, and the workspace goes on."""
    world = TinyWorld()
    world.failing[CreateContainer] = UNREACHABLE
    for _ in range(3):
        world.settle()
        world.wait(30)
    assert display_status(world.ws) == "ERROR"
    world.failing.clear()
    assert world.recover(actor)
    assert world.ws.error_info is None
    assert world.settle() == ["Claim STARTING", "Complete STARTING"]
    assert display_status(world.ws) == "RUNNING"
    assert not world.recover(actor)


def test_an_archive_that_fails_keeps_its_volume() -> None:
    """Storage is away: the home stays in its volume, and a recovery archives it whole."""
    world = running_world("kept")
    world.want(PENDING)
    world.failing[ArchiveHome] = NO_BUCKET
    for _ in range(3):
        world.settle()
        world.wait(30)
    assert display_status(world.ws) == "ERROR"
    assert world.home() == "kept"
    assert world.ws.archive_key is None
    world.failing.clear()
    assert world.recover(OWNER)
    world.settle()
    assert world.archives[str(world.ws.archive_key)] == "kept"


def test_a_volume_that_could_not_be_deleted_is_never_used_again() -> None:
    """The key is saved, the deletion fails for good; after recovery it is finished first (H4)."""
    world = running_world("kept")
    world.want(PENDING)
    world.failing[DeleteVolume] = UNREACHABLE
    for _ in range(3):
        world.settle()
        world.wait(30)
    condemned = world.ws.home.incarnation
    assert world.ws.home.state is HomeState.CONDEMNED
    world.failing.clear()
    world.want(RUNNING)
    assert world.recover(OWNER)
    assert world.settle() == [
        "Claim ARCHIVING",
        "Complete ARCHIVING",
        "Claim RESTORING",
        "Complete RESTORING",
        "Claim STARTING",
        "Complete STARTING",
    ]
    assert world.ws.home.incarnation != condemned
    assert world.home() == "kept"


def test_a_lost_home_is_told_and_given_up() -> None:
    """A dirty volume vanishes: DataLost; the owner may not wave it away, an administrator may."""
    world = running_world()
    lost = str(world.ws.home.incarnation)
    world.volumes.clear()
    world.containers.clear()
    assert world.settle() == ["Fail DataLost"]
    assert display_status(world.ws) == "ERROR"
    assert not world.recover(OWNER)
    assert world.recover(ADMIN, accept_loss=lost)
    assert world.settle() == [
        "Claim PROVISIONING",
        "Complete PROVISIONING",
        "Claim STARTING",
        "Complete STARTING",
    ]
    assert world.ws.home.incarnation != lost


def test_a_lost_home_that_comes_back() -> None:
    """The volume is back: an acceptance is refused, and a plain recovery uses it (H16)."""
    world = running_world("back again")
    lost = str(world.ws.home.incarnation)
    world.volumes.clear()
    world.containers.clear()
    world.settle()
    world.volumes[lost] = "back again"
    assert not world.recover(ADMIN, accept_loss=lost)
    assert world.recover(ADMIN)
    world.settle()
    assert display_status(world.ws) == "RUNNING"
    assert (world.ws.home.incarnation, world.home()) == (lost, "back again")


def test_one_glance_loses_nothing() -> None:
    """A home that was not seen once and is there again is no loss."""
    world = running_world("kept")
    away, world.volumes = world.volumes, {}
    gone, world.containers = world.containers, {}
    world.look()
    world.tick()
    suspected = world.ws.suspect
    assert suspected is not None
    world.volumes, world.containers = away, gone
    world.settle()
    assert (display_status(world.ws), world.ws.suspect) == ("RUNNING", None)


def test_a_container_without_its_volume() -> None:
    """Seen once it is a suspicion, seen twice an error; accepting the loss leads out."""
    world = running_world()
    lost = str(world.ws.home.incarnation)
    world.volumes.clear()
    world.look()
    assert display_status(world.ws) == "RUNNING"
    world.look()
    assert display_status(world.ws) == "ERROR"
    assert world.ws.observed_status is ObservedStatus.RUNNING
    assert world.ws.error_info is not None
    assert world.ws.error_info.code is AdapterCode.CONTAINER_WITHOUT_VOLUME
    assert not world.recover(OWNER)
    assert world.recover(ADMIN, accept_loss=lost)
    world.settle()
    assert display_status(world.ws) == "RUNNING"


def test_a_lost_archive_is_given_up() -> None:
    """The archive is not found: DataLost at once; accepted, the home is made anew."""
    world = archived_world()
    key = str(world.ws.archive_key)
    world.archives.clear()
    world.failing[RestoreHome] = Failure.of_code(AdapterCode.ARCHIVE_NOT_FOUND, "no such object")
    world.want(RUNNING)
    assert world.settle() == ["Claim RESTORING", "Fail DataLost"]
    assert world.recover(ADMIN, accept_loss=key)
    story = world.settle()
    assert story[0] == "Claim PROVISIONING"
    assert display_status(world.ws) == "RUNNING"
    assert world.ws.archive_key is None


def test_deletion_of_a_running_workspace() -> None:
    """Container and volume go; the row is shown as deleted, and its archive may be collected."""
    world = archived_world()
    key = str(world.ws.archive_key)
    stored = StoredArchive(key=key, installation="here", stored_at=world.now)
    world.want(RUNNING)
    world.settle()
    world.wait(8000)
    world.delete()
    kept = gc_decision(stored, world.ws, installation="here", now=world.now)
    assert kept.reason is Reason.HOLDS_THE_HOME
    assert world.settle() == ["Claim DELETING", "Complete DELETING"]
    assert (world.volumes, world.containers) == ({}, {})
    assert display_status(world.ws) == "DELETED"
    free = gc_decision(stored, world.ws, installation="here", now=world.now)
    assert free.reason is Reason.ARCHIVE_UNNEEDED


def test_deletion_works_in_error() -> None:
    """A workspace in ERROR is deleted like any other, and its error goes with it (H26)."""
    world = running_world()
    world.volumes.clear()
    world.containers.clear()
    world.settle()
    assert display_status(world.ws) == "ERROR"
    world.delete()
    assert world.settle()[-1] == "Complete DELETING"
    assert (display_status(world.ws), world.ws.error_info) == ("DELETED", None)


def test_deletion_that_fails_goes_on_for_ever() -> None:
    """Out of attempts a deletion waits, longer each time, and is claimed again (H27)."""
    world = running_world()
    world.delete()
    world.failing[DeleteContainers] = UNREACHABLE
    for _ in range(3):
        world.settle()
        world.wait(30)
    assert world.ws.error_info is not None
    assert world.ws.error_info.is_terminal
    assert world.settle() == ["Claim DELETING", "Fail RetryExceeded"]
    assert world.ws.error_count == 4
    assert world.ws.next_attempt_at is not None
    assert (world.ws.next_attempt_at - world.now).total_seconds() == 60
    world.failing.clear()
    assert world.settle() == []
    world.wait(60)
    assert world.settle() == ["Claim DELETING", "Complete DELETING"]
    assert display_status(world.ws) == "DELETED"


def test_deletion_during_an_operation() -> None:
    """An operation is not pre-empted: it ends, and then the deletion is claimed (contract 4)."""
    world = running_world()
    world.want(PENDING)
    while world.ws.operation is not Operation.ARCHIVING:
        world.look()
        world.tick()
    world.story.clear()
    world.delete()
    assert world.settle() == ["Complete ARCHIVING"]
    assert display_status(world.ws) == "DELETED"


def test_a_change_of_mind_during_an_operation() -> None:
    """The newest intent is acted on when the operation ends."""
    world = running_world("kept")
    world.want(PENDING)
    while world.ws.operation is not Operation.ARCHIVING:
        world.look()
        world.tick()
    world.want(RUNNING)
    assert world.settle()[-4:] == [
        "Claim RESTORING",
        "Complete RESTORING",
        "Claim STARTING",
        "Complete STARTING",
    ]
    assert world.home() == "kept"


def test_an_unfinished_home_is_given_up_when_it_is_not_wanted() -> None:
    """Provisioning that failed for good leaves a volume that is deleted without an archive."""
    world = TinyWorld()
    world.look()
    while world.ws.home.state is not HomeState.MAKING or not world.volumes:
        world.tick()
    world.wait(301)
    assert world.settle() == ["Claim PROVISIONING", "Fail Timeout"]
    world.want(PENDING)
    assert world.recover(OWNER)
    assert world.settle() == ["Claim ARCHIVING", "Complete ARCHIVING"]
    assert (world.volumes, world.archives, world.ws.archive_key) == ({}, {}, None)


# Activity: tabs and the idle timer.


class Tabs:
    """What proxies keep of one workspace: open connections, and the timer after the last one."""

    def __init__(self, world: TinyWorld) -> None:
        self.world = world
        self.open = 0
        self.timer_until = world.now

    def connect(self) -> None:
        """A tab opens: count up, no timer."""
        self.open += 1
        self.timer_until = self.world.now

    def disconnect(self) -> None:
        """A tab closes: count down, and at zero the timer starts."""
        self.open -= 1
        if self.open == 0:
            self.start_timer()

    def start_timer(self) -> None:
        """The timer runs for the idle time."""
        length = timedelta(seconds=self.world.ws.standby_ttl_seconds)
        self.timer_until = self.world.now + length

    def judged(self) -> Reason:
        """What the TTL manager says now."""
        timer = self.world.now < self.timer_until
        activity = Activity(connections=self.open, idle_timer=timer)
        return ttl_decision(self.world.ws, activity, self.world.now).reason


def test_several_tabs_and_the_idle_timer() -> None:
    """The timer starts when the last of several tabs closes, and its end stops the workspace."""
    world = running_world()
    tabs = Tabs(world)
    world.wait(400)
    tabs.connect()
    tabs.connect()
    tabs.disconnect()
    assert tabs.judged() is Reason.CONNECTED
    tabs.disconnect()
    assert tabs.judged() is Reason.IDLE_TIMER_RUNS
    world.wait(299)
    assert tabs.judged() is Reason.IDLE_TIMER_RUNS
    world.wait(1)
    assert tabs.judged() is Reason.IDLE
    world.want(STANDBY)
    assert world.settle() == ["Claim STOPPING", "Complete STOPPING"]
    assert display_status(world.ws) == "STANDBY"


def test_a_short_break_of_the_network() -> None:
    """A connection that comes back within the idle time changes nothing."""
    world = running_world()
    tabs = Tabs(world)
    world.wait(400)
    tabs.connect()
    tabs.disconnect()
    world.wait(3)
    tabs.connect()
    world.wait(4000)
    assert tabs.judged() is Reason.CONNECTED


def test_a_laptop_that_slept() -> None:
    """Asleep for longer than the idle time: standby; woken up and opened again: running."""
    world = running_world("kept")
    tabs = Tabs(world)
    tabs.connect()
    world.wait(1000)
    tabs.disconnect()
    world.wait(301)
    assert tabs.judged() is Reason.IDLE
    world.want(STANDBY)
    world.settle()
    world.want(RUNNING)
    assert world.settle() == ["Claim STARTING", "Complete STARTING"]
    assert world.home() == "kept"


def test_a_workspace_that_nobody_opened_gets_its_time() -> None:
    """Just started and never opened: it stays for the idle time, and steps down after it."""
    world = running_world()
    tabs = Tabs(world)
    world.wait(300)
    assert tabs.judged() is Reason.STARTED_RECENTLY
    world.wait(1)
    assert tabs.judged() is Reason.IDLE
