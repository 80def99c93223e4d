"""The promises of signals: hints reach whoever listens, events whoever watches; both may be lost.

Nobody depends on them (contract 2), so a check says a thing again until it was heard, where it
can't know whether anybody listens yet. A check takes signals that nobody listens to.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Protocol, TypeVar

import attrs

from wsctl_adapters.conformance.kit import Check, PromiseBroken, ensure, refused
from wsctl_core.ports import AdapterError, Broadcast, Event, Hint, Hints
from wsctl_core.values.errors import AdapterCode, ErrorInfo, ErrorReason
from wsctl_core.values.observation import LastExit, Suspect, SuspectKind
from wsctl_core.values.states import HomeState, ObservedStatus, Operation
from wsctl_core.values.workspace import Home, Workspace
from wsctl_core.views.events import EventKind

T = TypeVar("T")

PATIENCE_SECONDS = 10.0
PAUSE_SECONDS = 0.01


class SignalsUnderTest(Protocol):
    """Signals that nothing else uses, and hands that reach behind their back."""

    @property
    def hints(self) -> Hints:
        """What is under test."""

    @property
    def elsewhere(self) -> Hints:
        """The same hints, as another process reaches them."""

    @property
    def broadcast(self) -> Broadcast:
        """What is under test."""

    def watch(self, workspace_id: str) -> AsyncIterator[Event]:
        """What somebody who watches this workspace is told."""

    async def go_away(self) -> None:
        """Nothing can be reached any more."""

    async def come_back(self) -> None:
        """It can be reached again."""


@asynccontextmanager
async def hearing(source: AsyncIterator[T]) -> AsyncIterator[list[T]]:
    """Whatever the source tells, as it comes; closed at the end."""
    heard: list[T] = []

    async def hear() -> None:
        async for told in source:
            heard.append(told)  # noqa: PERF401  # what was heard so far is looked at meanwhile

    task = asyncio.ensure_future(hear())
    try:
        yield heard
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(
    holds: Callable[[], object], promise: str, again: Callable[[], Awaitable[None]] | None = None
) -> None:
    """Wait for something to come about, saying a thing again and again where that is given."""
    loop = asyncio.get_running_loop()
    end = loop.time() + PATIENCE_SECONDS
    while not holds():
        if loop.time() > end:
            raise PromiseBroken(promise)
        if again is not None:
            await again()
        await asyncio.sleep(PAUSE_SECONDS)


async def check_a_hint_is_heard_elsewhere(subject: SignalsUnderTest) -> None:
    """A hint reaches a listener in another process, as the hint that it is."""
    async with hearing(subject.elsewhere.listen()) as heard:
        for hint in (Hint.LOOK, Hint.WORK):
            send = partial(subject.hints.send, hint)
            await until(partial(heard.count, hint), f"{hint} was never heard", send)
            ensure(set(heard) == {hint}, f"{hint} was sent, and {set(heard)} heard")
            await quiet(heard)


async def quiet(heard: list[T]) -> None:
    """Wait until nothing more comes, and forget what came."""
    count = -1
    while len(heard) != count:
        count = len(heard)
        await asyncio.sleep(10 * PAUSE_SECONDS)
    heard.clear()


async def check_everyone_who_listens_hears(subject: SignalsUnderTest) -> None:
    """Each listener gets the hint, in the sender's own process too."""
    async with (
        hearing(subject.hints.listen()) as first,
        hearing(subject.hints.listen()) as second,
        hearing(subject.elsewhere.listen()) as third,
    ):
        await until(
            lambda: bool(first and second and third),
            "a listener was left out",
            lambda: subject.hints.send(Hint.WORK),
        )


async def check_nobody_need_listen(subject: SignalsUnderTest) -> None:
    """A hint that nobody hears is no error, and neither is an event that nobody watches for."""
    await subject.hints.send(Hint.LOOK)
    await subject.broadcast.publish(event_of("w1", 1))


async def check_a_listener_may_leave(subject: SignalsUnderTest) -> None:
    """Whoever stops listening disturbs nobody, and can listen again."""

    async def send() -> None:
        await subject.hints.send(Hint.LOOK)

    async with hearing(subject.elsewhere.listen()) as stays:
        async with hearing(subject.hints.listen()) as leaves:
            await until(lambda: bool(stays and leaves), "nobody heard anything", send)
        await quiet(stays)
        gone = len(leaves)
        await until(lambda: bool(stays), "those who stay hear nothing any more", send)
        ensure(len(leaves) == gone, "whoever has left hears nothing more")
        async with hearing(subject.hints.listen()) as again:
            await until(lambda: bool(again), "whoever comes back hears nothing", send)


def event_of(workspace_id: str, number: int) -> Event:
    """An event whose row has something in every kind of column."""
    at = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    row = attrs.evolve(
        Workspace.created(
            id=workspace_id, owner_id="ann", name="w\N{MIDDLE DOT}", image="ide:1", at=at, seq=1
        ),
        observed_status=ObservedStatus.STANDBY,
        suspect=Suspect(what=SuspectKind.HOME_MISSING, identity="i1", seq=3),
        last_exit=LastExit(exit_code=-9, out_of_memory=True, at=at),
        operation=Operation.STARTING,
        op_id="op1",
        op_started_at=at,
        home=Home(state=HomeState.READY, incarnation="i1", dirty=True),
        archive_key="archives/w1/op0/home.tar.gz",
        archive_sha256="5e" * 32,
        archive_size=2**40,
        error_info=ErrorInfo(
            reason=ErrorReason.UNREACHABLE,
            message="no route",
            is_terminal=False,
            operation=Operation.STARTING,
            error_count=1,
            context={"endpoint": "storage", "status_code": 503},
            occurred_at=at,
        ),
    )
    return Event(
        id=number,
        kind=EventKind.ERROR,
        workspace_id=workspace_id,
        owner_id="ann",
        at=at,
        row=row,
    )


async def check_an_event_reaches_those_who_watch(subject: SignalsUnderTest) -> None:
    """Those who watch a workspace get its events, whole and in order, and no other's."""
    async with hearing(subject.watch("w1")) as first, hearing(subject.watch("w1")) as second:
        await until(
            lambda: bool(first and second),
            "an event never reached those who watch",
            lambda: subject.broadcast.publish(event_of("w1", 1)),
        )
        ensure(all(told == event_of("w1", 1) for told in first), "the event is told whole")
        await quiet(first)
        await quiet(second)
        sent = [event_of("w1", number) for number in range(2, 7)]
        for event in sent:
            await subject.broadcast.publish(event_of("w2", event.id))
            await subject.broadcast.publish(event)
        await until(lambda: min(len(first), len(second)) >= len(sent), "an event is missing")
        ensure(first == second == sent, "each event once, in order, and of this workspace alone")


async def check_signals_that_are_away_are_said_to_be(subject: SignalsUnderTest) -> None:
    """Sending, publishing and listening are refused while away; all work when it is back."""
    await subject.hints.send(Hint.LOOK)
    await subject.go_away()
    async with refused(AdapterCode.SIGNALS_UNREACHABLE):
        await subject.hints.send(Hint.LOOK)
    async with refused(AdapterCode.SIGNALS_UNREACHABLE):
        await subject.broadcast.publish(event_of("w1", 1))
    async with refused(AdapterCode.SIGNALS_UNREACHABLE), asyncio.timeout(PATIENCE_SECONDS):
        async for _ in subject.hints.listen():
            raise PromiseBroken("a hint was heard that nobody can have sent")
    await subject.come_back()
    await check_a_hint_is_heard_elsewhere(subject)
    await check_an_event_reaches_those_who_watch(subject)


async def check_a_listener_is_told_that_it_hears_nothing(subject: SignalsUnderTest) -> None:
    """Whoever listens when the connection breaks is told so, and does not wait for ever."""
    told: list[AdapterCode] = []

    async def listen() -> AsyncIterator[Hint]:
        try:
            async for hint in subject.hints.listen():
                yield hint
        except AdapterError as error:
            told.append(error.code)

    async with hearing(listen()) as heard:
        await until(
            lambda: bool(heard), "nothing was heard", lambda: subject.elsewhere.send(Hint.WORK)
        )
        await subject.go_away()
        await until(lambda: bool(told), "the listener was not told")
    ensure(told == [AdapterCode.SIGNALS_UNREACHABLE], "by the code for that")
    await subject.come_back()


CHECKS: tuple[Check[SignalsUnderTest], ...] = (
    check_a_hint_is_heard_elsewhere,
    check_everyone_who_listens_hears,
    check_nobody_need_listen,
    check_a_listener_may_leave,
    check_an_event_reaches_those_who_watch,
    check_signals_that_are_away_are_said_to_be,
    check_a_listener_is_told_that_it_hears_nothing,
)
