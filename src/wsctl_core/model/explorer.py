"""The explorer: every world that a mix of faults can reach, breadth first.

Breadth first makes the first counterexample a shortest one. Each world is asked whether the step
that led to it broke a contract, and whether calm leads from it to rest.
"""

from collections import deque

import attrs

from wsctl_core.contracts.states import Settled
from wsctl_core.model.calm import Calm
from wsctl_core.model.faults import Budget
from wsctl_core.model.moves import Event, Model
from wsctl_core.model.naming import canonical
from wsctl_core.model.world import World
from wsctl_core.values.states import Operation


@attrs.frozen(kw_only=True)
class Exploration:
    """What an exploration found."""

    states: int
    exhausted: bool
    """Every reachable world was visited."""
    broken: str | None = None
    path: tuple[tuple[Event | None, World], ...] = ()
    """The shortest way to what is broken: worlds, each with the event that led to it.

    Where calm does not lead to rest, the calm run follows the way to where it begins.
    """

    @property
    def holds(self) -> bool:
        """Nothing was found broken."""
        return self.broken is None


def explore(
    model: Model,
    start: World,
    budget: Budget,
    *,
    limit: int = 1_000_000,
    errors: bool = True,
    convergence: bool = True,
) -> Exploration:
    """Visit what is reachable from `start` within the budget of faults.

    `errors` says whether a terminal error is an answer at all; after crashes, fail-overs, changes
    of intent and deletion alone, it never is (contract 13). `limit` bounds the worlds visited.
    """
    calm = Calm(model) if convergence else None
    first = canonical(start._replace(budget=budget))
    cameby: dict[World, tuple[World, Event] | None] = {first: None}
    queue = deque([first])
    while queue:
        w = queue.popleft()
        broken = _judge(w, calm, errors)
        if broken is not None:
            path = _path(w, cameby)
            if calm is not None and w.broken is None:
                path += calm.path(w)
            return Exploration(states=len(cameby), exhausted=False, broken=broken, path=path)
        for event in model.events(w):
            after = model.step(w, event)
            if after not in cameby:
                if len(cameby) >= limit:
                    return Exploration(states=len(cameby), exhausted=False)
                cameby[after] = (w, event)
                queue.append(after)
    return Exploration(states=len(cameby), exhausted=True)


def _judge(w: World, calm: Calm | None, errors: bool) -> str | None:
    if w.broken is not None:
        return w.broken
    error = w.row.error
    # A deletion that fails goes on by itself: its error needs nobody.
    if not errors and error and error.terminal and error.operation is not Operation.DELETING:
        return "an error that no fault has caused"
    if calm is None:
        return None
    end = calm.judge(w)
    if end.broken is None and not errors and end.settled is Settled.IN_ERROR:
        return "calm leads to an error that no fault has caused"
    return end.broken


def _path(
    w: World, cameby: dict[World, tuple[World, Event] | None]
) -> tuple[tuple[Event | None, World], ...]:
    path: list[tuple[Event | None, World]] = []
    here: World | None = w
    while here is not None:
        step = cameby[here]
        path.append((None if step is None else step[1], here))
        here = None if step is None else step[0]
    return tuple(reversed(path))
