"""The service: who may ask for what, what it writes, and what it answers instead."""

import asyncio
from contextlib import aclosing
from typing import Any

import attrs
import pytest

from tests.app.house import ADMIN, ANN, BOB, House, Silent
from tests.core.builders import CLEAN, DIRTY, KEY, SHA, T0
from wsctl_app.coordinator.executor import Transferred
from wsctl_app.service import (
    Changed,
    Gone,
    Heartbeat,
    Invalid,
    LimitReached,
    NotAllowed,
    NotFound,
    NotRecoverable,
    Order,
    Snapshot,
    Stale,
    Told,
    Transfer,
    watching,
)
from wsctl_core import (
    DesiredState,
    ErrorInfo,
    ErrorReason,
    HealthStatus,
    ObservedStatus,
    Operation,
    Policy,
    Reason,
    Stamp,
    Wish,
    Workspace,
)
from wsctl_core.ports import Hint

LOST = ErrorInfo(
    reason=ErrorReason.DATA_LOST,
    message="the home is gone",
    is_terminal=True,
    operation=Operation.NONE,
    error_count=1,
    occurred_at=T0,
)
STOP = Wish(desired_state=DesiredState.STANDBY)
RUN = Wish(desired_state=DesiredState.RUNNING)


def nothing(_workspace_id: str) -> None:
    return None


async def made(house: House, caller: Any = ANN, **order: Any) -> Workspace:
    return await house.service.create(caller, Order(**{"name": "thesis", **order}))


# ----------------------------------------------------------------------------------- creation


def test_a_new_workspace_is_wanted_running_and_takes_the_defaults():
    """An order that names only a name gets the settings' image and times to live."""
    house = House()
    ws = asyncio.run(made(house))
    assert house.row(ws.id) == ws
    assert (ws.owner_id, ws.name, ws.image) == ("ann", "thesis", "starter")
    assert (ws.desired_state, ws.standby_ttl_seconds) == (DesiredState.RUNNING, 300)


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("name", "  ", "expected some text"),
        ("name", "a\nb", "has characters that can't be shown"),
        ("name", "x" * 101, "expected at most 100 characters, got 101"),
        ("image", "a\tb", "has characters that can't be shown"),
        ("standby_ttl_seconds", 0, "expected 1 to 316224000 seconds, got 0"),
        ("archive_ttl_seconds", -1, "expected 1 to 316224000 seconds, got -1"),
    ],
)
def test_nonsense_is_refused_by_its_field(field: str, value: object, problem: str):
    """A bad value is told with its field and the reason, and no row is made."""
    house = House()
    with pytest.raises(Invalid) as refused:
        asyncio.run(made(house, **{field: value}))
    assert (refused.value.field, refused.value.problem) == (field, problem)
    assert not house.world.database.rows


def test_only_an_administrator_makes_workspaces_for_others():
    """Somebody else's name in an order is refused, unless an administrator gives it."""
    house = House()
    with pytest.raises(NotAllowed):
        asyncio.run(made(house, owner_id="bob"))
    assert asyncio.run(made(house, ADMIN, owner_id="bob")).owner_id == "bob"


def test_a_limit_names_who_holds_the_places():
    """One too many is refused with the reason, the limit and the workspaces that run."""
    house = House()

    async def story() -> LimitReached:
        first, second = await made(house, name="a"), await made(house, name="b")
        with pytest.raises(LimitReached) as refused:
            await made(house, name="c")
        assert {holder.id for holder in refused.value.holders} == {first.id, second.id}
        return refused.value

    refused = asyncio.run(story())
    assert (refused.reason, refused.limit) == (Reason.USER_LIMIT_REACHED, 2)
    assert str(refused) == "This user has as many running workspaces as allowed (2)."
    assert len(house.world.database.rows) == 2


def test_the_limit_for_everyone_tells_a_user_only_of_their_own():
    """What others run is counted, and not named to a user; an administrator is told all."""
    house = House(Policy(max_running_per_user=1, max_running_global=1))

    async def story() -> None:
        theirs = await made(house, BOB)
        with pytest.raises(LimitReached) as refused:
            await made(house, ANN)
        assert refused.value.reason is Reason.GLOBAL_LIMIT_REACHED
        assert refused.value.holders == ()
        with pytest.raises(LimitReached) as told:
            await made(house, ADMIN)
        assert [holder.id for holder in told.value.holders] == [theirs.id]

    asyncio.run(story())


def test_two_at_once_never_both_take_the_last_place():
    """H32: of many concurrent orders, as many are granted as there are places."""
    house = House()

    async def story() -> list[Any]:
        orders = (made(house, name=f"w{n}") for n in range(6))
        return await asyncio.gather(*orders, return_exceptions=True)

    answers = asyncio.run(story())
    assert sum(isinstance(answer, Workspace) for answer in answers) == 2
    assert sum(isinstance(answer, LimitReached) for answer in answers) == 4


# ------------------------------------------------------------------------------------- access


def test_somebody_elses_workspace_looks_as_if_there_were_none():
    """Every call about it is answered exactly as for an identity that nobody has."""
    house = House()
    service = house.service

    async def story() -> None:
        ws = await made(house)
        for ws_id in (ws.id, "nobody", "not/an identity"):
            for call in (
                service.get(BOB, ws_id),
                service.change(BOB, ws_id, STOP),
                service.delete(BOB, ws_id),
                service.recover(BOB, ws_id),
                service.explain(BOB, ws_id, nothing),
                service.keep_alive(BOB, ws_id, 60),
                service.address(BOB, ws_id),
                anext(house.watching().watch(BOB, ws_id)),
            ):
                with pytest.raises(NotFound, match=f"There is no workspace {ws_id}"):
                    await call
        assert house.row(ws.id) == ws

    asyncio.run(story())


def test_a_listing_shows_a_user_their_own_and_an_administrator_all():
    """Pages go on where the last one ended, and nobody's filter shows more than they may see."""
    house = House()

    async def story() -> None:
        mine = {(await made(house, ANN, desired_state=DesiredState.STANDBY)).id for _ in range(3)}
        theirs = (await made(house, BOB)).id
        first = await house.service.list(ANN, limit=2)
        rest = await house.service.list(ANN, limit=2, after=first.after)
        assert {ws.id for ws in (*first.rows, *rest.rows)} == mine
        assert (await house.service.list(ANN, owner_id="bob")).rows == ()
        assert {ws.id for ws in (await house.service.list(ADMIN)).rows} == {*mine, theirs}
        assert [ws.id for ws in (await house.service.list(ADMIN, owner_id="bob")).rows] == [theirs]
        with pytest.raises(Invalid):
            await house.service.list(ANN, limit=0)

    asyncio.run(story())


# ------------------------------------------------------------------------------------- wishes


def test_a_wish_is_written_with_a_new_version_and_a_hint():
    """An intent is acted on at once: the reconciler is told, and of a new row the monitor."""
    house = House()

    async def story() -> None:
        number, queue = house.world.signals.listen()
        ws = await made(house)
        changed = await house.service.change(ANN, ws.id, STOP)
        assert (changed.desired_state, changed.intent_version) == (DesiredState.STANDBY, 1)
        hints = [queue.get_nowait() for _ in range(3)]
        assert hints == [Hint.LOOK, Hint.WORK, Hint.WORK]
        await house.service.change(ANN, ws.id, STOP)
        assert queue.get_nowait() is Hint.LOOK  # who asks again may know better than the last look
        assert queue.empty()
        del house.world.signals.listeners[number]

    asyncio.run(story())


def test_a_hint_that_fails_is_logged_and_fails_nothing():
    """Contract 2: losing every hint loses nothing but time."""
    house = House()
    service = house.serving(attrs.evolve(house.outside, hints=Silent()))
    ws = asyncio.run(service.create(ANN, Order(name="thesis")))
    assert house.row(ws.id) == ws
    assert ("no hint was sent", {"why": "nobody hears LOOK"}) in house.heard.events


def test_one_event_is_logged_for_each_verdict():
    """The log renders the verdict: outcome and reason, of which workspace."""
    house = House()
    ws = asyncio.run(made(house))
    about = {
        "asked": "create",
        "workspace": ws.id,
        "outcome": "WRITTEN",
        "why": "intent_written",
    }
    assert house.heard.events == [("intent", about)]


def test_a_stale_wish_changes_nothing_and_is_told_the_present_version():
    """A wish on an old version is refused, and so is a deletion on one."""
    house = House()

    async def story() -> None:
        ws = await made(house)
        await house.service.change(ANN, ws.id, STOP)
        before = house.row(ws.id)
        for call in (
            house.service.change(ANN, ws.id, attrs.evolve(RUN, intent_version=0)),
            house.service.delete(ANN, ws.id, intent_version=0),
        ):
            with pytest.raises(Stale) as refused:
                await call
            assert refused.value.current == 1
        assert house.row(ws.id) == before

    asyncio.run(story())


def test_names_and_times_to_live_are_checked_when_they_are_changed():
    """A change is held to the rules of an order."""
    house = House()

    async def story() -> None:
        ws = await made(house)
        for wish in (Wish(name=" "), Wish(standby_ttl_seconds=0), Wish(archive_ttl_seconds=0)):
            with pytest.raises(Invalid):
                await house.service.change(ANN, ws.id, wish)
        renamed = await house.service.change(ANN, ws.id, Wish(name=" lab ", standby_ttl_seconds=9))
        assert (renamed.name, renamed.standby_ttl_seconds) == ("lab", 9)

    asyncio.run(story())


def test_after_deletion_nothing_else_can_be_wanted():
    """Deletion may be asked for twice; anything else comes too late."""
    house = House()

    async def story() -> None:
        ws = await made(house)
        gone = await house.service.delete(ANN, ws.id)
        assert gone.deleted_at is not None
        assert (await house.service.delete(ANN, ws.id)).deleted_at == gone.deleted_at
        with pytest.raises(Gone):
            await house.service.change(ANN, ws.id, RUN)

    asyncio.run(story())


def test_an_expiry_goes_through_the_service_and_names_its_version():
    """What the TTL manager asks for is a wish like any other; a newer word stands."""
    house = House()

    async def story() -> None:
        ws = await made(house)
        stale = await house.service.expire(ws.id, attrs.evolve(STOP, intent_version=7))
        assert stale is not None
        assert stale.verdict.reason is Reason.INTENT_STALE
        written = await house.service.expire(ws.id, attrs.evolve(STOP, intent_version=0))
        assert written is not None
        assert house.row(ws.id).desired_state is DesiredState.STANDBY
        assert await house.service.expire("nobody", STOP) is None

    asyncio.run(story())


def test_keep_alive_is_bounded_and_reaches_the_activity_store():
    """It holds the standby TTL for at most as long as the settings allow."""
    house = House()

    async def story() -> None:
        ws = await made(house)
        with pytest.raises(Invalid, match="expected 0 to 86400, got 86401"):
            await house.service.keep_alive(ANN, ws.id, 86401)
        await house.service.keep_alive(ANN, ws.id, 60)
        assert ws.id in house.world.activity.kept_alive

    asyncio.run(story())


# ----------------------------------------------------------------------------------- recovery


async def in_error(house: House, **columns: Any) -> Workspace:
    ws = await made(house)
    return house.put(ws, health_status=HealthStatus.ERROR, error_info=LOST, **columns)


def test_recovery_is_refused_by_the_rule_that_decided():
    """Nothing to recover; an owner where data may be lost; a loss that nobody names."""
    house = House()

    async def refused(caller: Any, ws: Workspace, **how: Any) -> Reason:
        with pytest.raises(NotRecoverable) as error:
            await house.service.recover(caller, ws.id, **how)
        assert house.row(ws.id) == ws
        return error.value.verdict.reason

    async def story() -> None:
        well = await made(house)
        assert await refused(ANN, well) is Reason.NOT_IN_ERROR
        ws = await in_error(house, home=DIRTY)
        assert await refused(ANN, ws) is Reason.ONLY_ADMINISTRATOR_RECOVERS
        assert await refused(ANN, ws, accept_loss="i1") is Reason.ONLY_ADMINISTRATOR_ACCEPTS
        assert await refused(ADMIN, ws, accept_loss="other") is Reason.ACCEPTS_UNKNOWN

    asyncio.run(story())


def test_a_plain_recovery_resets_the_error():
    """An administrator has it tried again, and monitor and reconciler are told."""
    house = House()

    async def story() -> None:
        ws = await in_error(house, home=DIRTY)
        number, queue = house.world.signals.listen()
        assert (await house.service.recover(ADMIN, ws.id)).error_info is None
        assert [queue.get_nowait(), queue.get_nowait()] == [Hint.LOOK, Hint.WORK]
        del house.world.signals.listeners[number]

    asyncio.run(story())


def test_a_loss_is_accepted_only_when_a_look_shows_it():
    """H25: refused while the volume is there, accepted when it is gone."""
    house = House()

    async def story() -> None:
        ws = await in_error(house, home=DIRTY)
        stamp = Stamp(
            installation=house.outside.installation, workspace_id=ws.id, incarnation="i1", seq=1
        )
        await house.outside.volumes.make(stamp)
        with pytest.raises(NotRecoverable) as error:
            await house.service.recover(ADMIN, ws.id, accept_loss="i1")
        assert error.value.verdict.reason is Reason.STILL_THERE
        house.world.runtime.remove_volume_by_force(f"ws-{ws.id}-i1")
        assert (await house.service.recover(ADMIN, ws.id, accept_loss="i1")).loss_accepted == "i1"

    asyncio.run(story())


def test_an_archive_is_looked_for_before_its_loss_is_accepted():
    """H25: an archive that is not there may be given up by its key."""
    house = House()

    async def story() -> None:
        ws = await in_error(house, archive_key=KEY, archive_sha256=SHA, archive_size=12)
        assert (await house.service.recover(ADMIN, ws.id, accept_loss=KEY)).loss_accepted == KEY

    asyncio.run(story())


# -------------------------------------------------------------------------------- explanation


def test_an_explanation_is_the_cores_and_says_what_can_be_done():
    """Why, what it waits for, which rules were looked at, and ways out."""
    house = House()

    async def story() -> None:
        ws = await made(house)
        why = await house.service.explain(ANN, ws.id, nothing)
        assert why.explanation.reason is Reason.OBSERVATION_DUE
        assert why.explanation.looked_at[-1].decided
        assert [way.way.value for way in why.ways_out] == ["stop", "archive", "delete"]
        assert why.holders == ()

    asyncio.run(story())


def test_who_waits_for_a_place_is_told_who_holds_them():
    """A start that waits names the workspaces that would have to stop."""
    house = House(Policy(max_running_per_user=1, max_running_global=5))

    async def story() -> None:
        runs = await made(house, name="runs")
        runs = house.put(runs, observed_status=ObservedStatus.RUNNING, observed_seq=90, home=CLEAN)
        await house.service.change(ANN, runs.id, STOP)
        waits = await made(house, name="waits")
        house.put(waits, observed_status=ObservedStatus.STANDBY, observed_seq=90, home=CLEAN)
        why = await house.service.explain(ANN, waits.id, nothing)
        assert why.explanation.reason is Reason.NO_FREE_PLACE
        assert [(one.id, one.name, one.status) for one in why.holders] == [
            (runs.id, "runs", "RUNNING")
        ]

    asyncio.run(story())


def test_an_operation_that_another_process_carries_out_is_under_way():
    """A standby's API does not take what the leader does for something nobody does."""
    house = House()

    async def story() -> None:
        ws = await made(house)
        house.put(ws, operation=Operation.PROVISIONING, op_id="op1", op_started_at=ws.created_at)
        why = await house.service.explain(ANN, ws.id, nothing)
        assert why.explanation.reason is Reason.ACTION_RUNS

    asyncio.run(story())


# ----------------------------------------------------------------------------------- watching


async def some(stream: Any, count: int) -> list[Told]:
    async with asyncio.timeout(20):
        return [await anext(stream) for _ in range(count)]


def test_a_watcher_gets_a_snapshot_and_then_every_change():
    """What falls between mark and snapshot is told too: nothing is lost between."""
    house = House()

    async def story() -> None:
        ws = await made(house)
        hub = house.watching()
        running = asyncio.create_task(hub.run())
        async with aclosing(hub.watch(ANN, ws.id)) as stream:
            (snapshot,) = await some(stream, 1)
            assert snapshot == Snapshot(rows=(ws,), more=False)
            await house.service.change(ANN, ws.id, STOP)
            (changed,) = await some(stream, 1)
            assert isinstance(changed, Changed)
            assert changed.event.row.desired_state is DesiredState.STANDBY
            assert changed.position is not None
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(story())


def test_who_comes_back_with_a_position_misses_nothing():
    """A position is gone on from, without a snapshot; one that is too old gets a snapshot."""
    house = House()

    async def story() -> None:
        ws = await made(house)
        hub = house.watching()
        async with aclosing(hub.watch(ANN)) as stream:
            await some(stream, 1)
            await house.service.change(ANN, ws.id, STOP)
            (told,) = await some(stream, 1)
        assert isinstance(told, Changed)
        await house.service.change(ANN, ws.id, Wish(name="lab"))
        await house.service.delete(ANN, ws.id)
        async with aclosing(hub.watch(ANN, after=told.position)) as stream:
            first, second = await some(stream, 2)
        assert isinstance(first, Changed)
        assert isinstance(second, Changed)
        assert (first.event.row.name, first.position) == ("lab", None)
        assert second.event.row.deleted_at is not None
        old = f"1-{str(told.position).partition('-')[2]}"
        for useless in (old, "nonsense", "12-"):
            async with aclosing(hub.watch(ANN, after=useless)) as stream:
                assert isinstance((await some(stream, 1))[0], Snapshot)

    asyncio.run(story())


def test_a_watcher_of_all_sees_only_what_they_may():
    """A user's stream holds their own workspaces, an administrator's everyone's."""
    house = House()

    async def story() -> None:
        hub = house.watching()
        async with aclosing(hub.watch(ANN)) as mine, aclosing(hub.watch(ADMIN)) as everyones:
            assert await some(mine, 1) == await some(everyones, 1)
            theirs, ours = await made(house, BOB), await made(house, ANN)
            (first,) = await some(mine, 1)
            assert isinstance(first, Changed)
            assert first.event.workspace_id == ours.id
            seen = [told.event.workspace_id for told in await some(everyones, 2)]  # type: ignore[union-attr]
            assert seen == [theirs.id, ours.id]

    asyncio.run(story())


def test_heartbeats_and_the_progress_of_transfers_are_told(monkeypatch: pytest.MonkeyPatch):
    """A home in motion tells how far it has come; a quiet stream shows that it is alive."""
    monkeypatch.setattr(watching, "HEARTBEAT_SECONDS", 0.05)
    house = House()

    async def story() -> None:
        ws = await made(house)
        house.put(ws, operation=Operation.ARCHIVING, op_id="op1", op_started_at=ws.created_at)
        hub = house.watching(lambda ws_id: Transferred(done=3, of=9) if ws_id == ws.id else None)
        async with aclosing(hub.watch(ANN)) as stream:
            _snapshot, transfer, *rest = await some(stream, 5)
        assert transfer == Transfer(workspace_id=ws.id, operation=Operation.ARCHIVING, done=3, of=9)
        assert any(isinstance(told, Heartbeat) for told in rest)

    asyncio.run(story())
