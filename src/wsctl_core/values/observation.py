"""What was seen of one workspace, and when the looking began.

An observation that failed is not an absence (contract 1): a listing that could not be had is
`UNKNOWN`, and is a different thing from an empty one.
"""

from datetime import datetime
from enum import Enum, StrEnum

import attrs

from wsctl_core.values import validation as must
from wsctl_core.values.states import ContainerPhase


class Unknown(Enum):
    """The type of `UNKNOWN`."""

    UNKNOWN = "UNKNOWN"


UNKNOWN = Unknown.UNKNOWN


class SuspectKind(StrEnum):
    """What can be odd about one observation, so that a second look is due."""

    HOME_MISSING = "HOME_MISSING"
    """The home is READY and dirty, and its volume is not there (H16)."""
    CONTAINER_WITHOUT_VOLUME = "CONTAINER_WITHOUT_VOLUME"
    """The home's container is there and its volume is not (contract 6, H20)."""
    IN_PROGRESS = "IN_PROGRESS"
    """A container is between two states: neither the target nor a failure yet (H24)."""


@attrs.frozen(kw_only=True)
class Suspect:
    """An anomaly seen once: what, of whom, and the number of the observation that saw it first.

    It is believed when a later observation leaves it standing.
    """

    what: SuspectKind = attrs.field(validator=must.one_of(SuspectKind))
    identity: str = attrs.field(validator=must.identity)
    seq: int = attrs.field(validator=must.whole())


@attrs.frozen(kw_only=True)
class LastExit:
    """How the last container that ended by itself ended."""

    exit_code: int = attrs.field(validator=must.whole(-255))
    out_of_memory: bool = attrs.field(default=False, validator=must.truth)
    at: datetime = attrs.field(validator=must.moment)


@attrs.frozen(kw_only=True)
class ContainerSeen:
    """A container of the workspace. `incarnation` is None when it carries no label of ours."""

    id: str = attrs.field(validator=must.identity)
    incarnation: str | None = attrs.field(validator=must.optional(must.identity))
    phase: ContainerPhase = attrs.field(validator=must.one_of(ContainerPhase))
    exit: LastExit | None = attrs.field(
        default=None, validator=must.optional(must.one_of(LastExit))
    )

    def __attrs_post_init__(self) -> None:
        if self.exit is not None and self.phase is not ContainerPhase.ENDED:
            raise must.refuse(self, "exit", "only a container that ended has an exit")


@attrs.frozen(kw_only=True)
class VolumeSeen:
    """A volume of the workspace. `incarnation` is None when it carries no label of ours."""

    name: str = attrs.field(validator=must.text)
    incarnation: str | None = attrs.field(validator=must.optional(must.identity))


@attrs.frozen(kw_only=True)
class Observation:
    """Everything of one workspace that one pass of the monitor saw.

    >>> from datetime import UTC
    >>> seen = Observation(seq=4, began_at=datetime(2026, 1, 1, tzinfo=UTC), containers=UNKNOWN)
    >>> seen.complete
    False
    """

    seq: int = attrs.field(validator=must.whole())
    """Its place in the database's sequence, taken before listing (H19)."""
    began_at: datetime = attrs.field(validator=must.moment)
    containers: tuple[ContainerSeen, ...] | Unknown = ()
    volumes: tuple[VolumeSeen, ...] | Unknown = ()

    def __attrs_post_init__(self) -> None:
        for field in ("containers", "volumes"):
            listing = getattr(self, field)
            if listing is not UNKNOWN and not isinstance(listing, tuple):
                raise must.refuse(self, field, f"expected a tuple or UNKNOWN, got {listing!r}")

    @property
    def complete(self) -> bool:
        """Both listings were had."""
        return self.containers is not UNKNOWN and self.volumes is not UNKNOWN
