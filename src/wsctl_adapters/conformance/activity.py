"""The promises of an activity store: what people do is told, and what was lost is unknown (H30).

A check takes a store with nothing in it, whose time the tester can let pass.
"""

from collections.abc import Mapping
from typing import Protocol

from wsctl_adapters.conformance.kit import Check, ensure, refused
from wsctl_core.ports import ActivityStore
from wsctl_core.values.activity import UNKNOWN_ACTIVITY, Activity
from wsctl_core.values.errors import AdapterCode


class ActivityUnderTest(Protocol):
    """An activity store that nothing else uses, and hands that reach behind its back."""

    @property
    def activity(self) -> ActivityStore:
        """What is under test."""

    @property
    def elsewhere(self) -> ActivityStore:
        """The same store, as another process reaches it."""

    async def connect(self, workspace_id: str, connections: int) -> None:
        """As proxies would: that many connections are open."""

    async def elapse(self, seconds: int) -> None:
        """Let that much time pass, for the store."""

    async def lose_everything(self) -> None:
        """The store is emptied, and goes on."""

    async def go_away(self) -> None:
        """The store can't be reached any more."""

    async def come_back(self) -> None:
        """It can be reached again; it may have lost everything."""

    async def calls(self) -> int:
        """How many calls have reached the store so far."""


IDLE = 300
A_MINUTE = 60
NOBODY = Activity()


async def read(subject: ActivityUnderTest, workspace_id: str = "w1") -> Activity:
    """The activity of one workspace."""
    return (await subject.activity.read({workspace_id: IDLE}))[workspace_id]


async def whole(subject: ActivityUnderTest, idle_seconds: int = IDLE) -> None:
    """Let the store be whole for so long that its activity is known."""
    await subject.activity.read({})
    await subject.elapse(idle_seconds + A_MINUTE + 1)


async def check_a_new_store_knows_nothing(subject: ActivityUnderTest) -> None:
    """Until the store was whole for the idle time and a minute more, activity is unknown (H30)."""
    await subject.activity.set_idle_timer("w1", IDLE)
    await subject.connect("w1", 1)
    ensure(await read(subject) == UNKNOWN_ACTIVITY, "a store that nobody has read knows nothing")
    await subject.elapse(IDLE + A_MINUTE - 2)
    ensure(await read(subject) == UNKNOWN_ACTIVITY, "nothing is known a little before the time")
    await subject.elapse(4)
    ensure((await read(subject)).known, "it is known after the idle time and a minute")


async def check_each_idle_time_counts(subject: ActivityUnderTest) -> None:
    """A workspace with a longer idle timer stays unknown for longer."""
    await whole(subject, 30)
    told = await subject.activity.read({"w1": 30, "w2": 3600})
    ensure(told["w1"].known, "the shorter idle time is over")
    ensure(told["w2"] == UNKNOWN_ACTIVITY, "the longer one is not")


async def check_all_who_are_asked_about_are_told(subject: ActivityUnderTest) -> None:
    """The answer has each workspace that was asked about, and no other."""
    ensure(dict(await subject.activity.read({})) == {}, "nobody was asked about")
    await subject.activity.set_idle_timer("w9", IDLE)
    asked = {f"w{number}": IDLE for number in range(4)}
    ensure(dict(await subject.activity.read(asked)).keys() == asked.keys(), "while unknown")
    await whole(subject)
    told = await subject.activity.read(asked)
    ensure(dict(told) == dict.fromkeys(asked, NOBODY), "and when it is known that nobody is there")


async def check_the_idle_timer_runs_and_ends(subject: ActivityUnderTest) -> None:
    """An idle timer runs for its length, and for nobody else."""
    await whole(subject)
    await subject.activity.set_idle_timer("w1", 120)
    told = await subject.elsewhere.read({"w1": IDLE, "w2": IDLE})
    ensure(told["w1"] == Activity(idle_timer=True), "it runs, in the eyes of everyone")
    ensure(told["w2"] == NOBODY, "another workspace has none")
    await subject.elapse(117)
    ensure((await read(subject)).idle_timer, "it runs a little before its end")
    await subject.elapse(5)
    ensure(await read(subject) == NOBODY, "it has ended")


async def check_the_idle_timer_starts_anew(subject: ActivityUnderTest) -> None:
    """Set again, the timer has the new length, whether longer or shorter."""
    await whole(subject)
    await subject.activity.set_idle_timer("w1", 60)
    await subject.elapse(50)
    await subject.activity.set_idle_timer("w1", 60)
    await subject.elapse(50)
    ensure((await read(subject)).idle_timer, "the second timer runs")
    await subject.activity.set_idle_timer("w1", 20)
    await subject.elapse(22)
    ensure(not (await read(subject)).idle_timer, "a shorter one replaces a longer one")


async def check_a_request_to_be_kept_alive_holds(subject: ActivityUnderTest) -> None:
    """A request holds for as long as it says, beside the idle timer; zero lets go at once."""
    await whole(subject)
    await subject.activity.keep_alive("w1", 120)
    told = await subject.elsewhere.read({"w1": IDLE, "w2": IDLE})
    ensure(told["w1"] == Activity(kept_alive=True), "it holds, and starts no timer")
    ensure(told["w2"] == NOBODY, "for nobody else")
    await subject.elapse(122)
    ensure(await read(subject) == NOBODY, "it has ended")
    await subject.activity.keep_alive("w1", 120)
    await subject.activity.set_idle_timer("w1", 120)
    await subject.activity.keep_alive("w1", 0)
    ensure(await read(subject) == Activity(idle_timer=True), "zero lets go, and only of this")
    await subject.activity.keep_alive("w1", 0)


async def check_connections_are_told(subject: ActivityUnderTest) -> None:
    """How many connections are open is told."""
    await whole(subject)
    await subject.connect("w1", 3)
    told = await subject.activity.read({"w1": IDLE, "w2": IDLE})
    ensure(told["w1"] == Activity(connections=3), "of this workspace")
    ensure(told["w2"] == NOBODY, "and of no other")


async def check_what_was_lost_is_unknown(subject: ActivityUnderTest) -> None:
    """A store that lost its data knows nothing until it was whole for long enough (H30)."""
    await whole(subject)
    await subject.connect("w1", 1)
    ensure((await read(subject)).connections == 1, "somebody is there")
    await subject.lose_everything()
    ensure(await read(subject) == UNKNOWN_ACTIVITY, "the active don't look idle")
    await subject.elapse(IDLE)
    ensure(await read(subject) == UNKNOWN_ACTIVITY, "not even after the idle time")
    await subject.elapse(A_MINUTE + 2)
    ensure(await read(subject) == NOBODY, "then it is known again")


async def check_reading_delays_nothing(subject: ActivityUnderTest) -> None:
    """However often and by however many it is read, what the store knows it knows in time."""
    for _ in range(6):
        await subject.activity.read({"w1": IDLE})
        await subject.elsewhere.read({"w2": IDLE})
        await subject.elapse((IDLE + A_MINUTE) // 6 + 1)
    ensure((await read(subject)).known, "reading does not begin the time anew")


async def check_a_fleet_costs_as_much_as_one(subject: ActivityUnderTest) -> None:
    """One reading takes a constant number of calls, whatever the number of workspaces."""
    await whole(subject)
    await subject.activity.set_idle_timer("w7", 3600)
    await subject.connect("w2999", 2)
    of_one = await _cost(subject, {"w1": IDLE})
    of_many = await _cost(subject, {f"w{number}": IDLE for number in range(3000)})
    ensure(of_many == of_one, f"{of_many} calls for 3000 workspaces, {of_one} for one")
    told = await subject.activity.read({f"w{number}": IDLE for number in range(3000)})
    active = {ws_id: one for ws_id, one in told.items() if one != NOBODY}
    wanted = {"w7": Activity(idle_timer=True), "w2999": Activity(connections=2)}
    ensure(active == wanted, "and each is told as it is")


async def _cost(subject: ActivityUnderTest, idle_seconds: Mapping[str, int]) -> int:
    before = await subject.calls()
    await subject.activity.read(idle_seconds)
    return await subject.calls() - before


async def check_a_store_that_is_away_is_said_to_be(subject: ActivityUnderTest) -> None:
    """Every call is refused while the store is away, and answered when it is back."""
    await subject.activity.read({"w1": IDLE})
    await subject.go_away()
    async with refused(AdapterCode.ACTIVITY_UNREACHABLE):
        await subject.activity.read({"w1": IDLE})
    async with refused(AdapterCode.ACTIVITY_UNREACHABLE):
        await subject.activity.set_idle_timer("w1", IDLE)
    async with refused(AdapterCode.ACTIVITY_UNREACHABLE):
        await subject.activity.keep_alive("w1", IDLE)
    await subject.come_back()
    await subject.activity.keep_alive("w1", 3600)
    await whole(subject)
    ensure((await read(subject)).kept_alive, "what was said after its return is known")


CHECKS: tuple[Check[ActivityUnderTest], ...] = (
    check_a_new_store_knows_nothing,
    check_each_idle_time_counts,
    check_all_who_are_asked_about_are_told,
    check_the_idle_timer_runs_and_ends,
    check_the_idle_timer_starts_anew,
    check_a_request_to_be_kept_alive_holds,
    check_connections_are_told,
    check_what_was_lost_is_unknown,
    check_reading_delays_nothing,
    check_a_fleet_costs_as_much_as_one,
    check_a_store_that_is_away_is_said_to_be,
)
