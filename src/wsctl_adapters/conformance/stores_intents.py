"""The promises of `IntentStore`: what people want is written whole, and limits are exact (H32)."""

import asyncio

import attrs

from wsctl_adapters.conformance.kit import Check, PromiseBroken, ensure, raises
from wsctl_adapters.conformance.stores_kit import (
    AT,
    SHA,
    StoresUnderTest,
    claimed,
    everything,
    failed,
    leading,
    make,
    nothing_changes,
    ours,
    row,
    same,
    wanted,
    wishing,
    written,
)
from wsctl_core.decisions.intent import IntentAnswer, IntentOutcome
from wsctl_core.decisions.limits import Usage
from wsctl_core.decisions.recovery import RecoveryAnswer, RecoveryOutcome, recovery_decision
from wsctl_core.ports import Situation
from wsctl_core.values.patches import IntentPatch, ReconcilerPatch
from wsctl_core.values.policy import DEFAULT_POLICY, Policy
from wsctl_core.values.reasons import Reason
from wsctl_core.values.states import Actor, DesiredState, Operation
from wsctl_core.values.validation import InvalidValue
from wsctl_core.values.workspace import Workspace

RUNNING, STANDBY = DesiredState.RUNNING, DesiredState.STANDBY
ONE_EACH = Policy(max_running_per_user=1, max_running_global=100)
ONE_IN_ALL = Policy(max_running_per_user=1, max_running_global=1)


async def check_a_new_row_has_nothing_and_does_nothing(subject: StoresUnderTest) -> None:
    """A new row is as the specification says: nothing exists, nothing is being done."""
    answer = await subject.intents.create(wanted(desired=RUNNING), DEFAULT_POLICY)
    if answer.ws is None:
        raise PromiseBroken("the answer holds the row that was written")
    ensure(answer.verdict.outcome is IntentOutcome.WRITTEN, "the verdict says that it was written")
    new = answer.ws
    expected = Workspace.created(
        id="w1",
        owner_id="ann",
        name="work",
        image="ide:1",
        at=new.created_at,
        seq=new.created_seq,
        desired_state=RUNNING,
    )
    expected = attrs.evolve(expected, standby_ttl_seconds=200, archive_ttl_seconds=7000)
    same(new, expected, "every other column is at its beginning")
    same(await row(subject), new, "what is read is what was answered")


async def check_a_new_row_takes_its_place_in_the_sequence(subject: StoresUnderTest) -> None:
    """The row's number lies between those that were given before and after it (H19)."""
    before = await subject.monitor.begin_pass()
    new = await make(subject)
    after = await subject.monitor.begin_pass()
    ensure(before.number < new.created_seq < after.number, "numbers are given in order")
    ensure(before.now <= new.created_at <= after.now, "and times are of one clock")


async def check_an_identity_is_used_once(subject: StoresUnderTest) -> None:
    """A second workspace of the same identity is refused, and the first stays as it is."""
    await make(subject)
    async with nothing_changes(subject, "an identity that is taken"), raises(InvalidValue):
        await subject.intents.create(wanted(owner_id="bob"), DEFAULT_POLICY)


async def check_creation_is_refused_at_a_limit(subject: StoresUnderTest) -> None:
    """Where there is no place, nothing is inserted, and the verdict says whose limit it was."""
    first = await subject.intents.create(wanted("w1", desired=RUNNING), ONE_EACH)
    ensure(first.ws is not None, "the first takes the place")
    async with nothing_changes(subject, "a refused creation"):
        mine = await subject.intents.create(wanted("w2", desired=RUNNING), ONE_EACH)
        bobs = wanted("w3", owner_id="bob", desired=RUNNING)
        theirs = await subject.intents.create(bobs, ONE_IN_ALL)
    ensure(mine.verdict.reason is Reason.USER_LIMIT_REACHED, "the user's limit")
    ensure(theirs.verdict.reason is Reason.GLOBAL_LIMIT_REACHED, "the limit for everyone")
    ensure(mine.ws is None and theirs.ws is None, "there is no row to answer with")


async def check_what_need_not_run_takes_no_place(subject: StoresUnderTest) -> None:
    """A workspace that is not to run is created whatever the limit; nor does it hold a place."""
    for id in ("w1", "w2", "w3"):
        answer = await subject.intents.create(wanted(id), ONE_IN_ALL)
        ensure(answer.ws is not None, "it needs no place")
    answer = await subject.intents.create(wanted("w4", desired=RUNNING), ONE_IN_ALL)
    ensure(answer.ws is not None, "and has taken none")


async def check_one_of_many_creations_takes_the_last_place(subject: StoresUnderTest) -> None:
    """Of twenty that ask at once for one last place, exactly one gets it."""
    asked = [
        subject.intents.create(wanted(f"w{n}", owner_id=f"user{n}", desired=RUNNING), ONE_IN_ALL)
        for n in range(20)
    ]
    answers = await asyncio.gather(*asked)
    got = [answer for answer in answers if answer.ws is not None]
    ensure(len(got) == 1, f"{len(got)} of twenty got the one place")
    ensure(len(await everything(subject)) == 1, "and there is one row")


async def check_a_change_writes_what_was_decided(subject: StoresUnderTest) -> None:
    """A change writes the patch that was decided on the row, and nothing else."""
    before = await make(subject)
    answer = await subject.intents.change(
        "w1", wishing(desired_state=RUNNING, name="other", standby_ttl_seconds=60)
    )
    if answer is None or answer.ws is None:
        raise PromiseBroken("a change of a row that exists is answered with the row")
    expected = attrs.evolve(
        before,
        desired_state=RUNNING,
        name="other",
        standby_ttl_seconds=60,
        intent_version=1,
        intent_changed_at=answer.ws.intent_changed_at,
    )
    same(answer.ws, expected, "only what was wished for changed")
    ensure(answer.ws.intent_changed_at >= before.created_at, "at a time of the one clock")
    same(await row(subject), answer.ws, "what is read is what was answered")
    gone = await subject.intents.change("w1", wishing(delete=True))
    ensure(gone is not None and gone.ws is not None, "a deletion is a change, too")
    ensure((await row(subject)).deleted_at is not None, "and is written")


async def check_a_change_of_nothing(subject: StoresUnderTest) -> None:
    """A refused or needless change writes nothing; one of nobody has no answer."""
    await make(subject)
    async with nothing_changes(subject, "a change that is none"):
        stale = await subject.intents.change("w1", wishing(name="other", intent_version=7))
        needless = await subject.intents.change("w1", wishing(desired_state=STANDBY))
        nobody = await subject.intents.change("nobody", wishing(name="other"))
    ensure(stale is not None and stale.ws is not None, "a refusal comes with the row")
    ensure(stale is not None and stale.verdict.outcome is IntentOutcome.REFUSED, "a stale wish")
    ensure(
        needless is not None and needless.verdict.outcome is IntentOutcome.UNCHANGED,
        "a wish that is fulfilled",
    )
    ensure(nobody is None, "there is no such workspace")


async def check_others_intents_are_counted(subject: StoresUnderTest) -> None:
    """What is counted are intents to run of others: not its own, and none that is to be deleted."""
    for id, owner_id in (("w1", "ann"), ("w2", "ann"), ("w3", "bob"), ("w4", "ann")):
        await make(subject, id, owner_id=owner_id, desired=STANDBY if id == "w4" else RUNNING)
    counted: dict[str, Usage] = {}

    def note(situation: Situation) -> IntentAnswer:
        counted[situation.ws.id] = situation.usage
        return wishing(name="noted")(situation)

    for id in ("w1", "w3", "w4"):
        await subject.intents.change(id, note)
    ensure(counted["w1"] == Usage(by_user=1, in_all=2), "a workspace does not count itself")
    ensure(counted["w3"] == Usage(by_user=0, in_all=2), "each user's are counted apart")
    ensure(counted["w4"] == Usage(by_user=2, in_all=3), "who is not to run does not count")
    await subject.intents.change("w2", wishing(delete=True))
    await subject.intents.change("w4", note)
    ensure(counted["w4"] == Usage(by_user=1, in_all=2), "nor who is to be deleted")


async def check_one_of_many_changes_takes_the_last_place(subject: StoresUnderTest) -> None:
    """Changes and creations that ask at once for one last place: exactly one gets it (H32)."""
    ids = [f"w{n}" for n in range(8)]
    for id in ids:
        await make(subject, id, owner_id=id)
    wake = wishing(policy=ONE_IN_ALL, desired_state=RUNNING)
    new = [wanted(f"x{n}", owner_id=f"x{n}", desired=RUNNING) for n in range(8)]
    await asyncio.gather(
        *(subject.intents.change(id, wake) for id in ids),
        *(subject.intents.create(each, ONE_IN_ALL) for each in new),
    )
    runs = [ws.id for ws in (await everything(subject)).values() if ws.desired_state is RUNNING]
    ensure(len(runs) == 1, f"{len(runs)} got the one place")


async def check_changes_of_one_row_follow_one_another(subject: StoresUnderTest) -> None:
    """Changes of one workspace at once are each decided on the row that the last one left."""
    await make(subject)

    def turn(situation: Situation) -> IntentAnswer:
        runs = situation.ws.desired_state is RUNNING
        return wishing(desired_state=STANDBY if runs else RUNNING)(situation)

    await asyncio.gather(*(subject.intents.change("w1", turn) for _ in range(10)))
    ensure((await row(subject)).intent_version == 10, "none of ten changes was lost")


def _recover(ws: Workspace) -> RecoveryAnswer:
    return recovery_decision(ws, Actor.ADMINISTRATOR)


async def _in_error(subject: StoresUnderTest, epoch: int) -> Workspace:
    patch = ReconcilerPatch(
        error_info=failed(),
        error_count=3,
        next_attempt_at=AT,
        restart_count=4,
        archive_key="k",
        archive_sha256=SHA,
        archive_size=5,
    )
    return await written(subject, epoch, patch)


async def check_a_recovery_resets_four_columns(subject: StoresUnderTest) -> None:
    """A recovery resets the error, its count, its wait and the restarts, and nothing else."""
    await make(subject)
    async with leading(subject) as epoch:
        before = await _in_error(subject, epoch)
        answer = await subject.intents.recover("w1", _recover)
    ensure(
        answer is not None and answer.verdict.outcome is RecoveryOutcome.RECOVERED,
        "the decision is the answer",
    )
    after = attrs.evolve(
        before, error_info=None, error_count=0, next_attempt_at=None, restart_count=0
    )
    same(await row(subject), after, "a recovery")


async def check_a_loss_is_accepted_with_the_recovery(subject: StoresUnderTest) -> None:
    """The acceptance of a loss and the recovery are written as one."""
    await make(subject)
    async with leading(subject) as epoch:
        await _in_error(subject, epoch)

    def accept(ws: Workspace) -> RecoveryAnswer:
        return attrs.evolve(_recover(ws), intent=IntentPatch(loss_accepted="k"))

    await subject.intents.recover("w1", accept)
    after = await row(subject)
    ensure(after.loss_accepted == "k", "the loss that was accepted is named")
    ensure(after.error_info is None, "and the error is gone")
    ensure(after.intent_version == 0, "what is wanted has not changed")


async def check_a_refused_recovery_writes_nothing(subject: StoresUnderTest) -> None:
    """A recovery that is refused changes nothing; one of nobody has no answer."""
    await make(subject)
    async with nothing_changes(subject, "a refused recovery"):
        answer = await subject.intents.recover("w1", _recover)
        ensure(await subject.intents.recover("nobody", _recover) is None, "nobody has no answer")
    ensure(
        answer is not None and answer.verdict.outcome is RecoveryOutcome.REFUSED,
        "what is not in error is not recovered",
    )


async def check_a_recovery_leaves_a_running_operation(subject: StoresUnderTest) -> None:
    """While an operation runs, a recovery resets nothing, whatever was decided."""
    await make(subject)
    async with leading(subject) as epoch:
        await claimed(subject, epoch, Operation.DELETING)
        patch = ReconcilerPatch(error_info=failed(terminal=False), error_count=1)
        await subject.reconciler.write(epoch, "w1", ours(Operation.DELETING), patch)
        rested = attrs.evolve(
            await row(subject), operation=Operation.NONE, op_acted_seq=None, error_info=failed()
        )
        allowed = _recover(rested)
        ensure(allowed.recovery is not None, "the decision was made before the operation began")
        async with nothing_changes(subject, "a recovery beside an operation"):
            await subject.intents.recover("w1", lambda _: allowed)


CHECKS: tuple[Check[StoresUnderTest], ...] = (
    check_a_new_row_has_nothing_and_does_nothing,
    check_a_new_row_takes_its_place_in_the_sequence,
    check_an_identity_is_used_once,
    check_creation_is_refused_at_a_limit,
    check_what_need_not_run_takes_no_place,
    check_one_of_many_creations_takes_the_last_place,
    check_a_change_writes_what_was_decided,
    check_a_change_of_nothing,
    check_others_intents_are_counted,
    check_one_of_many_changes_takes_the_last_place,
    check_changes_of_one_row_follow_one_another,
    check_a_recovery_resets_four_columns,
    check_a_loss_is_accepted_with_the_recovery,
    check_a_refused_recovery_writes_nothing,
    check_a_recovery_leaves_a_running_operation,
)
