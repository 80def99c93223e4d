"""The local runtime under test, on a folder of the test's own; whatever it started is ended."""

import asyncio
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Self, TypeVar

from wsctl_adapters.local import LocalRuntime
from wsctl_adapters.local.layout import HOME
from wsctl_adapters.local.processes import holder
from wsctl_adapters.local.trash import destroy
from wsctl_core.ports import Containers, HomeStreams, Inventory, Volumes
from wsctl_core.values.stamps import Stamp

T = TypeVar("T")

INSTALLATION = "here"
SLEEPS = ("sleep", "1000")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


def until(holds: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait for something that must come; it is no measurement."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "what was waited for did not come"
        time.sleep(0.01)


def stamp(incarnation: str = "i1", workspace_id: str = "w1") -> Stamp:
    return Stamp(
        installation=INSTALLATION, workspace_id=workspace_id, incarnation=incarnation, seq=1
    )


def processes_of(root: Path) -> list[int]:
    """Every process that has its home under that folder."""
    begins, found = f"HOME={root}/".encode(), []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if any(word.startswith(begins) for word in words):
                found.append(int(entry.name))
    return found


def children(name: str) -> list[int]:
    """The children of this process that run that program and have not ended."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                before, _, after = (entry / "stat").read_text().rpartition(")")
            except OSError:
                continue
            state, parent = after.split()[:2]
            if before.endswith(f"({name}") and int(parent) == os.getpid() and state != "Z":
                found.append(int(entry.name))
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class LocalSubject:
    """A runtime on a folder, and hands that reach behind its back."""

    installation = INSTALLATION
    image = "starter"

    def __init__(self, root: Path, command: tuple[str, ...] = SLEEPS) -> None:
        self.root = root
        self.runtime = LocalRuntime(root, INSTALLATION, command)
        self.inventory: Inventory = self.runtime.inventory
        self.containers: Containers = self.runtime.containers
        self.volumes: Volumes = self.runtime.volumes
        self.homes: HomeStreams = self.runtime.homes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        end_all(self.root)
        self.runtime.close()
        destroy(self.root / "volumes")  # some are odder than pytest's own tidying can bear

    def folder(self, container_id: str) -> Path:
        (found,) = self.root.glob(f"containers/*/{container_id}")
        return found

    def shim(self, container_id: str) -> int:
        pid = holder(self.folder(container_id) / "lock")
        assert pid is not None
        return pid

    def program(self, container_id: str) -> int:
        return int(json.loads((self.folder(container_id) / "program.json").read_text())["pid"])

    def home(self, name: str) -> Path:
        return self.root / "volumes" / name / HOME

    def left(self) -> list[Path]:
        """What was made or thrown away and is still there."""
        return [*(self.root / "tmp").iterdir(), *(self.root / "trash").iterdir()]

    async def container_ends(self, container_id: str) -> None:
        os.kill(self.program(container_id), signal.SIGTERM)
        until(lambda: holder(self.folder(container_id) / "lock") is None)

    async def unlabelled_volume(self, name: str) -> None:
        self.home(name).mkdir(parents=True)

    async def volume_vanishes(self, name: str) -> None:
        shutil.rmtree(self.root / "volumes" / name)

    async def write(self, name: str, path: str, content: bytes) -> None:
        file = self.home(name) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)

    async def read(self, name: str, path: str) -> bytes | None:
        file = self.home(name) / path
        return file.read_bytes() if file.exists() else None


def end_all(root: Path) -> None:
    """End every shim and every program under a root."""

    def all_ended() -> bool:
        locks = [*root.glob("containers/*/*/lock"), *root.glob("trash/*/lock")]
        shims = [pid for lock in locks if (pid := holder(lock)) is not None]
        for pid in (*shims, *processes_of(root)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return not shims and not processes_of(root)

    until(all_ended)
