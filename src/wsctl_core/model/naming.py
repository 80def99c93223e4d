"""Two worlds that differ only in the names of things are the same world.

`canonical` numbers operations, incarnations, containers and sequence numbers anew, in the order in
which they were made, and forgets what can have no effect any more. It is what makes the reachable
worlds few enough to visit them all.
"""

from functools import cache
from typing import NamedTuple

from wsctl_core.model.abstraction import Row
from wsctl_core.model.world import (
    NOBODY,
    Archive,
    Call,
    Container,
    Look,
    Process,
    Volume,
    World,
)
from wsctl_core.values.observation import SuspectKind


class Names(NamedTuple):
    """The numbers that stand for names: of operations, incarnations, containers, and looks."""

    ops: frozenset[int]
    incs: frozenset[int]
    cids: frozenset[int]
    seqs: frozenset[int]


@cache
def names_in_row(row: Row) -> Names:
    """Every name that a row mentions."""
    ops = {n for n in (row.op, row.archive, row.marker) if n is not None}
    incs = {row.inc} if row.inc is not None else set()
    cids: set[int] = set()
    seqs = {0, row.observed_seq, row.ended, row.acted or 0}
    if row.loss is not None:
        (incs if row.loss[0] == "home" else ops).add(row.loss[1])
    if row.suspect is not None:
        what, number, seq = row.suspect
        (incs if what is SuspectKind.HOME_MISSING else cids).add(number)
        seqs.add(seq)
    return Names(frozenset(ops), frozenset(incs), frozenset(cids), frozenset(seqs))


def _processes(w: World) -> tuple[Process, ...]:
    return (w.active,) if w.deposed is None else (w.active, w.deposed)


def _rows(w: World) -> list[Row]:
    rows = [w.row]
    for p in _processes(w):
        if p.seen is not None:
            rows.append(p.seen)
        if p.look is not None and p.look.row is not None:
            rows.append(p.look.row)
    rows += [x for x in (w.gc, w.reap) if isinstance(x, Row)]
    return rows


def names_in(w: World) -> tuple[set[int], set[int], set[int], set[int]]:
    """Every name that anything in the world mentions."""
    ops: set[int] = set()
    incs: set[int] = set()
    cids: set[int] = set()
    seqs: set[int] = {w.pass_seq}
    for row in _rows(w):
        names = names_in_row(row)
        ops |= names.ops
        incs |= names.incs
        cids |= names.cids
        seqs |= names.seqs
    for p in _processes(w):
        seqs.add(p.seen_pass)
        if p.attempt is not None:
            ops.add(p.attempt.op)
            if p.attempt.cid is not None:
                cids.add(p.attempt.cid)
        if p.look is not None:
            seqs.add(p.look.number)
            for container in p.look.containers:
                cids.add(container.cid)
                incs.add(container.inc)
        if p.finding is not None:
            seqs.add(p.finding.number)
            if p.finding.suspect is not None:
                what, number, seq = p.finding.suspect
                (incs if what is SuspectKind.HOME_MISSING else cids).add(number)
                seqs.add(seq)
    for container in w.containers:
        cids.add(container.cid)
        incs.add(container.inc)
    incs.update(volume.inc for volume in w.volumes)
    ops.update(archive.op for archive in w.archives)
    for call in w.calls:
        if call.inc is not None:
            incs.add(call.inc)
        if call.op is not None:
            ops.add(call.op)
        cids.update(call.cids)
        incs.update(call.incs)
    if w.hidden is not None:
        incs.add(w.hidden.inc)
    if isinstance(w.gc, tuple) and not isinstance(w.gc, Row):
        ops.update(w.gc)
    if isinstance(w.reap, tuple) and not isinstance(w.reap, Row):
        cids.update(w.reap[0])
        incs.update(w.reap[1])
    return ops, incs, cids, seqs


def _dense(numbers: set[int]) -> bool:
    return not numbers or max(numbers) < len(numbers)


def canonical(w: World) -> World:
    """The same world, with everything named in order, and nothing that can't matter."""
    w = _forget(w)
    found = names_in(w)
    if all(map(_dense, found)):
        return w
    return _Renaming(*({n: i for i, n in enumerate(sorted(numbers))} for numbers in found)).world(w)


class _Renaming(NamedTuple):
    ops: dict[int, int]
    incs: dict[int, int]
    cids: dict[int, int]
    seqs: dict[int, int]

    def _suspect(
        self, suspect: tuple[SuspectKind, int, int] | None
    ) -> tuple[SuspectKind, int, int] | None:
        if suspect is None:
            return None
        what, number, seq = suspect
        names = self.incs if what is SuspectKind.HOME_MISSING else self.cids
        return what, names[number], self.seqs[seq]

    def row(self, row: Row) -> Row:
        loss = row.loss
        if loss is not None:
            loss = loss[0], (self.incs if loss[0] == "home" else self.ops)[loss[1]]
        return row._replace(
            loss=loss,
            observed_seq=self.seqs[row.observed_seq],
            suspect=self._suspect(row.suspect),
            op=None if row.op is None else self.ops[row.op],
            acted=None if row.acted is None else self.seqs[row.acted],
            ended=self.seqs[row.ended],
            archive=None if row.archive is None else self.ops[row.archive],
            inc=None if row.inc is None else self.incs[row.inc],
            marker=None if row.marker is None else self.ops[row.marker],
        )

    def _container(self, c: Container) -> Container:
        return Container(self.cids[c.cid], self.incs[c.inc], c.phase)

    def _process(self, p: Process) -> Process:
        attempt, look, finding = p.attempt, p.look, p.finding
        if attempt is not None:
            cid = None if attempt.cid is None else self.cids[attempt.cid]
            attempt = attempt._replace(op=self.ops[attempt.op], cid=cid)
        if look is not None:
            look = Look(
                self.seqs[look.number],
                tuple(map(self._container, look.containers)),
                None if look.row is None else self.row(look.row),
            )
        if finding is not None:
            finding = finding._replace(
                number=self.seqs[finding.number], suspect=self._suspect(finding.suspect)
            )
        seen = None if p.seen is None else self.row(p.seen)
        return Process(seen, self.seqs[p.seen_pass], attempt, look, finding)

    def _call(self, call: Call) -> Call:
        return Call(
            call.what,
            None if call.inc is None else self.incs[call.inc],
            None if call.op is None else self.ops[call.op],
            tuple(self.cids[n] for n in call.cids),
            tuple(self.incs[n] for n in call.incs),
            call.waits,
        )

    def world(self, w: World) -> World:
        gc, reap, hidden = w.gc, w.reap, w.hidden
        if isinstance(gc, Row):
            gc = self.row(gc)
        elif gc is not None:
            gc = tuple(self.ops[n] for n in gc)
        if isinstance(reap, Row):
            reap = self.row(reap)
        elif reap is not None:
            reap = tuple(self.cids[n] for n in reap[0]), tuple(self.incs[n] for n in reap[1])
        if hidden is not None:
            hidden = hidden._replace(inc=self.incs[hidden.inc])
        return w._replace(
            row=self.row(w.row),
            pass_seq=self.seqs[w.pass_seq],
            containers=tuple(map(self._container, w.containers)),
            volumes=tuple(Volume(self.incs[v.inc], v.content, v.ours) for v in w.volumes),
            archives=tuple(Archive(self.ops[a.op], a.content, a.corrupt) for a in w.archives),
            calls=tuple(sorted(map(self._call, w.calls), key=_order)),
            active=self._process(w.active),
            deposed=None if w.deposed is None else self._process(w.deposed),
            gc=gc,
            reap=reap,
            hidden=hidden,
        )


def _order(call: Call) -> tuple[object, ...]:
    return call.what, call.inc or 0, call.op or 0, call.cids, call.incs, call.waits


def _forget(w: World) -> World:
    """Drop archives that nothing can name again, and unawaited calls without any effect."""
    if w.archives and w.gc is None and not w.budget.gc:
        named = {call.op for call in w.calls}
        for row in _rows(w):
            named |= names_in_row(row).ops
        if any(a.op not in named for a in w.archives):
            w = w._replace(archives=tuple(a for a in w.archives if a.op in named))
    if w.calls:
        calls = tuple(sorted((c for c in w.calls if _can_matter(w, c)), key=_order))
        if calls != w.calls:
            w = w._replace(calls=calls)
    return w


def _may_exist(w: World, inc: int | None) -> bool:
    """A volume of this incarnation exists, or may yet be made or come back."""
    return (
        inc == w.row.inc
        or any(v.inc == inc for v in w.volumes)
        or any(c.what == "make" and c.inc == inc for c in w.calls)
        or (w.hidden is not None and w.hidden.inc == inc)
    )


def _can_matter(w: World, call: Call) -> bool:
    if call.waits != NOBODY:
        return True
    match call.what:
        case "remove_containers" | "start":
            return any(c.cid in call.cids for c in w.containers)
        case "restore" | "create" | "remove_volume":
            return _may_exist(w, call.inc)
        case "remove_volumes":
            return any(_may_exist(w, inc) for inc in call.incs)
        case "archive":
            # An archive under a key that no row names can be named by none later.
            return w.row.op == call.op or any(row.op == call.op for row in _rows(w))
        case "collect":
            return any(a.op == call.op for a in w.archives) or w.row.op == call.op
        case "confirm":
            return False
        case _:
            return True
