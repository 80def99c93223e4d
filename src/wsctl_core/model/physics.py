"""What every move shares: laws, decisions, what must hold, and who is who."""

from wsctl_core.contracts.states import newest_data_is_kept
from wsctl_core.model import outside
from wsctl_core.model.deciding import Decider, reality_of
from wsctl_core.model.laws import Laws
from wsctl_core.model.world import ACTIVE, DEPOSED, NOBODY, Process, World
from wsctl_core.values.errors import ErrorReason
from wsctl_core.values.policy import Policy
from wsctl_core.values.states import ContainerPhase


class Physics:
    """The laws of a world, its decisions, and the checks that follow every step."""

    def __init__(self, laws: Laws, policy: Policy) -> None:
        self.laws = laws
        self.decider = Decider(policy)
        self.fenced = laws.epoch_on_writes and laws.epoch_before_acts
        self._kept: dict[tuple[object, ...], str | None] = {}

    def loses_data(self, w: World) -> str | None:
        """Contract 11 of this world, remembered by all that it depends on."""
        row = w.row
        if not w.written or row.deleted:
            return None
        volume, archive = outside.volume_of(w, row.inc), outside.archive_of(w, row.archive)
        key = row.home, row.inc, row.archive, volume, archive
        if key not in self._kept:
            seen = reality_of(w._replace(excused=False))
            self._kept[key] = newest_data_is_kept(self.decider.workspace(row), seen)
        return self._kept[key]

    def excused(self, w: World) -> World:
        """After a misfortune: whether it has destroyed the last copy of the newest data."""
        return w._replace(excused=self.loses_data(w) is not None)

    def checked(self, w: World) -> World:
        """The world, with what this step has broken."""
        if w.broken is None and not w.excused and (broken := self.loses_data(w)):
            return w._replace(broken=broken)
        error = w.row.error
        # H17: nothing is called lost while nobody has removed or spoilt anything.
        if error is not None and error.reason is ErrorReason.DATA_LOST and not w.tampered:
            return w._replace(broken="data is called lost that is not")
        return w


def processes(w: World) -> tuple[tuple[int, Process], ...]:
    """The leader and, where there is one, the process that was."""
    if w.deposed is None:
        return ((ACTIVE, w.active),)
    return (ACTIVE, w.active), (DEPOSED, w.deposed)


def process_of(w: World, who: int) -> Process:
    """The leader, or the one that was."""
    p = w.active if who == ACTIVE else w.deposed
    assert p is not None
    return p


def with_process(w: World, who: int, p: Process) -> World:
    """The world in which that process has changed."""
    return w._replace(active=p) if who == ACTIVE else w._replace(deposed=p)


def orphaned(w: World, who: int) -> World:
    """Nobody waits any more for the calls of this process; they live on."""
    if not any(call.waits == who for call in w.calls):
        return w
    calls = tuple(c._replace(waits=NOBODY) if c.waits == who else c for c in w.calls)
    return w._replace(calls=calls)


def spent(w: World, what: str) -> World:
    """The world with one less in its budget."""
    left = getattr(w.budget, what)
    return w._replace(budget=w.budget._replace(**{what: left - 1})) if left else w


def runs(w: World) -> bool:
    """A container runs."""
    return any(c.phase is ContainerPhase.RUNNING for c in w.containers)
