"""WHAT MUST HOLD. The thirteen contracts and the invariants I1 to I13, as predicates.

Each predicate answers None when it holds, and otherwise a sentence that says what is broken. The
same predicates serve the property tests, the model checker, the simulator and the audit of a live
fleet. `states` speaks of one row and what exists, `steps` of one change, `runs` of many. They know
values and decisions; they never change anything.
"""

from wsctl_core.contracts.catalogue import CONTRACTS, INVARIANTS, Contract
from wsctl_core.contracts.runs import (
    archives_never_change,
    function_of_its_arguments,
    recovery_leads_out,
    retries_are_bounded,
    settles,
    strays_are_removed,
    within_limits,
)
from wsctl_core.contracts.states import (
    Reality,
    Settled,
    container_implies_volume,
    newest_data_is_kept,
    one_container_runs,
    settled,
    start_is_safe,
)
from wsctl_core.contracts.steps import (
    claims_are_from_rest,
    completion_is_fresh,
    deletion_backs_off,
    deletion_of_archive_is_safe,
    deletion_of_volume_is_safe,
    error_stops_operations,
    key_is_saved_with_condemnation,
    no_plan_while_terminal,
    old_epoch_writes_nothing,
    one_level_at_a_time,
    only_its_exception,
    only_own_columns,
    plan_is_fresh,
    restore_needs_marker,
    same_operation_same_key,
)

__all__ = [
    "CONTRACTS",
    "INVARIANTS",
    "Contract",
    "Reality",
    "Settled",
    "archives_never_change",
    "claims_are_from_rest",
    "completion_is_fresh",
    "container_implies_volume",
    "deletion_backs_off",
    "deletion_of_archive_is_safe",
    "deletion_of_volume_is_safe",
    "error_stops_operations",
    "function_of_its_arguments",
    "key_is_saved_with_condemnation",
    "newest_data_is_kept",
    "no_plan_while_terminal",
    "old_epoch_writes_nothing",
    "one_container_runs",
    "one_level_at_a_time",
    "only_its_exception",
    "only_own_columns",
    "plan_is_fresh",
    "recovery_leads_out",
    "restore_needs_marker",
    "retries_are_bounded",
    "same_operation_same_key",
    "settled",
    "settles",
    "start_is_safe",
    "strays_are_removed",
    "within_limits",
]
