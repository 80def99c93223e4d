"""Counterexamples as stories in plain words."""

from collections.abc import Callable

from wsctl_core.decisions.steps import Act, Claim, Complete, Fail, Resume, Step
from wsctl_core.model.explorer import Exploration
from wsctl_core.model.moves import Event, Model
from wsctl_core.model.world import DEPOSED, NOBODY, Call, Process, World
from wsctl_core.values.actions import Record

_CONTENT = ("empty", "partial", "old", "newest")

_CALLS = {
    "make": "makes volume {inc}",
    "restore": "restores archive {op} into volume {inc}",
    "create": "creates a container on volume {inc}",
    "start": "starts container {cids}",
    "run": "creates and starts a container on volume {inc}",
    "archive": "archives volume {inc} as archive {op}",
    "confirm": "confirms archive {op}",
    "remove_volume": "deletes volume {inc}",
    "remove_volumes": "deletes volumes {incs}",
    "remove_any_volume": "deletes whatever volume there is",
    "remove_containers": "deletes container {cids}",
    "remove_any_container": "deletes whatever container there is",
    "collect": "deletes archive {op}",
}

_HAPPENS = {
    "look": "{who}'s monitor takes a number and lists containers",
    "write_finding": "{who}'s monitor writes what it found",
    "time_passes": "time passes: waits and back-offs are over",
    "user_writes": "the user writes to the home",
    "container_ends": "the container ends by itself",
    "ttl_judges": "the TTL manager finds that a time to live has run out",
    "ttl_asks": "the TTL manager asks the service to change what is wanted",
    "gc_lists": "the archive GC begins",
    "gc_decides": "the archive GC decides",
    "reaper_lists": "the reaper begins",
    "reaper_decides": "the reaper decides",
    "wants": "the user wants {arg}",
    "deletes": "the user asks for deletion",
    "crash": "the leader dies; another takes over after a long outage",
    "failover": "another becomes leader; the old one does not know",
    "times_out": "the operation exceeds its time",
    "volume_removed": "someone removes the home's volume",
    "volume_back": "the volume comes back",
    "archive_spoilt": "the archive becomes unreadable",
    "archive_mended": "the archive becomes readable again",
}


def tell(model: Model, found: Exploration) -> str:
    """What an exploration found: the shortest counterexample, or how much held."""
    if found.broken is None:
        extent = "and there are no others" if found.exhausted else "and there are more"
        return f"Nothing broke in {found.states} worlds, {extent}."
    lines = [f"Broken: {found.broken}.", "", f"At first: {_picture(found.path[0][1])}"]
    before = found.path[0][1]
    for number, (event, after) in enumerate(found.path[1:], start=1):
        assert event is not None
        lines.append(f"{number:3}. {describe(model, before, event)}")
        if _picture(after) != _picture(before):
            lines.append(f"     {_picture(after)}")
        before = after
    return "\n".join(lines)


def describe(model: Model, w: World, event: Event) -> str:
    """One event in words."""
    what, who, arg = event
    name = "the old leader" if who == DEPOSED else "the leader"
    process = w.deposed if who == DEPOSED else w.active
    match what:
        case "land":
            return _landing(w.calls[who], arg)
        case "read" | "carry_out" | "record_failure" if process is not None:
            return f"{name} {_PROCESS[what](model, w, process)}"
        case "list_volumes":
            return f"{name}'s monitor {'fails to list' if arg else 'lists'} volumes"
        case "recovers":
            return f"an administrator recovers, giving up {f'the {arg}' if arg else 'nothing'}"
        case _:
            return _HAPPENS[what].format(who=name, arg=arg)


def _reading(model: Model, w: World, p: Process) -> str:
    step, _broken = model.decider.step(w.row, w.pass_seq, p.attempt)
    return f"reads the row: {_plan(step)}"


def _carrying(model: Model, w: World, p: Process) -> str:
    return f"goes on: {_plan(model.decided(p))}"


def _failing(model: Model, w: World, p: Process) -> str:
    return f"records the failure {p.attempt.failed if p.attempt else ''}"


_PROCESS: dict[str, Callable[[Model, World, Process], str]] = {
    "read": _reading,
    "carry_out": _carrying,
    "record_failure": _failing,
}


def _plan(step: Step) -> str:
    match step:
        case Claim(operation=operation):
            return f"begin {operation}"
        case Resume():
            return "resume the operation"
        case Act(action=Record(kind=kind)):
            return f"write {kind}"
        case Act(action=action):
            return f"call {type(action).__name__}"
        case Complete():
            return "complete the operation"
        case Fail(error=error):
            return f"fail with {error.reason}"
        case _:
            return "do nothing"


def _landing(call: Call, fails: str | None) -> str:
    words = _CALLS[call.what].format(inc=call.inc, op=call.op, cids=call.cids, incs=call.incs)
    late = " that nobody waits for" if call.waits == NOBODY else ""
    return f"a call{late} {words}{f', and {fails}' if fails else ''}"


def _picture(w: World) -> str:
    row = w.row
    parts = [
        f"{row.observed}, {row.desired} wanted, health {row.health}, {row.operation}",
        f"home {row.home} {'' if row.inc is None else row.inc}{' dirty' if row.dirty else ''}",
    ]
    if row.archive is not None:
        parts.append(f"archive_key names {row.archive}")
    if row.error is not None:
        parts.append(f"error {row.error.reason}{' (terminal)' if row.error.terminal else ''}")
    parts += [f"volume {v.inc} holds {_CONTENT[v.content]}" for v in w.volumes]
    parts += [f"container {c.cid} on {c.inc} {c.phase}" for c in w.containers]
    parts += [f"archive {a.op} holds {_CONTENT[a.content]}" for a in w.archives]
    return "; ".join(part.strip() for part in parts)
