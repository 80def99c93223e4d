"""What is known about people using a workspace right now."""

import attrs

from wsctl_core.values import validation as must


@attrs.frozen(kw_only=True)
class Activity:
    """What the activity store says. Use `UNKNOWN_ACTIVITY` when it is away or was emptied (H30).

    >>> Activity(connections=1).known
    True
    """

    known: bool = attrs.field(default=True, validator=must.truth)
    connections: int = attrs.field(default=0, validator=must.whole())
    kept_alive: bool = attrs.field(default=False, validator=must.truth)
    idle_timer: bool = attrs.field(default=False, validator=must.truth)


UNKNOWN_ACTIVITY = Activity(known=False)
