"""The service's calls: create, list, get, change, delete, recover, explain, keep alive.

Every call names its caller. With every intent goes a hint, so that it is acted on at once; a hint
that can't be sent is logged and costs nothing but time (contract 2).
"""

import unicodedata
from typing import assert_never

import attrs

from wsctl_app.outside import Outside
from wsctl_app.service.access import Caller
from wsctl_app.service.evidence import look
from wsctl_app.service.reading import Explained, ProgressOf, Reader, full, holders_among
from wsctl_app.service.refusals import (
    Gone,
    Invalid,
    LimitReached,
    NotAllowed,
    NotFound,
    NotRecoverable,
    Stale,
)
from wsctl_app.telemetry import Log, verdict_told
from wsctl_core.decisions.intent import IntentAnswer, IntentOutcome, Wish, intent_decision
from wsctl_core.decisions.limits import wants_place
from wsctl_core.decisions.recovery import Evidence, RecoveryOutcome, recovery_decision
from wsctl_core.ports import AdapterError, Hint, NewWorkspace, Page, Reading, Situation
from wsctl_core.values.patches import UNSET, Unset
from wsctl_core.values.policy import Policy
from wsctl_core.values.reasons import Reason
from wsctl_core.values.states import DesiredState
from wsctl_core.values.validation import IDENTITY
from wsctl_core.values.workspace import Workspace

LONGEST_NAME = 100
LONGEST_TTL_SECONDS = 10 * 366 * 86400
LARGEST_PAGE = 1000


@attrs.frozen(kw_only=True)
class Order:
    """What a new workspace should be. None takes what the settings say, or the caller."""

    name: str
    image: str | None = None
    owner_id: str | None = None
    desired_state: DesiredState = DesiredState.RUNNING
    standby_ttl_seconds: int | None = None
    archive_ttl_seconds: int | None = None


@attrs.frozen(kw_only=True)
class Defaults:
    """What a workspace is made of where its order says nothing."""

    image: str = "starter"
    standby_ttl_seconds: int = 300
    archive_ttl_seconds: int = 604800
    keepalive_longest_seconds: int = 86400


class WorkspaceService:
    """What people can ask for."""

    def __init__(
        self, outside: Outside, *, policy: Policy, log: Log, defaults: Defaults | None = None
    ) -> None:
        self._outside = outside
        self._policy = policy
        self._log = log
        self._defaults = defaults or Defaults()
        self._reader = Reader(outside, policy)

    # ------------------------------------------------------------------------------- reading

    async def list(
        self,
        caller: Caller,
        *,
        owner_id: str | None = None,
        deleted: bool = False,
        after: str | None = None,
        limit: int = 100,
    ) -> Page:
        """A page of the caller's workspaces; of anyone's, for an administrator."""
        if not 1 <= limit <= LARGEST_PAGE:
            raise Invalid("limit", f"expected 1 to {LARGEST_PAGE}, got {limit}")
        if not caller.is_administrator:
            if owner_id not in (None, caller.user_id):
                return Page(rows=(), after=None)
            owner_id = caller.user_id
        return await self._outside.reader.page(
            owner_id=owner_id, deleted=deleted, after=after, limit=limit
        )

    async def get(self, caller: Caller, workspace_id: str) -> Workspace:
        """One row. NotFound when there is none, or it is somebody else's."""
        (ws,) = (await self._read(caller, workspace_id)).rows
        return ws

    async def explain(
        self, caller: Caller, workspace_id: str, progress_of: ProgressOf
    ) -> Explained:
        """Why the workspace is as it is, what can be done, and who holds the places."""
        reading = await self._read(caller, workspace_id)
        return await self._reader.explained(reading, progress_of, sees_all=caller.is_administrator)

    async def address(self, caller: Caller, workspace_id: str) -> str | None:
        """Where the workspace's own port answers; None while it does not run."""
        await self.get(caller, workspace_id)
        return await self._outside.containers.address(workspace_id)

    async def _read(self, caller: Caller, workspace_id: str) -> Reading:
        if not IDENTITY.fullmatch(workspace_id):
            raise NotFound(workspace_id)
        reading = await self._outside.reader.some([workspace_id])
        if not reading.rows or not caller.may_see(reading.rows[0]):
            raise NotFound(workspace_id)
        return reading

    # ------------------------------------------------------------------------------- wishing

    async def create(self, caller: Caller, order: Order) -> Workspace:
        """A new workspace. LimitReached when it is to run and there is no place."""
        owner_id = order.owner_id or caller.user_id
        if owner_id != caller.user_id and not caller.is_administrator:
            raise NotAllowed("Only an administrator may make a workspace for somebody else.")
        defaults = self._defaults
        new = NewWorkspace(
            id=self._outside.ids.fresh(),
            owner_id=_plain("owner_id", owner_id),
            name=_plain("name", order.name),
            image=_plain("image", order.image or defaults.image),
            desired_state=order.desired_state,
            standby_ttl_seconds=_ttl(
                "standby_ttl_seconds", order.standby_ttl_seconds, defaults.standby_ttl_seconds
            ),
            archive_ttl_seconds=_ttl(
                "archive_ttl_seconds", order.archive_ttl_seconds, defaults.archive_ttl_seconds
            ),
        )
        answer = await self._outside.intents.create(new, self._policy)
        return await self._answered(caller, answer, owner_id, "create")

    async def change(self, caller: Caller, workspace_id: str, wish: Wish) -> Workspace:
        """Change what is wanted; an operation that runs is no obstacle."""
        await self.get(caller, workspace_id)
        wish = attrs.evolve(
            wish,
            name=wish.name if wish.name is UNSET else _plain("name", wish.name),
            standby_ttl_seconds=_checked("standby_ttl_seconds", wish.standby_ttl_seconds),
            archive_ttl_seconds=_checked("archive_ttl_seconds", wish.archive_ttl_seconds),
        )
        answer = await self._change(workspace_id, wish)
        if answer is None or answer.ws is None:
            raise NotFound(workspace_id)
        return await self._answered(caller, answer, answer.ws.owner_id, "change")

    async def delete(
        self, caller: Caller, workspace_id: str, *, intent_version: int | None = None
    ) -> Workspace:
        """Ask for deletion; asking twice is as good."""
        wish = Wish(delete=True, intent_version=intent_version)
        return await self.change(caller, workspace_id, wish)

    async def expire(self, workspace_id: str, wish: Wish) -> IntentAnswer | None:
        """What the TTL manager asks for. None when there is no such workspace."""
        answer = await self._change(workspace_id, wish)
        if answer is not None:
            await self._follow_up(answer, workspace_id, "expire")
        return answer

    async def _change(self, workspace_id: str, wish: Wish) -> IntentAnswer | None:
        def decide(situation: Situation) -> IntentAnswer:
            return intent_decision(
                situation.ws,
                wish,
                usage=situation.usage,
                now=situation.now,
                policy=self._policy,
            )

        return await self._outside.intents.change(workspace_id, decide)

    async def _answered(
        self, caller: Caller, answer: IntentAnswer, owner_id: str, asked: str
    ) -> Workspace:
        """The row that a wish led to, or the refusal that it met."""
        await self._follow_up(answer, None if answer.ws is None else answer.ws.id, asked)
        match answer.verdict.outcome:
            case IntentOutcome.WRITTEN | IntentOutcome.UNCHANGED:
                if answer.ws is None:
                    raise RuntimeError("the store wrote a row and did not tell it")
                return answer.ws
            case IntentOutcome.REFUSED:
                raise await self._refusal(caller, answer, owner_id)
        assert_never(answer.verdict.outcome)

    async def _refusal(self, caller: Caller, answer: IntentAnswer, owner_id: str) -> Exception:
        reason = answer.verdict.reason
        if reason is Reason.INTENT_STALE and answer.ws is not None:
            return Stale(answer.ws.intent_version)
        if reason is Reason.DELETION_ASKED:
            return Gone()
        everyone = reason is Reason.GLOBAL_LIMIT_REACHED and caller.is_administrator
        limit = full(reason, self._policy)
        holders = await holders_among(
            self._outside, None if everyone else owner_id, wants_place, limit
        )
        return LimitReached(reason, limit, holders)

    async def _follow_up(self, answer: IntentAnswer, workspace_id: str | None, asked: str) -> None:
        verdict_told(self._log, "intent", answer.verdict, asked=asked, workspace=workspace_id)
        if answer.verdict.outcome is IntentOutcome.WRITTEN:
            # A new row waits for an observation first, and the monitor has nothing else to do.
            await self._hint(*((Hint.LOOK,) if asked == "create" else ()), Hint.WORK)
        elif answer.verdict.outcome is IntentOutcome.UNCHANGED:
            # Who asks for what there should be already may know better than the last look.
            await self._hint(Hint.LOOK)

    async def _hint(self, *hints: Hint) -> None:
        try:
            for hint in hints:
                await self._outside.hints.send(hint)
        except AdapterError as error:
            self._log.warning("no hint was sent", why=str(error))

    # ------------------------------------------------------------------------------- the rest

    async def recover(
        self, caller: Caller, workspace_id: str, *, accept_loss: str | None = None
    ) -> Workspace:
        """End an error, or say by which rule it can't be ended so (section 5, H25)."""
        ws = await self.get(caller, workspace_id)
        evidence = Evidence.NOT_LOOKED
        if accept_loss is not None and caller.is_administrator:
            evidence = await look(self._outside, ws, accept_loss)
        answer = await self._outside.intents.recover(
            workspace_id,
            lambda row: recovery_decision(
                row, caller.actor, accept_loss=accept_loss, evidence=evidence
            ),
        )
        if answer is None:
            raise NotFound(workspace_id)
        verdict_told(
            self._log,
            "recovery",
            answer.verdict,
            workspace=workspace_id,
            gives_up=accept_loss,
            evidence=evidence.value,
        )
        if answer.verdict.outcome is RecoveryOutcome.REFUSED:
            raise NotRecoverable(answer.verdict)
        await self._hint(Hint.LOOK, Hint.WORK)  # health is the monitor's to clear
        return await self.get(caller, workspace_id)

    async def keep_alive(self, caller: Caller, workspace_id: str, seconds: int) -> None:
        """Hold the standby TTL for a bounded time; zero lets go at once."""
        longest = self._defaults.keepalive_longest_seconds
        if not 0 <= seconds <= longest:
            raise Invalid("seconds", f"expected 0 to {longest}, got {seconds}")
        await self.get(caller, workspace_id)
        await self._outside.activity.keep_alive(workspace_id, seconds)


def _plain(field: str, text: str) -> str:
    """Text that people can read on one line."""
    text = unicodedata.normalize("NFC", text).strip()
    if not text:
        raise Invalid(field, "expected some text")
    if len(text) > LONGEST_NAME:
        raise Invalid(field, f"expected at most {LONGEST_NAME} characters, got {len(text)}")
    if not text.isprintable():
        raise Invalid(field, "has characters that can't be shown")
    return text


def _ttl(field: str, seconds: int | None, default: int) -> int:
    if seconds is None:
        return default
    if not 1 <= seconds <= LONGEST_TTL_SECONDS:
        raise Invalid(field, f"expected 1 to {LONGEST_TTL_SECONDS} seconds, got {seconds}")
    return seconds


def _checked(field: str, seconds: int | Unset) -> int | Unset:
    return UNSET if seconds is UNSET else _ttl(field, seconds, seconds)
