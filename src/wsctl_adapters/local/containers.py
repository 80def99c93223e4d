"""Containers as process groups on folders. They isolate nothing: each can do all that wsctl can.

A container's name is claimed by renaming a folder to its place, which only one can; it is acted on
by the identity within. Its shim survives wsctl, and is found again by whoever looks.
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from wsctl_adapters.local.layout import (
    HOME,
    Layout,
    put_in_place,
    require_volume,
    told_as,
    unused,
)
from wsctl_adapters.local.processes import MARK, holder, kill_left_over, send
from wsctl_adapters.local.records import (
    DOOMED,
    LOCK,
    PROGRAM,
    find,
    folders_of,
    port_of,
    read_spec,
    runs,
    write_spec,
)
from wsctl_adapters.local.trash import destroy, throw_away
from wsctl_adapters.local.work import Workers
from wsctl_core.ports import AdapterError, ContainerSpec
from wsctl_core.values.errors import AdapterCode

HOST = "127.0.0.1"
SHIM = Path(__file__).with_name("shim.py")

START_SECONDS = 10.0
"""How long a start waits for the program to be executed."""
FORCE_SECONDS = 5.0
"""How long each step of ending by force may take."""
POLL_SECONDS = 0.02


def failed(container_id: str, reason: str) -> AdapterError:
    """The refusal of a start."""
    return AdapterError(
        AdapterCode.CONTAINER_START_FAILED,
        f"the container {container_id} can't be started: {reason}",
        {"container": container_id},
    )


def _libraries() -> dict[str, str]:
    """Where this interpreter finds its own library, if somebody had to tell it."""
    path = os.environ.get("LD_LIBRARY_PATH")
    return {} if path is None else {"LD_LIBRARY_PATH": path}


class LocalContainers:
    """Implements `wsctl_core.ports.Containers` with processes."""

    def __init__(
        self,
        layout: Layout,
        installation: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        workers: Workers,
    ) -> None:
        self._layout = layout
        self._installation = installation
        self._command = tuple(command)
        self._environment = dict(environment)
        self._workers = workers

    async def of_workspace(self, workspace_id: str) -> tuple[str, ...]:
        """The identities of this installation's containers of a workspace, in any state."""
        return await self._workers.run(
            lambda: tuple(folder.name for folder, _ in self._ours(workspace_id))
        )

    async def create(self, spec: ContainerSpec) -> str:
        """Make a container, not started, and tell its identity, which is never used again."""
        return await self._workers.run(lambda: self._create(spec))

    async def start(self, container_id: str) -> None:
        """Start what `create` returned; started before is as good."""
        await self._workers.run(lambda: self._start(container_id))

    async def remove(self, container_id: str, grace_seconds: int) -> None:
        """Ask it to end, wait that long, end it by force, remove it. Gone already is as good.

        It is seen until nothing of it lives: an archive must not be written beside it (H5).
        """
        folder = await self._workers.run(lambda: self._doom(container_id))
        if folder is None:
            return
        for number, seconds in (
            (signal.SIGTERM, float(grace_seconds)),
            (signal.SIGUSR1, FORCE_SECONDS),
            (signal.SIGKILL, FORCE_SECONDS),
        ):
            if await self._ended(folder, number, seconds):
                break
        else:
            raise AdapterError(
                AdapterCode.LOCAL_IO_ERROR, f"the container {container_id} can't be ended"
            )
        await self._end_left_over(container_id)
        await self._workers.run(lambda: self._release(folder))

    async def address(self, workspace_id: str) -> str | None:
        """Where the running container's port answers; None when none runs."""
        return await self._workers.run(lambda: self._address(workspace_id))

    def _ours(self, workspace_id: str) -> list[tuple[Path, ContainerSpec]]:
        with told_as(AdapterCode.LOCAL_IO_ERROR, "the containers can't be listed"):
            return [
                (folder, spec)
                for folder, spec in folders_of(self._layout.container(workspace_id))
                if spec.stamp.installation == self._installation
            ]

    def _address(self, workspace_id: str) -> str | None:
        with told_as(AdapterCode.LOCAL_IO_ERROR, "the address can't be read"):
            for folder, spec in self._ours(workspace_id):
                if runs(folder, spec):
                    port = port_of(folder)
                    return None if port is None else f"{HOST}:{port}"
        return None

    def _create(self, spec: ContainerSpec) -> str:
        workspace_id = spec.stamp.workspace_id
        place = self._layout.container(workspace_id)
        made = unused(self._layout.tmp)
        container_id = uuid.uuid4().hex
        with told_as(AdapterCode.LOCAL_IO_ERROR, f"a container of {workspace_id} can't be made"):
            require_volume(self._layout, spec.stamp)
            try:
                (made / container_id).mkdir(mode=0o700, parents=True)
                write_spec(made / container_id, spec)
                if not put_in_place(made, place):
                    raise AdapterError(
                        AdapterCode.CONTAINER_EXISTS,
                        f"the workspace {workspace_id} has a container already",
                        {"workspace": workspace_id},
                    )
            finally:
                destroy(made)
            try:
                # The volume may have been removed since, by one who saw no container yet.
                require_volume(self._layout, spec.stamp)
            except AdapterError:
                self._release(place / container_id)
                raise
        return container_id

    def _start(self, container_id: str) -> None:
        deadline = time.monotonic() + START_SECONDS
        with told_as(AdapterCode.CONTAINER_START_FAILED, f"{container_id} can't be started"):
            while True:
                folder = find(self._layout, container_id)
                spec = None if folder is None else read_spec(folder)
                if folder is None or spec is None:
                    raise failed(container_id, "it is gone")
                if (folder / DOOMED).exists():
                    raise failed(container_id, "it is being removed")
                if (folder / PROGRAM).exists():
                    return
                home = require_volume(self._layout, spec.stamp) / HOME
                told = self._ask(folder, self._plan(spec, home, container_id))
                word, _, detail = told.partition(" ")
                if word == "started":
                    return
                if word != "busy":
                    require_volume(self._layout, spec.stamp)
                    raise failed(container_id, detail.strip() or word or "its shim ended")
                if time.monotonic() > deadline:
                    raise failed(container_id, "another start of it does not end")
                time.sleep(POLL_SECONDS)

    def _plan(self, spec: ContainerSpec, home: Path, container_id: str) -> dict[str, object]:
        """What the shim is told: everything that it needs to know."""
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            port = probe.getsockname()[1]
        stands_for = {
            "{home}": str(home),
            "{host}": HOST,
            "{port}": str(port),
            "{workspace_id}": spec.stamp.workspace_id,
            "{image}": spec.image,
        }
        argv = []
        for word in self._command:
            for placeholder, value in stands_for.items():
                word = word.replace(placeholder, value)  # noqa: PLW2901 - one after the other
            argv.append(word)
        environment = {
            "HOME": str(home),
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "TERM": "xterm-256color",
            **_libraries(),
            **self._environment,
            "WSCTL_WORKSPACE_ID": spec.stamp.workspace_id,
            "WSCTL_PORT": str(port),
            MARK: container_id,
        }
        return {"argv": argv, "environment": environment, "cwd": str(home), "port": port}

    def _ask(self, folder: Path, plan: dict[str, object]) -> str:
        """Start a shim, and wait for its answer: a word, and perhaps a reason."""
        with subprocess.Popen(  # noqa: S603 - our own script, by this very interpreter
            [sys.executable, "-I", "-S", str(SHIM), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self._layout.root,
            env=_libraries(),
            start_new_session=True,
        ) as shim:
            try:
                told, _ = shim.communicate(json.dumps(plan).encode(), timeout=START_SECONDS)
            except subprocess.TimeoutExpired:
                send(folder / LOCK, signal.SIGKILL)
                shim.kill()
                return "failed its program was not executed in time"
        return told.decode(errors="replace")

    def _doom(self, container_id: str) -> Path | None:
        """From now on it never starts. None when it is gone."""
        with told_as(AdapterCode.LOCAL_IO_ERROR, f"{container_id} can't be removed"):
            folder = find(self._layout, container_id)
            if folder is not None:
                try:
                    (folder / DOOMED).touch()
                except FileNotFoundError:
                    return None
            return folder

    async def _ended(self, folder: Path, number: signal.Signals, seconds: float) -> bool:
        """Send a signal to the shim, and wait at most that long until it lets go of its lock."""
        deadline = time.monotonic() + seconds
        await self._workers.run(lambda: self._send(folder, number))
        while await self._workers.run(lambda: self._lives(folder)):
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(POLL_SECONDS)
        return True

    def _send(self, folder: Path, number: signal.Signals) -> None:
        with told_as(AdapterCode.LOCAL_IO_ERROR, f"{folder.name} can't be signalled"):
            send(folder / LOCK, number)

    def _lives(self, folder: Path) -> bool:
        with told_as(AdapterCode.LOCAL_IO_ERROR, f"{folder.name} can't be looked at"):
            return holder(folder / LOCK) is not None

    async def _end_left_over(self, container_id: str) -> None:
        """What a killed shim could not take along."""
        deadline = time.monotonic() + FORCE_SECONDS
        while found := await self._workers.run(lambda: self._kill_left_over(container_id)):
            if time.monotonic() > deadline:
                raise AdapterError(
                    AdapterCode.LOCAL_IO_ERROR,
                    f"processes of the container {container_id} do not end: {found}",
                )
            await asyncio.sleep(POLL_SECONDS)

    def _kill_left_over(self, container_id: str) -> list[int]:
        with told_as(AdapterCode.LOCAL_IO_ERROR, "the processes can't be listed"):
            return kill_left_over(container_id)

    def _release(self, folder: Path) -> None:
        """Take a container's folder away, and its name if nobody else has it by now (H7)."""
        with told_as(AdapterCode.LOCAL_IO_ERROR, f"{folder.name} can't be removed"):
            grave = throw_away(folder, self._layout.trash)
            with suppress(OSError):  # not empty: somebody else's container is there
                folder.parent.rmdir()
            if grave is not None:
                destroy(grave)
