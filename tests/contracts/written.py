"""What a step writes to the row, for properties that compare the row before and after."""

from wsctl_core import (
    Act,
    Claim,
    Complete,
    Fail,
    Moment,
    Progress,
    ReconcilerPatch,
    Record,
    Resume,
    Step,
    Workspace,
    apply,
    reconcile,
)


def patch_of(step: Step) -> ReconcilerPatch | None:
    """The write that a step asks for, if it asks for one."""
    match step:
        case Claim() | Resume() | Complete() | Fail():
            return step.patch
        case Act(action=Record(patch=patch)):
            return patch
        case _:
            return None


def after(ws: Workspace, step: Step) -> Workspace:
    """The row once the step took effect."""
    patch = patch_of(step)
    return ws if patch is None else apply(ws, patch, next_number=99)


def reconciled(ws: Workspace, moment: Moment, held: Progress | None) -> Workspace:
    """The row after one step of the reconciler."""
    return after(ws, reconcile(ws, moment, held))
