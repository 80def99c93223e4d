"""Which predicates stand for which contract, and for which invariant."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from wsctl_core.contracts import runs, states, steps
from wsctl_core.contracts.states import Broken

Predicate = Callable[..., Broken | Any]


@attrs.frozen
class Contract:
    """One thing that must hold, in a sentence, with the predicates that check it."""

    says: str
    predicates: tuple[Predicate, ...]


CONTRACTS: Mapping[int, Contract] = {
    1: Contract(
        "Reality is the truth: only a fresh observation completes or plans.",
        (steps.completion_is_fresh, steps.plan_is_fresh),
    ),
    2: Contract(
        "Level-triggered: every decision is a function of present state.",
        (runs.function_of_its_arguments,),
    ),
    3: Contract(
        "Single writer: each column has one.", (steps.only_own_columns, steps.only_its_exception)
    ),
    4: Contract(
        "Non-preemptive: one operation at a time, none but DELETING in ERROR.",
        (steps.claims_are_from_rest, steps.error_stops_operations),
    ),
    5: Contract("Ordered: one level per operation.", (steps.one_level_at_a_time,)),
    6: Contract("A container implies its volume.", (states.container_implies_volume,)),
    7: Contract(
        "Archive and restore are idempotent and crash-only.",
        (
            steps.same_operation_same_key,
            steps.restore_needs_marker,
            runs.archives_never_change,
        ),
    ),
    8: Contract(
        "Order: the key is saved before the volume goes.",
        (steps.key_is_saved_with_condemnation, steps.deletion_of_volume_is_safe),
    ),
    9: Contract("Collection is separate, and protects.", (steps.deletion_of_archive_is_safe,)),
    10: Contract("Retries are bounded.", (runs.retries_are_bounded, steps.deletion_backs_off)),
    11: Contract(
        "Durability: the newest data is never in danger.",
        (states.newest_data_is_kept, states.start_is_safe),
    ),
    12: Contract("Fencing: an old leader changes nothing.", (steps.old_epoch_writes_nothing,)),
    13: Contract("Convergence: calm leads to rest.", (states.settled, runs.settles)),
}

INVARIANTS: Mapping[str, Contract] = {
    "I1": Contract("The newest data is kept.", (states.newest_data_is_kept,)),
    "I2": Contract("Every start is on the whole home.", (states.start_is_safe,)),
    "I3": Contract("An archive never changes.", (runs.archives_never_change,)),
    "I4": Contract(
        "Nothing stale completes or plans.", (steps.completion_is_fresh, steps.plan_is_fresh)
    ),
    "I5": Contract("An old epoch writes nothing.", (steps.old_epoch_writes_nothing,)),
    "I6": Contract("No plan while terminal.", (steps.no_plan_while_terminal,)),
    "I7": Contract("In ERROR, only DELETING runs.", (steps.error_stops_operations,)),
    "I8": Contract("At most one container runs.", (states.one_container_runs,)),
    "I9": Contract("Calm leads to rest.", (states.settled, runs.settles)),
    "I10": Contract("Old strays are removed.", (runs.strays_are_removed,)),
    "I11": Contract("One recovery leads out.", (runs.recovery_leads_out,)),
    "I12": Contract("Each write is its writer's.", (steps.only_own_columns,)),
    "I13": Contract("Places held stay within the limits.", (runs.within_limits,)),
}
