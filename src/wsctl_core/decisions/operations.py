"""What each operation is made of (specification, 4.4): its stages in order, and its target.

Contract 8 is the order of these rows: the archive's key is saved before the volume is deleted,
containers are deleted before volumes. Every operation begins by deleting the workspace's
containers (H5, H21) and ends by taking a number from the sequence: only an observation that began
later completes it (H19).
"""

from collections.abc import Mapping

import attrs

from wsctl_core.values.actions import ActionKind
from wsctl_core.values.states import HomeState, ObservedStatus, Operation

A = ActionKind
ANY_HOME = frozenset(HomeState)


@attrs.frozen
class Stage:
    """One action of an operation, carried out only while the home is in one of these states."""

    action: ActionKind
    home: frozenset[HomeState] = ANY_HOME


READY = frozenset({HomeState.READY})
UNFINISHED = frozenset({HomeState.MAKING})
DOOMED = frozenset({HomeState.CONDEMNED})


@attrs.frozen(kw_only=True)
class OperationPlan:
    """How an operation is carried out and what it is to bring about."""

    stages: tuple[Stage, ...]
    target: ObservedStatus


OPERATIONS: Mapping[Operation, OperationPlan] = {
    Operation.PROVISIONING: OperationPlan(
        stages=(
            Stage(A.DELETE_CONTAINERS),
            Stage(A.RECORD_MAKING),
            Stage(A.MAKE_VOLUME, UNFINISHED),
            Stage(A.RECORD_ACTED),
        ),
        target=ObservedStatus.STANDBY,
    ),
    Operation.RESTORING: OperationPlan(
        stages=(
            Stage(A.DELETE_CONTAINERS),
            Stage(A.RECORD_MAKING),
            Stage(A.MAKE_VOLUME, UNFINISHED),
            Stage(A.RESTORE_HOME, UNFINISHED),
            Stage(A.SAVE_MARKER, UNFINISHED),
            Stage(A.RECORD_ACTED),
        ),
        target=ObservedStatus.STANDBY,
    ),
    Operation.STARTING: OperationPlan(
        stages=(
            Stage(A.DELETE_CONTAINERS),
            Stage(A.RECORD_DIRTY, READY),
            Stage(A.CREATE_CONTAINER, READY),
            Stage(A.START_CONTAINER, READY),
            Stage(A.SET_IDLE_TIMER),
            Stage(A.RECORD_ACTED),
        ),
        target=ObservedStatus.RUNNING,
    ),
    Operation.STOPPING: OperationPlan(
        stages=(
            Stage(A.DELETE_CONTAINERS),
            Stage(A.RECORD_ACTED),
        ),
        target=ObservedStatus.STANDBY,
    ),
    Operation.ARCHIVING: OperationPlan(
        stages=(
            Stage(A.DELETE_CONTAINERS, READY),
            Stage(A.ARCHIVE_HOME, READY),
            Stage(A.CONFIRM_ARCHIVE, READY),
            Stage(A.SAVE_ARCHIVE, READY),
            Stage(A.RECORD_CONDEMNED, UNFINISHED),
            Stage(A.DELETE_CONTAINERS, DOOMED),
            Stage(A.DELETE_VOLUME, DOOMED),
            Stage(A.RECORD_ACTED),
        ),
        target=ObservedStatus.PENDING,
    ),
    Operation.DELETING: OperationPlan(
        stages=(
            Stage(A.DELETE_CONTAINERS),
            Stage(A.DELETE_VOLUMES),
            Stage(A.RECORD_ACTED),
        ),
        target=ObservedStatus.DELETED,
    ),
}
