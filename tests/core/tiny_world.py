"""A world of one workspace, small enough to read: what the monitor sees and the reconciler does.

It carries out the core's own steps and actions on dictionaries. Nothing lands late here and no two
leaders compete: that is the model's business. Its purpose is to tell a scenario step by step.
"""

from datetime import UTC, datetime, timedelta

import attrs

from wsctl_core import (
    Act,
    Actor,
    ArchiveHome,
    ArchiveReceipt,
    Claim,
    Complete,
    ContainerPhase,
    ContainerSeen,
    CreateContainer,
    DeleteContainers,
    DeleteVolume,
    DeleteVolumes,
    DesiredState,
    Fail,
    Failure,
    IntentPatch,
    LastExit,
    MakeVolume,
    Moment,
    Observation,
    Operation,
    Progress,
    Record,
    Recovery,
    RestoreHome,
    Resume,
    StartContainer,
    Step,
    VolumeSeen,
    Workspace,
    apply,
    assess,
    reconcile,
    record_failure,
    recovery_decision,
    stage_done,
    volume_name,
)
from wsctl_core.decisions.recovery import Evidence

SHA = "5e" * 32


class TinyWorld:
    """One row, its volumes (contents by incarnation), its containers and its archives."""

    def __init__(self, desired: DesiredState = DesiredState.RUNNING) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.number = 1
        self.pass_seq = 0
        self.ws = Workspace.created(
            id="w1",
            owner_id="ann",
            name="work",
            image="ide:1",
            at=self.now,
            seq=1,
            desired_state=desired,
        )
        self.held: Progress | None = None
        self.volumes: dict[str, str] = {}
        self.containers: dict[str, ContainerSeen] = {}
        self.archives: dict[str, str] = {}
        self.failing: dict[type, Failure] = {}
        self.story: list[str] = []

    def next_number(self) -> int:
        """The database's sequence."""
        self.number += 1
        return self.number

    def look(self) -> None:
        """One complete pass of the monitor."""
        seq = self.next_number()
        seen = Observation(
            seq=seq,
            began_at=self.now,
            containers=tuple(self.containers.values()),
            volumes=tuple(
                VolumeSeen(name=volume_name("w1", i), incarnation=i) for i in self.volumes
            ),
        )
        judged = assess(self.ws, seen, self.pass_seq)
        for patch in (judged.patch, judged.alarm):
            if patch is not None:
                self.ws = apply(self.ws, patch)
        self.pass_seq = seq

    def tick(self) -> Step:
        """One step of the reconciler, carried out."""
        fresh = f"id{self.next_number()}"
        moment = Moment(now=self.now, fresh_id=fresh, pass_seq=self.pass_seq)
        step = reconcile(self.ws, moment, self.held)
        match step:
            case Claim() | Resume() | Fail():
                assert step.guard.holds(self.ws)
                self.ws = apply(self.ws, step.patch, self.next_number())
                self.held = step.after
                name = step.error.reason if isinstance(step, Fail) else self.ws.operation
                self.story.append(f"{type(step).__name__} {name}")
            case Complete():
                self.story.append(f"Complete {self.ws.operation}")
                self.ws, self.held = apply(self.ws, step.patch), None
            case Act():
                assert step.guard.holds(self.ws)
                self.act(step, moment)
            case _:
                pass
        return step

    def act(self, step: Act, moment: Moment) -> None:
        """Carry an action out, or fail at it as the test has ordered."""
        if failure := self.failing.get(type(step.action)):
            failed = record_failure(self.ws, failure, moment)
            self.ws = apply(self.ws, failed.patch, self.next_number())
            self.held = failed.after
            self.story.append(f"Fail {failed.error.reason}")
            return
        container_id, receipt = None, None
        match step.action:
            case Record(patch=patch):
                self.ws = apply(self.ws, patch, self.next_number())
            case DeleteContainers():
                self.containers.clear()
            case MakeVolume(incarnation=i):
                self.volumes.setdefault(i, "")
            case RestoreHome(incarnation=i, archive=archive):
                self.volumes[i] = self.archives[archive.key]
            case CreateContainer(incarnation=i):
                assert i in self.volumes, "a container needs its volume"
                container_id = f"c{self.next_number()}"
                created = ContainerSeen(
                    id=container_id, incarnation=i, phase=ContainerPhase.CREATED
                )
                self.containers[container_id] = created
            case StartContainer(container_id=started):
                self.containers[started] = attrs.evolve(
                    self.containers[started], phase=ContainerPhase.RUNNING
                )
            case ArchiveHome(incarnation=i, key=key):
                self.archives.setdefault(key, self.volumes[i])
                receipt = ArchiveReceipt(key=key, sha256=SHA, size=len(self.archives[key]))
            case DeleteVolume(incarnation=i):
                self.volumes.pop(i, None)
            case DeleteVolumes():
                self.volumes.clear()
            case _:
                pass
        self.held = stage_done(step.after, container_id=container_id, receipt=receipt)

    def settle(self, rounds: int = 60) -> list[str]:
        """Look and tick until nothing changes any more; the story since the last time."""
        for _ in range(rounds):
            before = (self.ws, self.held)
            self.look()
            self.tick()
            if (self.ws, self.held) == before and self.ws.operation is Operation.NONE:
                break
        told, self.story = self.story, []
        return told

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)

    def want(self, desired: DesiredState) -> None:
        """The user changes the intent, a second after whatever happened last."""
        self.wait(1)
        patch = IntentPatch(
            desired_state=desired,
            intent_version=self.ws.intent_version + 1,
            intent_changed_at=self.now,
        )
        self.ws = apply(self.ws, patch)

    def delete(self) -> None:
        """The user asks for deletion."""
        version = self.ws.intent_version + 1
        self.ws = apply(self.ws, IntentPatch(deleted_at=self.now, intent_version=version))

    def recover(self, actor: Actor, accept_loss: str | None = None) -> bool:
        """Somebody recovers the workspace, if they may."""
        there = accept_loss in self.volumes or accept_loss in self.archives
        evidence = Evidence.THERE if there else Evidence.GONE
        answer = recovery_decision(self.ws, actor, accept_loss=accept_loss, evidence=evidence)
        for patch in (answer.intent, answer.recovery):
            if patch is not None:
                self.ws = apply(self.ws, patch)
        return isinstance(answer.recovery, Recovery)

    def write(self, text: str) -> None:
        """The user works in the home."""
        assert self.ws.home.incarnation is not None
        self.volumes[self.ws.home.incarnation] = text

    def home(self) -> str:
        """What the user finds in the home."""
        assert self.ws.home.incarnation is not None
        return self.volumes[self.ws.home.incarnation]

    def kill_container(self, exit_code: int = 137) -> None:
        """The container ends by itself."""
        ended = LastExit(exit_code=exit_code, out_of_memory=True, at=self.now)
        for id, seen in self.containers.items():
            if seen.phase is ContainerPhase.RUNNING:
                self.containers[id] = attrs.evolve(seen, phase=ContainerPhase.ENDED, exit=ended)

    def crash(self) -> None:
        """The coordinator dies, and what it held in memory with it."""
        self.held = None
