"""Events, and what each does to the world: the same decisions and actions as in production.

Reading the row, acting on what was read, listing containers, listing volumes, writing what was
found, and the landing of each call are events of their own, so that anything may happen between
any two of them. A call that was issued may land at any later time, also after its issuer died.
"""

from collections.abc import Iterator
from typing import Any, assert_never

from wsctl_core.contracts.states import newest_data_is_kept, start_is_safe
from wsctl_core.contracts.steps import deletion_of_archive_is_safe, deletion_of_volume_is_safe
from wsctl_core.decisions.recovery import Evidence
from wsctl_core.decisions.steps import Act, Fail, Step
from wsctl_core.model import outside
from wsctl_core.model.abstraction import (
    NEW_NUMBER,
    Row,
    incarnation_name,
    key_of,
    number_of,
)
from wsctl_core.model.deciding import Decider, attempt_of, reality_of
from wsctl_core.model.laws import LAWS, Laws
from wsctl_core.model.world import (
    ACTIVE,
    DEPOSED,
    IDLE,
    NEW,
    NOBODY,
    Archive,
    Attempt,
    Call,
    Look,
    Process,
    Volume,
    World,
    canonical,
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
from wsctl_core.values.errors import AdapterCode, ErrorReason
from wsctl_core.values.names import parse_archive_key
from wsctl_core.values.patches import ReconcilerPatch
from wsctl_core.values.policy import Policy
from wsctl_core.values.states import ContainerPhase, DesiredState, HomeState, Operation

Event = tuple[str, int, Any]
"""What happens, to whom, and with what."""

MODEL_POLICY = Policy(attempts=2, restart_delays_seconds=(0, 10))
"""Small bounds: two attempts and two starts show what three and five would."""

_NONE = Operation.NONE
_RUNNING = ContainerPhase.RUNNING

_NAMES_STAY = frozenset({"read", "time_passes", "times_out"})
"""What changes no copy of any data, and leaves every name in use: nothing to number anew."""


class Model:
    """The moves of the world, under some laws and some policy."""

    def __init__(
        self, laws: Laws = LAWS, policy: Policy = MODEL_POLICY, *, forget_fenced: bool = True
    ) -> None:
        """`forget_fenced`: a deposed leader that can only be refused is as good as gone."""
        self.laws = laws
        self._forget_fenced = forget_fenced
        self.decider = Decider(policy)
        self._fenced = laws.epoch_on_writes and laws.epoch_before_acts
        self._kept: dict[tuple[object, ...], str | None] = {}
        self._moves = {
            "read": self._read,
            "carry_out": self._carry_out,
            "record_failure": self._record_failure,
            "look": self._look,
            "list_volumes": self._list_volumes,
            "write_finding": self._write_finding,
            "land": self._land,
            "time_passes": self._time_passes,
            "user_writes": self._user_writes,
            "container_ends": self._container_ends,
            "ttl_judges": self._ttl_judges,
            "ttl_asks": self._ttl_asks,
            "gc_lists": self._gc_lists,
            "gc_decides": self._gc_decides,
            "reaper_lists": self._reaper_lists,
            "reaper_decides": self._reaper_decides,
            "wants": self._wants,
            "deletes": self._deletes,
            "recovers": self._recovers,
            "crash": self._crash,
            "failover": self._failover,
            "times_out": self._times_out,
            "volume_removed": self._volume_removed,
            "volume_back": self._volume_back,
            "archive_spoilt": self._archive_spoilt,
            "archive_mended": self._archive_mended,
        }

    def step(self, w: World, event: Event) -> World:
        """The world after an event. Pure: the same world and event give the same world."""
        what, who, with_what = event
        after = self._moves[what](w, who, with_what)
        if what in _NAMES_STAY:
            return after
        return canonical(self._checked(self._pruned(after)))

    # What can happen.

    def events(self, w: World) -> Iterator[Event]:
        """Everything that can happen next: wsctl's own moves, people's, and faults in budget."""
        for who, p in _processes(w):
            yield from self._process_events(w, who, p)
        for place, call in enumerate(w.calls):
            yield "land", place, None
            if w.budget.fail and call.waits != NOBODY:
                yield "land", place, "fails before"
                yield "land", place, "fails after"
        if w.row.waiting or w.row.started == 1:
            yield "time_passes", 0, None
        if self._write_matters(w):
            yield "user_writes", 0, None
        if w.ttl is not None:
            yield "ttl_asks", 0, None
        if w.gc is not None:
            yield "gc_decides", 0, None
        if w.reap is not None:
            yield "reaper_decides", 0, None
        if w.dies and _runs(w):
            yield "container_ends", 0, "by its image"
        if any(w.budget):
            yield from self._budgeted_events(w)

    def _process_events(self, w: World, who: int, p: Process) -> Iterator[Event]:
        # One that is fenced off can only finish what it began, and is refused.
        free = who == ACTIVE or not self._fenced
        if p.attempt is not None and p.attempt.failed is not None:
            yield "record_failure", who, None
        elif p.seen is not None:
            if not (p.attempt and p.attempt.running and who == DEPOSED):
                yield "carry_out", who, None
        elif free and self.decider.has_work(w.row, w.pass_seq, p.attempt):
            yield "read", who, None
        if p.finding is not None:
            yield "write_finding", who, None
        elif p.look is not None:
            yield "list_volumes", who, None
            if w.budget.blind:
                yield "list_volumes", who, "fails"
        elif free:
            yield "look", who, None

    def _budgeted_events(self, w: World) -> Iterator[Event]:
        b, row = w.budget, w.row
        if b.crash:
            yield "crash", 0, None
        if b.failover:
            yield "failover", 0, None
        if b.timeout and row.operation is not _NONE and not row.op_old:
            yield "times_out", 0, None
        if b.kill and _runs(w):
            yield "container_ends", 0, None
        if b.remove and outside.volume_of(w, row.inc) is not None:
            yield "volume_removed", 0, None
        if b.bring_back and w.hidden is not None:
            yield "volume_back", 0, None
        archive = outside.archive_of(w, row.archive)
        if archive is not None:
            if b.corrupt and not archive.corrupt:
                yield "archive_spoilt", 0, None
            if b.mend and archive.corrupt:
                yield "archive_mended", 0, None
        if b.intent and not row.deleted:
            for desired in DesiredState:
                if desired is not row.desired:
                    yield "wants", 0, desired
        if b.delete and not row.deleted:
            yield "deletes", 0, None
        if b.ttl and w.ttl is None and self.decider.expiry(row) is not None:
            yield "ttl_judges", 0, None
        for accept in self.recoveries(w):
            if b.accept if accept else b.recover:
                yield "recovers", 0, accept
        if b.gc and w.gc is None:
            yield "gc_lists", 0, None
        if b.reap and w.reap is None and self.laws.reaper:
            yield "reaper_lists", 0, None

    def recoveries(self, w: World) -> list[str | None]:
        """The recoveries that an administrator is allowed now: plain, or giving something up."""
        return [
            accept
            for accept in (None, "home", "archive")
            if w.row.error is not None and self._recovered(w, accept) is not None
        ]

    def _recovered(self, w: World, accept: str | None) -> Row | None:
        return self.decider.recovered(w.row, accept, _evidence(w, accept))

    def _write_matters(self, w: World) -> bool:
        volume = outside.used_volume(w)
        if volume is None:
            return False
        copies = [v.content for v in w.volumes] + [a.content for a in w.archives]
        if w.hidden is not None:
            copies.append(w.hidden.content)
        return volume.content != NEW or copies.count(NEW) > 1

    # The reconciler.

    def _read(self, w: World, who: int, _: Any) -> World:
        p = _process(w, who)
        _step, broken = self.decider.step(w.row, w.pass_seq, p.attempt)
        seen = p._replace(seen=w.row, seen_pass=w.pass_seq)
        return _with(w, who, seen)._replace(broken=broken)

    def decided(self, p: Process) -> Step:
        """The step that a process is about to carry out."""
        assert p.seen is not None
        return self.decider.step(p.seen, p.seen_pass, p.attempt)[0]

    def _carry_out(self, w: World, who: int, _: Any) -> World:
        p = _process(w, who)
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
            w = _orphaned(w, who)  # cancelled, and not joined: the worst case (H8)
        if row is None:
            return _with(w, who, p._replace(attempt=None))
        attempt = attempt_of(getattr(step, "after", None))
        if attempt is not None:
            attempt = attempt._replace(running=False)
        return _with(w, who, p._replace(attempt=attempt))._replace(row=row, broken=broken)

    def _act(self, w: World, who: int, p: Process, step: Act, action: OutsideAction) -> World:
        if self.laws.epoch_before_acts:
            if who == DEPOSED:
                return self._stopped(w, who)
            if not step.guard.holds(self.decider.workspace(w.row)):
                return _with(w, who, p._replace(attempt=None))
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
            return _with(w, who, p._replace(attempt=attempt._replace(running=False)))
        if call.what == "remove_volume":
            broken = deletion_of_volume_is_safe(
                self.decider.workspace(w.row), incarnation_name(call.inc or 0)
            )
        w = w._replace(calls=(*w.calls, call._replace(waits=who)), broken=w.broken or broken)
        return _with(w, who, p._replace(attempt=attempt))

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
        p = _process(w, who)
        attempt = p.attempt
        assert attempt is not None and attempt.failed is not None
        if who == DEPOSED and self.laws.epoch_on_writes:
            return self._stopped(w, who)
        if w.row.operation is _NONE or w.row.op != attempt.op:
            return _with(w, who, p._replace(attempt=None))
        step = self.decider.failing(w.row, attempt.failed)
        assert isinstance(step, Fail)
        p = p._replace(seen=None, seen_pass=0, attempt=attempt._replace(failed=None))
        return self._write(w, who, p, step, step.patch)

    # The monitor.

    def _look(self, w: World, who: int, _: Any) -> World:
        first = self.laws.number_before_listing and self.laws.row_read_after_number
        number = NEW_NUMBER if first else 0
        row = None if self.laws.row_read_after_number else w.row
        look = Look(number, w.containers, row)
        return _with(w, who, _process(w, who)._replace(look=look))

    def _list_volumes(self, w: World, who: int, fails: Any) -> World:
        p = _process(w, who)
        look = p.look
        assert look is not None
        volumes = w.volumes
        if fails:
            w = _spent(w, "blind")
            volumes = () if not self.laws.whole_listing_or_none else None  # type: ignore[assignment]
        finding = self.decider.finding(
            w.row if look.row is None else look.row,
            w.pass_seq,
            look.number or NEW_NUMBER,
            look.containers,
            volumes,
        )
        return _with(w, who, p._replace(look=None, finding=finding))

    def _write_finding(self, w: World, who: int, _: Any) -> World:
        p = _process(w, who)
        finding = p.finding
        assert finding is not None
        if who == DEPOSED and self.laws.epoch_on_writes:
            return self._stopped(w, who)
        row, broken = self.decider.found(w.row, finding, self.laws.newer_observation_wins)
        w = w._replace(row=row, pass_seq=max(w.pass_seq, finding.number), broken=broken)
        return _with(w, who, p._replace(finding=None))

    # The outside.

    def _land(self, w: World, place: int, fails: Any) -> World:
        call = w.calls[place]
        w = w._replace(calls=w.calls[:place] + w.calls[place + 1 :])
        if fails == "fails before":
            w = _spent(outside.fail_half_way(w, call), "fail")
            answer = outside.Answer(w, AdapterCode.DOCKER_API_ERROR)
        else:
            answer = outside.land(w, call, self.laws)
            if fails:
                world = _spent(answer.world, "fail")
                answer = answer._replace(world=world, failed=AdapterCode.DOCKER_API_ERROR)
        w, broken = answer.world, answer.broken
        if answer.started is not None:
            broken = broken or start_is_safe(
                self.decider.workspace(w.row),
                incarnation_name(answer.started),
                reality_of(w),
            )
        if call.waits != NOBODY:
            p = _process(w, call.waits)
            assert p.attempt is not None
            attempt = p.attempt._replace(
                running=False,
                failed=answer.failed,
                cid=p.attempt.cid if answer.cid is None else answer.cid,
                receipt=p.attempt.receipt or call.what == "archive",
            )
            w = _with(w, call.waits, p._replace(attempt=attempt))
        return w._replace(broken=broken)

    def _time_passes(self, w: World, who: int, _: Any) -> World:
        row = w.row
        return w._replace(row=row._replace(waiting=False, started=2 if row.started else 0))

    def _user_writes(self, w: World, who: int, _: Any) -> World:
        return outside.user_writes(w)

    def _container_ends(self, w: World, who: int, by: Any) -> World:
        w = outside.container_ends(w)
        return w if by else _spent(w, "kill")

    def _volume_removed(self, w: World, who: int, _: Any) -> World:
        w = outside.volume_removed(w)._replace(tampered=True)
        return self._excused(_spent(w, "remove"))

    def _volume_back(self, w: World, who: int, _: Any) -> World:
        return self._excused(_spent(outside.volume_back(w), "bring_back"))

    def _archive_spoilt(self, w: World, who: int, _: Any) -> World:
        w = outside.archive_spoilt(w, corrupt=True)._replace(tampered=True)
        w = self._excused(_spent(w, "corrupt"))
        # A condemned volume is doomed: from its condemnation on, the archive is the one copy.
        return w._replace(excused=w.excused or w.row.home is HomeState.CONDEMNED)

    def _archive_mended(self, w: World, who: int, _: Any) -> World:
        return self._excused(_spent(outside.archive_spoilt(w, corrupt=False), "mend"))

    # People, and those who speak for them.

    def _wants(self, w: World, who: int, desired: Any) -> World:
        row = self.decider.intent(w.row, desired_state=desired)
        return _spent(w._replace(row=row), "intent")

    def _deletes(self, w: World, who: int, _: Any) -> World:
        row = self.decider.deletion(w.row)
        return _spent(w._replace(row=row), "delete")

    def _recovers(self, w: World, who: int, accept: Any) -> World:
        row = self._recovered(w, accept)
        assert row is not None
        w = _spent(w._replace(row=row), "accept" if accept else "recover")
        if accept == "home":
            w = outside.blank(w) if row.archive is None else outside.archive_is_newest(w)
        elif accept == "archive" and self._loses_data(w):
            w = outside.blank(w)
        return w

    def _ttl_judges(self, w: World, who: int, _: Any) -> World:
        desired = self.decider.expiry(w.row)
        assert desired is not None
        return _spent(w._replace(ttl=(desired, w.row.version)), "ttl")

    def _ttl_asks(self, w: World, who: int, _: Any) -> World:
        assert w.ttl is not None
        desired, version = w.ttl
        w = w._replace(ttl=None)
        unchanged = w.row.version == version or not self.laws.ttl_names_version
        if w.row.deleted or not unchanged:
            return w
        broken = None if w.row.version == version else "a time to live overrode what the user said"
        row = self.decider.intent(w.row, desired_state=desired)
        return w._replace(row=row, broken=broken)

    # Collection.

    def _gc_lists(self, w: World, who: int, _: Any) -> World:
        listed = tuple(a.op for a in w.archives) if self.laws.gc_lists_first else w.row
        return _spent(w._replace(gc=listed), "gc")

    def _gc_decides(self, w: World, who: int, _: Any) -> World:
        listed, row = (w.gc, w.row) if not isinstance(w.gc, Row) else (None, w.gc)
        ops = tuple(a.op for a in w.archives) if listed is None else listed
        doomed = [op for op in ops if self.decider.collects(row, op)]
        ws = self.decider.workspace(w.row)
        broken = next(
            filter(None, (deletion_of_archive_is_safe(ws, key_of(o)) for o in doomed)), None
        )
        calls = (*w.calls, *(Call("collect", op=op) for op in doomed))
        return w._replace(gc=None, calls=calls, broken=broken)

    def _reaper_lists(self, w: World, who: int, _: Any) -> World:
        listed: Any = w.row
        if self.laws.reaper_lists_first:
            listed = tuple(c.cid for c in w.containers), tuple(v.inc for v in w.volumes)
        return _spent(w._replace(reap=listed), "reap")

    def _reaper_decides(self, w: World, who: int, _: Any) -> World:
        reap, row = w.reap, w.row
        if isinstance(reap, Row):
            row = reap
            reap = tuple(c.cid for c in w.containers), tuple(v.inc for v in w.volumes)
        assert reap is not None
        cids, incs = reap
        stray_cids = tuple(
            c.cid for c in w.containers if c.cid in cids and self.decider.reaps(row, c)
        )
        stray_incs = [v.inc for v in w.volumes if v.inc in incs and self.decider.reaps(row, v)]
        ws = self.decider.workspace(w.row)
        broken = next(
            filter(None, (deletion_of_volume_is_safe(ws, incarnation_name(n)) for n in stray_incs)),
            None,
        )
        calls = [Call("remove_volume", inc=inc) for inc in stray_incs]
        if stray_cids:
            calls.append(Call("remove_containers", cids=stray_cids))
        return w._replace(reap=None, calls=(*w.calls, *calls), broken=broken)

    # Leaders come and go.

    def _crash(self, w: World, who: int, _: Any) -> World:
        row = w.row._replace(op_old=w.row.operation is not _NONE)
        return _spent(_orphaned(w, ACTIVE)._replace(active=IDLE, row=row), "crash")

    def _failover(self, w: World, who: int, _: Any) -> World:
        w = _orphaned(w, DEPOSED)
        calls = tuple(c._replace(waits=DEPOSED) if c.waits == ACTIVE else c for c in w.calls)
        return _spent(w._replace(calls=calls, deposed=w.active, active=IDLE), "failover")

    def _times_out(self, w: World, who: int, _: Any) -> World:
        return _spent(w._replace(row=w.row._replace(op_old=True)), "timeout")

    def _stopped(self, w: World, who: int) -> World:
        """A process finds that it is no longer the leader, and ends."""
        return _orphaned(w, who)._replace(deposed=None)

    def _pruned(self, w: World) -> World:
        """A fenced process with nothing left to try is as good as gone; its calls live on."""
        p = w.deposed
        if p is None or not self._fenced:
            return w
        tries = p.seen or p.look or p.finding or (p.attempt is not None and p.attempt.failed)
        return w if tries and not self._forget_fenced else self._stopped(w, DEPOSED)

    # What must hold.

    def _loses_data(self, w: World) -> str | None:
        """Contract 11 of this world, remembered by all that it depends on."""
        row = w.row
        if not w.written or row.deleted:
            return None
        volume, archive = outside.volume_of(w, row.inc), outside.archive_of(w, row.archive)
        key = row.home, row.inc, row.archive, volume, archive
        if key not in self._kept:
            seen = reality_of(w._replace(excused=False))
            self._kept[key] = newest_data_is_kept(self.decider.workspace(row), seen)
        return self._kept[key]

    def _excused(self, w: World) -> World:
        return w._replace(excused=self._loses_data(w) is not None)

    def _checked(self, w: World) -> World:
        if w.broken is None and not w.excused and (broken := self._loses_data(w)):
            return w._replace(broken=broken)
        error = w.row.error
        # H17: nothing is called lost while nobody has removed or spoilt anything.
        if error is not None and error.reason is ErrorReason.DATA_LOST and not w.tampered:
            return w._replace(broken="data is called lost that is not")
        return w


def _op_of(key: str) -> int:
    parsed = parse_archive_key(key)
    assert parsed is not None
    return number_of(parsed[1])


def _evidence(w: World, accept: str | None) -> Evidence:
    thing: Volume | Archive | None = (
        outside.volume_of(w, w.row.inc)
        if accept == "home"
        else outside.archive_of(w, w.row.archive)
    )
    if thing is None:
        return Evidence.GONE
    return Evidence.CORRUPT if isinstance(thing, Archive) and thing.corrupt else Evidence.THERE


def _processes(w: World) -> tuple[tuple[int, Process], ...]:
    if w.deposed is None:
        return ((ACTIVE, w.active),)
    return (ACTIVE, w.active), (DEPOSED, w.deposed)


def _process(w: World, who: int) -> Process:
    p = w.active if who == ACTIVE else w.deposed
    assert p is not None
    return p


def _with(w: World, who: int, p: Process) -> World:
    return w._replace(active=p) if who == ACTIVE else w._replace(deposed=p)


def _orphaned(w: World, who: int) -> World:
    """Nobody waits any more for the calls of this process; they live on."""
    if not any(call.waits == who for call in w.calls):
        return w
    calls = tuple(c._replace(waits=NOBODY) if c.waits == who else c for c in w.calls)
    return w._replace(calls=calls)


def _spent(w: World, what: str) -> World:
    left = getattr(w.budget, what)
    return w._replace(budget=w.budget._replace(**{what: left - 1})) if left else w


def _runs(w: World) -> bool:
    return any(c.phase is _RUNNING for c in w.containers)
