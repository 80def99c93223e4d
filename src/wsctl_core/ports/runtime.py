"""The runtime: containers and volumes, listed whole and acted on by identity.

Every call may land late, after its caller died. So each names something that is used once, and is
idempotent: done already is as good as done. AdapterError says by its code what stood in the way.
"""

from typing import Protocol

import attrs

from wsctl_core.values import validation as must
from wsctl_core.values.stamps import FoundContainer, FoundVolume, Stamp


class Inventory(Protocol):
    """Everything of wsctl's that exists, in one call per kind, whatever the number (H34)."""

    async def containers(self) -> tuple[FoundContainer, ...]:
        """Every container with wsctl's labels. Complete, or AdapterError: never a part."""

    async def volumes(self) -> tuple[FoundVolume, ...]:
        """Every volume with wsctl's labels. Complete, or AdapterError: never a part."""


@attrs.frozen(kw_only=True)
class ContainerSpec:
    """The container that is asked for: on which volume, and what runs in it."""

    stamp: Stamp = attrs.field(validator=must.one_of(Stamp))
    """The volume's workspace and incarnation are the container's."""
    image: str = attrs.field(validator=must.text)


class Containers(Protocol):
    """Containers, by the identity that `create` returned; a workspace has one name for one."""

    async def of_workspace(self, workspace_id: str) -> tuple[str, ...]:
        """The identities of this installation's containers of a workspace, in any state."""

    async def create(self, spec: ContainerSpec) -> str:
        """Make a container, not started, and tell its identity, which is never used again.

        VOLUME_MISSING when the volume is absent or carries no label of ours: it is never made
        silently (H5). CONTAINER_EXISTS when the workspace has a container already.
        """

    async def start(self, container_id: str) -> None:
        """Start what `create` returned; running already is as good.

        CONTAINER_START_FAILED when it is gone, or can't run. VOLUME_MISSING when its volume went.
        """

    async def remove(self, container_id: str, grace_seconds: int) -> None:
        """Ask it to end, wait that long, end it by force, remove it. Gone already is as good."""

    async def address(self, workspace_id: str) -> str | None:
        """Where the running container's port answers, as `host:port`; None when none runs."""


class Volumes(Protocol):
    """Volumes, by names that end with their incarnation and are used once."""

    async def of_workspace(self, workspace_id: str) -> tuple[str, ...]:
        """The names of this installation's volumes of a workspace."""

    async def make(self, stamp: Stamp) -> None:
        """Make the labelled, empty volume of that incarnation; there already is as good.

        VOLUME_CREATE_FAILED when it can't be made, or something unlabelled has its name.
        """

    async def remove(self, name: str) -> None:
        """Delete one volume. Gone already is as good. VOLUME_IN_USE while a container is on it."""
