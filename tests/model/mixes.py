"""The mixes of faults that are explored, each from one start, and how far.

`errors=False`: crashes, fail-overs, changes of intent, times to live, collection and deletion alone
never end in an error (contract 13). `states` is a lower bound: a mix that suddenly reaches far
fewer worlds is not the mix it was.
"""

import attrs

from wsctl_core.model import Budget


@attrs.frozen(kw_only=True)
class Mix:
    """One exploration."""

    start: str
    budget: Budget
    states: int = 1
    errors: bool = True
    dies: bool = False
    keep_fenced: bool = False
    """Keep a deposed leader in the world until it has been refused."""

    @property
    def name(self) -> str:
        """What it is, in a line."""
        spent = [f"{k}{v}" for k, v in self.budget._asdict().items() if v]
        flags = ["dies"] * self.dies + ["fenced"] * self.keep_fenced
        return "-".join([self.start, *spent, *flags])


def calm(start: str, states: int = 1, **faults: int) -> Mix:
    """A mix that never ends in an error."""
    return Mix(start=start, budget=Budget(**faults), states=states, errors=False)


def rough(start: str, states: int = 1, **faults: int) -> Mix:
    """A mix that may end in an error, with a way out of it."""
    return Mix(start=start, budget=Budget(**faults), states=states)


MIXES: tuple[Mix, ...] = (
    # A new workspace.
    calm("new"),
    calm("new", crash=2),
    calm("new", failover=1, crash=1),
    calm("new", crash=1, intent=1),
    calm("new", delete=1, crash=1),
    calm("new", reap=1, crash=1),
    calm("new", blind=1, crash=1),
    rough("new", fail=2),
    rough("new", timeout=1, recover=1),
    rough("new", kill=1, fail=1),
    # On standby.
    calm("standby", crash=2, intent=1),
    calm("standby", crash=1, intent=2),
    calm("standby", delete=1, crash=1, intent=1),
    calm("standby", ttl=1, intent=1, crash=1),
    calm("standby", gc=1, intent=1, crash=1),
    rough("standby", timeout=1, fail=1, intent=1, recover=1),
    rough("standby", delete=1, fail=3),
    rough("standby", delete=1, timeout=1, crash=1),
    rough("standby", remove=1, intent=1, bring_back=1, recover=1),
    # Running.
    calm("running", crash=2, intent=1),
    calm("running", failover=1, intent=1, crash=1),
    calm("running", intent=3),
    calm("running", ttl=2, intent=1),
    calm("running", delete=1, crash=1, intent=1),
    calm("running", blind=1, intent=1, crash=1),
    calm("running", kill=1, intent=1, crash=1),
    rough("running", kill=2, crash=1),
    rough("running", fail=2, intent=1, crash=1),
    rough("running", timeout=1, intent=2, recover=1),
    rough("running", remove=1, kill=1, delete=1, recover=1),
    rough("running", remove=1, recover=1, bring_back=1, crash=1, intent=1),
    # Running again, with an archive that is older than the home.
    calm("returned", crash=1, intent=2),
    calm("returned", gc=2, intent=2),
    rough("returned", intent=1, timeout=2, recover=1, gc=1),
    rough("returned", remove=1, intent=1, bring_back=1, recover=1, accept=1),
    rough("returned", remove=1, corrupt=1, accept=2),
    rough("returned", fail=2, intent=2),
    # Archived.
    calm("archived", crash=2, intent=1),
    calm("archived", failover=1, intent=1, delete=1),
    calm("archived", gc=1, reap=1, intent=1),
    rough("archived", fail=2, intent=1),
    rough("archived", corrupt=1, mend=1, intent=1, recover=1, accept=1),
    rough("archived", corrupt=1, intent=1, accept=1, crash=1),
    rough("archived", timeout=1, recover=1, intent=1, crash=1),
    # Lost, with an older archive left.
    rough("lost", recover=1, accept=2, crash=1),
    rough("lost", corrupt=1, accept=2, intent=1),
    rough("lost", bring_back=1, recover=1, accept=1, intent=1, delete=1),
    # An image that never stays up.
    Mix(start="running", budget=Budget(crash=1), dies=True),
    Mix(start="new", budget=Budget(intent=1), dies=True),
    # The old leader goes on until it is refused.
    Mix(start="running", budget=Budget(failover=1, intent=1), errors=False, keep_fenced=True),
    Mix(start="standby", budget=Budget(failover=1, delete=1), errors=False, keep_fenced=True),
)
