"""Stamps: what everything that wsctl makes outside carries, and what a listing finds by it.

A volume, a container and an archive say which installation made them, for which workspace and
incarnation, and at which place in the database's sequence (specification, section 7; H33).
"""

import attrs

from wsctl_core.values import validation as must
from wsctl_core.values.observation import ContainerSeen, VolumeSeen


@attrs.frozen(kw_only=True)
class Stamp:
    """The labels of a volume or container, and the metadata of an archive.

    >>> Stamp(installation="here", workspace_id="w1", incarnation="i1", seq=7).seq
    7
    """

    installation: str = attrs.field(validator=must.identity)
    workspace_id: str = attrs.field(validator=must.identity)
    incarnation: str = attrs.field(validator=must.identity)
    seq: int = attrs.field(validator=must.whole())
    """The place in the sequence at which the making was asked for."""


@attrs.frozen(kw_only=True)
class FoundContainer:
    """A container that a listing found, whoever's it is."""

    stamp: Stamp = attrs.field(validator=must.one_of(Stamp))
    seen: ContainerSeen = attrs.field(validator=must.one_of(ContainerSeen))


@attrs.frozen(kw_only=True)
class FoundVolume:
    """A volume that a listing found, whoever's it is."""

    stamp: Stamp = attrs.field(validator=must.one_of(Stamp))
    seen: VolumeSeen = attrs.field(validator=must.one_of(VolumeSeen))
