"""Runs of a tiny world through whatever may happen to it, and then through calm."""

from collections.abc import Callable

from hypothesis import strategies as st

from tests.core.tiny_world import TinyWorld
from wsctl_core import (
    AdapterCode,
    ArchiveHome,
    DesiredState,
    Failure,
    MakeVolume,
    Moment,
    Operation,
    RestoreHome,
    StartContainer,
    VolumeSeen,
    volume_name,
)
from wsctl_core.contracts import Reality, Settled, settled

AWAY = Failure.of_code(AdapterCode.DOCKER_API_ERROR, "no route")


def _work(world: TinyWorld) -> None:
    if any(c.phase == "RUNNING" for c in world.containers.values()):
        world.write(f"v{world.number}")


def _tick(world: TinyWorld) -> None:
    world.tick()


def _step(world: TinyWorld) -> None:
    world.look()
    world.tick()


def _steps(world: TinyWorld) -> None:
    for _ in range(8):
        _step(world)


EVENTS: dict[str, Callable[[TinyWorld], None]] = {
    "look": TinyWorld.look,
    "tick": _tick,
    "step": _step,
    "several steps": _steps,
    "a minute": lambda world: world.wait(60),
    "work": _work,
    "want RUNNING": lambda world: world.want(DesiredState.RUNNING),
    "want STANDBY": lambda world: world.want(DesiredState.STANDBY),
    "want PENDING": lambda world: world.want(DesiredState.PENDING),
    "crash": TinyWorld.crash,
}
FAULTS: dict[str, Callable[[TinyWorld], None]] = {
    "kill": TinyWorld.kill_container,
    "no volumes": lambda world: world.failing.update({MakeVolume: AWAY}),
    "no storage": lambda world: world.failing.update({ArchiveHome: AWAY, RestoreHome: AWAY}),
    "no starts": lambda world: world.failing.update({StartContainer: AWAY}),
    "all is well": lambda world: world.failing.clear(),
}
DELETION: dict[str, Callable[[TinyWorld], None]] = {
    "delete": lambda world: None if world.ws.deleted_at else world.delete(),
}
HAPPENING = {**EVENTS, **FAULTS, **DELETION}

benign = st.lists(st.sampled_from(sorted({**EVENTS, **DELETION})), max_size=25)
anything = st.lists(st.sampled_from(sorted(HAPPENING)), max_size=25)
without_deletion = st.lists(st.sampled_from(sorted({**EVENTS, **FAULTS})), max_size=25)


def newest(world: TinyWorld, text: str) -> frozenset[str]:
    """The incarnations and archive keys that hold this text."""
    held = {**world.volumes, **world.archives}
    return frozenset(name for name, content in held.items() if content == text)


def reality(world: TinyWorld, text: str) -> Reality:
    """What really exists, and where the newest data is; before any work there is none."""
    return Reality(
        containers=tuple(world.containers.values()),
        volumes=tuple(VolumeSeen(name=volume_name("w1", i), incarnation=i) for i in world.volumes),
        newest=newest(world, text),
        excused=text == "",
    )


def rest_of(world: TinyWorld) -> Settled:
    """Whether the world's workspace is at rest."""
    return settled(world.ws, Moment(now=world.now, fresh_id="x", pass_seq=world.pass_seq))


def calm(world: TinyWorld, steps: int) -> list[Settled]:
    """Faults stop and intent stays: look, step and wait, and what the workspace is each time."""
    world.failing.clear()
    told = []
    for _ in range(steps):
        world.look()
        told.append(rest_of(world))
        world.tick()
        world.wait(20 if world.ws.operation is Operation.NONE else 2)
    return told
