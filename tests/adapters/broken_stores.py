"""Stores, feeds and locks that break one promise each."""

import asyncio

import attrs

from tests.adapters.breaking import Breakage, Broken, breaker
from tests.adapters.memory_subjects import LeadershipSubject, StoresSubject
from wsctl_adapters.conformance import (
    feed,
    leadership,
)
from wsctl_adapters.conformance import (
    stores_housekeeping as housekeeping,
)
from wsctl_adapters.conformance import (
    stores_intents as intents,
)
from wsctl_adapters.conformance import (
    stores_monitor as monitor,
)
from wsctl_adapters.conformance import (
    stores_places as places,
)
from wsctl_adapters.conformance import (
    stores_reading as reading,
)
from wsctl_adapters.conformance import (
    stores_reconciler as reconciler,
)
from wsctl_core import (
    DesiredState,
    EventKind,
    IntentOutcome,
    Operation,
    Policy,
    Usage,
    apply,
    creation_decision,
    finished_deleting,
)
from wsctl_core.decisions.failure import guard_of
from wsctl_core.ports import LeadershipLost, Page, PassStart, Safeguard, Situation
from wsctl_core.values.patches import NEXT_NUMBER, UNSET

BREAKAGES: list[Breakage] = []
breaks = breaker(BREAKAGES, StoresSubject)
NO_LIMIT = Policy(max_running_per_user=10**6, max_running_global=10**6)


# Reading.


@breaks("reader", "some", reading.check_some_reads_the_rows_that_exist)
async def a_row_is_told_twice(subject, right, ids):
    found = await right(ids)
    return attrs.evolve(found, rows=found.rows * 2)


@breaks("reader", "some", reading.check_a_reading_has_the_pass_number_of_its_rows)
async def the_pass_number_is_read_later(subject, right, ids):
    found = await right(ids)
    await asyncio.sleep(0)
    return attrs.evolve(found, pass_seq=subject.world.database.pass_number + 1)


@breaks("reader", "page", reading.check_pages_are_in_order_and_complete)
async def pages_are_in_no_order(subject, right, **asked):
    page = await right(**asked)
    return attrs.evolve(page, rows=page.rows[::-1])


@breaks("reader", "page", reading.check_pages_of_an_owner)
async def everyone_sees_everything(subject, right, **asked):
    return await right(**asked | {"owner_id": None})


@breaks("reader", "page", reading.check_pages_leave_out_what_is_finished)
async def what_is_finished_is_told(subject, right, **asked):
    return await right(**asked | {"deleted": True})


@breaks("reader", "finished", reading.check_finished_rows_are_told_apart)
async def the_living_are_called_finished(subject, right, **asked):
    return await subject.world.node("here").reader.page(deleted=True, **asked)


@breaks("reader", "page", reading.check_pages_stay_right_while_rows_come)
async def pages_are_counted_off(subject, right, *, after=None, limit=100, **asked):
    rows = (await right(**asked, limit=1000)).rows
    begin = int(after or 0)
    more = len(rows) > begin + limit
    return Page(rows=rows[begin : begin + limit], after=str(begin + limit) if more else None)


@breaks("reader", "changed", reading.check_changed_begins_with_every_row)
async def finished_rows_are_told_at_first(subject, right, since):
    return await right(since or "0")


@breaks("reader", "changed", reading.check_changed_tells_what_was_written_since)
async def the_end_of_a_row_is_not_told(subject, right, since):
    found = await right(since)
    return attrs.evolve(found, rows=tuple(ws for ws in found.rows if not finished_deleting(ws)))


@breaks("reader", "changed", reading.check_changed_leaves_nothing_out_under_load)
async def a_mark_runs_ahead(subject, right, since):
    found = await right(since)
    return attrs.evolve(found, mark=str(int(found.mark) + 1))


# Intents.


@breaks("intents", "create", intents.check_a_new_row_has_nothing_and_does_nothing)
async def a_new_row_has_its_own_idea(subject, right, new, policy):
    return await right(attrs.evolve(new, standby_ttl_seconds=300), policy)


@breaks("intents", "create", intents.check_a_new_row_takes_its_place_in_the_sequence)
async def a_new_row_has_no_number(subject, right, new, policy):
    answer = await right(new, policy)
    return attrs.evolve(answer, ws=subject.world.database.put(_row(subject, new.id, created_seq=0)))


def _row(subject, id, **columns):
    return attrs.evolve(subject.world.database.rows[id], **columns)


@breaks("intents", "create", intents.check_an_identity_is_used_once)
async def a_new_row_replaces_an_old_one(subject, right, new, policy):
    if new.id in subject.world.database.rows:
        subject.world.database.remove(new.id)
    return await right(new, policy)


@breaks("intents", "create", intents.check_creation_is_refused_at_a_limit)
async def creation_knows_no_limit(subject, right, new, policy):
    return await right(new, NO_LIMIT)


@breaks("intents", "create", intents.check_what_need_not_run_takes_no_place)
async def everything_takes_a_place(subject, right, new, policy):
    there = len(subject.world.database.rows)
    if there < policy.max_running_global:
        return await right(new, policy)
    full = Usage(by_user=there, in_all=there)
    return creation_decision(DesiredState.RUNNING, usage=full, policy=policy)


@breaks("intents", "create", intents.check_one_of_many_creations_takes_the_last_place)
async def creation_counts_before_it_locks(subject, right, new, policy):
    usage = subject.world.database.intents(new.owner_id)
    answer = creation_decision(new.desired_state, usage=usage, policy=policy)
    if answer.verdict.outcome is IntentOutcome.REFUSED:
        return answer
    return await right(new, NO_LIMIT)


@breaks("intents", "change", intents.check_a_change_writes_what_was_decided)
async def a_name_is_forgotten(subject, right, workspace_id, decide):
    def forget(situation):
        answer = decide(situation)
        patch = answer.patch and attrs.evolve(answer.patch, name=UNSET)
        return attrs.evolve(answer, patch=patch)

    return await right(workspace_id, forget)


@breaks("intents", "change", intents.check_a_change_of_nothing)
async def every_wish_is_counted(subject, right, workspace_id, decide):
    answer = await right(workspace_id, decide)
    if answer is not None and answer.patch is None:
        version = answer.ws.intent_version + 1
        subject.world.database.put(_row(subject, workspace_id, intent_version=version))
    return answer


@breaks("intents", "change", intents.check_others_intents_are_counted)
async def a_workspace_counts_itself(subject, right, workspace_id, decide):
    def counted(situation):
        usage = subject.world.database.intents(situation.ws.owner_id)
        return decide(attrs.evolve(situation, usage=usage))

    return await right(workspace_id, counted)


@breaks(
    "intents",
    "change",
    intents.check_one_of_many_changes_takes_the_last_place,
    intents.check_changes_of_one_row_follow_one_another,
)
async def a_change_decides_before_it_locks(subject, right, workspace_id, decide):
    database = subject.world.database
    ws = database.rows[workspace_id]
    usage = database.intents(ws.owner_id, but=ws.id)
    answer = decide(Situation(ws=ws, now=database.now(), usage=usage))
    await asyncio.sleep(0)
    if answer.patch is not None:
        database.put(apply(database.rows[workspace_id], answer.patch))
    return answer


@breaks("intents", "recover", intents.check_a_recovery_resets_four_columns)
async def restarts_are_still_counted(subject, right, workspace_id, decide):
    count = subject.world.database.rows[workspace_id].restart_count
    answer = await right(workspace_id, decide)
    subject.world.database.put(_row(subject, workspace_id, restart_count=count))
    return answer


@breaks("intents", "recover", intents.check_a_loss_is_accepted_with_the_recovery)
async def the_acceptance_is_forgotten(subject, right, workspace_id, decide):
    return await right(workspace_id, lambda ws: attrs.evolve(decide(ws), intent=None))


@breaks("intents", "recover", intents.check_a_refused_recovery_writes_nothing)
async def a_refusal_is_counted(subject, right, workspace_id, decide):
    answer = await right(workspace_id, decide)
    if answer is not None and answer.recovery is None:
        subject.world.database.put(_row(subject, workspace_id, restart_count=9))
    return answer


@breaks("intents", "recover", intents.check_a_recovery_leaves_a_running_operation)
async def a_recovery_asks_for_no_rest(subject, right, workspace_id, decide):
    answer = await right(workspace_id, decide)
    subject.world.database.put(_row(subject, workspace_id, error_info=None, error_count=0))
    return answer


# The monitor.


@breaks("monitor", "begin_pass", monitor.check_numbers_are_given_once_and_in_order)
async def a_pass_takes_no_number(subject, right):
    return PassStart(number=subject.world.database.number, now=subject.time())


@breaks("monitor", "end_pass", monitor.check_a_pass_writes_what_it_found)
async def suspicions_are_forgotten(subject, right, epoch, findings):
    patches = {id: attrs.evolve(p, suspect=None) for id, p in findings.patches.items()}
    return await right(epoch, attrs.evolve(findings, patches=patches))


@breaks("monitor", "end_pass", monitor.check_an_empty_pass_changes_no_row)
async def whatever_is_named_counts(subject, right, epoch, findings):
    await right(epoch, findings)
    return len(findings.patches)


@breaks("monitor", "end_pass", monitor.check_an_older_pass_changes_nothing)
async def the_last_pass_to_come_wins(subject, right, epoch, findings):
    for id in findings.patches:
        subject.world.database.rows[id] = _row(subject, id, observed_seq=0)
    return await right(epoch, findings)


@breaks("monitor", "end_pass", monitor.check_an_alarm_is_set_only_where_there_is_no_error)
async def an_alarm_replaces_an_error(subject, right, epoch, findings):
    for id in findings.alarms:
        subject.world.database.rows[id] = _row(subject, id, error_info=None)
    return await right(epoch, findings)


@breaks("monitor", "end_pass", monitor.check_only_a_complete_pass_records_its_number)
async def every_pass_is_complete(subject, right, epoch, findings):
    return await right(epoch, attrs.evolve(findings, complete=True))


@breaks("monitor", "end_pass", monitor.check_a_pass_of_a_whole_fleet)
async def a_pass_writes_fifty_rows(subject, right, epoch, findings):
    few = dict(list(findings.patches.items())[:50])
    await right(epoch, attrs.evolve(findings, patches=few))
    return len(findings.patches)


@breaks("monitor", "end_pass", monitor.check_a_pass_of_an_old_leader_changes_nothing)
async def a_pass_needs_no_epoch(subject, right, epoch, findings):
    return await right(subject.world.database.epoch, findings)


# The reconciler.


@breaks("reconciler", "work", reconciler.check_work_is_every_row_that_needs_it)
async def every_row_is_work(subject, right):
    return attrs.evolve(await right(), rows=tuple(subject.world.database.rows.values()))


@breaks("reconciler", "one", reconciler.check_one_row_is_read)
async def any_row_will_do(subject, right, workspace_id):
    return subject.world.database.reading(tuple(subject.world.database.rows.values()))


@breaks("reconciler", "holds", reconciler.check_holds_tells_whether_guard_and_epoch_hold)
async def a_question_needs_no_epoch(subject, right, epoch, workspace_id, guard):
    return await right(subject.world.database.epoch, workspace_id, guard)


@breaks("reconciler", "write", reconciler.check_a_write_writes_its_patch)
async def a_column_is_forgotten(subject, right, *call):
    *where, patch = call
    return await right(*where, attrs.evolve(patch, previous_status=UNSET))


@breaks("reconciler", "write", reconciler.check_a_write_needs_its_operation)
async def a_write_needs_no_guard(subject, right, epoch, workspace_id, *call):
    ws = subject.world.database.rows[workspace_id]
    return await right(epoch, workspace_id, guard_of(ws), *call[1:])


@breaks("reconciler", "claim", reconciler.check_a_claim_needs_what_it_was_planned_on)
async def a_claim_needs_no_guard(subject, right, epoch, workspace_id, *call):
    ws = subject.world.database.rows[workspace_id]
    return await right(epoch, workspace_id, guard_of(ws), *call[1:])


@breaks(
    "reconciler",
    "claim",
    reconciler.check_one_of_many_claims_is_made,
    places.check_one_of_many_starts_takes_the_last_place,
)
async def a_claim_looks_before_it_locks(subject, right, epoch, workspace_id, *call):
    guard, patch, policy = call
    database = subject.world.database
    ws = database.rows[workspace_id]
    usage = database.places(ws.owner_id, but=ws.id)
    if not guard.holds(ws) or usage.in_all >= policy.max_running_global:
        return None
    await asyncio.sleep(0)
    return database.put(apply(database.rows[workspace_id], patch))


@breaks("reconciler", "write", reconciler.check_a_number_is_given_in_the_write)
async def a_number_is_given_before(subject, right, *call):
    *where, patch = call
    number = subject.world.database.number
    given = {
        field: number
        for field in ("op_acted_seq", "op_ended_seq")
        if getattr(patch, field) is NEXT_NUMBER
    }
    return await right(*where, attrs.evolve(patch, **given))


@breaks("reconciler", "write", reconciler.check_writes_of_an_old_leader_change_nothing)
async def a_write_needs_no_epoch(subject, right, epoch, *call):
    return await right(subject.world.database.epoch, *call)


# Places.


@breaks("reconciler", "work", places.check_held_places_are_counted)
async def no_place_is_counted(subject, right):
    return attrs.evolve(await right(), held={})


@breaks("reconciler", "claim", places.check_a_start_takes_a_place_and_waits_for_one)
async def a_start_needs_no_place(subject, right, *call):
    return await right(*call[:-1], NO_LIMIT)


@breaks("reconciler", "claim", places.check_a_start_does_not_wait_for_itself)
async def a_start_waits_for_itself(subject, right, *call):
    *_, patch, policy = call
    held = subject.world.database.places("anyone", but="nobody").in_all
    if patch.operation is Operation.STARTING and held >= policy.max_running_global:
        return None
    return await right(*call)


@breaks("reconciler", "claim", places.check_only_a_start_needs_a_place)
async def every_claim_needs_a_place(subject, right, *call):
    _, workspace_id, *_, policy = call
    if subject.world.database.places("x", but=workspace_id).in_all >= policy.max_running_global:
        return None
    return await right(*call)


# Housekeeping.


@breaks("housekeeping", "installation", housekeeping.check_an_installation_has_one_identity)
async def an_installation_is_made_anew(subject, right):
    return f"here{subject.world.database.next_number()}"


@breaks("housekeeping", "safeguard", housekeeping.check_the_largest_number_is_known)
async def looking_takes_a_number(subject, right):
    return Safeguard(number=subject.world.database.next_number(), latched=None)


@breaks("housekeeping", "latch", housekeeping.check_a_latch_holds_until_it_is_cleared)
async def a_latch_leaves_the_sequence(subject, right, epoch, why, number):
    await right(epoch, why, 0)


@breaks("housekeeping", "purge", housekeeping.check_only_finished_rows_are_purged)
async def whatever_is_named_is_purged(subject, right, epoch, ids):
    for id in ids:
        if id in subject.world.database.rows:
            subject.world.database.remove(id)
    return 1


@breaks("housekeeping", "trim_events", housekeeping.check_events_are_kept_for_a_day)
async def all_events_are_old(subject, right, epoch):
    trimmed = len(subject.world.database.outbox)
    subject.world.database.outbox = []
    return trimmed


@breaks("housekeeping", "purge", housekeeping.check_housekeeping_of_an_old_leader_changes_nothing)
async def a_purge_needs_no_epoch(subject, right, epoch, ids):
    return await right(subject.world.database.epoch, ids)


# The feed.


@breaks("feed", "read", feed.check_the_mark_of_now)
async def a_feed_begins_at_the_beginning(subject, right, after, **asked):
    return await right(after or "0", **asked)


@breaks("feed", "read", feed.check_an_event_holds_the_row_after_the_change)
async def events_are_nobodys(subject, right, after, **asked):
    return await _events(right, after, asked, lambda e: attrs.evolve(e, owner_id="nobody"))


async def _events(right, after, asked, change):
    found = await right(after, **asked)
    changed = (change(event) for event in found.events)
    return attrs.evolve(found, events=tuple(event for event in changed if event is not None))


@breaks("feed", "read", feed.check_what_is_told)
async def errors_are_not_told(subject, right, after, **asked):
    return await _events(right, after, asked, lambda e: None if e.kind is EventKind.ERROR else e)


@breaks("feed", "read", feed.check_events_of_one_workspace_are_in_order)
async def the_newest_comes_first(subject, right, after, **asked):
    found = await right(after, **asked)
    return attrs.evolve(found, events=found.events[::-1])


@breaks("feed", "read", feed.check_nothing_is_missed_under_load)
async def a_mark_skips_what_comes_late(subject, right, after, **asked):
    found = await right(after, **asked)
    return attrs.evolve(found, mark=str(int(found.mark) + 1)) if found.events else found


@breaks("feed", "read", feed.check_a_purged_workspace_was_told)
async def the_purged_are_forgotten(subject, right, after, **asked):
    rows = subject.world.database.rows
    return await _events(right, after, asked, lambda e: e if e.workspace_id in rows else None)


@breaks("feed", "wakes", feed.check_wakes_come_soon, fails_with=TimeoutError)
async def nobody_is_woken_twice(subject, right):
    yield None
    await asyncio.Event().wait()


# The lock.

breaks = breaker(BREAKAGES, LeadershipSubject)


@breaks(
    "here there",
    "acquire",
    leadership.check_one_node_leads,
    leadership.check_of_many_that_ask_one_leads,
)
async def a_lock_can_be_had_twice(subject, right):
    term = await right()
    if term is None:
        subject.world.database.leader = None
        term = await right()
    return term


@breaks("here there", "acquire", leadership.check_the_epoch_grows)
async def every_epoch_is_the_seventh(subject, right):
    term = await right()
    term._session.epoch = 7
    return term


@breaks("here", "acquire", leadership.check_resigning_hands_over_at_once)
async def who_resigns_keeps_the_lock(subject, right):
    async def keep():
        pass

    return Broken(await right(), resign=keep)


@breaks("here", "acquire", leadership.check_a_beat_proves_the_lock, fails_with=LeadershipLost)
async def no_beat_is_answered(subject, right):
    async def refuse():
        raise LeadershipLost("who knows")

    return Broken(await right(), beat=refuse)


@breaks("here", "acquire", leadership.check_a_beat_fails_when_the_lock_is_gone)
async def every_beat_is_answered(subject, right):
    async def agree():
        pass

    term = await right()
    subject.unseat = lambda _: _unseat(subject, term)
    return Broken(term, beat=agree)


async def _unseat(subject, term):
    subject.world.database.close_session(term._session)


@breaks("there", "acquire", leadership.check_a_waiter_follows_one_that_was_unseated)
async def nobody_waits(subject, right):
    held = subject.world.database.leader is not None
    return None if held else await right()


@breaks("here there", "holder", leadership.check_the_last_holder_is_known)
async def the_holder_is_a_secret(subject, right):
    return None


@breaks("there", "acquire", leadership.check_waiting_can_be_given_up)
async def a_ghost_goes_on_waiting(subject, right):
    try:
        return await right()
    except asyncio.CancelledError:
        database = subject.world.database
        ghost = database.open_session("ghost")
        database.lock_freed.ring = lambda: setattr(database, "leader", ghost)
        raise
