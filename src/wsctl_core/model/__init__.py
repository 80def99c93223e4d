"""PROOF. A world in one frozen value, and a machine that tries to break it.

`World` holds the row, what really exists, two leaders and every call in flight. `Model.step` is a
pure function from a world and an event to the next world; it runs the very decisions that run in
production, and checks the contracts at every step. `explore` goes through all worlds that a mix of
faults can reach, breadth first, and answers with their number, or with the shortest story that
ends in something broken.

    from wsctl_core.model import STARTS, Budget, Model, explore
    result = explore(Model(), STARTS["running"], Budget(crash=1, intent=1))
    print(result.states, result.exhausted, result.story)

The model knows the rest of the core. Nothing in production knows the model.
"""

from wsctl_core.model.explorer import Exploration, explore
from wsctl_core.model.faults import Budget
from wsctl_core.model.laws import LAWS, Laws
from wsctl_core.model.moves import Event, Model
from wsctl_core.model.starts import STARTS
from wsctl_core.model.story import tell
from wsctl_core.model.world import World

__all__ = [
    "LAWS",
    "STARTS",
    "Budget",
    "Event",
    "Exploration",
    "Laws",
    "Model",
    "World",
    "explore",
    "tell",
]
