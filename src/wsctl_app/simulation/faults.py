"""What goes wrong in a simulation, and how often: rates and delays, drawn from one seed."""

from random import Random

import attrs

from wsctl_adapters.memory import CALLS


@attrs.frozen(kw_only=True)
class Faults:
    """How rough the weather is. Rates are per call, or per second of chaos."""

    slow: float = 0.0
    """A call to the outside hangs for a while, then lands all the same."""
    slow_seconds: float = 100.0
    """How long at most."""
    lost_answer: float = 0.0
    """A call lands, and its caller is told that it failed."""
    refused: float = 0.0
    """A call does not land, and its caller is told so."""
    database: float = 0.0
    """A call to the database breaks off, before or after it landed: nobody knows which."""
    crash_every: float = 0.0
    """Seconds between two crashes of a node, on average; 0 for never."""
    freeze_every: float = 0.0
    """Seconds between two nodes that stop for a while and wake up again; 0 for never."""
    container_dies_every: float = 0.0
    """Seconds between two containers that end by themselves; 0 for never."""


CALM = Faults()
CRASHES = Faults(slow=0.02, crash_every=40.0, freeze_every=120.0)
"""Nodes die and stop, and their calls land late. Nothing of this may ever end in an error."""
STORM = Faults(
    slow=0.03,
    slow_seconds=400.0,
    lost_answer=0.03,
    refused=0.03,
    database=0.002,
    crash_every=60.0,
    freeze_every=180.0,
    container_dies_every=300.0,
)
"""All of it at once. An error may be the end of it; a lost home may not."""


@attrs.frozen(kw_only=True)
class Fate:
    """What becomes of one call."""

    before: float
    """Seconds until it lands."""
    after: float
    """Seconds until its caller hears of it."""
    lands: bool = True
    answers: bool = True


def draw(chance: Random, faults: Faults, what: str) -> Fate:
    """The fate of one call.

    >>> draw(Random(1), CALM, "claim").lands
    True
    """
    before, after = chance.uniform(0.001, 0.05), chance.uniform(0.001, 0.05)
    if CALLS[what] is None:
        # A database session is cut off rather than kept waiting: calls land soon or not at all.
        if chance.random() < faults.slow:
            before = chance.uniform(0.1, 1.5)
        cut = chance.random() < faults.database
        lands = not cut or chance.choice((True, False))
        return Fate(before=before, after=after, lands=lands, answers=not cut)
    if chance.random() < faults.slow:
        before = chance.uniform(5.0, faults.slow_seconds)
    drawn = chance.random()
    if drawn < faults.refused:
        return Fate(before=before, after=after, lands=False, answers=False)
    return Fate(before=before, after=after, answers=drawn >= faults.refused + faults.lost_answer)
