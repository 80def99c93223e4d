"""`check_completion`: has a fresh observation seen what the operation was to bring about? (4.4)

An action that returned success is not a completed operation (contract 1). Only an observation
that began after the last action ended counts (H19).
"""

from enum import StrEnum
from typing import Any, NamedTuple

from wsctl_core.decisions.facts import CONDEMNED, HomeFact, home_fact
from wsctl_core.decisions.rules import ALWAYS, Rule, Table, Verdict, all_of
from wsctl_core.values.observation import SuspectKind
from wsctl_core.values.reasons import Reason
from wsctl_core.values.states import ObservedStatus, Operation
from wsctl_core.values.workspace import Workspace, effective_home, effective_seq


class Completion(StrEnum):
    """Where an operation stands."""

    ACTING = "ACTING"
    AWAITED = "AWAITED"
    COMPLETE = "COMPLETE"
    MISMATCH = "MISMATCH"


class CompletionFacts(NamedTuple):
    """What `check_completion` reads."""

    operation: Operation
    acted: bool
    """Every action of the attempt has ended."""
    fresh: bool
    """The observation began after that."""
    observed: ObservedStatus
    marker_matches: bool
    """The home was fully restored from the archive that the row names."""
    home: HomeFact
    in_progress: bool
    """A container was seen between two states."""


O = ObservedStatus  # noqa: E741  # as in the specification's table

COMPLETION = Table[CompletionFacts, Completion](
    name="completion",
    facts=CompletionFacts,
    rules=(
        Rule(
            name="C-acting",
            says="actions remain",
            when=(all_of(acted=False),),
            then=Completion.ACTING,
            reason=Reason.ACTIONS_REMAIN,
        ),
        Rule(
            name="C-stale",
            says="effective observed_seq not after op_acted_seq",
            when=(all_of(fresh=False),),
            then=Completion.AWAITED,
            reason=Reason.RESULT_NOT_SEEN_YET,
        ),
        Rule(
            name="C-target",
            says="PROVISIONING, STOPPING: STANDBY; RESTORING: STANDBY and "
            "restore_marker = archive_key; STARTING: RUNNING; ARCHIVING: PENDING or DELETED, "
            "and home CONDEMNED; DELETING: DELETED",
            when=(
                all_of(operation=Operation.PROVISIONING, observed=O.STANDBY),
                all_of(operation=Operation.RESTORING, observed=O.STANDBY, marker_matches=True),
                all_of(operation=Operation.STARTING, observed=O.RUNNING),
                all_of(operation=Operation.STOPPING, observed=O.STANDBY),
                all_of(
                    operation=Operation.ARCHIVING,
                    observed={O.PENDING, O.DELETED},
                    home=CONDEMNED,
                ),
                all_of(operation=Operation.DELETING, observed=O.DELETED),
            ),
            then=Completion.COMPLETE,
            reason=Reason.TARGET_REACHED,
        ),
        Rule(
            name="C-progress",
            says="a container is between two states",
            when=(all_of(in_progress=True),),
            then=Completion.AWAITED,
            reason=Reason.STILL_IN_PROGRESS,
        ),
        Rule(
            name="C-mismatch",
            says="neither the target nor in progress",
            when=(ALWAYS,),
            then=Completion.MISMATCH,
            reason=Reason.TARGET_MISSED,
        ),
    ),
)


_IN_PROGRESS = SuspectKind.IN_PROGRESS


def completion_facts(ws: Workspace, pass_seq: int) -> CompletionFacts:
    """The row reduced to what completion reads."""
    return CompletionFacts(*_completion_values(ws, pass_seq))


def _completion_values(ws: Workspace, pass_seq: int) -> tuple[Any, ...]:
    acted = ws.op_acted_seq
    home = effective_home(ws)
    return (
        ws.operation,
        acted is not None,
        acted is not None and effective_seq(ws, pass_seq) > acted,
        ws.observed_status,
        ws.archive_key is not None and home.restore_marker == ws.archive_key,
        home_fact(home),
        ws.suspect is not None and ws.suspect.what is _IN_PROGRESS,
    )


def check_completion(ws: Workspace, pass_seq: int) -> Verdict[Completion]:
    """Where the running operation stands.

    >>> import attrs
    >>> from datetime import UTC, datetime
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> ws = attrs.evolve(
    ...     Workspace.created(id="w1", owner_id="o", name="n", image="i", at=at, seq=1),
    ...     operation=Operation.PROVISIONING, op_id="op1", op_started_at=at, op_acted_seq=5,
    ...     observed_status=ObservedStatus.STANDBY, observed_seq=4)
    >>> check_completion(ws, pass_seq=4).outcome.value
    'AWAITED'
    >>> check_completion(ws, pass_seq=6).outcome.value
    'COMPLETE'
    """
    return COMPLETION.recall(_completion_values(ws, pass_seq))
