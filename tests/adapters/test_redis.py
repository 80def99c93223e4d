"""The Redis adapters keep their ports' promises, on a real Valkey that stops and loses its data."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from unittest.mock import Mock, patch

import msgspec
import pytest
import redis.asyncio
from redis.asyncio.connection import AbstractConnection

from tests.valkey import Valkey
from wsctl_adapters.conformance import activity, signals
from wsctl_adapters.conformance.kit import Check, refused
from wsctl_adapters.redis import RedisAdapters, open_redis
from wsctl_adapters.redis import signals as redis_signals
from wsctl_adapters.redis.activity import WHOLE_SINCE
from wsctl_core.ports import AdapterError, Event, Hint
from wsctl_core.values.activity import UNKNOWN_ACTIVITY
from wsctl_core.values.errors import AdapterCode


@pytest.fixture(scope="module")
def valkey() -> Iterator[Valkey]:
    with Valkey() as server:
        yield server


class RedisSubject:
    """One process on a Valkey, another one, and a connection that reaches behind their backs."""

    def __init__(
        self,
        server: Valkey,
        ours: RedisAdapters,
        theirs: RedisAdapters,
        hand: redis.asyncio.Redis,
        sent: Mock,
    ) -> None:
        self.server, self.hand, self.sent = server, hand, sent
        self.activity, self.hints, self.broadcast = ours.activity, ours.hints, ours.broadcast
        self.theirs = theirs

    async def connect(self, workspace_id: str, connections: int) -> None:
        await self.hand.set(f"ws_conn:{workspace_id}", connections)

    async def elapse(self, seconds: int) -> None:
        """Time can't be moved, but everything that has a time can."""
        for pattern in ("idle_timer:*", "keepalive:*"):
            async for key in self.hand.scan_iter(pattern):
                await self.hand.pexpire(key, await self.hand.pttl(key) - 1000 * seconds)
        marker = await self.hand.get(WHOLE_SINCE)
        if isinstance(marker, bytes):
            since, run = marker.decode().split()
            await self.hand.set(WHOLE_SINCE, f"{int(since) - seconds} {run}")

    async def lose_everything(self) -> None:
        await self.hand.flushall()

    async def calls(self) -> int:
        return self.sent.call_count

    async def watch(self, workspace_id: str) -> AsyncIterator[Event]:
        async with self.hand.pubsub(ignore_subscribe_messages=True) as heard:
            await heard.subscribe(f"workspace:{workspace_id}")
            async for message in heard.listen():
                yield msgspec.json.decode(message["data"], type=Event)

    async def go_away(self) -> None:
        self.server.stop()

    async def come_back(self) -> None:
        self.server.start()


class ActivitySubject(RedisSubject):
    @property
    def elsewhere(self):
        return self.theirs.activity


class SignalsSubject(RedisSubject):
    @property
    def elsewhere(self):
        return self.theirs.hints


@asynccontextmanager
async def subject_on(server: Valkey, kind: type[RedisSubject]) -> AsyncIterator[RedisSubject]:
    hand = redis.asyncio.Redis.from_url(server.url)
    send = AbstractConnection.send_packed_command
    counted = patch.object(
        AbstractConnection, "send_packed_command", autospec=True, side_effect=send
    )
    async with hand, open_redis(server.url) as ours, open_redis(server.url) as theirs:
        await hand.flushall()
        with counted as sent:
            yield kind(server, ours, theirs, hand, sent)


def run(server: Valkey, kind: type[RedisSubject], check: Check[Any]) -> None:
    async def checked() -> None:
        async with subject_on(server, kind) as subject:
            await check(subject)

    asyncio.run(checked())


def named(check: Callable[..., object]) -> str:
    return check.__name__


@pytest.mark.parametrize("check", activity.CHECKS, ids=named)
def test_activity(valkey: Valkey, check: Check[activity.ActivityUnderTest]):
    """Activity on Redis."""
    run(valkey, ActivitySubject, check)


@pytest.mark.parametrize("check", signals.CHECKS, ids=named)
def test_signals(valkey: Valkey, check: Check[signals.SignalsUnderTest]):
    """Hints and events on Redis."""
    run(valkey, SignalsSubject, check)


def tell(server: Valkey, story: Callable[[RedisSubject], Awaitable[None]]) -> None:
    run(server, RedisSubject, story)


def test_keys_are_those_of_the_specification(valkey: Valkey):
    """Timers and requests are keys that end by themselves."""

    async def story(subject: RedisSubject) -> None:
        await subject.activity.set_idle_timer("w1", 300)
        await subject.activity.keep_alive("w1", 900)
        assert 0 < await subject.hand.ttl("idle_timer:w1") <= 300
        assert 300 < await subject.hand.ttl("keepalive:w1") <= 900
        await subject.activity.read({"w1": 300})
        assert await subject.hand.ttl(WHOLE_SINCE) == -1
        await subject.activity.set_idle_timer("w1", 0)
        assert not await subject.hand.exists("idle_timer:w1")

    tell(valkey, story)


def test_hints_and_events_go_to_the_channels_of_the_specification(valkey: Valkey):
    """Anyone who speaks Redis can listen: hints by their channel, events as JSON."""

    async def story(subject: RedisSubject) -> None:
        async with subject.hand.pubsub(ignore_subscribe_messages=True) as heard:
            await heard.psubscribe("*")
            await heard.get_message(timeout=5)
            await subject.hints.send(Hint.LOOK)
            await subject.hints.send(Hint.WORK)
            await subject.broadcast.publish(signals.event_of("w1", 7))
            messages = [await heard.get_message(timeout=5) for _ in range(3)]
        channels = [message["channel"] for message in messages if message]
        assert channels == [b"monitor:trigger", b"reconciler:trigger", b"workspace:w1"]
        told = msgspec.json.decode((messages[2] or {})["data"])
        assert (told["id"], told["kind"], told["workspace_id"]) == (7, "error", "w1")
        assert told["row"]["error_info"]["context"] == [
            ["endpoint", "storage"],
            ["status_code", "503"],
        ]

    tell(valkey, story)


def test_a_server_that_was_started_again_is_not_whole(valkey: Valkey):
    """A marker of an earlier run is no proof: what was said meanwhile was missed (H30)."""

    async def story(subject: ActivitySubject) -> None:
        await activity.whole(subject)
        assert (await subject.activity.read({"w1": 300}))["w1"].known
        await subject.hand.set(WHOLE_SINCE, f"1700000000 {'0' * 40}")
        assert (await subject.activity.read({"w1": 300}))["w1"] == UNKNOWN_ACTIVITY
        await subject.elapse(361)
        assert (await subject.activity.read({"w1": 300}))["w1"].known

    run(valkey, ActivitySubject, story)


def test_a_server_that_answers_nothing_holds_nobody_up(valkey: Valkey):
    """A call to a frozen server fails with its code; thawed, it works again by itself."""

    async def story(subject: RedisSubject) -> None:
        await subject.activity.read({"w1": 300})
        with valkey.frozen():
            answers = await asyncio.gather(
                subject.activity.read({"w1": 300}),
                subject.activity.set_idle_timer("w1", 300),
                subject.hints.send(Hint.LOOK),
                subject.broadcast.publish(signals.event_of("w1", 1)),
                anext(aiter(subject.hints.listen())),
                return_exceptions=True,
            )
        codes = [answer.code for answer in answers if isinstance(answer, AdapterError)]
        away, deaf = AdapterCode.ACTIVITY_UNREACHABLE, AdapterCode.SIGNALS_UNREACHABLE
        assert codes == [away, away, deaf, deaf, deaf]
        for number in range(5):  # nobody gets an answer that was meant for another
            await subject.activity.keep_alive(f"w{number}", 300)
            told = await subject.activity.read({f"w{number}": 300})
            assert told == {f"w{number}": UNKNOWN_ACTIVITY}
            await subject.hints.send(Hint.LOOK)
            assert await subject.hand.exists(f"keepalive:w{number}")

    tell(valkey, story)


def test_a_listener_notices_a_server_that_fell_silent(valkey: Valkey, monkeypatch):
    """Silence is asked about, and a question without an answer ends the listening."""
    monkeypatch.setattr(redis_signals, "SILENCE_SECONDS", 0.2)

    async def story(subject: RedisSubject) -> None:
        async with signals.hearing(subject.hints.listen()) as heard:
            send = partial(subject.hints.send, Hint.WORK)
            await signals.until(lambda: heard, "nothing was heard", send)
            await asyncio.sleep(1)  # several questions, all of them answered
            await signals.quiet(heard)
            await signals.until(lambda: heard, "an answer ended the listening", send)
        listening = aiter(subject.hints.listen())
        first = asyncio.ensure_future(anext(listening))
        await signals.until(first.done, "nothing was heard", send)
        with valkey.frozen():
            async with refused(AdapterCode.SIGNALS_UNREACHABLE):
                while True:
                    await anext(listening)

    tell(valkey, story)


def test_a_redis_that_was_never_there(tmp_path):
    """Opening is no error; every call is, by its code."""

    async def story() -> None:
        async with open_redis(f"unix://{tmp_path}/nothing") as nothing:
            async with refused(AdapterCode.ACTIVITY_UNREACHABLE):
                await nothing.activity.read({})
            async with refused(AdapterCode.SIGNALS_UNREACHABLE):
                await nothing.hints.send(Hint.WORK)

    asyncio.run(story())
