"""Each rule of the hazards, taken out: how, and where the explorer finds what goes wrong.

An ablation is a way to remove one rule (or a pair, where each backs the other up), with a start and
a mix of faults that show why the rule is there. Rules in decision tables are removed from the
tables of production; rules of interpreters and of the outside are laws that are switched off.
"""

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from wsctl_core.decisions import (
    collection,
    completion,
    facts,
    failure,
    health,
    observed,
    operations,
    planning,
    reconcile,
    recovery,
    stepping,
)
from wsctl_core.decisions.rules import all_of
from wsctl_core.model import LAWS, STARTS, Budget, Laws, World
from wsctl_core.model.world import Attempt, Process
from wsctl_core.values.actions import ActionKind
from wsctl_core.values.patches import UNSET
from wsctl_core.values.states import DesiredState, ObservedStatus, Operation

Patch = pytest.MonkeyPatch
Removal = Callable[[Patch], None]


@attrs.frozen(kw_only=True)
class Ablation:
    """A rule without which something breaks."""

    hazard: str
    rule: str
    start: str | World
    budget: Budget
    remove: tuple[Removal, ...] = ()
    laws: Laws = LAWS
    errors: bool = True
    dies: bool = False
    limit: int = 300_000
    long: bool = False
    """It takes seconds to find."""


def without(module: Any, name: str, *rows: str) -> Removal:
    """Take rows out of a table of production."""

    def remove(patch: Patch) -> None:
        table = getattr(module, name)
        known = {rule.name for rule in table.rules}
        assert set(rows) <= known, f"{name} has no rows {set(rows) - known}"
        left = tuple(rule for rule in table.rules if rule.name not in rows)
        patch.setattr(module, name, attrs.evolve(table, rules=left))

    return remove


def changed(module: Any, name: str, row: str, **fields: Any) -> Removal:
    """Change one row of a table of production."""

    def remove(patch: Patch) -> None:
        table = getattr(module, name)
        assert row in {rule.name for rule in table.rules}
        rules = tuple(
            attrs.evolve(rule, **fields) if rule.name == row else rule for rule in table.rules
        )
        patch.setattr(module, name, attrs.evolve(table, rules=rules))

    return remove


def replaced(module: Any, name: str, value: Any) -> Removal:
    """Put something else in the place of a function of production."""

    def remove(patch: Patch) -> None:
        assert hasattr(module, name)
        patch.setattr(module, name, value)

    return remove


def stages(
    operation: Operation, rearrange: Callable[[tuple[Any, ...]], tuple[Any, ...]]
) -> Removal:
    """Change the stages of an operation."""

    def remove(patch: Patch) -> None:
        plan = operations.OPERATIONS[operation]
        new = attrs.evolve(plan, stages=rearrange(plan.stages))
        assert new.stages != plan.stages
        patch.setitem(operations.OPERATIONS, operation, new)

    return remove


def drop(*kinds: ActionKind) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Leave these stages out."""
    return lambda all_stages: tuple(s for s in all_stages if s.action not in kinds)


_make_action: Any = stepping.make_action
_claim: Any = reconcile._claim


def _recording(kind: ActionKind, home: Callable[[Any, Any], Any]) -> Removal:
    """Record another home than production does, in this kind of action."""

    def make(made: ActionKind, ws: Any, progress: Any, moment: Any) -> Any:
        action = _make_action(made, ws, progress, moment)
        if made is not kind:
            return action
        patch = attrs.evolve(action.patch, home=home(ws, action.patch.home))
        return attrs.evolve(action, patch=patch)

    return replaced(reconcile, "make_action", make)


_reuses_incarnation = _recording(
    ActionKind.RECORD_MAKING,
    lambda ws, home: attrs.evolve(home, incarnation=ws.home.incarnation or home.incarnation),
)
_keeps_marker = _recording(
    ActionKind.RECORD_MAKING,
    lambda ws, home: attrs.evolve(home, restore_marker=ws.home.restore_marker),
)
_does_not_condemn = _recording(ActionKind.SAVE_ARCHIVE, lambda ws, home: UNSET)
_forgets_dirt = _recording(ActionKind.RECORD_DIRTY, lambda ws, home: ws.home)


def _reuses_op_id(ws: Any, operation: Any, moment: Any, verdict: Any) -> Any:
    claim = _claim(ws, operation, moment, verdict)
    if ws.op_id is None:
        return claim
    patch = attrs.evolve(claim.patch, op_id=ws.op_id)
    return attrs.evolve(claim, patch=patch, op_id=ws.op_id)


def _any_incarnation(ws: Any, seen: Any) -> Any:
    return next(iter(seen.volumes), None)


def _believes_at_once(ws: Any, what: Any, identity: Any, seq: int) -> Any:
    return facts.Sighting.TWICE


_anomaly = health.anomaly


def _anomaly_at_any_time(ws: Any, seen: Any) -> Any:
    at_rest = attrs.evolve(ws, operation=Operation.NONE, op_acted_seq=None)
    return _anomaly(at_rest, seen)


def _archiving_completes_when(**conditions: Any) -> Removal:
    """Another condition for the completion of ARCHIVING."""
    target = next(r for r in completion.COMPLETION.rules if r.name == "C-target")
    others = tuple(c for c in target.when if Operation.ARCHIVING not in c["operation"])
    archiving = all_of(operation=Operation.ARCHIVING, **conditions)
    return changed(completion, "COMPLETION", "C-target", when=(*others, archiving))


def _late_key(all_stages: tuple[Any, ...]) -> tuple[Any, ...]:
    """Delete the volume, then save the key: what H11 forbids."""
    ready = operations.READY
    kinds = [ActionKind.DELETE_CONTAINERS, ActionKind.ARCHIVE_HOME, ActionKind.CONFIRM_ARCHIVE]
    kinds += [ActionKind.DELETE_VOLUME, ActionKind.SAVE_ARCHIVE]
    return (*(operations.Stage(k, ready) for k in kinds), *all_stages[4:])


_R = Operation

_ABOUT_TO_CREATE = STARTS["standby"].row._replace(
    desired=DesiredState.RUNNING, operation=_R.STARTING, op=0
)
ARCHIVING_BESIDE_AN_OLD_LEADER = STARTS["standby"]._replace(
    row=STARTS["standby"].row._replace(
        desired=DesiredState.PENDING, operation=_R.ARCHIVING, op=1, version=1
    ),
    active=Process(attempt=Attempt(op=1)),
    deposed=Process(seen=_ABOUT_TO_CREATE, attempt=Attempt(op=0, done=2)),
)
"""Where a fail-over during STARTING can lead when nothing stops the old leader."""

ABLATIONS: tuple[Ablation, ...] = (
    Ablation(
        hazard="H1",
        rule="epoch on writes",
        long=True,
        laws=Laws(epoch_on_writes=False),
        start="standby",
        budget=Budget(failover=1, intent=1),
    ),
    Ablation(
        hazard="H2",
        rule="a new incarnation for every attempt",
        long=True,
        remove=(_reuses_incarnation,),
        start="archived",
        budget=Budget(crash=1, intent=1),
    ),
    Ablation(
        hazard="H3",
        rule="uploads refuse to overwrite, the archiver refuses a volume that is not ours",
        laws=Laws(no_overwrite=False, archiver_checks_label=False),
        start="standby",
        budget=Budget(crash=1, intent=1),
    ),
    Ablation(
        hazard="H3",
        rule="an archive that is there counts as written",
        laws=Laws(archive_there_is_done=False),
        start="standby",
        budget=Budget(crash=2, intent=1),
        errors=False,
    ),
    Ablation(
        hazard="H4",
        rule="saving the key condemns the volume",
        remove=(_does_not_condemn,),
        start="standby",
        budget=Budget(intent=1),
    ),
    Ablation(
        hazard="H5",
        rule="create, check, start",
        long=True,
        laws=Laws(create_then_start=False),
        start="standby",
        budget=Budget(crash=1, intent=2),
    ),
    Ablation(
        hazard="H5",
        rule="create refuses a missing volume",
        laws=Laws(create_refuses_missing=False),
        start="standby",
        budget=Budget(remove=1, intent=1),
    ),
    Ablation(
        hazard="H5",
        rule="every operation begins by deleting containers (STARTING)",
        remove=(stages(_R.STARTING, drop(ActionKind.DELETE_CONTAINERS)),),
        start="running",
        budget=Budget(kill=1),
        errors=False,
    ),
    Ablation(
        hazard="H6",
        rule="only the row's incarnation is observed, and there is a reaper",
        remove=(
            replaced(observed, "home_volume", _any_incarnation),
            replaced(health, "home_volume", _any_incarnation),
        ),
        laws=Laws(reaper=False),
        start="archived",
        budget=Budget(crash=1, intent=2),
    ),
    Ablation(
        hazard="H6",
        rule="there is a reaper",
        laws=Laws(reaper=False),
        start="new",
        budget=Budget(crash=1),
    ),
    Ablation(
        hazard="H6",
        rule="the reaper lists first and reads rows second",
        laws=Laws(reaper_lists_first=False),
        start="archived",
        budget=Budget(reap=1, intent=1),
    ),
    Ablation(
        hazard="H4, H7",
        rule="deletion by identity, and Mismatch",
        laws=Laws(delete_by_identity=False),
        remove=(
            changed(completion, "COMPLETION", "C-mismatch", then=completion.Completion.AWAITED),
        ),
        start="standby",
        budget=Budget(crash=1, intent=1),
    ),
    Ablation(
        hazard="H8",
        rule="before each action, epoch and operation are still ours",
        laws=Laws(epoch_before_acts=False),
        start=ARCHIVING_BESIDE_AN_OLD_LEADER,
        budget=Budget(),
    ),
    Ablation(
        hazard="H8",
        rule="a write repeats what it was decided on",
        laws=Laws(guarded_writes=False),
        start="running",
        budget=Budget(remove=1, intent=1),
    ),
    Ablation(
        hazard="H9",
        rule="a new op_id at every claim, and an archive that is there is done",
        remove=(replaced(reconcile, "_claim", _reuses_op_id),),
        start="standby",
        budget=Budget(intent=2, timeout=1, recover=1),
    ),
    Ablation(
        hazard="H10",
        rule="ARCHIVING completes only when CONDEMNED and its actions ended",
        remove=(
            _archiving_completes_when(observed=ObservedStatus.PENDING),
            without(completion, "COMPLETION", "C-acting", "C-stale"),
        ),
        start="returned",
        budget=Budget(intent=1, remove=1),
    ),
    Ablation(
        hazard="H11",
        rule="the key is saved before the volume is deleted",
        remove=(stages(_R.ARCHIVING, _late_key),),
        start="standby",
        budget=Budget(intent=1),
    ),
    Ablation(
        hazard="H13",
        rule="GC lists first and reads rows second",
        laws=Laws(gc_lists_first=False),
        start="standby",
        budget=Budget(gc=1, intent=1),
    ),
    Ablation(
        hazard="H14",
        rule="an unfinished home is never started",
        remove=(without(planning, "PLAN", "7", "8-restore", "8-provision"),),
        start="archived",
        budget=Budget(intent=1, timeout=1, recover=1),
    ),
    Ablation(
        hazard="H15",
        rule="recording a new incarnation clears the marker",
        remove=(
            _keeps_marker,
            stages(_R.RESTORING, drop(ActionKind.RESTORE_HOME, ActionKind.SAVE_MARKER)),
        ),
        start="archived",
        budget=Budget(intent=1),
    ),
    Ablation(
        hazard="H16",
        rule="a dirty home that is gone is lost",
        remove=(without(planning, "PLAN", "6-once", "6-twice"),),
        start="returned",
        budget=Budget(remove=1, kill=1),
    ),
    Ablation(
        hazard="H16",
        rule="dirty is recorded before a container is created",
        long=True,
        remove=(_forgets_dirt,),
        start="archived",
        budget=Budget(intent=1, remove=1, kill=1),
    ),
    Ablation(
        hazard="H17",
        rule="only READY and dirty can be lost",
        remove=(
            without(planning, "PLAN", "5"),
            changed(
                planning,
                "PLAN",
                "6-twice",
                when=(
                    all_of(home={facts.DIRTY, facts.CONDEMNED}, observed=ObservedStatus.PENDING),
                ),
            ),
        ),
        start="standby",
        budget=Budget(intent=1, timeout=1, recover=1),
    ),
    Ablation(
        hazard="H19",
        rule="a fresh observation completes",
        remove=(without(completion, "COMPLETION", "C-stale"),),
        start="running",
        budget=Budget(intent=1),
    ),
    Ablation(
        hazard="H19",
        rule="a plan needs a fresh observation, and a newer observation wins",
        remove=(without(planning, "PLAN", "4"),),
        laws=Laws(newer_observation_wins=False, epoch_on_writes=False),
        start="running",
        budget=Budget(failover=1, intent=1),
    ),
    Ablation(
        hazard="H19",
        rule="the number is taken before listing",
        laws=Laws(number_before_listing=False),
        start="standby",
        budget=Budget(intent=1),
        errors=False,
    ),
    Ablation(
        hazard="H19",
        rule="the monitor reads rows after it took its number",
        laws=Laws(row_read_after_number=False),
        start="archived",
        budget=Budget(intent=1),
        errors=False,
    ),
    Ablation(
        hazard="H20",
        rule="an anomaly is believed when seen twice, with no operation",
        remove=(
            replaced(health, "sighting", _believes_at_once),
            replaced(health, "anomaly", _anomaly_at_any_time),
        ),
        start="running",
        budget=Budget(kill=1, intent=1),
        errors=False,
    ),
    Ablation(
        hazard="H21",
        rule="ARCHIVING begins by deleting containers",
        remove=(stages(_R.ARCHIVING, drop(ActionKind.DELETE_CONTAINERS)),),
        start="running",
        budget=Budget(kill=1, intent=1),
    ),
    Ablation(
        hazard="H22",
        rule="no plan while the error is terminal",
        remove=(without(planning, "PLAN", "3-terminal"),),
        start="running",
        budget=Budget(timeout=1, intent=1),
    ),
    Ablation(
        hazard="H23",
        rule="an operation that nobody carries out is resumed",
        remove=(changed(reconcile, "MOVE", "M-resume", then=reconcile.Move.WAIT),),
        start="new",
        budget=Budget(crash=1),
    ),
    Ablation(
        hazard="H24",
        rule="actions ended, target not reached: Mismatch",
        remove=(changed(reconcile, "MOVE", "M-mismatch", then=reconcile.Move.WAIT),),
        start="running",
        budget=Budget(kill=2),
    ),
    Ablation(
        hazard="H26",
        rule="DELETED only while the operation is NONE or DELETING, and ARCHIVING completes on it",
        remove=(
            changed(
                observed, "OBSERVED", "O0", when=(all_of(deletion_asked=True, anything=False),)
            ),
            _archiving_completes_when(observed=ObservedStatus.PENDING, home=facts.CONDEMNED),
        ),
        errors=False,
        start="standby",
        budget=Budget(delete=1, intent=1),
    ),
    Ablation(
        hazard="H26",
        rule="deletion comes first, also in ERROR",
        remove=(without(planning, "PLAN", "1"),),
        start="lost",
        budget=Budget(delete=1),
    ),
    Ablation(
        hazard="H27",
        rule="DELETING is tried again later",
        remove=(without(failure, "FAILURE", "F-deleting"),),
        start="standby",
        budget=Budget(delete=1, fail=2),
    ),
    Ablation(
        hazard="H28",
        rule="restarts are bounded",
        remove=(without(planning, "PLAN", "12"),),
        start="running",
        budget=Budget(),
        dies=True,
    ),
    Ablation(
        hazard="H29",
        rule="a retry waits",
        remove=(without(reconcile, "MOVE", "M-retry"),),
        start="standby",
        budget=Budget(fail=1, intent=1),
    ),
    Ablation(
        hazard="H34",
        rule="a listing that failed is not an absence",
        laws=Laws(whole_listing_or_none=False),
        start="running",
        budget=Budget(blind=2),
        errors=False,
    ),
    Ablation(
        hazard="H37",
        rule="a resume stamps the start anew",
        remove=(without(reconcile, "MOVE", "M-resume"),),
        start="new",
        budget=Budget(crash=1),
        errors=False,
    ),
    Ablation(
        hazard="H25",
        rule="a loss can be accepted",
        remove=(changed(recovery, "RECOVERY", "E7", then=recovery.RecoveryOutcome.REFUSED),),
        start="lost",
        budget=Budget(),
    ),
    Ablation(
        hazard="H25",
        rule="the loss of an archive that is there and corrupt can be accepted",
        remove=(
            changed(
                recovery,
                "RECOVERY",
                "E5",
                when=(
                    all_of(
                        accepts={recovery.Accepts.HOME, recovery.Accepts.ARCHIVE},
                        evidence=set(recovery.Evidence) - {recovery.Evidence.GONE},
                    ),
                ),
            ),
        ),
        start="archived",
        budget=Budget(corrupt=1, intent=1),
    ),
    Ablation(
        hazard="H25",
        rule="the reaper removes the container of a home that was given up",
        remove=(replaced(collection, "effective_home", lambda ws: ws.home),),
        start="returned",
        budget=Budget(remove=1, intent=1, accept=1),
    ),
    Ablation(
        hazard="contract 13",
        rule="what a late call left in the way is not counted",
        long=True,
        remove=(without(failure, "FAILURE", "F-in-the-way"),),
        start="new",
        budget=Budget(crash=2),
        errors=False,
    ),
    Ablation(
        hazard="contract 10",
        rule="attempts are bounded",
        remove=(without(failure, "FAILURE", "F-exhausted"),),
        start="standby",
        budget=Budget(intent=1, fail=3),
    ),
    Ablation(
        hazard="4.6",
        rule="an expiry names the intent that it judged",
        laws=Laws(ttl_names_version=False),
        start="running",
        budget=Budget(ttl=1, intent=1),
    ),
)
