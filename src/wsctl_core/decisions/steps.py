"""What `reconcile` answers: one step, as data, for whoever carries steps out.

Four interpreters run the same steps: the coordinator, the simulator, the model checker and other
people's control planes. `guard` is the condition that the write or the action repeats; `after` is
the attempt's progress once the step took effect. A guard that does not hold means: not ours any
more, stop, and read the row again.
"""

from datetime import datetime
from typing import TypeAlias

import attrs

from wsctl_core.decisions.rules import Verdict
from wsctl_core.values.actions import Action, Progress
from wsctl_core.values.errors import ErrorInfo
from wsctl_core.values.patches import ClaimGuard, Guard, OperationGuard, ReconcilerPatch
from wsctl_core.values.states import Operation


@attrs.frozen(kw_only=True)
class Skip:
    """Settled: nothing will happen until somebody or something changes."""

    verdict: Verdict[object]


@attrs.frozen(kw_only=True)
class Wait:
    """Nothing to do now, and something will happen by itself; `until` when that is a time."""

    verdict: Verdict[object]
    until: datetime | None = None


@attrs.frozen(kw_only=True)
class Claim:
    """Begin an operation, by compare-and-set on everything it was planned on (contract 4)."""

    verdict: Verdict[object]
    operation: Operation
    op_id: str
    guard: ClaimGuard
    patch: ReconcilerPatch

    @property
    def after(self) -> Progress:
        """The attempt that begins."""
        return Progress(op_id=self.op_id)


@attrs.frozen(kw_only=True)
class Resume:
    """Take up an operation that nobody carries out: its clock starts anew (H23, H37)."""

    verdict: Verdict[object]
    guard: OperationGuard
    patch: ReconcilerPatch

    @property
    def after(self) -> Progress:
        """The attempt that begins."""
        return Progress(op_id=self.guard.op_id)


@attrs.frozen(kw_only=True)
class Act:
    """Carry out one action; before it, epoch, operation and op_id are still ours (H8)."""

    verdict: Verdict[object]
    guard: OperationGuard
    action: Action
    stage: int
    """The action's place among the operation's stages."""
    attempt: Progress

    @property
    def after(self) -> Progress:
        """The attempt under way; `stage_done` turns it into the progress after success."""
        return attrs.evolve(self.attempt, done=self.stage + 1, running=True)


@attrs.frozen(kw_only=True)
class Complete:
    """The operation reached its target."""

    verdict: Verdict[object]
    guard: OperationGuard
    patch: ReconcilerPatch


@attrs.frozen(kw_only=True)
class Fail:
    """Count a failure, or end in an error. A running action is cancelled and joined first (H8)."""

    verdict: Verdict[object]
    guard: Guard
    patch: ReconcilerPatch
    error: ErrorInfo
    after: Progress | None
    """The next attempt, or None when the error is terminal."""


Step: TypeAlias = Skip | Wait | Claim | Resume | Act | Complete | Fail
