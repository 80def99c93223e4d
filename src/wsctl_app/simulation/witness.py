"""The witness: sees everything, and checks the contracts after each call that lands.

It knows what no coordinator knows: what each user wrote last. It changes nothing.
"""

from collections.abc import Iterable, Mapping

import attrs

from wsctl_adapters.memory import Container, MemoryWorld, Volume
from wsctl_core import (
    ContainerSeen,
    Operation,
    Policy,
    VolumeSeen,
    Workspace,
    Writer,
    effective_home,
    parse_archive_key,
)
from wsctl_core.contracts import (
    Reality,
    archives_never_change,
    claims_are_from_rest,
    completion_is_fresh,
    deletion_backs_off,
    deletion_of_archive_is_safe,
    deletion_of_volume_is_safe,
    key_is_saved_with_condemnation,
    newest_data_is_kept,
    no_plan_while_terminal,
    old_epoch_writes_nothing,
    one_container_runs,
    one_level_at_a_time,
    only_own_columns,
    plan_is_fresh,
    restore_needs_marker,
    same_operation_same_key,
    start_is_safe,
    within_limits,
)
from wsctl_core.contracts.states import Broken

_LEADERS_WRITES = {"write": Writer.RECONCILER, "claim": Writer.RECONCILER}
_SERVICES_WRITES = ("change_intent",)


class ContractBroken(AssertionError):
    """A contract does not hold. The message says which, of whom, and after what."""


@attrs.frozen(kw_only=True)
class Sight:
    """Everything, at one moment. All of it is values, so a copy of the shelves is a copy."""

    rows: Mapping[str, Workspace]
    pass_seq: int
    containers: Mapping[str, Container]
    volumes: Mapping[str, Volume]
    archives: Mapping[str, object]


class Witness:
    """Compares what was before a call landed with what is after it."""

    def __init__(self, world: MemoryWorld, policy: Policy) -> None:
        self._world = world
        self._policy = policy
        self.newest: dict[str, bytes] = {}
        """What each user wrote last; nothing until they wrote."""
        self.checked = 0

    def look(self) -> Sight:
        """Everything, now."""
        world = self._world
        return Sight(
            rows=dict(world.database.rows),
            pass_seq=world.database.pass_number,
            containers=dict(world.runtime.containers),
            volumes=dict(world.runtime.volumes),
            archives={key: held.data for key, held in world.archives.objects.items()},
        )

    def check(self, what: str, before: Sight, writer_epoch: int | None) -> None:
        """Raise ContractBroken if the call that has just landed broke anything."""
        self.checked += 1
        after = self.look()
        for broken in self._broken(what, before, after, writer_epoch):
            if broken is not None:
                raise ContractBroken(f"{broken} (after {what})")

    def reality(self, ws: Workspace, sight: Sight) -> Reality:
        """What exists of one workspace, and which of it holds the newest data."""
        newest = self.newest.get(ws.id)
        volumes = [v for v in sight.volumes.values() if _of(v, ws)]
        whole = [v.stamp.incarnation for v in volumes if v.stamp and not v.partial]
        if newest is not None:
            whole = [
                v.stamp.incarnation
                for v in volumes
                if v.stamp and not v.partial and v.content == newest
            ]
        keys = [key for key, data in sight.archives.items() if data == newest]
        return Reality(
            containers=tuple(
                ContainerSeen(id=c.id, incarnation=c.stamp.incarnation, phase=c.phase)
                for c in sight.containers.values()
                if c.stamp.workspace_id == ws.id
            ),
            volumes=tuple(
                VolumeSeen(name=v.name, incarnation=v.stamp.incarnation if v.stamp else None)
                for v in volumes
            ),
            newest=frozenset((*whole, *keys)),
            excused=newest is None,
        )

    def _broken(
        self, what: str, before: Sight, after: Sight, writer_epoch: int | None
    ) -> Iterable[Broken]:
        epoch = self._world.database.epoch
        for ws in after.rows.values():
            was = before.rows.get(ws.id)
            reality = self.reality(ws, after)
            yield _named(ws, newest_data_is_kept(ws, reality))
            yield _named(ws, one_container_runs(reality))
            if was is None or was is ws:
                continue
            for broken in _of_a_write(what, was, ws, before.pass_seq):
                yield _named(ws, broken)
            if writer_epoch is not None:
                yield _named(ws, old_epoch_writes_nothing(was, ws, writer_epoch, epoch))
        yield archives_never_change(before.archives, after.archives)
        if any(_started(before.rows.get(ws.id), ws) for ws in after.rows.values()):
            yield within_limits(tuple(after.rows.values()), after.pass_seq, self._policy)
        yield self._too_many(after)
        yield from self._of_a_start(before, after)
        yield from _of_deletions(before, after)

    def _too_many(self, after: Sight) -> Broken:
        """H32: of containers that run, there are never more than the limits allow."""
        running = [c.stamp.workspace_id for c in after.containers.values() if c.runs]
        owners = [after.rows[ws_id].owner_id for ws_id in running if ws_id in after.rows]
        if len(running) > self._policy.max_running_global:
            return f"{len(running)} containers run"
        most = max(map(owners.count, owners), default=0)
        return f"{most} run for one user" if most > self._policy.max_running_per_user else None

    def _of_a_start(self, before: Sight, after: Sight) -> Iterable[Broken]:
        for container in after.containers.values():
            was = before.containers.get(container.id)
            ws = after.rows.get(container.stamp.workspace_id)
            if container.runs and ws is not None and not (was is not None and was.runs):
                safe = start_is_safe(ws, container.stamp.incarnation, self.reality(ws, after))
                yield _named(ws, safe)


def _started(was: Workspace | None, ws: Workspace) -> bool:
    """A place was taken between the two."""
    before = None if was is None else was.op_id
    return ws.operation is Operation.STARTING and ws.op_id != before


def _of_a_write(what: str, was: Workspace, ws: Workspace, pass_seq: int) -> Iterable[Broken]:
    if what in _SERVICES_WRITES:
        yield only_own_columns(was, ws, Writer.SERVICE)
    if what == "end_pass" and was.error_info == ws.error_info:
        yield only_own_columns(was, ws, Writer.MONITOR)
    if what in _LEADERS_WRITES:
        yield only_own_columns(was, ws, Writer.RECONCILER)
        yield claims_are_from_rest(was, ws)
        yield one_level_at_a_time(was, ws)
        yield completion_is_fresh(was, ws, pass_seq)
        yield plan_is_fresh(was, ws, pass_seq)
        yield no_plan_while_terminal(was, ws)
        yield same_operation_same_key(was, ws)
        yield restore_needs_marker(was, ws)
        yield key_is_saved_with_condemnation(was, ws)
        yield deletion_backs_off(was, ws)


def _of_deletions(before: Sight, after: Sight) -> Iterable[Broken]:
    for name, volume in before.volumes.items():
        ws = None if volume.stamp is None else after.rows.get(volume.stamp.workspace_id)
        if name not in after.volumes and ws is not None and volume.stamp is not None:
            yield _named(ws, deletion_of_volume_is_safe(ws, volume.stamp.incarnation))
    for key in before.archives:
        named = parse_archive_key(key)
        ws = None if named is None else after.rows.get(named[0])
        if key not in after.archives and ws is not None:
            yield _named(ws, deletion_of_archive_is_safe(ws, key))


def strays(sight: Sight) -> list[str]:
    """Whatever exists and is of no workspace's home."""
    homes = {effective_home(ws).incarnation for ws in sight.rows.values()}
    odd = [c.id for c in sight.containers.values() if c.stamp.incarnation not in homes]
    return odd + [
        v.name for v in sight.volumes.values() if v.stamp and v.stamp.incarnation not in homes
    ]


def _of(volume: Volume, ws: Workspace) -> bool:
    return volume.stamp is not None and volume.stamp.workspace_id == ws.id


def _named(ws: Workspace, broken: Broken) -> Broken:
    return None if broken is None else f"{ws.id}: {broken}"
