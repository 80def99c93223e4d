"""`decide_health` and `assess`: the monitor's whole judgement of one workspace (4.2).

Containers and volumes are listed at different moments, so one odd look proves nothing: an anomaly
is first a suspicion in the row, and is believed when a later observation leaves it standing, with
no operation between (H16, H20).
"""

from datetime import datetime
from typing import NamedTuple

import attrs

from wsctl_core.decisions.facts import DIRTY, TWICE, Sighting, home_fact, sighting
from wsctl_core.decisions.observed import decide_observed, home_container, home_volume
from wsctl_core.decisions.rules import ALWAYS, Rule, Table, Verdict, all_of
from wsctl_core.values.errors import AdapterCode, ErrorInfo, ErrorReason
from wsctl_core.values.observation import ContainerSeen, Observation, Suspect, SuspectKind
from wsctl_core.values.patches import Alarm, MonitorPatch
from wsctl_core.values.reasons import Reason
from wsctl_core.values.states import ContainerPhase, HealthStatus, ObservedStatus, Operation
from wsctl_core.values.workspace import Workspace, effective_home, effective_seq, is_terminal


class HealthFacts(NamedTuple):
    """What `decide_health` reads."""

    error_is_terminal: bool
    without_volume: Sighting
    """How often in a row the home's container was seen without its volume."""


HEALTH = Table[HealthFacts, HealthStatus](
    name="health",
    facts=HealthFacts,
    rules=(
        Rule(
            name="H1",
            says="the recorded error is terminal",
            when=(all_of(error_is_terminal=True),),
            then=HealthStatus.ERROR,
            reason=Reason.TERMINAL_ERROR,
        ),
        Rule(
            name="H2",
            says="a container without its volume, seen twice in a row, operation NONE",
            when=(all_of(without_volume=TWICE),),
            then=HealthStatus.ERROR,
            reason=Reason.CONTAINER_WITHOUT_VOLUME,
        ),
        Rule(
            name="H3",
            says="otherwise",
            when=(ALWAYS,),
            then=HealthStatus.OK,
            reason=Reason.HEALTHY,
        ),
    ),
)


_ENDS_BY_ITSELF = (Operation.NONE, Operation.STARTING)
"""Any other operation ends containers itself, and that is no exit to tell people about."""


def anomaly(ws: Workspace, seen: Observation) -> tuple[SuspectKind, str] | None:
    """What is odd about an observation, and of whom.

    At rest, something that should be there and is not; during an operation, a container between
    two states, of which completion must know (H24). A listing that failed shows nothing odd.
    """
    if not seen.complete:
        return None
    container = home_container(ws, seen)
    if ws.operation is Operation.NONE:
        return _missing(ws, seen, container)
    if container is not None and container.phase is ContainerPhase.IN_PROGRESS:
        return SuspectKind.IN_PROGRESS, container.id
    return None


def _missing(
    ws: Workspace, seen: Observation, container: ContainerSeen | None
) -> tuple[SuspectKind, str] | None:
    if home_volume(ws, seen) is not None:
        return None
    if container is not None:
        return SuspectKind.CONTAINER_WITHOUT_VOLUME, container.id
    home = effective_home(ws)
    if home.incarnation is not None and home_fact(home) is DIRTY:
        return SuspectKind.HOME_MISSING, home.incarnation
    return None


def decide_suspect(ws: Workspace, seen: Observation) -> Suspect | None:
    """The suspicion that the row is to hold after this observation.

    A standing one keeps its number, so that the next look makes it the second; one that arose
    before the last operation ended begins anew.
    """
    odd = anomaly(ws, seen)
    if odd is None:
        return None
    what, identity = odd
    old = ws.suspect
    if old is not None and (old.what, old.identity) == odd and old.seq > ws.op_ended_seq:
        return old
    return Suspect(what=what, identity=identity, seq=seen.seq)


def decide_health(ws: Workspace, seen: Observation) -> Verdict[HealthStatus]:
    """The verdict of policy on one workspace.

    >>> from datetime import UTC, datetime
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> ws = Workspace.created(id="w1", owner_id="o", name="n", image="i", at=at, seq=0)
    >>> decide_health(ws, Observation(seq=1, began_at=at)).outcome.value
    'OK'
    """
    odd = anomaly(ws, seen)
    without_volume = Sighting.NEVER
    if odd is not None and odd[0] is SuspectKind.CONTAINER_WITHOUT_VOLUME:
        without_volume = sighting(ws, *odd, seen.seq)
    return HEALTH.decide(HealthFacts(is_terminal(ws), without_volume))


@attrs.frozen(kw_only=True)
class Assessment:
    """What the monitor does about one workspace: at most one patch and one alarm."""

    observed: Verdict[ObservedStatus | None]
    health: Verdict[HealthStatus]
    patch: MonitorPatch | None
    """None when nothing changed: the pass number speaks for the row."""
    alarm: Alarm | None


def assess(ws: Workspace, seen: Observation, pass_seq: int = 0) -> Assessment:
    """The monitor's whole judgement: status, health, suspicion, exit, alarm.

    Nothing is written by an observation that could not see everything, nor by one that is older
    than what the row already knows (H19).

    >>> from datetime import UTC, datetime
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> ws = Workspace.created(id="w1", owner_id="o", name="n", image="i", at=at, seq=0)
    >>> assess(ws, Observation(seq=1, began_at=at)).patch is None
    True
    """
    observed = decide_observed(ws, seen)
    health = decide_health(ws, seen)
    if observed.outcome is None or seen.seq <= effective_seq(ws, pass_seq):
        return Assessment(observed=observed, health=health, patch=None, alarm=None)
    container = home_container(ws, seen)
    last_exit = ws.last_exit
    if container is not None and container.exit is not None and ws.operation in _ENDS_BY_ITSELF:
        last_exit = container.exit
    suspect = decide_suspect(ws, seen)
    before = (ws.observed_status, ws.health_status, ws.suspect, ws.last_exit)
    patch = None
    if before != (observed.outcome, health.outcome, suspect, last_exit):
        patch = MonitorPatch(
            observed_status=observed.outcome,
            health_status=health.outcome,
            observed_at=seen.began_at,
            observed_seq=seen.seq,
            suspect=suspect,
            last_exit=last_exit,
        )
    alarm = None
    if health.reason is Reason.CONTAINER_WITHOUT_VOLUME and ws.error_info is None:
        alarm = Alarm(error_info=container_without_volume(ws, seen.began_at))
    return Assessment(observed=observed, health=health, patch=patch, alarm=alarm)


def container_without_volume(ws: Workspace, at: datetime) -> ErrorInfo:
    """The error of contract 6."""
    return ErrorInfo(
        reason=ErrorReason.MISMATCH,
        message="a container exists without its home volume",
        is_terminal=True,
        operation=ws.operation,
        error_count=ws.error_count,
        context=(
            ("code", AdapterCode.CONTAINER_WITHOUT_VOLUME.value),
            ("expected", "the volume of the container's home"),
            ("actual", "no volume"),
        ),
        occurred_at=at,
    )
