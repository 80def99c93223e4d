"""Activity stores and signals that break one promise each."""

import asyncio

from tests.adapters.breaking import Breakage, breaker
from tests.adapters.memory_subjects import ActivitySubject, SignalsSubject
from wsctl_adapters.conformance import activity, signals
from wsctl_core import Activity, AdapterCode
from wsctl_core.ports import AdapterError

BREAKAGES: list[Breakage] = []
breaks = breaker(BREAKAGES, ActivitySubject)


@breaks("activity", "read", activity.check_a_new_store_knows_nothing)
async def a_store_is_whole_at_once(subject, right, idle_seconds):
    return await right(dict.fromkeys(idle_seconds, -60))


@breaks("activity", "read", activity.check_each_idle_time_counts)
async def one_idle_time_is_everyones(subject, right, idle_seconds):
    return await right(dict.fromkeys(idle_seconds, min(idle_seconds.values(), default=0)))


@breaks("activity", "read", activity.check_all_who_are_asked_about_are_told)
async def the_idle_are_left_out(subject, right, idle_seconds):
    told = await right(idle_seconds)
    return {ws_id: one for ws_id, one in told.items() if one != Activity()}


@breaks("activity", "set_idle_timer", activity.check_the_idle_timer_runs_and_ends)
async def a_timer_never_ends(subject, right, workspace_id, seconds):
    await right(workspace_id, 10**6)


@breaks("activity", "set_idle_timer", activity.check_the_idle_timer_starts_anew)
async def a_timer_that_runs_goes_on(subject, right, workspace_id, seconds):
    if workspace_id not in subject.world.activity.timers:
        await right(workspace_id, seconds)


@breaks("activity", "keep_alive", activity.check_a_request_to_be_kept_alive_holds)
async def nobody_lets_go(subject, right, workspace_id, seconds):
    if seconds:
        await right(workspace_id, seconds)


@breaks("activity", "read", activity.check_connections_are_told)
async def nobody_is_connected(subject, right, idle_seconds):
    subject.world.activity.connections.clear()
    return await right(idle_seconds)


@breaks("activity", "read", activity.check_what_was_lost_is_unknown)
async def a_loss_goes_unnoticed(subject, right, idle_seconds):
    if not hasattr(subject, "whole_since"):
        subject.whole_since = subject.time()
    subject.world.activity.whole_since = subject.whole_since
    return await right(idle_seconds)


@breaks("activity", "read", activity.check_reading_delays_nothing)
async def every_reading_begins_anew(subject, right, idle_seconds):
    told = await right(idle_seconds)
    subject.world.activity.whole_since = subject.time()
    return told


@breaks("activity", "read", activity.check_a_fleet_costs_as_much_as_one)
async def each_is_read_by_itself(subject, right, idle_seconds):
    told: dict[str, Activity] = {}
    for ws_id, seconds in idle_seconds.items():
        told |= await right({ws_id: seconds})
    return told


@breaks("activity", "read", activity.check_a_store_that_is_away_is_said_to_be)
async def a_store_that_is_away_tells_nothing(subject, right, idle_seconds):
    try:
        return await right(idle_seconds)
    except AdapterError:
        return {}


breaks = breaker(BREAKAGES, SignalsSubject)


@breaks("hints", "send", signals.check_a_hint_is_heard_elsewhere)
async def no_hint_is_sent(subject, right, hint):
    pass


@breaks("hints", "send", signals.check_everyone_who_listens_hears)
async def only_the_first_hears(subject, right, hint):
    listeners = subject.world.signals.listeners
    first = dict(list(listeners.items())[:1])
    subject.world.signals.listeners = first
    subject.world.signals.tell(hint)
    subject.world.signals.listeners = listeners


@breaks("hints", "send", signals.check_nobody_need_listen, fails_with=AdapterError)
async def somebody_must_listen(subject, right, hint):
    if not subject.world.signals.listeners:
        raise AdapterError(AdapterCode.SIGNALS_UNREACHABLE, "nobody listens")
    await right(hint)


@breaks("hints", "listen", signals.check_a_listener_may_leave)
async def who_leaves_takes_everyone_along(subject, right):
    try:
        async for hint in right():
            yield hint
    finally:
        subject.world.signals.cut_off()


@breaks("broadcast", "publish", signals.check_an_event_reaches_those_who_watch)
async def everyone_is_told_everything(subject, right, event):
    for _, queue in subject.world.signals.watchers.values():
        queue.put_nowait(event)


@breaks("broadcast", "publish", signals.check_signals_that_are_away_are_said_to_be)
async def a_loss_is_not_told(subject, right, event):
    try:
        await right(event)
    except AdapterError:
        return


@breaks("hints", "listen", signals.check_a_listener_is_told_that_it_hears_nothing)
async def who_was_cut_off_waits_for_ever(subject, right):
    try:
        async for hint in right():
            yield hint
    except AdapterError:
        await asyncio.Event().wait()
