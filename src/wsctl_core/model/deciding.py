"""The bridge to production: abstract rows in, the real decisions' answers out, remembered.

Facts are finite, so the same few thousand rows are judged again and again: each question is put to
the real function once, and its answer is kept. The contracts that speak of one change of the row
are checked here too, once per change.
"""

from typing import Any

from wsctl_core.contracts import steps as contracts
from wsctl_core.contracts.states import Broken, Reality, Settled, settled
from wsctl_core.decisions import collection, failure, health, reconcile, recovery, ttl
from wsctl_core.decisions.facts import Moment
from wsctl_core.decisions.steps import Skip, Step, Wait
from wsctl_core.model.abstraction import (
    AFTER_THE_START,
    FRESH,
    LONG_AGO,
    NEW_NUMBER,
    NOW,
    Row,
    container_id,
    incarnation_name,
    key_of,
    number_of,
    operation_name,
    row_of,
    workspace_of,
)
from wsctl_core.model.world import NEW, Attempt, Container, Finding, Volume, World
from wsctl_core.values.actions import Progress
from wsctl_core.values.activity import Activity
from wsctl_core.values.archives import ArchiveReceipt, StoredArchive
from wsctl_core.values.errors import AdapterCode, Failure
from wsctl_core.values.observation import (
    UNKNOWN,
    ContainerSeen,
    Observation,
    VolumeSeen,
)
from wsctl_core.values.patches import (
    Alarm,
    IntentPatch,
    MonitorPatch,
    Patch,
    apply,
)
from wsctl_core.values.policy import Policy
from wsctl_core.values.states import Actor, DesiredState, Operation, Writer
from wsctl_core.values.workspace import Workspace, effective_seq

_MUCH_LATER = NOW.replace(year=NOW.year + 1)


class Decider:
    """Every decision that the model asks for, on abstract rows."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._known: dict[Any, Any] = {}
        self._rows: dict[Row, Workspace] = {}

    def workspace(self, row: Row) -> Workspace:
        """The real row."""
        ws = self._rows.get(row)
        if ws is None:
            ws = self._rows[row] = workspace_of(row)
        return ws

    def _row(self, ws: Workspace) -> Row:
        return row_of(ws, self.policy.attempts + 1)

    def moment(self, pass_seq: int) -> Moment:
        """The moment at which the model decides: always the same one."""
        return Moment(now=NOW, fresh_id=FRESH, pass_seq=pass_seq, policy=self.policy)

    def step(self, row: Row, pass_seq: int, attempt: Attempt | None) -> tuple[Step, Broken]:
        """What `reconcile` says, and whether contract 4 holds of it."""
        key = row, pass_seq, attempt
        known = self._known.get(key)
        if known is None:
            ws = self.workspace(row)
            step = reconcile.reconcile(ws, self.moment(pass_seq), _progress(attempt))
            known = self._known[key] = step, contracts.error_stops_operations(ws, step)
        return known

    def has_work(self, row: Row, pass_seq: int, attempt: Attempt | None) -> bool:
        """`reconcile` wants something done."""
        return not isinstance(self.step(row, pass_seq, attempt)[0], Skip | Wait)

    def failing(self, row: Row, code: AdapterCode) -> Step:
        """What `record_failure` says."""
        key = row, code
        known = self._known.get(key)
        if known is None:
            told = Failure.of_code(code, "in the model", {})
            known = failure.record_failure(self.workspace(row), told, self.moment(0))
            self._known[key] = known
        return known

    def written(
        self, row: Row, step: Any, patch: Patch, pass_seq: int, guarded: bool
    ) -> tuple[Row | None, Broken]:
        """The row after a reconciler's write, or None when its guard refuses it."""
        key = row, id(step), pass_seq
        known = self._known.get(key)
        if known is None:
            ws = self.workspace(row)
            if guarded and not step.guard.holds(ws):
                known = None, None
            else:
                after = apply(ws, patch, NEW_NUMBER)
                known = self._row(after), self._broken_by_reconciler(ws, after, pass_seq)
            self._known[key] = known
            self._known[id(step)] = step  # kept, so that its id stays its own
        return known

    def _broken_by_reconciler(self, before: Workspace, after: Workspace, pass_seq: int) -> Broken:
        most = self.policy.attempts
        deleting = Operation.DELETING in (before.operation, after.operation)
        if after.error_count > most and not deleting:
            return f"{after.error_count} attempts, {most} are allowed"
        return (
            contracts.only_own_columns(before, after, Writer.RECONCILER)
            or contracts.claims_are_from_rest(before, after)
            or contracts.one_level_at_a_time(before, after)
            or contracts.completion_is_fresh(before, after, pass_seq)
            or contracts.plan_is_fresh(before, after, pass_seq)
            or contracts.no_plan_while_terminal(before, after)
            or contracts.same_operation_same_key(before, after)
            or contracts.restore_needs_marker(before, after)
            or contracts.key_is_saved_with_condemnation(before, after)
            or contracts.deletion_backs_off(before, after)
        )

    def finding(
        self,
        row: Row,
        pass_seq: int,
        number: int,
        containers: tuple[Container, ...],
        volumes: tuple[Volume, ...] | None,
    ) -> Finding | None:
        """What `assess` makes of two listings; None when it can't say, or is too late to."""
        key = row, pass_seq, number, containers, volumes
        known: Finding | Decider | None = self._known.get(key, self)
        if isinstance(known, Decider):  # asked for the first time: None is an answer, too
            known = self._known[key] = self._assess(row, pass_seq, number, containers, volumes)
        return known

    def _assess(
        self,
        row: Row,
        pass_seq: int,
        number: int,
        containers: tuple[Container, ...],
        volumes: tuple[Volume, ...] | None,
    ) -> Finding | None:
        ws = self.workspace(row)
        seen = Observation(
            seq=number,
            began_at=NOW,
            containers=tuple(map(_container_seen, containers)),
            volumes=UNKNOWN if volumes is None else tuple(map(_volume_seen, volumes)),
        )
        assessment = health.assess(ws, seen, pass_seq)
        status = assessment.observed.outcome
        if status is None or number <= effective_seq(ws, pass_seq):
            return None
        patch = assessment.patch
        suspect = ws.suspect if patch is None else patch.suspect
        return Finding(
            number=number,
            changed=patch is not None,
            observed=status,
            health=assessment.health.outcome,
            suspect=None
            if suspect is None
            else (suspect.what, number_of(suspect.identity), suspect.seq),
            alarm=assessment.alarm is not None,
        )

    def found(self, row: Row, finding: Finding, newer_wins: bool) -> tuple[Row, Broken]:
        """The row after the monitor's write."""
        key = row, finding
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._found(row, finding, newer_wins)
        return known

    def _found(self, row: Row, finding: Finding, newer_wins: bool) -> tuple[Row, Broken]:
        before = after = self.workspace(row)
        if newer_wins and finding.number <= before.observed_seq:
            return row, None
        if finding.changed:
            after = apply(
                before,
                MonitorPatch(
                    observed_status=finding.observed,
                    health_status=finding.health,
                    observed_at=NOW,
                    observed_seq=finding.number,
                    suspect=self.workspace(row._replace(suspect=finding.suspect)).suspect,
                    last_exit=None,
                ),
            )
        broken = contracts.only_own_columns(before, after, Writer.MONITOR)
        if finding.alarm:
            alarm = Alarm(error_info=health.container_without_volume(after, NOW))
            alarmed = apply(after, alarm)
            broken = broken or contracts.only_its_exception(after, alarmed, alarm)
            after = alarmed
        return self._row(after), broken

    def intent(self, row: Row, **changes: Any) -> Row:
        """The row after the service wrote what the user wants."""
        patch = IntentPatch(
            intent_version=row.version + 1, intent_changed_at=AFTER_THE_START, **changes
        )
        return self._row(apply(self.workspace(row), patch))

    def deletion(self, row: Row) -> Row:
        """The row after the user asked for deletion."""
        return self.intent(row, deleted_at=NOW)

    def recovered(self, row: Row, accept: str | None, evidence: recovery.Evidence) -> Row | None:
        """The row after an administrator's recovery, or None when it is refused."""
        ws = self.workspace(row)
        named = {None: None, "home": ws.home.incarnation, "archive": ws.archive_key}[accept]
        if accept is not None and named is None:
            return None
        answer = recovery.recovery_decision(
            ws, Actor.ADMINISTRATOR, accept_loss=named, evidence=evidence
        )
        if answer.recovery is None:
            return None
        if answer.intent is not None:
            ws = apply(ws, answer.intent)
        return self._row(apply(ws, answer.recovery))

    def expiry(self, row: Row) -> DesiredState | None:
        """What is wanted after a time to live has run out on an idle workspace."""
        verdict = ttl.ttl_decision(self.workspace(row), Activity(), _MUCH_LATER)
        return {
            ttl.Ttl.TO_STANDBY: DesiredState.STANDBY,
            ttl.Ttl.TO_PENDING: DesiredState.PENDING,
        }.get(verdict.outcome)

    def collects(self, row: Row, op: int) -> bool:
        """GC would delete this archive."""
        found = StoredArchive(key=key_of(op), installation="here", stored_at=LONG_AGO)
        verdict = collection.gc_decision(
            found, self.workspace(row), installation="here", now=NOW, policy=self.policy
        )
        return verdict.outcome is collection.Keep.REMOVE

    def reaps(self, row: Row, thing: Container | Volume) -> bool:
        """The reaper would remove this."""
        seen = _container_seen(thing) if isinstance(thing, Container) else _volume_seen(thing)
        verdict = collection.reap_decision(
            seen,
            self.workspace(row),
            ours=seen.incarnation is not None,
            first_seen_at=LONG_AGO,
            now=NOW,
            policy=self.policy,
        )
        return verdict.outcome is collection.Keep.REMOVE

    def settled(self, row: Row, pass_seq: int) -> Settled:
        """How the row is at rest."""
        return settled(self.workspace(row), self.moment(pass_seq))


def _container_seen(c: Container) -> ContainerSeen:
    return ContainerSeen(id=container_id(c.cid), incarnation=incarnation_name(c.inc), phase=c.phase)


def _volume_seen(v: Volume) -> VolumeSeen:
    label = incarnation_name(v.inc) if v.ours else None
    return VolumeSeen(name=f"volume-{v.inc}", incarnation=label)


def reality_of(w: World) -> Reality:
    """What really exists, as the contracts see it."""
    return Reality(
        containers=tuple(map(_container_seen, w.containers)),
        volumes=tuple(map(_volume_seen, w.volumes)),
        newest=frozenset(
            [incarnation_name(v.inc) for v in w.volumes if v.content == NEW or not w.written]
            + [key_of(a.op) for a in w.archives if a.content == NEW and not a.corrupt]
        ),
        excused=w.excused or not w.written,
    )


def _progress(attempt: Attempt | None) -> Progress | None:
    if attempt is None:
        return None
    return Progress(
        op_id=operation_name(attempt.op),
        done=attempt.done,
        running=attempt.running,
        container_id=None if attempt.cid is None else container_id(attempt.cid),
        receipt=ArchiveReceipt(key=key_of(attempt.op), sha256="0" * 64, size=1)
        if attempt.receipt
        else None,
    )


def attempt_of(progress: Progress | None) -> Attempt | None:
    """What a process knows of its attempt, in the model's terms."""
    if progress is None:
        return None
    return Attempt(
        op=number_of(progress.op_id),
        done=progress.done,
        running=progress.running,
        cid=None if progress.container_id is None else number_of(progress.container_id),
        receipt=progress.receipt is not None,
    )
