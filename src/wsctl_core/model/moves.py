"""The model: everything that can happen to a world, and what each event makes of it.

A call that was issued may land at any later time, also after its issuer died. Faults and people
are bounded by the world's budget; wsctl's own moves happen as often as they like.
"""

from collections.abc import Iterator
from typing import Any

from wsctl_core.model import outside
from wsctl_core.model.laws import LAWS, Laws
from wsctl_core.model.leaders import Leaders
from wsctl_core.model.naming import canonical
from wsctl_core.model.physics import processes, runs
from wsctl_core.model.surroundings import Surroundings
from wsctl_core.model.world import ACTIVE, DEPOSED, NEW, NOBODY, Process, World
from wsctl_core.values.policy import Policy
from wsctl_core.values.states import DesiredState, Operation

Event = tuple[str, int, Any]
"""What happens, to whom, and with what."""

MODEL_POLICY = Policy(attempts=2, restart_delays_seconds=(0, 10))
"""Small bounds: two attempts and two starts show what three and five would."""

_NAMES_STAY = frozenset({"read", "time_passes", "times_out"})
"""What changes no copy of any data, and leaves every name in use: nothing to number anew."""


class Model(Leaders, Surroundings):
    """All moves of the world, under some laws and some policy."""

    def __init__(
        self, laws: Laws = LAWS, policy: Policy = MODEL_POLICY, *, forget_fenced: bool = True
    ) -> None:
        """`forget_fenced`: a deposed leader that can only be refused is as good as gone."""
        super().__init__(laws, policy)
        self._forget_fenced = forget_fenced
        self.moves = {
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
        after = self.moves[what](w, who, with_what)
        if what in _NAMES_STAY:
            return after
        return canonical(self.checked(self.pruned(after)))

    def events(self, w: World) -> Iterator[Event]:
        """Everything that can happen next: wsctl's own moves, people's, and faults in budget."""
        for who, p in processes(w):
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
        if w.dies and runs(w):
            yield "container_ends", 0, "by its image"
        if any(w.budget):
            yield from self._budgeted_events(w)

    def _process_events(self, w: World, who: int, p: Process) -> Iterator[Event]:
        # One that is fenced off can only finish what it began, and is refused.
        free = who == ACTIVE or not self.fenced
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
        if b.timeout and row.operation is not Operation.NONE and not row.op_old:
            yield "times_out", 0, None
        if b.kill and runs(w):
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

    def _write_matters(self, w: World) -> bool:
        volume = outside.used_volume(w)
        if volume is None:
            return False
        copies = [v.content for v in w.volumes] + [a.content for a in w.archives]
        if w.hidden is not None:
            copies.append(w.hidden.content)
        return volume.content != NEW or copies.count(NEW) > 1

    def pruned(self, w: World) -> World:
        """A fenced process with nothing left to try is as good as gone; its calls live on."""
        p = w.deposed
        if p is None or not self.fenced:
            return w
        tries = p.seen or p.look or p.finding or (p.attempt is not None and p.attempt.failed)
        return w if tries and not self._forget_fenced else self._stopped(w, DEPOSED)
