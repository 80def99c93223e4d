"""`recovery_decision`: who may end an error, and what has to be given up for it (section 5, H25).

A plain recovery tries again: right when the volume has come back or the storage was mended. To
accept a loss is to name the incarnation or the archive that is given up. Nothing is deleted by it.
"""

from enum import StrEnum
from typing import NamedTuple

import attrs

from wsctl_core.decisions.rules import ALWAYS, Rule, Table, Verdict, all_of
from wsctl_core.values.errors import AdapterCode, ErrorReason
from wsctl_core.values.patches import IntentPatch, Recovery
from wsctl_core.values.reasons import Reason
from wsctl_core.values.states import Actor, Operation
from wsctl_core.values.workspace import Workspace, in_error


class Accepts(StrEnum):
    """What a request for recovery gives up."""

    NOTHING = "nothing"
    HOME = "the home's incarnation"
    ARCHIVE = "the archive"
    UNKNOWN = "something that the row does not name"


class Evidence(StrEnum):
    """What a look at the thing that is given up has shown, just now."""

    NOT_LOOKED = "not looked for"
    THERE = "there, and whole"
    CORRUPT = "there, and unreadable"
    GONE = "gone"


class RecoveryFacts(NamedTuple):
    """What `recovery_decision` reads."""

    in_error: bool
    operation_runs: bool
    actor: Actor
    accepts: Accepts
    evidence: Evidence
    data_at_stake: bool
    """The reason is DataLost, or a container without a volume."""


class RecoveryOutcome(StrEnum):
    """What becomes of a request for recovery."""

    REFUSED = "REFUSED"
    RECOVERED = "RECOVERED"


_LOSS = {Accepts.HOME, Accepts.ARCHIVE, Accepts.UNKNOWN}


def _refuse(name: str, says: str, reason: Reason, **facts: object) -> Rule[RecoveryOutcome]:
    return Rule(
        name=name,
        says=says,
        when=(all_of(**facts),),
        then=RecoveryOutcome.REFUSED,
        reason=reason,
    )


RECOVERY = Table[RecoveryFacts, RecoveryOutcome](
    name="recovery",
    facts=RecoveryFacts,
    rules=(
        _refuse("E1", "not in ERROR", Reason.NOT_IN_ERROR, in_error=False),
        _refuse("E2", "its deletion is under way", Reason.DELETION_RUNS, operation_runs=True),
        _refuse(
            "E3",
            "the owner accepts a loss",
            Reason.ONLY_ADMINISTRATOR_ACCEPTS,
            actor=Actor.OWNER,
            accepts=_LOSS,
        ),
        _refuse(
            "E4",
            "neither the row's incarnation nor its archive",
            Reason.ACCEPTS_UNKNOWN,
            accepts=Accepts.UNKNOWN,
        ),
        _refuse(
            "E5",
            "what is accepted as lost is there, or nobody could look",
            Reason.STILL_THERE,
            accepts={Accepts.HOME, Accepts.ARCHIVE},
            evidence={Evidence.THERE, Evidence.NOT_LOOKED},
        ),
        _refuse(
            "E6",
            "the owner, where data may be lost",
            Reason.ONLY_ADMINISTRATOR_RECOVERS,
            actor=Actor.OWNER,
            data_at_stake=True,
        ),
        Rule(
            name="E7",
            says="a loss is accepted",
            when=(all_of(accepts={Accepts.HOME, Accepts.ARCHIVE}),),
            then=RecoveryOutcome.RECOVERED,
            reason=Reason.LOSS_ACCEPTED,
        ),
        Rule(
            name="E8",
            says="otherwise",
            when=(ALWAYS,),
            then=RecoveryOutcome.RECOVERED,
            reason=Reason.TRY_AGAIN,
        ),
    ),
)


def data_at_stake(ws: Workspace) -> bool:
    """The error is one of those that an owner may not wave away."""
    error = ws.error_info
    return error is not None and (
        error.reason is ErrorReason.DATA_LOST or error.code is AdapterCode.CONTAINER_WITHOUT_VOLUME
    )


def _accepts(ws: Workspace, accept_loss: str | None) -> Accepts:
    if accept_loss is None:
        return Accepts.NOTHING
    if accept_loss == ws.home.incarnation:
        return Accepts.HOME
    return Accepts.ARCHIVE if accept_loss == ws.archive_key else Accepts.UNKNOWN


@attrs.frozen(kw_only=True)
class RecoveryAnswer:
    """The verdict, and what the service writes when it allows the recovery."""

    verdict: Verdict[RecoveryOutcome]
    intent: IntentPatch | None
    recovery: Recovery | None


def recovery_decision(
    ws: Workspace,
    actor: Actor,
    *,
    accept_loss: str | None = None,
    evidence: Evidence = Evidence.NOT_LOOKED,
) -> RecoveryAnswer:
    """Whether this person may recover this workspace so, and what is written then.

    `evidence` is what a look at the volume or archive that is given up has shown. A corrupt
    archive is there and yet lost: were its loss not acceptable, no recovery would end the error.

    >>> from datetime import UTC, datetime
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> ws = Workspace.created(id="w1", owner_id="o", name="n", image="i", at=at, seq=1)
    >>> recovery_decision(ws, Actor.OWNER).verdict.sentence
    'The workspace is not in error, so there is nothing to recover.'
    """
    verdict = RECOVERY.decide(
        RecoveryFacts(
            in_error=in_error(ws),
            operation_runs=ws.operation is not Operation.NONE,
            actor=actor,
            accepts=_accepts(ws, accept_loss),
            evidence=evidence,
            data_at_stake=data_at_stake(ws),
        )
    )
    if verdict.outcome is RecoveryOutcome.REFUSED:
        return RecoveryAnswer(verdict=verdict, intent=None, recovery=None)
    intent = None if accept_loss is None else IntentPatch(loss_accepted=accept_loss)
    return RecoveryAnswer(verdict=verdict, intent=intent, recovery=Recovery())
