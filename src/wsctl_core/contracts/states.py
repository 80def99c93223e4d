"""What must hold of one row and what exists, at every moment."""

from enum import StrEnum

import attrs

from wsctl_core.decisions.facts import Moment
from wsctl_core.decisions.planning import plan_operation
from wsctl_core.values.observation import ContainerSeen, VolumeSeen
from wsctl_core.values.reasons import Reason
from wsctl_core.values.states import ContainerPhase, HealthStatus, HomeState, Operation
from wsctl_core.values.workspace import Workspace, effective_home, finished_deleting

Broken = str | None
"""What a predicate answers: None when it holds, else what is broken."""


@attrs.frozen(kw_only=True)
class Reality:
    """What really exists of one workspace, as someone who sees everything knows it."""

    containers: tuple[ContainerSeen, ...] = ()
    volumes: tuple[VolumeSeen, ...] = ()
    newest: frozenset[str] = frozenset()
    """The incarnations and archive keys that hold the newest user data."""
    excused: bool = False
    """There is nothing to keep: no data yet, or the outside destroyed its last copy."""


def newest_data_is_kept(ws: Workspace, reality: Reality) -> Broken:
    """Contract 11, I1: the newest data is in the home's volume or in the row's archive.

    >>> from datetime import UTC, datetime
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> ws = Workspace.created(id="w1", owner_id="o", name="n", image="i", at=at, seq=1)
    >>> newest_data_is_kept(ws, Reality(excused=True)) is None
    True
    >>> newest_data_is_kept(ws, Reality(newest=frozenset({"i1"})))
    'the newest data is in neither the home nor the archive that the row names'
    """
    if reality.excused or ws.deleted_at is not None:
        return None
    home = ws.home
    if home.state in (HomeState.READY, HomeState.CONDEMNED) and home.incarnation in reality.newest:
        return None
    if ws.archive_key in reality.newest:
        return None
    return "the newest data is in neither the home nor the archive that the row names"


def container_implies_volume(ws: Workspace, reality: Reality) -> Broken:
    """Contract 6: the home's container has its volume, or health says ERROR."""
    incarnation = effective_home(ws).incarnation
    if incarnation is None or ws.health_status is HealthStatus.ERROR:
        return None
    has_container = any(c.incarnation == incarnation for c in reality.containers)
    has_volume = any(v.incarnation == incarnation for v in reality.volumes)
    if has_container and not has_volume:
        return "the home's container has no volume, and health is OK"
    return None


def start_is_safe(ws: Workspace, incarnation: str, reality: Reality) -> Broken:
    """Contract 11, I2, H14: what a container starts on is the whole home, with the newest data."""
    home = effective_home(ws)
    if home.incarnation != incarnation:
        return "a container starts on a volume that is not the home"
    if home.state is not HomeState.READY:
        return f"a container starts on a home that is {home.state}"
    if not any(v.incarnation == incarnation for v in reality.volumes):
        return "a container starts on a volume that is not there, or not ours"
    if incarnation not in reality.newest:
        return "a container starts on a home that holds less than the newest data"
    return None


def one_container_runs(reality: Reality) -> Broken:
    """I8: at most one container of a workspace runs."""
    running = [c for c in reality.containers if c.phase is ContainerPhase.RUNNING]
    return None if len(running) <= 1 else f"{len(running)} containers run at once"


class Settled(StrEnum):
    """How a workspace can be at rest (contract 13)."""

    NOT = "not settled"
    CONVERGED = "as desired"
    DELETED = "deleted"
    IN_ERROR = "in an error that needs a person"
    WAITS_FOR_PLACE = "waiting for a place"


_RESTS = {
    Reason.CONVERGED: Settled.CONVERGED,
    Reason.DELETION_FINISHED: Settled.DELETED,
    Reason.PERSON_NEEDED: Settled.IN_ERROR,
    Reason.NO_FREE_PLACE: Settled.WAITS_FOR_PLACE,
}


def settled(ws: Workspace, moment: Moment) -> Settled:
    """Contract 13: whether, and how, the workspace is at rest.

    >>> from datetime import UTC, datetime
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> ws = Workspace.created(id="w1", owner_id="o", name="n", image="i", at=at, seq=1)
    >>> settled(ws, Moment(now=at, fresh_id="x", pass_seq=2)).value
    'not settled'
    """
    if ws.operation is not Operation.NONE:
        return Settled.NOT
    rest = _RESTS.get(plan_operation(ws, moment).reason, Settled.NOT)
    if rest is Settled.CONVERGED and ws.suspect is not None:
        return Settled.NOT  # the monitor looks again
    told = ws.health_status is HealthStatus.ERROR
    if told is not (rest is Settled.IN_ERROR) and not finished_deleting(ws):
        return Settled.NOT  # the monitor has yet to say so
    return rest
