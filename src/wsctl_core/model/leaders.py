"""Coordinators: what a leader, and one that was, reads, writes, calls for and observes.

Reading the row and acting on what was read are two moves; so are listing containers, listing
volumes and writing what was found. Anything may happen between any two of them.
"""

from typing import Any, assert_never

from wsctl_core.contracts.steps import deletion_of_volume_is_safe
from wsctl_core.decisions.steps import Act, Fail, Step
from wsctl_core.model.abstraction import NEW_NUMBER, incarnation_name, number_of
from wsctl_core.model.deciding import attempt_of
from wsctl_core.model.physics import Physics, orphaned, process_of, spent, with_process
from wsctl_core.model.world import (
    ACTIVE,
    DEPOSED,
    IDLE,
    Attempt,
    Call,
    Look,
    Process,
    Volume,
    World,
)
from wsctl_core.values.actions import (
    ArchiveHome,
    ConfirmArchive,
    CreateContainer,
    DeleteContainers,
    DeleteVolume,
    DeleteVolumes,
    MakeVolume,
    OutsideAction,
    Record,
    RestoreHome,
    SetIdleTimer,
    StartContainer,
)
from wsctl_core.values.names import parse_archive_key
from wsctl_core.values.patches import ReconcilerPatch
from wsctl_core.values.states import Operation

_NONE = Operation.NONE


class Leaders(Physics):
    """The moves of coordinators."""

    def _read(self, w: World, who: int, _: Any) -> World:
        p = process_of(w, who)
        _step, broken = self.decider.step(w.row, w.pass_seq, p.attempt)
        seen = p._replace(seen=w.row, seen_pass=w.pass_seq)
        return with_process(w, who, seen)._replace(broken=broken)

    def decided(self, p: Process) -> Step:
        """The step that a process is about to carry out."""
        assert p.seen is not None
        return self.decider.step(p.seen, p.seen_pass, p.attempt)[0]

    def _carry_out(self, w: World, who: int, _: Any) -> World:
        p = process_of(w, who)
        step = self.decided(p)
        if who == ACTIVE or self.laws.epoch_before_acts:
            p = p._replace(seen=None, seen_pass=0)
        if isinstance(step, Act):
            if isinstance(step.action, Record):
                return self._write(w, who, p, step, step.action.patch)
            return self._act(w, who, p, step, step.action)
        return self._write(w, who, p, step, step.patch)  # type: ignore[union-attr]  # no Skip, Wait

    def _write(self, w: World, who: int, p: Process, step: Any, patch: ReconcilerPatch) -> World:
        if who == DEPOSED and self.laws.epoch_on_writes:
            return self._stopped(w, who)
        row, broken = self.decider.written(w.row, step, patch, w.pass_seq, self.laws.guarded_writes)
        if p.attempt is not None and p.attempt.running:
            w = orphaned(w, who)  # cancelled, and not joined: the worst case (H8)
        if row is None:
            return with_process(w, who, p._replace(attempt=None))
        attempt = attempt_of(getattr(step, "after", None))
        if attempt is not None:
            attempt = attempt._replace(running=False)
        return with_process(w, who, p._replace(attempt=attempt))._replace(row=row, broken=broken)

    def _act(self, w: World, who: int, p: Process, step: Act, action: OutsideAction) -> World:
        if self.laws.epoch_before_acts:
            if who == DEPOSED:
                return self._stopped(w, who)
            if not step.guard.holds(self.decider.workspace(w.row)):
                return with_process(w, who, p._replace(attempt=None))
            if w.row.waiting:
                w = w._replace(broken="an attempt began before its wait was over")
        attempt = attempt_of(step.after)
        assert attempt is not None
        return self._issued(w, who, p, attempt, action)

    def _issued(
        self, w: World, who: int, p: Process, attempt: Attempt, action: OutsideAction
    ) -> World:
        call, broken = self._call(w, attempt, action), None
        if call is None:
            return with_process(w, who, p._replace(attempt=attempt._replace(running=False)))
        if call.what == "remove_volume":
            broken = deletion_of_volume_is_safe(
                self.decider.workspace(w.row), incarnation_name(call.inc or 0)
            )
        w = w._replace(calls=(*w.calls, call._replace(waits=who)), broken=w.broken or broken)
        return with_process(w, who, p._replace(attempt=attempt))

    def _call(self, w: World, attempt: Attempt, action: OutsideAction) -> Call | None:
        """The call that carries an action out; None when there is nothing to call for."""
        match action:
            case DeleteContainers():
                if not self.laws.delete_by_identity:
                    return Call("remove_any_container")
                cids = tuple(c.cid for c in w.containers)
                return Call("remove_containers", cids=cids) if cids else None
            case MakeVolume(incarnation=inc):
                return Call("make", inc=number_of(inc))
            case RestoreHome(incarnation=inc, archive=archive):
                return Call("restore", inc=number_of(inc), op=_op_of(archive.key))
            case CreateContainer(incarnation=inc):
                what = "create" if self.laws.create_then_start else "run"
                return Call(what, inc=number_of(inc))
            case StartContainer(container_id=cid):
                if not self.laws.create_then_start:
                    return None
                return Call("start", cids=(number_of(cid),))
            case SetIdleTimer():
                return None
            case ArchiveHome(incarnation=inc, key=key):
                return Call("archive", inc=number_of(inc), op=_op_of(key))
            case ConfirmArchive():
                return Call("confirm", op=attempt.op)
            case DeleteVolume(incarnation=inc):
                if not self.laws.delete_by_identity:
                    return Call("remove_any_volume")
                return Call("remove_volume", inc=number_of(inc))
            case DeleteVolumes():
                incs = tuple(v.inc for v in w.volumes)
                return Call("remove_volumes", incs=incs) if incs else None
        assert_never(action)

    def _record_failure(self, w: World, who: int, _: Any) -> World:
        p = process_of(w, who)
        attempt = p.attempt
        assert attempt is not None and attempt.failed is not None
        if who == DEPOSED and self.laws.epoch_on_writes:
            return self._stopped(w, who)
        if w.row.operation is _NONE or w.row.op != attempt.op:
            return with_process(w, who, p._replace(attempt=None))
        step = self.decider.failing(w.row, attempt.failed)
        assert isinstance(step, Fail)
        p = p._replace(seen=None, seen_pass=0, attempt=attempt._replace(failed=None))
        return self._write(w, who, p, step, step.patch)

    def _look(self, w: World, who: int, _: Any) -> World:
        first = self.laws.number_before_listing and self.laws.row_read_after_number
        number = NEW_NUMBER if first else 0
        row = None if self.laws.row_read_after_number else w.row
        look = Look(number, w.containers, row)
        return with_process(w, who, process_of(w, who)._replace(look=look))

    def _list_volumes(self, w: World, who: int, fails: Any) -> World:
        p = process_of(w, who)
        look = p.look
        assert look is not None
        volumes: tuple[Volume, ...] | None = w.volumes
        if fails:
            w = spent(w, "blind")
            volumes = None if self.laws.whole_listing_or_none else ()
        finding = self.decider.finding(
            w.row if look.row is None else look.row,
            w.pass_seq,
            look.number or NEW_NUMBER,
            look.containers,
            volumes,
        )
        return with_process(w, who, p._replace(look=None, finding=finding))

    def _write_finding(self, w: World, who: int, _: Any) -> World:
        p = process_of(w, who)
        finding = p.finding
        assert finding is not None
        if who == DEPOSED and self.laws.epoch_on_writes:
            return self._stopped(w, who)
        row, broken = self.decider.found(w.row, finding, self.laws.newer_observation_wins)
        w = w._replace(row=row, pass_seq=max(w.pass_seq, finding.number), broken=broken)
        return with_process(w, who, p._replace(finding=None))

    def _crash(self, w: World, who: int, _: Any) -> World:
        row = w.row._replace(op_old=w.row.operation is not _NONE)
        return spent(orphaned(w, ACTIVE)._replace(active=IDLE, row=row), "crash")

    def _failover(self, w: World, who: int, _: Any) -> World:
        w = orphaned(w, DEPOSED)
        calls = tuple(c._replace(waits=DEPOSED) if c.waits == ACTIVE else c for c in w.calls)
        return spent(w._replace(calls=calls, deposed=w.active, active=IDLE), "failover")

    def _times_out(self, w: World, who: int, _: Any) -> World:
        return spent(w._replace(row=w.row._replace(op_old=True)), "timeout")

    def _stopped(self, w: World, who: int) -> World:
        """A process finds that it is no longer the leader, and ends."""
        return orphaned(w, who)._replace(deposed=None)


def _op_of(key: str) -> int:
    parsed = parse_archive_key(key)
    assert parsed is not None
    return number_of(parsed[1])
