"""The outside: what a call does when it lands, and what others do to what exists.

Each function takes a world and gives the next one. A call's answer is what its issuer is told, if
it still listens: nothing wrong, or the code of a failure; and the identity of a new container.
"""

from collections.abc import Callable
from typing import NamedTuple

from wsctl_core.contracts.runs import archives_never_change
from wsctl_core.contracts.states import Broken
from wsctl_core.model.abstraction import NEW_NUMBER, key_of
from wsctl_core.model.laws import Laws
from wsctl_core.model.world import (
    NEW,
    OLD,
    PARTIAL,
    Archive,
    Call,
    Container,
    Volume,
    World,
)
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.states import ContainerPhase

RUNNING, ENDED = ContainerPhase.RUNNING, ContainerPhase.ENDED


class Answer(NamedTuple):
    """What a call that landed has done and says."""

    world: World
    failed: AdapterCode | None = None
    cid: int | None = None
    started: int | None = None
    """The incarnation that a container was started on."""
    broken: Broken = None


def volume_of(w: World, inc: int | None) -> Volume | None:
    """The volume of an incarnation, if it exists."""
    return next((v for v in w.volumes if v.inc == inc), None)


def archive_of(w: World, op: int | None) -> Archive | None:
    """The archive that an operation made, if it exists."""
    return next((a for a in w.archives if a.op == op), None)


def _put_volume(w: World, volume: Volume) -> World:
    others = (v for v in w.volumes if v.inc != volume.inc)
    return w._replace(volumes=tuple(sorted((*others, volume))))


def _put_archive(w: World, archive: Archive) -> World:
    others = (a for a in w.archives if a.op != archive.op)
    return w._replace(archives=tuple(sorted((*others, archive))))


def _drop_volume(w: World, inc: int | None) -> World:
    return w._replace(volumes=tuple(v for v in w.volumes if v.inc != inc))


def _make(w: World, call: Call, laws: Laws) -> Answer:
    if call.inc is None or volume_of(w, call.inc) is not None:
        return Answer(w)
    return Answer(_put_volume(w, Volume(call.inc)))


def _restore(w: World, call: Call, laws: Laws) -> Answer:
    volume, archive = volume_of(w, call.inc), archive_of(w, call.op)
    if volume is None or not volume.ours:
        return Answer(w, AdapterCode.VOLUME_MISSING)
    if archive is None:
        return Answer(w, AdapterCode.ARCHIVE_NOT_FOUND)
    if archive.corrupt:
        damaged = _put_volume(w, volume._replace(content=PARTIAL))
        return Answer(damaged, AdapterCode.CHECKSUM_MISMATCH)
    return Answer(_put_volume(w, volume._replace(content=archive.content)))


def _create(w: World, call: Call, laws: Laws) -> Answer:
    if w.containers or call.inc is None:  # the name is taken
        return Answer(w, AdapterCode.CONTAINER_EXISTS)
    volume = volume_of(w, call.inc)
    if laws.create_refuses_missing and (volume is None or not volume.ours):
        return Answer(w, AdapterCode.VOLUME_MISSING)
    if volume is None:
        w = _put_volume(w, Volume(call.inc, ours=False))
    return Answer(w._replace(containers=(Container(NEW_NUMBER, call.inc),)), cid=NEW_NUMBER)


def _start(w: World, call: Call, laws: Laws) -> Answer:
    for container in w.containers:
        if container.cid in call.cids and volume_of(w, container.inc) is not None:
            if container.phase is RUNNING:
                return Answer(w)
            running = (container._replace(phase=RUNNING),)
            return Answer(w._replace(containers=running), started=container.inc)
    return Answer(w, AdapterCode.CONTAINER_START_FAILED)


def _run(w: World, call: Call, laws: Laws) -> Answer:
    """Create and start in one call: what H5 forbids."""
    created = _create(w, call, laws)
    if created.cid is None:
        return created
    start = _start(created.world, Call("start", cids=(created.cid,)), laws)
    return start._replace(cid=created.cid)


def _archive(w: World, call: Call, laws: Laws) -> Answer:
    there = archive_of(w, call.op)
    if there is not None and laws.no_overwrite:
        done = laws.archive_there_is_done
        return Answer(w, None if done else AdapterCode.ARCHIVE_UNCONFIRMED)
    volume = volume_of(w, call.inc)
    if volume is None or not volume.ours:
        if laws.archiver_checks_label or call.inc is None:
            return Answer(w, AdapterCode.VOLUME_MISSING)
        volume = Volume(call.inc, ours=False)
        w = _put_volume(w, volume)
    written = _put_archive(w, Archive(call.op or 0, volume.content))
    broken = None
    if call.op == w.row.archive:
        broken = archives_never_change(_contents(w), _contents(written))
    return Answer(written, broken=broken)


def _contents(w: World) -> dict[str, object]:
    return {key_of(archive.op): archive.content for archive in w.archives}


def _confirm(w: World, call: Call, laws: Laws) -> Answer:
    archive = archive_of(w, call.op)
    whole = archive is not None and not archive.corrupt
    return Answer(w, None if whole else AdapterCode.ARCHIVE_UNCONFIRMED)


def _remove_volumes(w: World, incs: tuple[int, ...]) -> Answer:
    used = {container.inc for container in w.containers}
    left = tuple(v for v in w.volumes if v.inc not in incs or v.inc in used)
    held = any(v.inc in incs for v in left)
    return Answer(w._replace(volumes=left), AdapterCode.VOLUME_IN_USE if held else None)


def _remove_volume(w: World, call: Call, laws: Laws) -> Answer:
    return _remove_volumes(w, () if call.inc is None else (call.inc,))


def _remove_listed_volumes(w: World, call: Call, laws: Laws) -> Answer:
    return _remove_volumes(w, call.incs)


def _remove_any_volume(w: World, call: Call, laws: Laws) -> Answer:
    """Deletion by the workspace's name: what H4 forbids."""
    return _remove_volumes(w, tuple(v.inc for v in w.volumes))


def _remove_containers(w: World, call: Call, laws: Laws) -> Answer:
    left = tuple(c for c in w.containers if c.cid not in call.cids)
    return Answer(w._replace(containers=left))


def _remove_any_container(w: World, call: Call, laws: Laws) -> Answer:
    """Deletion by the workspace's name: what H7 forbids."""
    return Answer(w._replace(containers=()))


def _collect(w: World, call: Call, laws: Laws) -> Answer:
    return Answer(w._replace(archives=tuple(a for a in w.archives if a.op != call.op)))


_CALLS: dict[str, Callable[[World, Call, Laws], Answer]] = {
    "make": _make,
    "restore": _restore,
    "create": _create,
    "start": _start,
    "run": _run,
    "archive": _archive,
    "confirm": _confirm,
    "remove_volume": _remove_volume,
    "remove_volumes": _remove_listed_volumes,
    "remove_any_volume": _remove_any_volume,
    "remove_containers": _remove_containers,
    "remove_any_container": _remove_any_container,
    "collect": _collect,
}


def land(w: World, call: Call, laws: Laws) -> Answer:
    """What a call does when it lands."""
    return _CALLS[call.what](w, call, laws)


def fail_half_way(w: World, call: Call) -> World:
    """What a call that fails leaves behind: a restore leaves a part."""
    volume = volume_of(w, call.inc)
    if call.what == "restore" and volume is not None:
        return _put_volume(w, volume._replace(content=PARTIAL))
    return w


def home_inc(w: World) -> int | None:
    """The incarnation of the effective home."""
    return None if w.row.loss == ("home", w.row.inc) else w.row.inc


def used_volume(w: World) -> Volume | None:
    """The volume that a running container is on; what was given up is in nobody's use."""
    for container in w.containers:
        if container.phase is RUNNING and w.row.loss != ("home", container.inc):
            return volume_of(w, container.inc)
    return None


def user_writes(w: World) -> World:
    """The user writes: the volume in use holds the newest data, and nothing else does."""
    volume = used_volume(w)
    if volume is None:
        return w
    return _put_volume(outdated(w), volume._replace(content=NEW))._replace(written=True)


def outdated(w: World) -> World:
    """The same world, in which everything that was newest no longer is."""
    return w._replace(
        volumes=tuple(v._replace(content=_older(v.content)) for v in w.volumes),
        archives=tuple(a._replace(content=_older(a.content)) for a in w.archives),
        hidden=None if w.hidden is None else w.hidden._replace(content=_older(w.hidden.content)),
    )


def _older(content: int) -> int:
    return OLD if content == NEW else content


def container_ends(w: World) -> World:
    """The container ends by itself."""
    return w._replace(containers=tuple(c._replace(phase=ENDED) for c in w.containers))


def volume_removed(w: World) -> World:
    """Someone else removes the home's volume, by force."""
    return _drop_volume(w, w.row.inc)._replace(hidden=volume_of(w, w.row.inc))


def volume_back(w: World) -> World:
    """A volume that was removed comes back."""
    return w if w.hidden is None else _put_volume(w, w.hidden)._replace(hidden=None)


def archive_spoilt(w: World, corrupt: bool) -> World:
    """The archive that the row names becomes unreadable, or readable again."""
    archive = archive_of(w, w.row.archive)
    return w if archive is None else _put_archive(w, archive._replace(corrupt=corrupt))


def blank(w: World) -> World:
    """Everything was given up: there is no user data any more."""
    return w._replace(written=False, excused=False)


def archive_is_newest(w: World) -> World:
    """The home was given up: what the archive holds is the newest data there is."""
    archive = archive_of(w, w.row.archive)
    if archive is None or archive.corrupt:
        return w
    return _put_archive(outdated(w), archive._replace(content=NEW))._replace(excused=False)
