"""What checks of a runtime are made of: the subject, and how to bring it where a check begins."""

from typing import Protocol

from wsctl_core.ports import Containers, ContainerSpec, Inventory, Volumes
from wsctl_core.values.names import volume_name
from wsctl_core.values.stamps import Stamp
from wsctl_core.values.states import ContainerPhase


class RuntimeUnderTest(Protocol):
    """A runtime that nothing else uses, and hands that reach behind its back."""

    @property
    def installation(self) -> str:
        """Whose containers and volumes `of_workspace` tells."""

    @property
    def image(self) -> str:
        """Something that runs until it is ended."""

    @property
    def inventory(self) -> Inventory:
        """What is under test."""

    @property
    def containers(self) -> Containers:
        """What is under test."""

    @property
    def volumes(self) -> Volumes:
        """What is under test."""

    async def container_ends(self, container_id: str) -> None:
        """Make a running container end by itself, and return when it has."""

    async def unlabelled_volume(self, name: str) -> None:
        """Make a volume of that name as somebody else would: without wsctl's labels."""

    async def volume_vanishes(self, name: str) -> None:
        """Take a volume away behind everyone's back, whatever is on it."""

    async def write(self, name: str, path: str, content: bytes) -> None:
        """Write a file in a volume."""

    async def read(self, name: str, path: str) -> bytes | None:
        """Read a file in a volume; None when the volume or the file is not there."""


GRACE = 2


def stamp_of(
    subject: RuntimeUnderTest, workspace_id: str = "w1", incarnation: str = "i1", seq: int = 1
) -> Stamp:
    """A stamp of the installation under test."""
    return Stamp(
        installation=subject.installation,
        workspace_id=workspace_id,
        incarnation=incarnation,
        seq=seq,
    )


def name_of(stamp: Stamp) -> str:
    """The name of the volume that carries a stamp."""
    return volume_name(stamp.workspace_id, stamp.incarnation)


def spec_of(subject: RuntimeUnderTest, stamp: Stamp) -> ContainerSpec:
    """The container that is asked for on a volume."""
    return ContainerSpec(stamp=stamp, image=subject.image)


async def created(subject: RuntimeUnderTest, stamp: Stamp) -> str:
    """A new container on a new volume, not started."""
    await subject.volumes.make(stamp)
    return await subject.containers.create(spec_of(subject, stamp))


async def running(subject: RuntimeUnderTest, stamp: Stamp) -> str:
    """A new container on a new volume, started."""
    container_id = await created(subject, stamp)
    await subject.containers.start(container_id)
    return container_id


async def phases(subject: RuntimeUnderTest) -> dict[str, ContainerPhase]:
    """What each container that exists is doing, by identity."""
    return {found.seen.id: found.seen.phase for found in await subject.inventory.containers()}


async def names(subject: RuntimeUnderTest) -> set[str]:
    """The names of the volumes that are listed."""
    return {found.seen.name for found in await subject.inventory.volumes()}
