"""The promises of `MonitorStore`: numbers in order, and one write for all that a pass found."""

import asyncio

import attrs

from wsctl_adapters.conformance.kit import Check, ensure, raises
from wsctl_adapters.conformance.stores_kit import (
    AT,
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
    seen,
    succeeded,
    wanted,
    written,
)
from wsctl_core.ports import Findings, LeadershipLost
from wsctl_core.values.observation import LastExit, Suspect, SuspectKind
from wsctl_core.values.patches import NEXT_NUMBER, Alarm, MonitorPatch, ReconcilerPatch
from wsctl_core.values.policy import DEFAULT_POLICY
from wsctl_core.values.states import HealthStatus, ObservedStatus, Operation

STANDBY, RUNNING = ObservedStatus.STANDBY, ObservedStatus.RUNNING


def _findings(
    number: int, *, complete: bool = False, alarms: tuple[str, ...] = (), **seen_as: ObservedStatus
) -> Findings:
    return Findings(
        number=number,
        patches={id: seen(status, number) for id, status in seen_as.items()},
        alarms={id: Alarm(error_info=failed("no volume")) for id in alarms},
        complete=complete,
    )


async def check_numbers_are_given_once_and_in_order(subject: StoresUnderTest) -> None:
    """Whoever asks for a number gets a larger one than all before, and nobody gets it twice."""
    await make(subject)
    async with leading(subject) as epoch:
        await claimed(subject, epoch, Operation.PROVISIONING)
        operation = ours(Operation.PROVISIONING)

        async def passes() -> list[int]:
            return [(await subject.monitor.begin_pass()).number for _ in range(5)]

        async def stamps() -> list[int]:
            return [await subject.reconciler.next_number() for _ in range(5)]

        async def writes() -> list[int]:
            given = []
            for _ in range(5):
                patch = ReconcilerPatch(op_acted_seq=NEXT_NUMBER)
                after = await subject.reconciler.write(epoch, "w1", operation, patch)
                given.append(after.op_acted_seq if after and after.op_acted_seq else 0)
            return given

        async def rows() -> list[int]:
            made = [await make(subject, f"x{n}") for n in range(5)]
            return [ws.created_seq for ws in made]

        given = await asyncio.gather(passes(), stamps(), writes(), rows(), passes())
        for numbers in given:
            ensure(numbers == sorted(numbers), "each asker's numbers grow")
        together = [number for numbers in given for number in numbers]
        ensure(len(set(together)) == len(together), "no number is given twice")
        ensure(min(together) > 0, "zero is nobody's number")


async def check_a_pass_writes_what_it_found(subject: StoresUnderTest) -> None:
    """A pass writes the monitor's columns of the rows it names, and tells how many it changed."""
    await make(subject, "w1")
    await make(subject, "w2")
    async with leading(subject) as epoch:
        await claimed(subject, epoch, Operation.STOPPING)
        before = await everything(subject)
        number = (await subject.monitor.begin_pass()).number
        patch = MonitorPatch(
            observed_status=STANDBY,
            health_status=HealthStatus.ERROR,
            observed_at=AT,
            observed_seq=number,
            suspect=Suspect(what=SuspectKind.HOME_MISSING, identity="i1", seq=number),
            last_exit=LastExit(exit_code=137, out_of_memory=True, at=AT),
        )
        found = Findings(number=number, patches={"w1": patch}, alarms={}, complete=False)
        changed = await subject.monitor.end_pass(epoch, found)
        ensure(changed == 1, "one row was changed")
        after = await everything(subject)
        expected = attrs.evolve(
            before["w1"],
            observed_status=patch.observed_status,
            health_status=patch.health_status,
            observed_at=patch.observed_at,
            observed_seq=number,
            suspect=patch.suspect,
            last_exit=patch.last_exit,
        )
        same(after["w1"], expected, "a pass writes only what the monitor may")
        same(after["w2"], before["w2"], "a row that is not named stays")
        later = (await subject.monitor.begin_pass()).number
        await subject.monitor.end_pass(epoch, _findings(later, w1=RUNNING))
        cleared = await row(subject)
        ensure(cleared.suspect is None and cleared.last_exit is None, "nothing odd: it is cleared")


async def check_an_empty_pass_changes_no_row(subject: StoresUnderTest) -> None:
    """A pass that found nothing new changes nothing, nor does one that names nobody's row."""
    await make(subject)
    async with leading(subject) as epoch:
        number = (await subject.monitor.begin_pass()).number
        async with nothing_changes(subject, "a pass that found nothing"):
            ensure(await subject.monitor.end_pass(epoch, _findings(number)) == 0, "none changed")
            nobody = _findings(number, nobody=STANDBY, alarms=("nobody",))
            ensure(await subject.monitor.end_pass(epoch, nobody) == 0, "no row, none changed")


async def check_an_older_pass_changes_nothing(subject: StoresUnderTest) -> None:
    """A row whose number is not smaller keeps what it has, its error too (H19)."""
    await make(subject, "w1")
    await make(subject, "w2")
    async with leading(subject) as epoch:
        older = (await subject.monitor.begin_pass()).number
        newer = (await subject.monitor.begin_pass()).number
        await subject.monitor.end_pass(epoch, _findings(newer, w1=RUNNING))
        async with nothing_changes(subject, "a pass that was overtaken"):
            for late in (older, newer):
                found = _findings(late, w1=STANDBY, alarms=("w1",))
                ensure(await subject.monitor.end_pass(epoch, found) == 0, "it changed nothing")
        mixed = _findings(older, w1=STANDBY, w2=STANDBY)
        ensure(await subject.monitor.end_pass(epoch, mixed) == 1, "each row is judged by itself")
        ensure((await row(subject, "w2")).observed_status is STANDBY, "a row that it is newer for")
        ensure((await row(subject, "w1")).observed_status is RUNNING, "and one that it is not")
        overtaken = (await subject.monitor.begin_pass()).number
        complete = (await subject.monitor.begin_pass()).number
        await subject.monitor.end_pass(epoch, _findings(complete, complete=True))
        async with nothing_changes(subject, "a pass that a complete one has overtaken"):
            found = _findings(overtaken, w1=STANDBY, alarms=("w1",))
            ensure(await subject.monitor.end_pass(epoch, found) == 0, "unnamed rows are as fresh")


async def check_an_alarm_is_set_only_where_there_is_no_error(subject: StoresUnderTest) -> None:
    """An alarm sets the error where there is none, and never replaces one."""
    for id in ("w1", "w2", "w3"):
        await make(subject, id)
    async with leading(subject) as epoch:
        await written(subject, epoch, ReconcilerPatch(error_info=failed("earlier")), "w2")
        before = await everything(subject)
        number = (await subject.monitor.begin_pass()).number
        found = _findings(number, w1=RUNNING, alarms=("w1", "w2", "w3"))
        changed = await subject.monitor.end_pass(epoch, found)
        after = await everything(subject)
        alarm = failed("no volume")
        ensure(after["w1"].error_info == alarm, "an alarm is set beside a patch")
        ensure(after["w3"].error_info == alarm, "and without one")
        same(after["w2"], before["w2"], "an error that was there stays")
        ensure(changed == 2, "a row with a patch and an alarm counts once, one that stays does not")


async def check_only_a_complete_pass_records_its_number(subject: StoresUnderTest) -> None:
    """A complete pass records its number, which never goes back; an incomplete one does not."""
    async with leading(subject) as epoch:
        ensure((await subject.reader.some([])).pass_seq == 0, "at first there was no pass")
        first = (await subject.monitor.begin_pass()).number
        second = (await subject.monitor.begin_pass()).number
        await subject.monitor.end_pass(epoch, _findings(second))
        ensure((await subject.reader.some([])).pass_seq == 0, "an incomplete pass records nothing")
        await subject.monitor.end_pass(epoch, _findings(second, complete=True))
        ensure((await subject.reader.some([])).pass_seq == second, "a complete one its number")
        await subject.monitor.end_pass(epoch, _findings(first, complete=True))
        ensure((await subject.reader.some([])).pass_seq == second, "an older one takes none back")
        ensure((await subject.reconciler.work()).pass_seq == second, "every reading tells it")
        ensure((await subject.reconciler.one("w1")).pass_seq == second, "and of one row, too")
        ensure((await subject.reader.changed(None)).pass_seq == second, "and of changes")


async def check_a_pass_of_a_whole_fleet(subject: StoresUnderTest) -> None:
    """A pass that found something new about every row writes all of it."""
    ids = [f"w{n}" for n in range(60)]
    await asyncio.gather(*(subject.intents.create(wanted(id), DEFAULT_POLICY) for id in ids))
    async with leading(subject) as epoch:
        number = (await subject.monitor.begin_pass()).number
        found = Findings(
            number=number,
            patches={id: seen(RUNNING if n % 2 else STANDBY, number) for n, id in enumerate(ids)},
            alarms={id: Alarm(error_info=failed(id)) for id in ids[::3]},
            complete=True,
        )
        ensure(await subject.monitor.end_pass(epoch, found) == len(ids), "every row was changed")
        rows = await everything(subject)
        for n, id in enumerate(ids):
            status = RUNNING if n % 2 else STANDBY
            ensure(rows[id].observed_status is status, "each row got its own status")
            error = rows[id].error_info
            ensure((None if error is None else error.message) == (None if n % 3 else id), "alarms")


async def check_a_pass_of_an_old_leader_changes_nothing(subject: StoresUnderTest) -> None:
    """A pass of one that leads no more is refused whole: rows, alarms and number (H1)."""
    await make(subject)
    number = (await subject.monitor.begin_pass()).number
    async with succeeded(subject) as (old, new):
        found = _findings(number, w1=RUNNING, alarms=("w1",), complete=True)
        async with nothing_changes(subject, "a pass of an old leader"):
            for epoch in (old, new + 1):
                async with raises(LeadershipLost):
                    await subject.monitor.end_pass(epoch, found)
                async with raises(LeadershipLost):
                    await subject.monitor.end_pass(epoch, _findings(number, complete=True))
        ensure(await subject.monitor.end_pass(new, found) == 1, "the new leader's is written")


CHECKS: tuple[Check[StoresUnderTest], ...] = (
    check_numbers_are_given_once_and_in_order,
    check_a_pass_writes_what_it_found,
    check_an_empty_pass_changes_no_row,
    check_an_older_pass_changes_nothing,
    check_an_alarm_is_set_only_where_there_is_no_error,
    check_only_a_complete_pass_records_its_number,
    check_a_pass_of_a_whole_fleet,
    check_a_pass_of_an_old_leader_changes_nothing,
)
