"""Who asks, and what they may see: their own workspaces, or all of them.

What somebody may not see looks to them as if it did not exist.
"""

import attrs

from wsctl_core.values import validation as must
from wsctl_core.values.states import Actor
from wsctl_core.values.workspace import Workspace


@attrs.frozen(kw_only=True)
class Caller:
    """Somebody whose identity is established.

    >>> Caller(user_id="ann").actor.value
    'OWNER'
    """

    user_id: str = attrs.field(validator=must.text)
    is_administrator: bool = attrs.field(default=False, validator=must.truth)

    @property
    def actor(self) -> Actor:
        """What the core's decisions take them for."""
        return Actor.ADMINISTRATOR if self.is_administrator else Actor.OWNER

    def may_see(self, ws: Workspace) -> bool:
        """It is theirs, or they are an administrator."""
        return self.is_administrator or ws.owner_id == self.user_id
