"""wsctl's core: every decision about a development workspace, as a pure function of values.

A workspace is a container with an IDE, a home volume, and an archive of that home. One row per
workspace says what is wanted (`desired_state`), what was seen (`observed_status`, `health_status`)
and what is being done (`operation`). Three writers share the row, each with columns of its own:

* the *service* writes what people want (`IntentPatch`),
* the *health monitor* writes what exists (`assess` -> `MonitorPatch`),
* the *state reconciler* moves the one towards the other (`reconcile` -> one `Step`).

Read the packages in this order:

`values`     what is: the row, what was seen, patches, actions, errors, policy, reasons
`decisions`  what follows: facts, a literal table, a verdict with its reason
`views`      what people are told: status, events, explanations, ways out
`contracts`  what must hold: the thirteen contracts and the invariants, as predicates
`ports`      what the outside must offer: protocols, each promise a sentence
`model`      proof: a world in one frozen value, and a machine that tries to break it

The core imports the standard library's pure parts and attrs. It does no I/O, reads no clock and
draws no random number: time, identity and chance are arguments.
"""

from wsctl_core.decisions.collection import Keep, gc_decision, reap_decision
from wsctl_core.decisions.completion import Completion, check_completion
from wsctl_core.decisions.facts import Moment
from wsctl_core.decisions.failure import Retry, record_failure, retry_decision
from wsctl_core.decisions.health import Assessment, assess, decide_health
from wsctl_core.decisions.intent import (
    IntentAnswer,
    IntentOutcome,
    Wish,
    creation_decision,
    intent_decision,
)
from wsctl_core.decisions.limits import Usage, holds_place, limit_decision, wants_place
from wsctl_core.decisions.observed import decide_observed
from wsctl_core.decisions.planning import Idle, Plan, needs_work, plan_operation
from wsctl_core.decisions.polling import PollFacts, poll_interval
from wsctl_core.decisions.reconcile import reconcile
from wsctl_core.decisions.recovery import (
    Evidence,
    RecoveryAnswer,
    RecoveryOutcome,
    recovery_decision,
)
from wsctl_core.decisions.rules import Change, Rule, Table, Verdict
from wsctl_core.decisions.stepping import next_action, stage_done
from wsctl_core.decisions.steps import Act, Claim, Complete, Fail, Resume, Skip, Step, Wait
from wsctl_core.decisions.ttl import (
    Ttl,
    archive_ttl_decision,
    standby_ttl_decision,
    ttl_decision,
)
from wsctl_core.values.actions import (
    Action,
    ActionKind,
    ArchiveHome,
    ConfirmArchive,
    CreateContainer,
    DeleteContainers,
    DeleteVolume,
    DeleteVolumes,
    MakeVolume,
    Progress,
    Record,
    RestoreHome,
    SetIdleTimer,
    StartContainer,
)
from wsctl_core.values.activity import UNKNOWN_ACTIVITY, Activity
from wsctl_core.values.archives import ArchiveReceipt, StoredArchive
from wsctl_core.values.errors import (
    AdapterCode,
    ErrorInfo,
    ErrorReason,
    Failure,
    reason_of_code,
)
from wsctl_core.values.names import (
    archive_key,
    container_name,
    parse_archive_key,
    volume_name,
)
from wsctl_core.values.observation import (
    UNKNOWN,
    ContainerSeen,
    LastExit,
    Observation,
    Suspect,
    SuspectKind,
    Unknown,
    VolumeSeen,
)
from wsctl_core.values.patches import (
    NEXT_NUMBER,
    UNSET,
    Alarm,
    ClaimGuard,
    Guard,
    IntentPatch,
    MonitorPatch,
    OperationGuard,
    Patch,
    ReconcilerPatch,
    Recovery,
    apply,
    changes,
)
from wsctl_core.values.policy import DEFAULT_POLICY, Policy
from wsctl_core.values.reasons import Reason, sentence
from wsctl_core.values.stamps import FoundContainer, FoundVolume, Stamp
from wsctl_core.values.states import (
    Actor,
    Component,
    ContainerPhase,
    DesiredState,
    HealthStatus,
    HomeState,
    ObservedStatus,
    Operation,
    Writer,
)
from wsctl_core.values.validation import InvalidValue
from wsctl_core.values.workspace import (
    COLUMN_WRITER,
    NO_HOME,
    Home,
    Workspace,
    effective_home,
    effective_seq,
    finished_deleting,
    in_error,
    is_terminal,
    usable_archive,
)
from wsctl_core.views.display import display_status
from wsctl_core.views.events import EventKind, event_of
from wsctl_core.views.explain import Explanation, Way, WayOut, explain, ways_out

__all__ = [
    "Act",
    "Action",
    "ActionKind",
    "Activity",
    "Actor",
    "AdapterCode",
    "Alarm",
    "ArchiveHome",
    "ArchiveReceipt",
    "Assessment",
    "COLUMN_WRITER",
    "Change",
    "Claim",
    "ClaimGuard",
    "Complete",
    "Completion",
    "Component",
    "ConfirmArchive",
    "ContainerPhase",
    "ContainerSeen",
    "CreateContainer",
    "DEFAULT_POLICY",
    "DeleteContainers",
    "DeleteVolume",
    "DeleteVolumes",
    "DesiredState",
    "ErrorInfo",
    "ErrorReason",
    "EventKind",
    "Evidence",
    "Explanation",
    "Fail",
    "Failure",
    "FoundContainer",
    "FoundVolume",
    "Guard",
    "HealthStatus",
    "Home",
    "HomeState",
    "Idle",
    "IntentAnswer",
    "IntentOutcome",
    "IntentPatch",
    "InvalidValue",
    "Keep",
    "LastExit",
    "MakeVolume",
    "Moment",
    "MonitorPatch",
    "NEXT_NUMBER",
    "NO_HOME",
    "Observation",
    "ObservedStatus",
    "Operation",
    "OperationGuard",
    "Patch",
    "Plan",
    "Policy",
    "PollFacts",
    "Progress",
    "Reason",
    "ReconcilerPatch",
    "Record",
    "Recovery",
    "RecoveryAnswer",
    "RecoveryOutcome",
    "RestoreHome",
    "Resume",
    "Retry",
    "Rule",
    "SetIdleTimer",
    "Skip",
    "Stamp",
    "StartContainer",
    "Step",
    "StoredArchive",
    "Suspect",
    "SuspectKind",
    "Table",
    "Ttl",
    "UNKNOWN",
    "UNKNOWN_ACTIVITY",
    "UNSET",
    "Unknown",
    "Usage",
    "Verdict",
    "VolumeSeen",
    "Wait",
    "Way",
    "WayOut",
    "Wish",
    "Workspace",
    "Writer",
    "apply",
    "archive_key",
    "archive_ttl_decision",
    "assess",
    "changes",
    "check_completion",
    "container_name",
    "creation_decision",
    "decide_health",
    "decide_observed",
    "display_status",
    "effective_home",
    "effective_seq",
    "event_of",
    "explain",
    "finished_deleting",
    "gc_decision",
    "holds_place",
    "in_error",
    "intent_decision",
    "is_terminal",
    "limit_decision",
    "needs_work",
    "next_action",
    "parse_archive_key",
    "plan_operation",
    "poll_interval",
    "reap_decision",
    "reason_of_code",
    "reconcile",
    "record_failure",
    "recovery_decision",
    "retry_decision",
    "sentence",
    "stage_done",
    "standby_ttl_decision",
    "ttl_decision",
    "usable_archive",
    "volume_name",
    "wants_place",
    "ways_out",
]
