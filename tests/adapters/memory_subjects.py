"""Memory adapters as the conformance kit wants them, with hands that reach behind their back."""

import asyncio
import io
import tarfile
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from wsctl_adapters.memory import (
    CALLS,
    LoopClock,
    MemoryLeadership,
    MemoryTerm,
    MemoryWorld,
    Volume,
    unreachable,
)
from wsctl_app.transfer import StreamTransfers
from wsctl_core.ports import Event, Term, Transfers

T = TypeVar("T")


class FakeTime:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class SwitchedLine:
    """A line that can be cut, and remembers what went through."""

    def __init__(self) -> None:
        self.cut = False
        self.went: list[str] = []

    async def call(self, what: str, effect: Callable[[], T]) -> T:
        assert what in CALLS
        self.went.append(what)
        await asyncio.sleep(0)
        if self.cut:
            raise unreachable(what)
        return effect()


class MemorySubject:
    """What the checks of runtime, archives, transfers, activity and signals ask for."""

    image = "anything"

    def __init__(self) -> None:
        self.time = FakeTime()
        self.line = SwitchedLine()
        self.world = MemoryWorld(now=self.time)
        node, other = self.world.node("n1", self.line), self.world.node("n2", self.line)
        self.installation = node.installation
        self.inventory, self.containers, self.volumes = (
            node.inventory,
            node.containers,
            node.volumes,
        )
        self.transfers: Transfers = node.transfers
        self.storage = node.storage
        self.homes = self.world.streams(self.line)
        self.activity, self.hints, self.broadcast = node.activity, node.hints, node.broadcast
        self.other = other

    # The runtime.

    async def container_ends(self, container_id: str) -> None:
        self.world.runtime.end_container(container_id, 1)

    async def unlabelled_volume(self, name: str) -> None:
        self.world.runtime.volumes[name] = Volume(name=name, stamp=None)

    async def volume_vanishes(self, name: str) -> None:
        self.world.runtime.remove_volume_by_force(name)

    async def write(self, name: str, path: str, content: bytes) -> None:
        files = self._files(name) | {path: content}
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for there, data in sorted(files.items()):
                member = tarfile.TarInfo(there)
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
        self.world.runtime.fill(name, packed.getvalue())

    async def read(self, name: str, path: str) -> bytes | None:
        return self._files(name).get(path) if name in self.world.runtime.volumes else None

    def _files(self, name: str) -> dict[str, bytes]:
        """A home is a tar stream, so that it can be packed and unpacked as any other."""
        content = self.world.runtime.volumes[name].content
        if not content:
            return {}
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            opened = {member.name: tar.extractfile(member) for member in tar}
            return {there: file.read() for there, file in opened.items() if file is not None}

    # Archives.

    async def spoil(self, key: str) -> None:
        self.world.archives.spoil_archive(key)

    # Activity and signals.

    async def connect(self, workspace_id: str, connections: int) -> None:
        self.world.activity.connections[workspace_id] = connections

    async def elapse(self, seconds: int) -> None:
        self.time.pass_by(seconds)

    async def lose_everything(self) -> None:
        self.world.activity.flush()

    async def calls(self) -> int:
        return len(self.line.went)

    def watch(self, workspace_id: str) -> AsyncIterator[Event]:
        return self.world.signals.watch(workspace_id)

    async def go_away(self) -> None:
        self.line.cut = True
        self.world.signals.cut_off()

    async def come_back(self) -> None:
        self.line.cut = False


class StreamingSubject(MemorySubject):
    """Transfers that are made of streams and a storage."""

    def __init__(self) -> None:
        super().__init__()
        self.streaming = StreamTransfers(self.homes, self.storage, LoopClock())
        self.transfers = self.streaming


class ActivitySubject(MemorySubject):
    """An activity store."""

    def __init__(self) -> None:
        super().__init__()
        self.elsewhere = self.other.activity


class SignalsSubject(MemorySubject):
    """Hints and a broadcast."""

    def __init__(self) -> None:
        super().__init__()
        self.elsewhere = self.other.hints


class StoresSubject:
    """Every store of one database, and its feed."""

    def __init__(self) -> None:
        self.time = FakeTime()
        self.world = MemoryWorld(now=self.time)
        node = self.world.node("n1", SwitchedLine())
        self.reader, self.intents, self.monitor = node.reader, node.intents, node.monitor
        self.reconciler, self.housekeeping = node.reconciler, node.housekeeping
        self.leadership, self.feed = node.leadership, node.feed

    async def elapse(self, seconds: float) -> None:
        self.time.pass_by(seconds)


class LeadershipSubject:
    """One lock, seen from two nodes that don't wait for long."""

    names = ("n1", "n2")

    def __init__(self) -> None:
        self.world = MemoryWorld(now=FakeTime())
        self.here, self.there = (
            MemoryLeadership(self.world.database, SwitchedLine(), name, wait_seconds=0.2)
            for name in self.names
        )

    async def unseat(self, term: Term) -> None:
        assert isinstance(term, MemoryTerm)
        self.world.database.close_session(term._session)
