"""Where things are on the disk, and the few atomic steps that everything here is made of.

Several processes share one root, and any of them may be killed or stopped at any instruction. So
nothing takes a lock around a change: a thing is made aside, written through, and renamed to its
place, which happens wholly or not at all. The root must be on one local file system.
"""

import errno
import json
import os
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import attrs

from wsctl_core.ports import AdapterError
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.names import container_name, volume_name
from wsctl_core.values.stamps import Stamp

LABELS = "labels.json"
HOME = "home"

_TAKEN = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR})


@attrs.frozen
class Layout:
    """The folders under one root."""

    root: Path

    @property
    def volumes(self) -> Path:
        """One folder per volume, by its name."""
        return self.root / "volumes"

    @property
    def containers(self) -> Path:
        """One folder per container name, and in it one per identity."""
        return self.root / "containers"

    @property
    def tmp(self) -> Path:
        """Where things are made."""
        return self.root / "tmp"

    @property
    def trash(self) -> Path:
        """Where things go that nobody sees any more."""
        return self.root / "trash"

    def volume(self, stamp: Stamp) -> Path:
        """The place of an incarnation's volume."""
        return self.volumes / volume_name(stamp.workspace_id, stamp.incarnation)

    def container(self, workspace_id: str) -> Path:
        """The place of the one container that a workspace may have."""
        return self.containers / container_name(workspace_id)

    def prepare(self) -> None:
        """Make the folders; those that are there are left alone."""
        for folder in (self.volumes, self.containers, self.tmp, self.trash):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def unused(folder: Path) -> Path:
    """A path in that folder that nobody has used; its name begins with the time, for the sweep."""
    return folder / f"{int(time.time())}-{uuid.uuid4().hex}"


def age_seconds(name: str) -> float | None:
    """How long ago a path was named by `unused`; None when it was not."""
    began, dash, _ = name.partition("-")
    return time.time() - int(began) if dash and began.isdecimal() else None


def put_in_place(made: Path, place: Path) -> bool:
    """Rename what was made to its place; False when something is there already."""
    try:
        made.rename(place)
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        raise
    sync_folder(place.parent)
    return True


def sync_folder(folder: Path) -> None:
    """Write the folder's entries through to the disk."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def write_json(path: Path, value: Mapping[str, object]) -> None:
    """Write a new file through to the disk."""
    with path.open("x", encoding="utf-8") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())


def read_json(path: Path) -> Mapping[str, object] | None:
    """What a file holds; None when there is none. ValueError when it is no JSON object."""
    try:
        value = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not isinstance(value, dict):
        raise ValueError(f"{path} holds no object")  # noqa: TRY004 - what is wrong is the file
    return value


def stamp_in(value: object) -> Stamp:
    """The stamp that a file holds. ValueError when it is none."""
    try:
        return Stamp(**value)  # type: ignore[arg-type] # the stamp refuses what it can't be
    except TypeError as error:
        raise ValueError(f"no stamp: {error}") from error


def label_of(volume: Path) -> Stamp | None:
    """The label of a volume; None when it has none that is its own: then it is not ours."""
    try:
        value = read_json(volume / LABELS)
        stamp = None if value is None else stamp_in(value)
    except ValueError:
        return None
    if stamp is None or volume_name(stamp.workspace_id, stamp.incarnation) != volume.name:
        return None  # a copy that somebody made has the label of another
    return stamp


def is_labelled(volume: Path, stamp: Stamp) -> bool:
    """The volume is there and is this installation's, workspace's and incarnation's."""
    found = label_of(volume)
    return found is not None and attrs.evolve(found, seq=stamp.seq) == stamp


def require_volume(layout: Layout, stamp: Stamp) -> Path:
    """The place of a volume that is there and carries our label; else VOLUME_MISSING (H3, H5)."""
    place = layout.volume(stamp)
    if not is_labelled(place, stamp):
        raise AdapterError(
            AdapterCode.VOLUME_MISSING,
            f"the volume {place.name} is not there, or carries no label of this installation",
            {"volume": place.name},
        )
    return place


def listing(folder: Path) -> list[Path]:
    """What is in one of the layout's own folders; an error when that is not there (H34)."""
    return sorted(folder.iterdir())


def entries(folder: Path) -> list[Path]:
    """What is in a folder that others may remove; nothing when it went in the meantime."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return listing(folder)
    return []


@contextmanager
def told_as(code: AdapterCode, what: str) -> Iterator[None]:
    """Let what the system refuses inside leave as an AdapterError, in a sentence."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            reason = "the disk is full"
        details = {"errno": errno.errorcode.get(error.errno or 0, "?")}
        raise AdapterError(code, f"{what}: {reason}", details) from error
