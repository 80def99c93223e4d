"""The states that explorations start from: a whole life, and one misfortune."""

from collections.abc import Mapping

from wsctl_core.model.abstraction import Error, Row
from wsctl_core.model.world import NEW, OLD, Archive, Container, Volume, World
from wsctl_core.values.errors import ErrorReason
from wsctl_core.values.observation import SuspectKind
from wsctl_core.values.states import (
    ContainerPhase,
    DesiredState,
    HealthStatus,
    HomeState,
    ObservedStatus,
)

_PENDING, _STANDBY, _RUNNING = DesiredState.PENDING, DesiredState.STANDBY, DesiredState.RUNNING
_HOME = Row(home=HomeState.READY, inc=0, dirty=True)
_IDLE_HOME = (Volume(inc=0, content=NEW),)
_BUSY = (Container(cid=0, inc=0, phase=ContainerPhase.RUNNING),)

STARTS: Mapping[str, World] = {
    "new": World(row=Row(desired=_RUNNING)),
    "standby": World(
        row=_HOME._replace(desired=_STANDBY, observed=ObservedStatus.STANDBY),
        volumes=_IDLE_HOME,
        written=True,
    ),
    "running": World(
        row=_HOME._replace(desired=_RUNNING, observed=ObservedStatus.RUNNING),
        volumes=_IDLE_HOME,
        containers=_BUSY,
        written=True,
    ),
    # In use again after an archive: the archive is older than the volume.
    "returned": World(
        row=_HOME._replace(desired=_RUNNING, observed=ObservedStatus.RUNNING, archive=0, marker=0),
        volumes=_IDLE_HOME,
        containers=_BUSY,
        archives=(Archive(op=0, content=OLD),),
        written=True,
    ),
    "archived": World(
        row=Row(desired=_PENDING, archive=0),
        archives=(Archive(op=0, content=NEW),),
        written=True,
    ),
    # The home was removed by someone else; an older archive is left.
    "lost": World(
        row=_HOME._replace(
            desired=_RUNNING,
            observed=ObservedStatus.PENDING,
            health=HealthStatus.ERROR,
            observed_seq=3,
            suspect=(SuspectKind.HOME_MISSING, 0, 1),
            ended=2,
            archive=0,
            marker=0,
            errors=1,
            error=Error(ErrorReason.DATA_LOST, terminal=True),
        ),
        pass_seq=3,
        archives=(Archive(op=0, content=OLD),),
        hidden=Volume(inc=0, content=NEW),
        written=True,
        excused=True,
        tampered=True,
    ),
}
"""The states that explorations start from: a whole life, and one misfortune."""
