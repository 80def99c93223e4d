"""The rows: who may read them, and who may write which columns (contracts 3, 4 and 12).

Every write names the condition under which it takes place and changes nothing when that does not
hold. A leader's write carries its epoch, and raises LeadershipLost when that is old. Every call
raises StoreUnavailable when the database can't be reached.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Protocol

import attrs

from wsctl_core.decisions.intent import IntentAnswer
from wsctl_core.decisions.limits import Usage
from wsctl_core.decisions.recovery import RecoveryAnswer
from wsctl_core.values.patches import Alarm, Guard, MonitorPatch, ReconcilerPatch
from wsctl_core.values.policy import Policy
from wsctl_core.values.states import DesiredState
from wsctl_core.values.workspace import Workspace


@attrs.frozen(kw_only=True)
class Reading:
    """Rows, read at one moment, with what their freshness and their waits are judged by."""

    rows: tuple[Workspace, ...]
    now: datetime
    """The database's clock."""
    pass_seq: int
    """The number of the monitor's last complete pass."""


@attrs.frozen(kw_only=True)
class Changes(Reading):
    """Rows that changed since a mark; some may be told twice, none is left out."""

    mark: str


@attrs.frozen(kw_only=True)
class Page:
    """Some rows of a listing, in the order of their identities."""

    rows: tuple[Workspace, ...]
    after: str | None
    """Where the next page goes on; None when there is none."""


class WorkspaceReader(Protocol):
    """Reads, and never writes."""

    async def some(self, ids: Collection[str]) -> Reading:
        """The rows of those workspaces that exist, in no order."""

    async def page(
        self,
        *,
        owner_id: str | None = None,
        deleted: bool = False,
        after: str | None = None,
        limit: int = 100,
    ) -> Page:
        """A listing in pages that stay right while rows change.

        With an owner, only theirs. Workspaces whose deletion is finished only when asked for.
        """

    async def finished(self, *, after: str | None = None, limit: int = 100) -> Page:
        """Only the workspaces whose deletion is finished, in pages; the living cost nothing."""

    async def changed(self, since: str | None) -> Changes:
        """Every row written since the mark, however late its write committed; None: every row.

        Rows that are purged are not told: they were told as finished being deleted before. With
        None, rows that are finished being deleted are left out.
        """


@attrs.frozen(kw_only=True)
class NewWorkspace:
    """What a row is made of; the store gives it its times and its number."""

    id: str
    owner_id: str
    name: str
    image: str
    desired_state: DesiredState
    standby_ttl_seconds: int
    archive_ttl_seconds: int


@attrs.frozen(kw_only=True)
class Situation:
    """What a change of intent is decided on, read under the lock that the change holds."""

    ws: Workspace
    now: datetime
    usage: Usage
    """Intents to run of others than this workspace."""


class IntentStore(Protocol):
    """The service's: the only writer of what people want."""

    async def create(self, new: NewWorkspace, policy: Policy) -> IntentAnswer:
        """Insert a row, unless `creation_decision` finds no place; exact under any concurrency.

        InvalidValue when the identity was used before, or a value can't be kept.
        """

    async def change(
        self, workspace_id: str, decide: Callable[[Situation], IntentAnswer]
    ) -> IntentAnswer | None:
        """Read the row, decide and write, as one. None when there is no such workspace.

        `decide` is pure and may be called again. Two changes at once never both take the last
        place (H32).
        """

    async def recover(
        self, workspace_id: str, decide: Callable[[Workspace], RecoveryAnswer]
    ) -> RecoveryAnswer | None:
        """Read the row, decide, and write the acceptance and the recovery, as one.

        None when there is no such workspace. A recovery leaves a running operation alone.
        """


@attrs.frozen(kw_only=True)
class PassStart:
    """The beginning of a pass: its number, taken before anything is listed (H19)."""

    number: int
    now: datetime


@attrs.frozen(kw_only=True)
class Findings:
    """What one pass of the monitor found, for the whole fleet."""

    number: int
    patches: Mapping[str, MonitorPatch]
    alarms: Mapping[str, Alarm]
    complete: bool
    """Nothing was unknown: the pass number stands for every row that is not named here."""


class MonitorStore(Protocol):
    """The health monitor's: what exists."""

    async def begin_pass(self) -> PassStart:
        """The next number of the sequence, and the time."""

    async def end_pass(self, epoch: int, findings: Findings) -> int:
        """Write all that a pass found, at once: how many rows it changed.

        A row whose number is not smaller keeps what it has (H19). An alarm is set only where no
        error is recorded. A complete pass records its number.
        """


@attrs.frozen(kw_only=True)
class Work(Reading):
    """Every row for which a step may be due, and the places that are held."""

    held: Mapping[str, int]
    """Places held, by owner, counted as `holds_place` counts them."""


class ReconcilerStore(Protocol):
    """The state reconciler's: what is being done."""

    async def work(self) -> Work:
        """Every row that `needs_work`, in a constant number of statements."""

    async def one(self, workspace_id: str) -> Reading:
        """One row; none when it was purged."""

    async def next_number(self) -> int:
        """The next number of the sequence, for a stamp."""

    async def holds(self, epoch: int, workspace_id: str, guard: Guard) -> bool:
        """Epoch and guard hold now: asked before every action (H8). An old epoch does not."""

    async def write(
        self, epoch: int, workspace_id: str, guard: Guard, patch: ReconcilerPatch
    ) -> Workspace | None:
        """Compare and set: the row after the write, or None when the guard did not hold.

        NEXT_NUMBER in the patch is the sequence's next number, given in this write.
        """

    async def claim(
        self, epoch: int, workspace_id: str, guard: Guard, patch: ReconcilerPatch, policy: Policy
    ) -> Workspace | None:
        """The same for a claim; one of STARTING takes a place, or gets None when none is free.

        Places held are counted under the lock that intents are counted under: of two claims at
        once, one sees the other (H32).
        """


@attrs.frozen(kw_only=True)
class Safeguard:
    """Whether collection may run at all (H33)."""

    number: int
    """The largest number that the sequence has given."""
    latched: str | None
    """Why nothing may be collected until a person clears it; None when all is well."""


class Housekeeping(Protocol):
    """What an installation is, and what keeps its tables small."""

    async def installation(self) -> str:
        """The identity of this installation: made once, with the database."""

    async def safeguard(self) -> Safeguard:
        """Whether collection may run."""

    async def latch(self, epoch: int, why: str, number: int) -> None:
        """Refuse every collection from now on, and move the sequence past that number."""

    async def clear_latch(self) -> bool:
        """A person has looked: collection may run again. False when nothing was latched."""

    async def purge(self, epoch: int, ids: Collection[str]) -> int:
        """Remove those rows that are finished being deleted: how many."""

    async def trim_events(self, epoch: int) -> int:
        """Remove events older than a day from the outbox: how many."""
