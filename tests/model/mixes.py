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
    calm("new", 720),
    calm("new", 29_380, crash=2),
    calm("new", 38_390, failover=1, crash=1),
    calm("new", 92_350, crash=1, intent=1),
    calm("new", 55_160, delete=1, crash=1),
    calm("new", 33_740, reap=1, crash=1),
    calm("new", 12_510, blind=1, crash=1),
    rough("new", 8_690, fail=2),
    rough("new", 9_100, timeout=1, recover=1),
    rough("new", 16_400, kill=1, fail=1),
    # On standby.
    calm("standby", 8_290, crash=2, intent=1),
    calm("standby", 50_040, crash=1, intent=2),
    calm("standby", 21_750, delete=1, crash=1, intent=1),
    calm("standby", 28_420, ttl=1, intent=1, crash=1),
    calm("standby", 7_790, gc=1, intent=1, crash=1),
    rough("standby", 18_330, timeout=1, fail=1, intent=1, recover=1),
    rough("standby", 3_630, delete=1, fail=3),
    rough("standby", 10_160, delete=1, timeout=1, crash=1),
    rough("standby", 9_700, remove=1, intent=1, bring_back=1, recover=1),
    # Running.
    calm("running", 6_530, crash=2, intent=1),
    calm("running", 9_590, failover=1, intent=1, crash=1),
    calm("running", 24_630, intent=3),
    calm("running", 7_890, ttl=2, intent=1),
    calm("running", 13_780, delete=1, crash=1, intent=1),
    calm("running", 5_340, blind=1, intent=1, crash=1),
    calm("running", 40_440, kill=1, intent=1, crash=1),
    rough("running", 8_990, kill=2, crash=1),
    rough("running", 14_790, fail=2, intent=1, crash=1),
    rough("running", 41_600, timeout=1, intent=2, recover=1),
    rough("running", 54_820, remove=1, kill=1, delete=1, recover=1),
    rough("running", 63_230, remove=1, recover=1, bring_back=1, crash=1, intent=1),
    # Running again, with an archive that is older than the home.
    calm("returned", 26_580, crash=1, intent=2),
    calm("returned", 42_120, gc=2, intent=2),
    rough("returned", 55_250, intent=1, timeout=2, recover=1, gc=1),
    rough("returned", 69_090, remove=1, intent=1, bring_back=1, recover=1, accept=1),
    rough("returned", 4_730, remove=1, corrupt=1, accept=2),
    rough("returned", 42_490, fail=2, intent=2),
    # Archived.
    calm("archived", 72_240, crash=2, intent=1),
    calm("archived", 74_860, failover=1, intent=1, delete=1),
    calm("archived", 13_310, gc=1, reap=1, intent=1),
    rough("archived", 18_460, fail=2, intent=1),
    rough("archived", 11_640, corrupt=1, mend=1, intent=1, recover=1, accept=1),
    rough("archived", 48_560, corrupt=1, intent=1, accept=1, crash=1),
    rough("archived", timeout=1, recover=1, intent=1),
    # Lost, with an older archive left.
    rough("lost", 19_570, recover=1, accept=2, crash=1),
    rough("lost", 55_000, corrupt=1, accept=2, intent=1),
    rough("lost", bring_back=1, recover=1, accept=1, intent=1),
    # An image that never stays up.
    Mix(start="running", states=16_890, budget=Budget(crash=1), dies=True),
    Mix(start="new", budget=Budget(intent=1), dies=True),
    # The old leader goes on until it is refused.
    Mix(
        start="running",
        states=65_120,
        budget=Budget(failover=1, intent=1),
        errors=False,
        keep_fenced=True,
    ),
    Mix(start="standby", budget=Budget(failover=1, delete=1), errors=False, keep_fenced=True),
)

LONG_MIXES: tuple[Mix, ...] = (
    calm("new", 500_000, reap=1, crash=1, intent=1),
    calm("new", 100_000, crash=3),
    calm("standby", 220_000, crash=1, intent=2, delete=1),
    rough("running", 250_000, timeout=1, intent=2, recover=1, crash=1),
    rough("running", 500_000, remove=1, intent=1, kill=1, accept=1, delete=1),
    rough("archived", 139_000, timeout=1, recover=1, intent=1, crash=1),
    rough("lost", bring_back=1, recover=1, accept=1, intent=1, delete=1),
    Mix(
        start="new",
        states=200_000,
        budget=Budget(failover=1),
        errors=False,
        keep_fenced=True,
    ),
)
"""Larger mixes, for `nox -s campaign`: minutes each."""
