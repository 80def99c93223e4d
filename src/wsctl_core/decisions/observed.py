"""`decide_observed`: what exists, from what was seen (specification, 4.1).

Only what carries the incarnation of the effective home counts; anything else of the workspace is
a stray, and matters to deletion alone (H6).
"""

from enum import StrEnum
from typing import NamedTuple

from wsctl_core.decisions.rules import ALWAYS, Rule, Table, Verdict, all_of
from wsctl_core.values.observation import UNKNOWN, ContainerSeen, Observation, VolumeSeen
from wsctl_core.values.reasons import Reason
from wsctl_core.values.states import ContainerPhase, ObservedStatus, Operation
from wsctl_core.values.workspace import Workspace, effective_home


class Seen(StrEnum):
    """What was seen of the home's container or volume."""

    UNKNOWN = "unknown"
    ABSENT = "absent"
    PRESENT = "present, not running"
    RUNNING = "running"


class ObservedFacts(NamedTuple):
    """What `decide_observed` reads."""

    container: Seen
    volume: Seen
    anything: bool
    """Something of the workspace exists, strays included."""
    deletion_asked: bool
    may_finish_deletion: bool
    """The operation is NONE or DELETING (H26)."""


OBSERVED = Table[ObservedFacts, ObservedStatus | None](
    name="observed",
    facts=ObservedFacts,
    rules=(
        Rule(
            name="O-unknown",
            says="containers or volumes could not be listed",
            when=(all_of(container=Seen.UNKNOWN), all_of(volume=Seen.UNKNOWN)),
            then=None,
            reason=Reason.NOT_SEEN,
        ),
        Rule(
            name="O0",
            says="deletion asked, no container, no volume (strays included), "
            "operation NONE or DELETING",
            when=(all_of(deletion_asked=True, anything=False, may_finish_deletion=True),),
            then=ObservedStatus.DELETED,
            reason=Reason.ALL_GONE,
        ),
        Rule(
            name="O1",
            says="container present and running",
            when=(all_of(container=Seen.RUNNING),),
            then=ObservedStatus.RUNNING,
            reason=Reason.CONTAINER_RUNS,
        ),
        Rule(
            name="O2",
            says="volume present",
            when=(all_of(volume={Seen.PRESENT, Seen.RUNNING}),),
            then=ObservedStatus.STANDBY,
            reason=Reason.VOLUME_THERE,
        ),
        Rule(
            name="O3",
            says="otherwise",
            when=(ALWAYS,),
            then=ObservedStatus.PENDING,
            reason=Reason.NOTHING_THERE,
        ),
    ),
)


def home_container(ws: Workspace, seen: Observation) -> ContainerSeen | None:
    """The container of the effective home, if the observation shows one."""
    incarnation = effective_home(ws).incarnation
    if incarnation is None or seen.containers is UNKNOWN:
        return None
    return next((c for c in seen.containers if c.incarnation == incarnation), None)


def home_volume(ws: Workspace, seen: Observation) -> VolumeSeen | None:
    """The volume of the effective home, if the observation shows one."""
    incarnation = effective_home(ws).incarnation
    if incarnation is None or seen.volumes is UNKNOWN:
        return None
    return next((v for v in seen.volumes if v.incarnation == incarnation), None)


def observed_facts(ws: Workspace, seen: Observation) -> ObservedFacts:
    """What was seen, reduced to facts."""
    container = home_container(ws, seen)
    if seen.containers is UNKNOWN:
        of_container = Seen.UNKNOWN
    elif container is None:
        of_container = Seen.ABSENT
    else:
        running = container.phase is ContainerPhase.RUNNING
        of_container = Seen.RUNNING if running else Seen.PRESENT
    if seen.volumes is UNKNOWN:
        of_volume = Seen.UNKNOWN
    else:
        of_volume = Seen.ABSENT if home_volume(ws, seen) is None else Seen.PRESENT
    return ObservedFacts(
        container=of_container,
        volume=of_volume,
        anything=bool(seen.containers) or bool(seen.volumes),
        deletion_asked=ws.deleted_at is not None,
        may_finish_deletion=ws.operation in (Operation.NONE, Operation.DELETING),
    )


def decide_observed(ws: Workspace, seen: Observation) -> Verdict[ObservedStatus | None]:
    """What exists; None when it could not be seen, and the last status stays.

    >>> from datetime import UTC, datetime
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> ws = Workspace.created(id="w1", owner_id="o", name="n", image="i", at=at, seq=0)
    >>> stray = VolumeSeen(name="ws-w1-i9", incarnation="i9")
    >>> decide_observed(ws, Observation(seq=1, began_at=at, volumes=(stray,))).outcome.value
    'PENDING'
    >>> decide_observed(ws, Observation(seq=1, began_at=at, volumes=UNKNOWN)).outcome is None
    True
    """
    return OBSERVED.decide(observed_facts(ws, seen))
