"""Why: the code of every rule that can decide, and its sentence for people.

A verdict carries one of these. Logs, metrics, events, `explain` and error pages render verdicts
and nothing else, so what people are told can't drift from what was decided.
"""

from collections.abc import Mapping
from enum import StrEnum, auto


class Reason(StrEnum):
    """The code of the rule that decided."""

    # decide_observed
    NOT_SEEN = auto()
    ALL_GONE = auto()
    CONTAINER_RUNS = auto()
    VOLUME_THERE = auto()
    NOTHING_THERE = auto()
    # decide_health
    TERMINAL_ERROR = auto()
    CONTAINER_WITHOUT_VOLUME = auto()
    HEALTHY = auto()
    # plan_operation
    DELETION_DUE = auto()
    DELETION_FINISHED = auto()
    DELETION_WAITS = auto()
    PERSON_NEEDED = auto()
    HEALTH_NOT_CLEARED = auto()
    OBSERVATION_DUE = auto()
    CONDEMNED_VOLUME_REMAINS = auto()
    HOME_MISSING_ONCE = auto()
    HOME_LOST = auto()
    UNFINISHED_HOME_GIVEN_UP = auto()
    UNFINISHED_HOME_RESTORED = auto()
    UNFINISHED_HOME_PROVISIONED = auto()
    STATUS_OF_NO_HOME = auto()
    CONVERGED = auto()
    ARCHIVE_RESTORED = auto()
    HOME_PROVISIONED = auto()
    RESTARTS_EXHAUSTED = auto()
    RESTART_BACKS_OFF = auto()
    NO_FREE_PLACE = auto()
    START_WANTED = auto()
    ARCHIVE_WANTED = auto()
    STOP_WANTED = auto()
    CONTRACT_VIOLATED = auto()
    # check_completion
    ACTIONS_REMAIN = auto()
    RESULT_NOT_SEEN_YET = auto()
    TARGET_REACHED = auto()
    STILL_IN_PROGRESS = auto()
    TARGET_MISSED = auto()
    # reconcile, inside an operation
    HEALTH_FORBIDS = auto()
    LEADER_IS_NEW = auto()
    OPERATION_COMPLETE = auto()
    OPERATION_TIMED_OUT = auto()
    RETRY_WAITS = auto()
    ACTION_RUNS = auto()
    RESULT_MISMATCHES = auto()
    RESULT_AWAITED = auto()
    ACTION_DUE = auto()
    # failure
    DELETION_TRIES_LATER = auto()
    TIMEOUT_IS_TERMINAL = auto()
    LOSS_IS_TERMINAL = auto()
    SOMETHING_IN_THE_WAY = auto()
    ATTEMPTS_EXHAUSTED = auto()
    ATTEMPT_REPEATED = auto()
    # ttl_decision
    NOT_RUNNING = auto()
    NOT_STANDBY = auto()
    TTL_IN_ERROR = auto()
    TTL_OPERATION_RUNS = auto()
    TTL_INTENT_DIFFERS = auto()
    STARTED_RECENTLY = auto()
    ACTIVITY_UNKNOWN = auto()
    CONNECTED = auto()
    KEPT_ALIVE = auto()
    IDLE_TIMER_RUNS = auto()
    IDLE = auto()
    ACCESSED_RECENTLY = auto()
    UNUSED = auto()
    # gc_decision and reap_decision
    KEY_NOT_OURS = auto()
    OTHER_INSTALLATION = auto()
    NO_ROW = auto()
    TOO_YOUNG = auto()
    HOLDS_THE_HOME = auto()
    GIVEN_UP = auto()
    OPERATION_NAMES_IT = auto()
    KEPT_IN_ERROR = auto()
    ARCHIVE_UNNEEDED = auto()
    BELONGS_TO_HOME = auto()
    OPERATION_RUNS = auto()
    STRAY = auto()
    # limit_decision
    USER_LIMIT_REACHED = auto()
    GLOBAL_LIMIT_REACHED = auto()
    PLACE_FREE = auto()
    # intent_decision
    INTENT_STALE = auto()
    DELETION_ASKED = auto()
    INTENT_UNCHANGED = auto()
    INTENT_WRITTEN = auto()
    # poll_interval
    POLL_BUSY = auto()
    POLL_UNCONVERGED = auto()
    POLL_IDLE = auto()
    POLL_TTL = auto()
    POLL_GC = auto()
    # recovery_decision
    NOT_IN_ERROR = auto()
    DELETION_RUNS = auto()
    ONLY_ADMINISTRATOR_ACCEPTS = auto()
    ACCEPTS_UNKNOWN = auto()
    STILL_THERE = auto()
    ONLY_ADMINISTRATOR_RECOVERS = auto()
    LOSS_ACCEPTED = auto()
    TRY_AGAIN = auto()
    # display_status
    SHOWN_ERROR = auto()
    SHOWN_OPERATION = auto()
    SHOWN_ARCHIVED = auto()
    SHOWN_OBSERVED = auto()
    # event_of
    ERROR_CHANGED = auto()
    STATE_CHANGED = auto()
    NOTHING_CHANGED = auto()


SENTENCES: Mapping[Reason, str] = {
    Reason.NOT_SEEN: "Containers or volumes could not be listed, so the last status stays.",
    Reason.ALL_GONE: "Deletion was asked for, and nothing of the workspace exists any more.",
    Reason.CONTAINER_RUNS: "Its container is running.",
    Reason.VOLUME_THERE: "Its home volume exists and no container runs on it.",
    Reason.NOTHING_THERE: "Neither a running container nor the home volume exists.",
    Reason.TERMINAL_ERROR: "The last error is one that wsctl does not retry by itself.",
    Reason.CONTAINER_WITHOUT_VOLUME: "Its container was seen twice in a row without its volume.",
    Reason.HEALTHY: "Nothing is wrong.",
    Reason.DELETION_DUE: "Deletion was asked for and is not finished.",
    Reason.DELETION_FINISHED: "Deletion was asked for and is finished.",
    Reason.DELETION_WAITS: "Deletion failed and waits for its next attempt.",
    Reason.PERSON_NEEDED: "An error ended the last operation; a person has to decide what next.",
    Reason.HEALTH_NOT_CLEARED: "The monitor has yet to see that the error was reset.",
    Reason.OBSERVATION_DUE: "Nothing has been observed since the last operation ended.",
    Reason.CONDEMNED_VOLUME_REMAINS: "The home is archived; its old volume is to be deleted.",
    Reason.HOME_MISSING_ONCE: "The home volume was not seen; wsctl looks again to be sure.",
    Reason.HOME_LOST: "The home volume, with data that no archive has, is gone.",
    Reason.UNFINISHED_HOME_GIVEN_UP: "A home that was never finished is not wanted any more.",
    Reason.UNFINISHED_HOME_RESTORED: "A home was left unfinished; it is restored anew.",
    Reason.UNFINISHED_HOME_PROVISIONED: "A home was left unfinished; it is made anew.",
    Reason.STATUS_OF_NO_HOME: "The status speaks of a volume that is no longer the home.",
    Reason.CONVERGED: "What exists is what is wanted.",
    Reason.ARCHIVE_RESTORED: "The home is in its archive and is restored from there.",
    Reason.HOME_PROVISIONED: "There is no home yet; an empty one is made.",
    Reason.RESTARTS_EXHAUSTED: "The container ended by itself after every one of its starts.",
    Reason.RESTART_BACKS_OFF: "The container ended by itself; the next start waits a little.",
    Reason.NO_FREE_PLACE: "As many workspaces run as the limits allow; it waits for a place.",
    Reason.START_WANTED: "The home is ready and a running workspace is wanted.",
    Reason.ARCHIVE_WANTED: "No volume is wanted, so the home goes to the archive.",
    Reason.STOP_WANTED: "The container runs and is not wanted.",
    Reason.CONTRACT_VIOLATED: "This state should be impossible; wsctl does nothing and reports.",
    Reason.ACTIONS_REMAIN: "The operation still has actions to carry out.",
    Reason.RESULT_NOT_SEEN_YET: "All actions ended; the monitor has not looked since.",
    Reason.TARGET_REACHED: "The monitor has seen what the operation was to bring about.",
    Reason.STILL_IN_PROGRESS: "A container is on its way from one state to another.",
    Reason.TARGET_MISSED: "All actions ended, and the monitor sees something else.",
    Reason.HEALTH_FORBIDS: "Health is ERROR; only a deletion goes on.",
    Reason.LEADER_IS_NEW: "A coordinator found the operation and takes it up from the start.",
    Reason.OPERATION_COMPLETE: "The operation has reached its target.",
    Reason.OPERATION_TIMED_OUT: "The operation took longer than it may.",
    Reason.RETRY_WAITS: "The last attempt failed; the next one is not due yet.",
    Reason.ACTION_RUNS: "An action is being carried out.",
    Reason.RESULT_MISMATCHES: "The actions did not bring about what they should.",
    Reason.RESULT_AWAITED: "All actions ended; the result is being observed.",
    Reason.ACTION_DUE: "The next action is due.",
    Reason.DELETION_TRIES_LATER: "Deletion failed and is tried again later, without end.",
    Reason.TIMEOUT_IS_TERMINAL: "An operation that ran out of time is not repeated.",
    Reason.LOSS_IS_TERMINAL: "Lost data does not come back by trying again.",
    Reason.SOMETHING_IN_THE_WAY: "A late call left something in the way; it is removed first.",
    Reason.ATTEMPTS_EXHAUSTED: "The last of the allowed attempts failed.",
    Reason.ATTEMPT_REPEATED: "The attempt failed and is repeated after a wait.",
    Reason.NOT_RUNNING: "It does not run, so it can't be idle.",
    Reason.NOT_STANDBY: "It is not on standby, so there is nothing to archive.",
    Reason.TTL_IN_ERROR: "It is in error; time-outs do not apply.",
    Reason.TTL_OPERATION_RUNS: "An operation is under way.",
    Reason.TTL_INTENT_DIFFERS: "Something else than the present state is wanted already.",
    Reason.STARTED_RECENTLY: "It was started too recently to be idle.",
    Reason.ACTIVITY_UNKNOWN: "It is not known whether anyone uses it, so it stays up.",
    Reason.CONNECTED: "Somebody is connected.",
    Reason.KEPT_ALIVE: "It was asked to be kept alive.",
    Reason.IDLE_TIMER_RUNS: "The last connection closed a short while ago.",
    Reason.IDLE: "Nobody has used it for the whole idle time.",
    Reason.ACCESSED_RECENTLY: "It was used or changed recently.",
    Reason.UNUSED: "Nobody has used it for the whole archive time.",
    Reason.KEY_NOT_OURS: "The object's key is not one that wsctl makes.",
    Reason.OTHER_INSTALLATION: "It belongs to another installation.",
    Reason.NO_ROW: "No workspace is known for it; it is kept and reported.",
    Reason.TOO_YOUNG: "It is too young to be judged.",
    Reason.HOLDS_THE_HOME: "It holds the home of its workspace.",
    Reason.GIVEN_UP: "Its loss was accepted; it is reported and left alone.",
    Reason.OPERATION_NAMES_IT: "The operation that wrote it is the workspace's latest.",
    Reason.KEPT_IN_ERROR: "Its workspace is in error and may need it.",
    Reason.ARCHIVE_UNNEEDED: "Nothing can need it any more.",
    Reason.BELONGS_TO_HOME: "It belongs to the present home of its workspace.",
    Reason.OPERATION_RUNS: "An operation of its workspace is under way.",
    Reason.STRAY: "It belongs to a home that its workspace has given up.",
    Reason.USER_LIMIT_REACHED: "This user has as many running workspaces as allowed.",
    Reason.GLOBAL_LIMIT_REACHED: "All users together have as many running workspaces as allowed.",
    Reason.PLACE_FREE: "There is a free place.",
    Reason.INTENT_STALE: "Somebody has changed what is wanted in the meantime.",
    Reason.DELETION_ASKED: "Its deletion was asked for; nothing else can be wanted any more.",
    Reason.INTENT_UNCHANGED: "That is what is wanted already.",
    Reason.INTENT_WRITTEN: "It is noted; wsctl moves the workspace there.",
    Reason.POLL_BUSY: "Something is under way that will change soon.",
    Reason.POLL_UNCONVERGED: "Something is not yet as it is wanted.",
    Reason.POLL_IDLE: "All is quiet.",
    Reason.POLL_TTL: "Idle times are checked at their own pace.",
    Reason.POLL_GC: "Archives are collected at their own pace.",
    Reason.NOT_IN_ERROR: "The workspace is not in error, so there is nothing to recover.",
    Reason.DELETION_RUNS: "Its deletion is under way; there is nothing to recover.",
    Reason.ONLY_ADMINISTRATOR_ACCEPTS: "Only an administrator accepts a loss.",
    Reason.ACCEPTS_UNKNOWN: "What is to be accepted is neither its home nor its archive.",
    Reason.STILL_THERE: "What is to be accepted as lost is there, or may be there.",
    Reason.ONLY_ADMINISTRATOR_RECOVERS: "Data may be lost: an administrator has to look first.",
    Reason.LOSS_ACCEPTED: "The loss is accepted; the workspace goes on without what was lost.",
    Reason.TRY_AGAIN: "The error is reset and wsctl tries again.",
    Reason.SHOWN_ERROR: "Its health is ERROR.",
    Reason.SHOWN_OPERATION: "This is the operation that is under way.",
    Reason.SHOWN_ARCHIVED: "Nothing exists but its archive.",
    Reason.SHOWN_OBSERVED: "This is what was last observed.",
    Reason.ERROR_CHANGED: "An error appeared or changed.",
    Reason.STATE_CHANGED: "Something that people see has changed.",
    Reason.NOTHING_CHANGED: "Nothing that people see has changed.",
}


def sentence(reason: Reason) -> str:
    """What a reason code says to a person.

    >>> sentence(Reason.CONVERGED)
    'What exists is what is wanted.'
    """
    return SENTENCES[reason]
