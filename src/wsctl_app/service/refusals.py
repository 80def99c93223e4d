"""Refusals: everything that the service may answer in place of doing what was asked.

Each is a sentence for people and carries what a program needs. Nothing was changed by a call that
ended with one.
"""

from typing import TYPE_CHECKING

from wsctl_core.decisions.recovery import RecoveryOutcome
from wsctl_core.decisions.rules import Verdict
from wsctl_core.values.reasons import Reason, sentence

if TYPE_CHECKING:
    from wsctl_app.service.reading import Holder


class Refusal(Exception):
    """The service did not do what was asked; its text says why."""


class NotFound(Refusal):
    """There is no such workspace, or the caller may not know of it."""

    def __init__(self, workspace_id: str) -> None:
        super().__init__(f"There is no workspace {workspace_id}.")
        self.workspace_id = workspace_id


class Invalid(Refusal):
    """A value can't be used."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class NotAllowed(Refusal):
    """Only an administrator may ask for that."""


class Stale(Refusal):
    """The wish was made on a version of the intent that is not the present one."""

    def __init__(self, current: int) -> None:
        super().__init__(sentence(Reason.INTENT_STALE))
        self.current = current


class Gone(Refusal):
    """Deletion was asked for before."""

    def __init__(self) -> None:
        super().__init__(sentence(Reason.DELETION_ASKED))


class LimitReached(Refusal):
    """It is to run, and there is no place."""

    def __init__(self, reason: Reason, limit: int, holders: "tuple[Holder, ...]") -> None:
        super().__init__(f"{sentence(reason)[:-1]} ({limit}).")
        self.reason = reason
        self.limit = limit
        self.holders = holders
        """Those that the caller may know of, and so perhaps not all."""


class NotRecoverable(Refusal):
    """Recovery was refused; the verdict says by which rule."""

    def __init__(self, verdict: Verdict[RecoveryOutcome]) -> None:
        super().__init__(verdict.sentence)
        self.verdict = verdict
