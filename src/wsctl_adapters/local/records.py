"""What is written in a container's folder, and what it tells: the spec, the start, the end.

spec.json     what was asked for; written before the folder got its place
lock          held by the shim as long as it lives
doomed        its removal was asked for: it never starts any more
program.json  the shim started the program: its process and port
exit.json     the program ended; written before the shim lets go of the lock
log.txt       what the program said; older words are in log.1.txt
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import attrs

from wsctl_adapters.local.layout import Layout, entries, listing, read_json, stamp_in, write_json
from wsctl_adapters.local.processes import holder
from wsctl_core.ports import AdapterError, ContainerSpec
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.names import container_name, volume_name
from wsctl_core.values.observation import ContainerSeen, LastExit
from wsctl_core.values.stamps import FoundContainer
from wsctl_core.values.states import ContainerPhase

SPEC = "spec.json"
LOCK = "lock"
DOOMED = "doomed"
PROGRAM = "program.json"
EXIT = "exit.json"
LOG = "log.txt"

KILLED = 137
"""The exit code of a program whose shim was killed: nobody was there to see how it ended."""


def write_spec(folder: Path, spec: ContainerSpec) -> None:
    """Write what a new container's folder begins with."""
    write_json(folder / SPEC, {"stamp": attrs.asdict(spec.stamp), "image": spec.image})
    (folder / LOCK).touch()


def read_spec(folder: Path) -> ContainerSpec | None:
    """What was asked for; None when the folder is gone, or nothing of ours.

    A spec that can't be read is an error: its container may run, and must not look absent (H34).
    """
    try:
        value = read_json(folder / SPEC)
        if value is None:
            return None
        return ContainerSpec(stamp=stamp_in(value.get("stamp")), image=str(value.get("image")))
    except ValueError as error:
        raise AdapterError(
            AdapterCode.LOCAL_IO_ERROR, f"the spec of the container {folder.name} is broken"
        ) from error


def folders_of(place: Path) -> Iterator[tuple[Path, ContainerSpec]]:
    """The containers under one name: one, or none, or two for the moment of a change."""
    for folder in entries(place):
        spec = read_spec(folder)
        if spec is not None and container_name(spec.stamp.workspace_id) == place.name:
            yield folder, spec


def volumes_in_use(layout: Layout, workspace_id: str) -> set[str]:
    """The names of the volumes that containers of a workspace are on, in any state."""
    return {
        volume_name(spec.stamp.workspace_id, spec.stamp.incarnation)
        for _, spec in folders_of(layout.container(workspace_id))
    }


def find(layout: Layout, container_id: str) -> Path | None:
    """The folder of a container by its identity, whoever's it is; None when it is gone."""
    if not container_id.isalnum():
        return None  # not one of ours: ours are hexadecimal
    candidates = (place / container_id for place in listing(layout.containers))
    return next((folder for folder in candidates if (folder / SPEC).exists()), None)


def look(folder: Path, spec: ContainerSpec) -> FoundContainer | None:
    """What a container is doing, seen without touching it; None when it went in the meantime."""
    # In this order: a shim writes the program's file while it holds the lock, and the exit's
    # before it lets go. So a start without an end and without a holder is a shim that was killed.
    program = read_json(folder / PROGRAM)
    held = holder(folder / LOCK) is not None
    ended = read_json(folder / EXIT)
    doomed = (folder / DOOMED).exists()
    phase, last_exit = ContainerPhase.CREATED, None
    if held:
        whole = program is not None and ended is None and not doomed
        phase = ContainerPhase.RUNNING if whole else ContainerPhase.IN_PROGRESS
    elif program is not None:
        phase = ContainerPhase.ENDED
        last_exit = _exit_of(folder, ended)
    if not (folder / SPEC).exists():
        return None
    seen = ContainerSeen(
        id=folder.name, incarnation=spec.stamp.incarnation, phase=phase, exit=last_exit
    )
    return FoundContainer(stamp=spec.stamp, seen=seen)


def runs(folder: Path, spec: ContainerSpec) -> bool:
    """The container is running."""
    found = look(folder, spec)
    return found is not None and found.seen.phase is ContainerPhase.RUNNING


def _exit_of(folder: Path, ended: Mapping[str, object] | None) -> LastExit:
    if ended is not None:
        code, at = int(str(ended["exit_code"])), float(str(ended["at"]))
        return LastExit(exit_code=code, at=datetime.fromtimestamp(at, UTC))
    # The last sign of life. It must be the same whenever somebody looks.
    at = 0.0
    for path in (folder / PROGRAM, folder / LOG):
        with suppress(FileNotFoundError):
            at = max(at, path.stat().st_mtime)
    return LastExit(exit_code=KILLED, at=datetime.fromtimestamp(at, UTC))


def port_of(folder: Path) -> int | None:
    """The port that the program was told to listen on; None when it was never started."""
    program = read_json(folder / PROGRAM)
    return None if program is None else int(str(program["port"]))
