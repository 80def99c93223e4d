"""The specification's tables once more, as plain conditions written from its text.

Each function answers for one combination of facts. They share no code with the tables, so that
a slip in one of the two shows.
"""

from collections.abc import Callable
from typing import Any

from wsctl_core import (
    Actor,
    Completion,
    Component,
    DesiredState,
    ErrorReason,
    EventKind,
    HealthStatus,
    Idle,
    Keep,
    ObservedStatus,
    Operation,
    Reason,
    RecoveryOutcome,
    Retry,
    Table,
    Ttl,
)
from wsctl_core.decisions.collection import GcFacts, ReapFacts
from wsctl_core.decisions.completion import CompletionFacts
from wsctl_core.decisions.facts import ErrorFact, HomeFact, RestartFact, Sighting
from wsctl_core.decisions.failure import FailureFacts
from wsctl_core.decisions.health import HealthFacts
from wsctl_core.decisions.intent import IntentFacts, IntentOutcome, Place
from wsctl_core.decisions.limits import LimitFacts
from wsctl_core.decisions.observed import ObservedFacts, Seen
from wsctl_core.decisions.planning import PlanFacts
from wsctl_core.decisions.polling import PollFacts
from wsctl_core.decisions.reconcile import Move, MoveFacts
from wsctl_core.decisions.recovery import Accepts, Evidence, RecoveryFacts
from wsctl_core.decisions.ttl import ArchiveFacts, StandbyFacts
from wsctl_core.views.display import DisplayFacts, Shown
from wsctl_core.views.events import EventFacts

Answer = tuple[object, Reason]
"""The outcome, and the reason of the row that decides."""


def observed(f: ObservedFacts) -> Answer:
    """Section 4.1."""
    if Seen.UNKNOWN in (f.container, f.volume):
        return None, Reason.NOT_SEEN
    if f.deletion_asked and not f.anything and f.may_finish_deletion:
        return ObservedStatus.DELETED, Reason.ALL_GONE
    if f.container == Seen.RUNNING:
        return ObservedStatus.RUNNING, Reason.CONTAINER_RUNS
    if f.volume != Seen.ABSENT:
        return ObservedStatus.STANDBY, Reason.VOLUME_THERE
    return ObservedStatus.PENDING, Reason.NOTHING_THERE


def health(f: HealthFacts) -> Answer:
    """Section 4.2."""
    if f.error_is_terminal:
        return HealthStatus.ERROR, Reason.TERMINAL_ERROR
    if f.without_volume == Sighting.TWICE:
        return HealthStatus.ERROR, Reason.CONTAINER_WITHOUT_VOLUME
    return HealthStatus.OK, Reason.HEALTHY


def plan(f: PlanFacts) -> Answer:
    """Section 4.3, row by row."""
    seen, want = f.observed.value, f.desired.value
    has_error = f.error != ErrorFact.NONE
    if f.deletion_asked and (seen != "DELETED" or has_error) and f.attempt_due:
        return Operation.DELETING, Reason.DELETION_DUE  # 1
    if f.deletion_asked and seen == "DELETED" and not has_error:
        return Idle.SETTLED, Reason.DELETION_FINISHED  # 2
    if f.deletion_asked:
        return Idle.WAITING, Reason.DELETION_WAITS  # 2
    if f.error == ErrorFact.TERMINAL:
        return Idle.SETTLED, Reason.PERSON_NEEDED  # 3
    if f.health == HealthStatus.ERROR:
        return Idle.WAITING, Reason.HEALTH_NOT_CLEARED  # 3: the monitor's turn
    if not f.fresh:
        return Idle.WAITING, Reason.OBSERVATION_DUE  # 4
    if f.home == HomeFact.CONDEMNED:
        return Operation.ARCHIVING, Reason.CONDEMNED_VOLUME_REMAINS  # 5
    if f.home == HomeFact.DIRTY and seen == "PENDING":
        if f.missing == Sighting.TWICE:
            return ErrorReason.DATA_LOST, Reason.HOME_LOST  # 6
        return Idle.WAITING, Reason.HOME_MISSING_ONCE  # 6
    if f.home == HomeFact.MAKING and seen != "PENDING":
        if want == "PENDING":
            return Operation.ARCHIVING, Reason.UNFINISHED_HOME_GIVEN_UP  # 7
        if f.archived:
            return Operation.RESTORING, Reason.UNFINISHED_HOME_RESTORED  # 8
        return Operation.PROVISIONING, Reason.UNFINISHED_HOME_PROVISIONED  # 8
    if f.home == HomeFact.NONE and seen in ("STANDBY", "RUNNING"):
        return Idle.WAITING, Reason.STATUS_OF_NO_HOME  # 9
    if seen == want:
        return Idle.SETTLED, Reason.CONVERGED  # 10
    if seen == "PENDING" and f.archived:
        return Operation.RESTORING, Reason.ARCHIVE_RESTORED  # 11
    if seen == "PENDING":
        return Operation.PROVISIONING, Reason.HOME_PROVISIONED  # 11
    if seen == "STANDBY" and want == "RUNNING":
        if f.restart == RestartFact.EXHAUSTED:
            return ErrorReason.RETRY_EXCEEDED, Reason.RESTARTS_EXHAUSTED  # 12
        if f.restart == RestartFact.BACKS_OFF:
            return Idle.WAITING, Reason.RESTART_BACKS_OFF  # 13
        if not f.place_free:
            return Idle.WAITING, Reason.NO_FREE_PLACE  # 13
        return Operation.STARTING, Reason.START_WANTED  # 14
    if seen == "STANDBY":
        return Operation.ARCHIVING, Reason.ARCHIVE_WANTED  # 15
    if seen == "RUNNING":
        return Operation.STOPPING, Reason.STOP_WANTED  # 16
    return Idle.SETTLED, Reason.CONTRACT_VIOLATED  # 17


def completion(f: CompletionFacts) -> Answer:
    """Section 4.4, the column 'complete when'."""
    if not f.acted:
        return Completion.ACTING, Reason.ACTIONS_REMAIN
    if not f.fresh:
        return Completion.AWAITED, Reason.RESULT_NOT_SEEN_YET
    standby = f.observed == ObservedStatus.STANDBY
    reached = {
        Operation.NONE: False,
        Operation.PROVISIONING: standby,
        Operation.RESTORING: standby and f.marker_matches,
        Operation.STARTING: f.observed == ObservedStatus.RUNNING,
        Operation.STOPPING: standby,
        Operation.ARCHIVING: f.observed in (ObservedStatus.PENDING, ObservedStatus.DELETED)
        and f.home == HomeFact.CONDEMNED,
        Operation.DELETING: f.observed == ObservedStatus.DELETED,
    }[f.operation]
    if reached:
        return Completion.COMPLETE, Reason.TARGET_REACHED
    if f.in_progress:
        return Completion.AWAITED, Reason.STILL_IN_PROGRESS
    return Completion.MISMATCH, Reason.TARGET_MISSED


def move(f: MoveFacts) -> Answer:
    """Contract 4, and the paragraphs on completion, resume, timeouts and retries (4.4, 4.5)."""
    if f.health == HealthStatus.ERROR and not f.deleting:
        return Move.CANCEL, Reason.HEALTH_FORBIDS
    if not f.ours:
        return Move.RESUME, Reason.LEADER_IS_NEW
    if f.completion == Completion.COMPLETE:
        return Move.COMPLETE, Reason.OPERATION_COMPLETE
    if f.timed_out:
        return Move.TIME_OUT, Reason.OPERATION_TIMED_OUT
    if not f.attempt_due:
        return Move.WAIT, Reason.RETRY_WAITS
    if f.action_runs:
        return Move.WAIT, Reason.ACTION_RUNS
    if f.completion == Completion.MISMATCH:
        return Move.MISMATCH, Reason.RESULT_MISMATCHES
    if f.completion == Completion.AWAITED:
        return Move.WAIT, Reason.RESULT_AWAITED
    return Move.ACT, Reason.ACTION_DUE


def failure(f: FailureFacts) -> Answer:
    """Section 4.5 and the column 'terminal' of section 5."""
    if f.in_the_way:  # left by a late call, removed by the next attempt, nobody's failure
        return Retry.REPEAT_UNCOUNTED, Reason.SOMETHING_IN_THE_WAY
    at_once = f.reason.value in ("Timeout", "DataLost", "RetryExceeded")
    if not at_once and not f.last_attempt:
        return Retry.REPEAT, Reason.ATTEMPT_REPEATED
    if f.deleting:
        return Retry.END_FOR_NOW, Reason.DELETION_TRIES_LATER
    if f.reason.value == "Timeout":
        return Retry.END, Reason.TIMEOUT_IS_TERMINAL
    if f.reason.value == "DataLost":
        return Retry.END, Reason.LOSS_IS_TERMINAL
    return Retry.END, Reason.ATTEMPTS_EXHAUSTED


def standby_ttl(f: StandbyFacts) -> Answer:
    """Section 4.6, left column."""
    if f.observed != ObservedStatus.RUNNING:
        return Ttl.SKIP, Reason.NOT_RUNNING
    if f.health == HealthStatus.ERROR:
        return Ttl.SKIP, Reason.TTL_IN_ERROR
    if f.operation_runs:
        return Ttl.SKIP, Reason.TTL_OPERATION_RUNS
    if not f.still_wanted:
        return Ttl.SKIP, Reason.TTL_INTENT_DIFFERS
    if f.started_recently:
        return Ttl.SKIP, Reason.STARTED_RECENTLY
    if not f.activity_known:
        return Ttl.SKIP, Reason.ACTIVITY_UNKNOWN
    if f.connected:
        return Ttl.SKIP, Reason.CONNECTED
    if f.kept_alive:
        return Ttl.SKIP, Reason.KEPT_ALIVE
    if f.idle_timer:
        return Ttl.SKIP, Reason.IDLE_TIMER_RUNS
    return Ttl.TO_STANDBY, Reason.IDLE


def archive_ttl(f: ArchiveFacts) -> Answer:
    """Section 4.6, right column."""
    if f.observed != ObservedStatus.STANDBY:
        return Ttl.SKIP, Reason.NOT_STANDBY
    if f.health == HealthStatus.ERROR:
        return Ttl.SKIP, Reason.TTL_IN_ERROR
    if f.operation_runs:
        return Ttl.SKIP, Reason.TTL_OPERATION_RUNS
    if not f.still_wanted:
        return Ttl.SKIP, Reason.TTL_INTENT_DIFFERS
    if f.accessed_recently:
        return Ttl.SKIP, Reason.ACCESSED_RECENTLY
    return Ttl.TO_PENDING, Reason.UNUSED


def gc(f: GcFacts) -> Answer:
    """Section 4.7, `gc_decision`; what is not ours to judge comes first."""
    if not f.key_ours:
        return Keep.KEEP, Reason.KEY_NOT_OURS
    if not f.installation_ours:
        return Keep.KEEP, Reason.OTHER_INSTALLATION
    if not f.has_row:
        return Keep.KEEP, Reason.NO_ROW
    if f.young:
        return Keep.KEEP, Reason.TOO_YOUNG
    if f.holds_home and not f.finished:
        return Keep.KEEP, Reason.HOLDS_THE_HOME
    if f.given_up and not f.finished:
        return Keep.KEEP, Reason.GIVEN_UP
    if f.operation_names_it:
        return Keep.KEEP, Reason.OPERATION_NAMES_IT
    if f.protected_by_error:
        return Keep.KEEP, Reason.KEPT_IN_ERROR
    return Keep.REMOVE, Reason.ARCHIVE_UNNEEDED


def reap(f: ReapFacts) -> Answer:
    """Section 6, the reaper; section 5 on what was given up."""
    if not f.installation_ours:
        return Keep.KEEP, Reason.OTHER_INSTALLATION
    if not f.has_row:
        return Keep.KEEP, Reason.NO_ROW
    if f.home:
        return Keep.KEEP, Reason.BELONGS_TO_HOME
    if f.volume_given_up:
        return Keep.KEEP, Reason.GIVEN_UP
    if f.operation_runs:
        return Keep.KEEP, Reason.OPERATION_RUNS
    if f.young:
        return Keep.KEEP, Reason.TOO_YOUNG
    return Keep.REMOVE, Reason.STRAY


def limit(f: LimitFacts) -> Answer:
    """Section 4.7, `limit_decision`."""
    if f.user_full:
        return False, Reason.USER_LIMIT_REACHED
    if f.all_full:
        return False, Reason.GLOBAL_LIMIT_REACHED
    return True, Reason.PLACE_FREE


def poll(f: PollFacts) -> Answer:
    """Section 4.7, `poll_interval`, in the default policy's seconds."""
    if f.component == Component.TTL_MANAGER:
        return 60, Reason.POLL_TTL
    if f.component == Component.ARCHIVE_GC:
        return 3600, Reason.POLL_GC
    if f.operation_runs:
        return 2, Reason.POLL_BUSY
    if f.component == Component.MONITOR and f.observation_awaited:
        return 2, Reason.POLL_BUSY
    if f.component == Component.RECONCILER and f.unconverged:
        return 5, Reason.POLL_UNCONVERGED
    return 30, Reason.POLL_IDLE


def intent(f: IntentFacts) -> Answer:
    """Section 8: a stale wish is refused first, then one that comes too late, then one too many."""
    refused = IntentOutcome.REFUSED
    if f.stale:
        return refused, Reason.INTENT_STALE
    if f.too_late:
        return refused, Reason.DELETION_ASKED
    if f.place == Place.USER_FULL:
        return refused, Reason.USER_LIMIT_REACHED
    if f.place == Place.ALL_FULL:
        return refused, Reason.GLOBAL_LIMIT_REACHED
    if f.changes:
        return IntentOutcome.WRITTEN, Reason.INTENT_WRITTEN
    return IntentOutcome.UNCHANGED, Reason.INTENT_UNCHANGED


def recovery(f: RecoveryFacts) -> Answer:
    """Section 5, the paragraph on recovery."""
    refused, recovered = RecoveryOutcome.REFUSED, RecoveryOutcome.RECOVERED
    gives_up = f.accepts != Accepts.NOTHING
    if not f.in_error:
        return refused, Reason.NOT_IN_ERROR
    if f.operation_runs:
        return refused, Reason.DELETION_RUNS
    if gives_up and f.actor == Actor.OWNER:
        return refused, Reason.ONLY_ADMINISTRATOR_ACCEPTS
    if f.accepts == Accepts.UNKNOWN:
        return refused, Reason.ACCEPTS_UNKNOWN
    if gives_up and f.evidence not in (Evidence.GONE, Evidence.CORRUPT):
        return refused, Reason.STILL_THERE
    if gives_up:
        return recovered, Reason.LOSS_ACCEPTED
    if f.actor == Actor.OWNER and f.data_at_stake:
        return refused, Reason.ONLY_ADMINISTRATOR_RECOVERS
    return recovered, Reason.TRY_AGAIN


def display(f: DisplayFacts) -> Answer:
    """Section 2, `display_status`."""
    if f.health == HealthStatus.ERROR:
        return Shown.ERROR, Reason.SHOWN_ERROR
    if f.operation_runs:
        return Shown.OPERATION, Reason.SHOWN_OPERATION
    if f.observed == ObservedStatus.PENDING and f.archived:
        return Shown.ARCHIVED, Reason.SHOWN_ARCHIVED
    return Shown.OBSERVED, Reason.SHOWN_OBSERVED


def event(f: EventFacts) -> Answer:
    """Section 4.7, `event_of`; an error outweighs the change of state that it came with."""
    if f.error_changed:
        return EventKind.ERROR, Reason.ERROR_CHANGED
    if f.state_changed:
        return EventKind.STATE_CHANGED, Reason.STATE_CHANGED
    return None, Reason.NOTHING_CHANGED


def differing(table: Table[Any, Any], oracle: Callable[[Any], Answer]) -> list[Any]:
    """All combinations of facts for which a table does not answer as its oracle does."""
    return [
        facts
        for facts in table.every_facts()
        if (table.decide(facts).outcome, table.decide(facts).reason) != oracle(facts)
    ]


LEVEL = {
    DesiredState.PENDING.value: 0,
    DesiredState.STANDBY.value: 1,
    DesiredState.RUNNING.value: 2,
}
"""Contract 5: PENDING < STANDBY < RUNNING."""
