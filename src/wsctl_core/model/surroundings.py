"""Everything around the leaders: calls that land, time, people, collection, and misfortune."""

from typing import Any

from wsctl_core.contracts.states import start_is_safe
from wsctl_core.contracts.steps import deletion_of_archive_is_safe, deletion_of_volume_is_safe
from wsctl_core.decisions.recovery import Evidence
from wsctl_core.model import outside
from wsctl_core.model.abstraction import Row, incarnation_name, key_of
from wsctl_core.model.deciding import reality_of
from wsctl_core.model.physics import Physics, process_of, spent, with_process
from wsctl_core.model.world import NOBODY, Archive, Call, Volume, World
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.states import HomeState


class Surroundings(Physics):
    """The moves of everything but coordinators."""

    def recoveries(self, w: World) -> list[str | None]:
        """The recoveries that an administrator is allowed now: plain, or giving something up."""
        return [
            accept
            for accept in (None, "home", "archive")
            if w.row.error is not None and self.recovered(w, accept) is not None
        ]

    def recovered(self, w: World, accept: str | None) -> Row | None:
        """The row after a recovery; None when it is refused."""
        return self.decider.recovered(w.row, accept, _evidence(w, accept))

    def _land(self, w: World, place: int, fails: Any) -> World:
        call = w.calls[place]
        w = w._replace(calls=w.calls[:place] + w.calls[place + 1 :])
        if fails == "fails before":
            w = spent(outside.fail_half_way(w, call), "fail")
            answer = outside.Answer(w, AdapterCode.DOCKER_API_ERROR)
        else:
            answer = outside.land(w, call, self.laws)
            if fails:
                world = spent(answer.world, "fail")
                answer = answer._replace(world=world, failed=AdapterCode.DOCKER_API_ERROR)
        w, broken = answer.world, answer.broken
        if answer.started is not None:
            broken = broken or start_is_safe(
                self.decider.workspace(w.row),
                incarnation_name(answer.started),
                reality_of(w),
            )
        if call.waits != NOBODY:
            p = process_of(w, call.waits)
            assert p.attempt is not None
            attempt = p.attempt._replace(
                running=False,
                failed=answer.failed,
                cid=p.attempt.cid if answer.cid is None else answer.cid,
                receipt=p.attempt.receipt or call.what == "archive",
            )
            w = with_process(w, call.waits, p._replace(attempt=attempt))
        return w._replace(broken=broken)

    def _time_passes(self, w: World, who: int, _: Any) -> World:
        row = w.row
        return w._replace(row=row._replace(waiting=False, started=2 if row.started else 0))

    def _user_writes(self, w: World, who: int, _: Any) -> World:
        return outside.user_writes(w)

    def _container_ends(self, w: World, who: int, by: Any) -> World:
        w = outside.container_ends(w)
        return w if by else spent(w, "kill")

    def _volume_removed(self, w: World, who: int, _: Any) -> World:
        w = outside.volume_removed(w)._replace(tampered=True)
        return self.excused(spent(w, "remove"))

    def _volume_back(self, w: World, who: int, _: Any) -> World:
        return self.excused(spent(outside.volume_back(w), "bring_back"))

    def _archive_spoilt(self, w: World, who: int, _: Any) -> World:
        w = outside.archive_spoilt(w, corrupt=True)._replace(tampered=True)
        w = self.excused(spent(w, "corrupt"))
        # A condemned volume is doomed: from its condemnation on, the archive is the one copy.
        return w._replace(excused=w.excused or w.row.home is HomeState.CONDEMNED)

    def _archive_mended(self, w: World, who: int, _: Any) -> World:
        return self.excused(spent(outside.archive_spoilt(w, corrupt=False), "mend"))

    def _wants(self, w: World, who: int, desired: Any) -> World:
        row = self.decider.intent(w.row, desired_state=desired)
        return spent(w._replace(row=row), "intent")

    def _deletes(self, w: World, who: int, _: Any) -> World:
        row = self.decider.deletion(w.row)
        return spent(w._replace(row=row), "delete")

    def _recovers(self, w: World, who: int, accept: Any) -> World:
        row = self.recovered(w, accept)
        assert row is not None
        w = spent(w._replace(row=row), "accept" if accept else "recover")
        if accept == "home":
            w = outside.blank(w) if row.archive is None else outside.archive_is_newest(w)
        elif accept == "archive" and self.loses_data(w):
            w = outside.blank(w)
        return w

    def _ttl_judges(self, w: World, who: int, _: Any) -> World:
        desired = self.decider.expiry(w.row)
        assert desired is not None
        return spent(w._replace(ttl=(desired, w.row.version)), "ttl")

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

    def _gc_lists(self, w: World, who: int, _: Any) -> World:
        listed = tuple(a.op for a in w.archives) if self.laws.gc_lists_first else w.row
        return spent(w._replace(gc=listed), "gc")

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
        return spent(w._replace(reap=listed), "reap")

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


def _evidence(w: World, accept: str | None) -> Evidence:
    thing: Volume | Archive | None = (
        outside.volume_of(w, w.row.inc)
        if accept == "home"
        else outside.archive_of(w, w.row.archive)
    )
    if thing is None:
        return Evidence.GONE
    return Evidence.CORRUPT if isinstance(thing, Archive) and thing.corrupt else Evidence.THERE
