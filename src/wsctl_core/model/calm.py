"""Contract 13: when faults stop and intent stays, the world comes to rest, and stays there.

From a world, one calm and fair schedule is followed to its end: calls land, processes go on, the
monitor looks, time passes, the reaper reaps, until nothing is left to do. Since the explorer asks
this of every world it reaches, and every world on the way is itself one it reaches, an end that is
always found means that no world is a trap.
"""

from collections.abc import Iterator
from typing import NamedTuple

from wsctl_core.contracts.runs import recovery_leads_out, strays_are_removed
from wsctl_core.contracts.states import Settled
from wsctl_core.model import outside
from wsctl_core.model.abstraction import incarnation_name
from wsctl_core.model.faults import Budget
from wsctl_core.model.moves import Event, Model
from wsctl_core.model.world import ACTIVE, DEPOSED, NEW, Container, Volume, World
from wsctl_core.values.states import ContainerPhase, DesiredState, Operation
from wsctl_core.values.workspace import effective_seq

BOUND = 400
"""More calm steps than any world needs to come to rest."""
_NO_FAULTS = Budget()


SHOWN = 60
"""As much of a calm run as a story tells."""
MOST_RECOVERIES = 3
"""A plain error, a lost home and a lost archive can each need a recovery of their own."""


class End(NamedTuple):
    """How a calm run ends."""

    world: World
    settled: Settled
    broken: str | None


class Calm:
    """Calm runs, each world judged once."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._ends: dict[World, End] = {}
        self._leads_out: dict[tuple[World, int], bool] = {}

    def judge(self, w: World) -> End:
        """How this world ends when all is calm, and whether an error has a way out."""
        end = self.end(w)
        if end.settled is Settled.IN_ERROR and not self._way_out(end.world, MOST_RECOVERIES):
            return end._replace(broken="no recovery leads out of this error")
        return end

    def end(self, w: World) -> End:
        """How this world ends when all is calm."""
        w = w._replace(budget=_NO_FAULTS)
        path = []
        while (end := self._ends.get(w)) is None:
            path.append(w)
            event = self.next_event(w)
            if event is None:
                end = self._at_rest(w)
            elif len(path) > BOUND:
                end = End(w, Settled.NOT, f"not settled within {BOUND} steps")
            else:
                w = self.model.step(w, event)
                if w.broken is None:
                    continue
                end = End(w, Settled.NOT, w.broken)
            break
        self._ends.update((world, end) for world in path)
        return end

    def path(self, w: World) -> tuple[tuple[Event, World], ...]:
        """The calm run from here: each event, and the world that it leads to."""
        run: list[tuple[Event, World]] = []
        while w.broken is None and len(run) < SHOWN and (event := self.next_event(w)):
            w = self.model.step(w, event)
            run.append((event, w))
        return tuple(run)

    def _way_out(self, w: World, recoveries: int) -> bool:
        """I11, H25: from every error, recovery leads out (once the image is mended)."""
        key = w, recoveries
        if key not in self._leads_out:
            self._leads_out[key] = any(
                end.broken is None
                and (
                    recovery_leads_out(end.settled) is None
                    or (recoveries > 1 and self._way_out(end.world, recoveries - 1))
                )
                for end in self._recovered(w._replace(dies=False))
            )
        return self._leads_out[key]

    def _recovered(self, w: World) -> Iterator[End]:
        for accept in self.model.recoveries(w):
            yield self.end(self.model.step(w, ("recovers", 0, accept)))

    def next_event(self, w: World) -> Event | None:
        """What happens next when all is calm; None at rest."""
        model = self.model
        if w.calls:
            return "land", 0, None
        for who, p in ((DEPOSED, w.deposed), (ACTIVE, w.active)):
            if p is None:
                continue
            if p.attempt is not None and p.attempt.failed is not None:
                return "record_failure", who, None
            if p.seen is not None:
                return "carry_out", who, None
            if p.finding is not None:
                return "write_finding", who, None
            if p.look is not None:
                return "list_volumes", who, None
        for what, pending in (
            ("ttl_asks", w.ttl),
            ("gc_decides", w.gc),
            ("reaper_decides", w.reap),
        ):
            if pending is not None:
                return what, 0, None
        runs = any(c.phase is ContainerPhase.RUNNING for c in w.containers)
        if w.dies and runs and w.row.operation is Operation.NONE:
            return "container_ends", 0, "by its image"
        if model.decider.has_work(w.row, w.pass_seq, w.active.attempt):
            return "read", ACTIVE, None
        if self._look_helps(w):
            return "look", ACTIVE, None
        if w.row.waiting or w.row.started == 1:
            return "time_passes", 0, None
        if model.laws.reaper and w.row.operation is Operation.NONE and self._strays(w):
            return "reaper_lists", 0, None
        return None

    def _look_helps(self, w: World) -> bool:
        decider = self.model.decider
        top = 1 + max(w.pass_seq, w.row.observed_seq, w.row.ended, w.row.acted or 0)
        finding = decider.finding(w.row, w.pass_seq, top, w.containers, w.volumes)
        if finding is not None and (finding.changed or finding.alarm):
            return True
        known = effective_seq(decider.workspace(w.row), w.pass_seq)
        older = [w.row.ended, w.row.acted or 0]
        if w.row.suspect is not None:
            older.append(w.row.suspect[2])
        return known <= max(older)

    def _strays(self, w: World) -> list[str]:
        found: list[Volume | Container] = [*w.volumes, *w.containers]
        reaps = self.model.decider.reaps
        return [incarnation_name(thing.inc) for thing in found if reaps(w.row, thing)]

    def _at_rest(self, w: World) -> End:
        settled = self.model.decider.settled(w.row, w.pass_seq)
        if settled is Settled.NOT:
            return End(w, settled, "stuck: nothing is left to do, and nothing is settled")
        broken = disagrees(w, settled)
        return End(w, settled, broken or strays_are_removed(self._strays(w)))


def disagrees(w: World, settled: Settled) -> str | None:
    """What is settled in the row is so in the world, too."""
    inc = outside.home_inc(w)
    volume = outside.volume_of(w, inc)
    running = [c.inc for c in w.containers if c.phase is ContainerPhase.RUNNING]
    match settled, w.row.desired:
        case Settled.DELETED, _:
            agrees = not w.volumes and not w.containers
        case Settled.CONVERGED, DesiredState.RUNNING:
            whole = volume is not None and (volume.content == NEW or not w.written)
            agrees = whole and running == [inc]
        case Settled.CONVERGED, DesiredState.STANDBY:
            agrees = volume is not None and not running
        case Settled.CONVERGED, DesiredState.PENDING:
            agrees = volume is None and not running
        case _:
            agrees = True
    return None if agrees else f"settled as {settled.value}, and the world is different"
