"""The promises of `ReconcilerStore`: compare and set, places, and an epoch in every write."""

import asyncio

import attrs

from wsctl_adapters.conformance.kit import Check, PromiseBroken, ensure, raises
from wsctl_adapters.conformance.stores_kit import (
    AT,
    ENDS,
    LIVED_IN,
    SHA,
    StoresUnderTest,
    at_rest,
    begins,
    claimed,
    everything,
    failed,
    leading,
    make,
    nothing_changes,
    observe,
    ours,
    row,
    same,
    situations,
    succeeded,
    written,
)
from wsctl_core.decisions.planning import needs_work
from wsctl_core.ports import LeadershipLost
from wsctl_core.values.patches import NEXT_NUMBER, ClaimGuard, Guard, ReconcilerPatch
from wsctl_core.values.policy import DEFAULT_POLICY
from wsctl_core.values.states import ObservedStatus, Operation
from wsctl_core.values.workspace import NO_HOME


async def check_work_is_every_row_that_needs_it(subject: StoresUnderTest) -> None:
    """Exactly the rows for which a step may be due are read, as they stand."""
    async with leading(subject) as epoch:
        await situations(subject, epoch)
        rows = await everything(subject)
        work = await subject.reconciler.work()
        told = {ws.id: ws for ws in work.rows}
        due = {id: ws for id, ws in rows.items() if needs_work(ws)}
        ensure(len(told) == len(work.rows), "each row is told once")
        ensure(set(told) == set(due), f"told were {sorted(told)}, due are {sorted(due)}")
        ensure(told == due, "each as it stands")
        ensure(work.now >= max(ws.created_at for ws in rows.values()), "with the store's time")


async def check_one_row_is_read(subject: StoresUnderTest) -> None:
    """One row is read with the time; one that does not exist is no row."""
    new = await make(subject)
    reading = await subject.reconciler.one("w1")
    ensure(reading.rows == (new,), "the row, as it stands")
    ensure(reading.now >= new.created_at, "with the store's time")
    ensure((await subject.reconciler.one("nobody")).rows == (), "nobody has no row")


async def check_holds_tells_whether_guard_and_epoch_hold(subject: StoresUnderTest) -> None:
    """Guard and epoch hold, or one of them does not; asking changes nothing (H8)."""
    await make(subject)
    async with succeeded(subject) as (old, epoch):
        idle = at_rest(await row(subject))
        ensure(await subject.reconciler.holds(epoch, "w1", idle), "the row is at rest")
        await claimed(subject, epoch, Operation.STOPPING)
        mine = ours(Operation.STOPPING)
        async with nothing_changes(subject, "a question"):
            ensure(await subject.reconciler.holds(epoch, "w1", mine), "the operation is ours")
            wrong: tuple[tuple[int, str, Guard, str], ...] = (
                (epoch, "w1", idle, "the row is no longer at rest"),
                (epoch, "w1", ours(Operation.STOPPING, "op2"), "the op_id is another"),
                (epoch, "w1", ours(Operation.STARTING), "the operation is another"),
                (epoch, "nobody", mine, "nobody has no operation"),
                (old, "w1", mine, "the epoch is old"),
            )
            for number, id, guard, why in wrong:
                ensure(not await subject.reconciler.holds(number, id, guard), why)


async def check_a_write_writes_its_patch(subject: StoresUnderTest) -> None:
    """A write changes the columns of its patch, each to the very value, and nothing else."""
    await make(subject)
    async with leading(subject) as epoch:
        before = await row(subject)
        patch = ReconcilerPatch(
            operation=Operation.ARCHIVING,
            op_id="op7",
            op_started_at=AT,
            op_acted_seq=4,
            op_ended_seq=3,
            archive_key="archives/w1/op7/home.tar.gz",
            archive_sha256=SHA,
            archive_size=2**40,
            home=LIVED_IN,
            error_count=2,
            error_info=failed("a 'quoted' word, ü and 漢"),
            next_attempt_at=AT,
            restart_count=5,
            started_at=AT,
            previous_status=ObservedStatus.RUNNING,
            last_access_at=AT,
        )
        after = await written(subject, epoch, patch)
        expected = attrs.evolve(
            before,
            **{field.name: getattr(patch, field.name) for field in attrs.fields(type(patch))},
        )
        same(after, expected, "every column of a patch is written")
        same(await row(subject), after, "what is read is what was answered")
        cleared = ReconcilerPatch(
            operation=Operation.NONE,
            op_id=None,
            op_started_at=None,
            op_acted_seq=None,
            archive_key=None,
            archive_sha256=None,
            archive_size=None,
            home=NO_HOME,
            error_info=None,
            next_attempt_at=None,
        )
        guard = ours(Operation.ARCHIVING, "op7")
        end = await subject.reconciler.write(epoch, "w1", guard, cleared)
        if end is None:
            raise PromiseBroken("the operation was ours, and the write was refused")
        ensure(end.op_id is None and end.error_info is None, "None is written where it stands")
        ensure(end.home == NO_HOME and end.archive_key is None, "in every column")
        ensure(end.error_count == 2 and end.started_at == AT, "and what is not named stays")


async def check_a_write_needs_its_operation(subject: StoresUnderTest) -> None:
    """A write inside an operation is made only while it is the same operation."""
    await make(subject)
    async with leading(subject) as epoch:
        idle = at_rest(await row(subject))
        await claimed(subject, epoch, Operation.STOPPING)
        patch = ReconcilerPatch(error_count=1)
        others: tuple[Guard, ...] = (
            ours(Operation.STOPPING, "op2"),
            ours(Operation.STARTING),
            idle,
        )
        async with nothing_changes(subject, "a write of another operation"):
            for guard in others:
                refused = await subject.reconciler.write(epoch, "w1", guard, patch)
                ensure(refused is None, "a write whose guard does not hold is answered with None")
            nobody = ours(Operation.STOPPING)
            ensure(
                await subject.reconciler.write(epoch, "nobody", nobody, patch) is None,
                "nobody's row can't be written",
            )
        await subject.reconciler.write(epoch, "w1", ours(Operation.STOPPING), ENDS)
        async with nothing_changes(subject, "a late write"):
            late = await subject.reconciler.write(epoch, "w1", ours(Operation.STOPPING), patch)
            ensure(late is None, "an operation that has ended can't be written to")


def _others(guard: ClaimGuard) -> tuple[ClaimGuard, ...]:
    return (
        attrs.evolve(guard, intent_version=guard.intent_version + 1),
        attrs.evolve(guard, observed_seq=guard.observed_seq + 1),
        attrs.evolve(guard, home=NO_HOME),
        attrs.evolve(guard, home=attrs.evolve(guard.home, dirty=False)),
        attrs.evolve(guard, home=attrs.evolve(guard.home, incarnation="i2")),
        attrs.evolve(guard, home=attrs.evolve(guard.home, restore_marker=None)),
    )


async def check_a_claim_needs_what_it_was_planned_on(subject: StoresUnderTest) -> None:
    """A write from rest is made only on the intent, observation and home that it was planned on.

    Contract 4: nor is it made while an operation runs.
    """
    await make(subject)
    async with leading(subject) as epoch:
        await written(subject, epoch, ReconcilerPatch(home=LIVED_IN))
        await observe(subject, epoch, ObservedStatus.STANDBY, "w1")
        guard = at_rest(await row(subject))
        patch = begins(Operation.STOPPING)
        async with nothing_changes(subject, "a claim that was overtaken"):
            for other in _others(guard):
                store = subject.reconciler
                claim = await store.claim(epoch, "w1", other, patch, DEFAULT_POLICY)
                ensure(claim is None, f"{other} does not hold, and the claim is answered with None")
                ensure(await store.write(epoch, "w1", other, patch) is None, "nor does a write")
        first = await subject.reconciler.claim(epoch, "w1", guard, patch, DEFAULT_POLICY)
        ensure(first is not None and first.operation is Operation.STOPPING, "this guard holds")
        async with nothing_changes(subject, "a second claim"):
            again = begins(Operation.STOPPING, "op2")
            second = await subject.reconciler.claim(epoch, "w1", guard, again, DEFAULT_POLICY)
            ensure(second is None, "an operation runs")


async def check_one_of_many_claims_is_made(subject: StoresUnderTest) -> None:
    """Of claims of one workspace at once, exactly one is made (contract 4)."""
    await make(subject)
    async with leading(subject) as epoch:
        guard = at_rest(await row(subject))
        made = await asyncio.gather(
            *(
                subject.reconciler.claim(
                    epoch, "w1", guard, begins(Operation.PROVISIONING, f"op{n}"), DEFAULT_POLICY
                )
                for n in range(8)
            )
        )
        winners = [ws for ws in made if ws is not None]
        ensure(len(winners) == 1, f"{len(winners)} of eight claims were made")
        same(await row(subject), winners[0], "the row is the winner's")


async def check_a_number_is_given_in_the_write(subject: StoresUnderTest) -> None:
    """NEXT_NUMBER is the sequence's next, given in the write, and told in its answer (H19)."""
    await make(subject)
    async with leading(subject) as epoch:
        await claimed(subject, epoch, Operation.STOPPING)
        before = await subject.reconciler.next_number()
        guard = ours(Operation.STOPPING)
        patch = ReconcilerPatch(op_acted_seq=NEXT_NUMBER)
        acted = await subject.reconciler.write(epoch, "w1", guard, patch)
        patch = attrs.evolve(ENDS, op_ended_seq=NEXT_NUMBER)
        ended = await subject.reconciler.write(epoch, "w1", guard, patch)
        after = await subject.reconciler.next_number()
        if acted is None or acted.op_acted_seq is None or ended is None:
            raise PromiseBroken("a write that asks for a number is answered with it")
        ensure(before < acted.op_acted_seq < ended.op_ended_seq < after, "numbers in order")


async def check_writes_of_an_old_leader_change_nothing(subject: StoresUnderTest) -> None:
    """A write or claim of one that leads no more is refused, whatever its guard (H1)."""
    await make(subject, "w1")
    await make(subject, "w2")
    async with succeeded(subject) as (old, epoch):
        await claimed(subject, epoch, Operation.STOPPING)
        idle = at_rest(await row(subject, "w2"))
        patch = ReconcilerPatch(error_count=1)
        begin, start = begins(Operation.STOPPING), begins(Operation.STARTING)
        store = subject.reconciler
        async with nothing_changes(subject, "a write of an old leader"):
            for wrong in (old, epoch + 1):
                for id, guard in (
                    ("w1", ours(Operation.STOPPING)),
                    ("w1", ours(Operation.STARTING)),
                    ("nobody", ours(Operation.STOPPING)),
                ):
                    async with raises(LeadershipLost):
                        await store.write(wrong, id, guard, patch)
                async with raises(LeadershipLost):
                    await store.claim(wrong, "w2", idle, begin, DEFAULT_POLICY)
                async with raises(LeadershipLost):
                    await store.claim(wrong, "w2", idle, start, DEFAULT_POLICY)
        ensure(await store.write(epoch, "w2", idle, patch) is not None, "the new leader's is made")


CHECKS: tuple[Check[StoresUnderTest], ...] = (
    check_work_is_every_row_that_needs_it,
    check_one_row_is_read,
    check_holds_tells_whether_guard_and_epoch_hold,
    check_a_write_writes_its_patch,
    check_a_write_needs_its_operation,
    check_a_claim_needs_what_it_was_planned_on,
    check_one_of_many_claims_is_made,
    check_a_number_is_given_in_the_write,
    check_writes_of_an_old_leader_change_nothing,
)
