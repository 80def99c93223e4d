"""A runtime in memory: containers and volumes that nodes share, and what people do with them.

A volume's content is one value of bytes. Names and identities are used as real ones are: a
container's identity is never given twice, a volume's name ends with its incarnation.
"""

from collections.abc import Callable
from datetime import datetime

import attrs

from wsctl_adapters.memory.line import Line
from wsctl_core.ports import AdapterError, ContainerSpec
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.names import container_name, volume_name
from wsctl_core.values.observation import ContainerSeen, LastExit, VolumeSeen
from wsctl_core.values.stamps import FoundContainer, FoundVolume, Stamp
from wsctl_core.values.states import ContainerPhase


@attrs.frozen(kw_only=True)
class Container:
    """A container."""

    id: str
    stamp: Stamp
    image: str
    phase: ContainerPhase = ContainerPhase.CREATED
    exit: LastExit | None = None

    @property
    def runs(self) -> bool:
        """It runs."""
        return self.phase is ContainerPhase.RUNNING

    @property
    def volume(self) -> str:
        """The name of the volume that it is on."""
        return volume_of(self.stamp)


@attrs.frozen(kw_only=True)
class Volume:
    """A volume; one without a stamp was made by somebody else."""

    name: str
    stamp: Stamp | None
    content: bytes = b""
    partial: bool = False
    """Something is being filled in: what is there so far is a part."""

    def carries(self, stamp: Stamp) -> bool:
        """It is labelled so; the number may be that of an earlier request."""
        return self.stamp is not None and attrs.evolve(self.stamp, seq=stamp.seq) == stamp


def volume_of(stamp: Stamp) -> str:
    """The name of the volume that a stamp tells of."""
    return volume_name(stamp.workspace_id, stamp.incarnation)


class MemoryRuntime:
    """Everything that runs or lies on the one host there is."""

    def __init__(self, *, now: Callable[[], datetime]) -> None:
        self.now = now
        self.containers: dict[str, Container] = {}
        self.volumes: dict[str, Volume] = {}
        self._created = 0

    def new_identity(self) -> str:
        """An identity for a container."""
        self._created += 1
        return f"c{self._created}"

    def container_of(self, workspace_id: str) -> Container | None:
        """The one container that has the workspace's name."""
        for container in self.containers.values():
            if container.stamp.workspace_id == workspace_id:
                return container
        return None

    def labelled(self, stamp: Stamp) -> Volume:
        """The volume that carries that label; or VOLUME_MISSING."""
        volume = self.volumes.get(volume_of(stamp))
        if volume is None or not volume.carries(stamp):
            raise AdapterError(
                AdapterCode.VOLUME_MISSING,
                f"there is no volume {volume_of(stamp)} of ours",
                {"volume": volume_of(stamp)},
            )
        return volume

    # What happens without wsctl.

    def user_writes(self, workspace_id: str, data: bytes) -> bool:
        """The user of a running container leaves this in the home; False when nothing runs."""
        container = self.container_of(workspace_id)
        if container is None or not container.runs or container.volume not in self.volumes:
            return False
        self.fill(container.volume, data)
        return True

    def fill(self, name: str, content: bytes, *, partial: bool = False) -> None:
        """Replace what is in a volume that exists."""
        volume = self.volumes[name]
        self.volumes[name] = attrs.evolve(volume, content=content, partial=partial)

    def end_container(self, container_id: str, exit_code: int = 1) -> None:
        """A running container ends by itself."""
        container = self.containers[container_id]
        self.containers[container_id] = attrs.evolve(
            container,
            phase=ContainerPhase.ENDED,
            exit=LastExit(exit_code=exit_code, at=self.now()),
        )

    def remove_volume_by_force(self, name: str) -> Volume:
        """Somebody else removes a volume, whatever is on it: what it was, so that it can return."""
        return self.volumes.pop(name)

    def bring_back(self, volume: Volume) -> None:
        """A volume that was gone is there again."""
        self.volumes[volume.name] = volume


@attrs.frozen
class MemoryInventory:
    """Everything with labels, in one call per kind."""

    _runtime: MemoryRuntime
    _line: Line

    async def containers(self) -> tuple[FoundContainer, ...]:
        """Every container."""

        def effect() -> tuple[FoundContainer, ...]:
            return tuple(
                FoundContainer(
                    stamp=container.stamp,
                    seen=ContainerSeen(
                        id=container.id,
                        incarnation=container.stamp.incarnation,
                        phase=container.phase,
                        exit=container.exit,
                    ),
                )
                for container in self._runtime.containers.values()
            )

        return await self._line.call("list_containers", effect)

    async def volumes(self) -> tuple[FoundVolume, ...]:
        """Every volume that is labelled."""

        def effect() -> tuple[FoundVolume, ...]:
            return tuple(
                FoundVolume(
                    stamp=volume.stamp,
                    seen=VolumeSeen(name=volume.name, incarnation=volume.stamp.incarnation),
                )
                for volume in self._runtime.volumes.values()
                if volume.stamp is not None
            )

        return await self._line.call("list_volumes", effect)


@attrs.frozen
class MemoryContainers:
    """Containers of one installation, by identity."""

    _runtime: MemoryRuntime
    _line: Line
    _installation: str

    async def of_workspace(self, workspace_id: str) -> tuple[str, ...]:
        """The identities of this installation's containers of a workspace."""

        def effect() -> tuple[str, ...]:
            return tuple(
                container.id
                for container in self._runtime.containers.values()
                if container.stamp.workspace_id == workspace_id
                and container.stamp.installation == self._installation
            )

        return await self._line.call("containers_of_workspace", effect)

    async def create(self, spec: ContainerSpec) -> str:
        """Make a container, not started."""

        def effect() -> str:
            runtime = self._runtime
            runtime.labelled(spec.stamp)
            if runtime.container_of(spec.stamp.workspace_id) is not None:
                name = container_name(spec.stamp.workspace_id)
                raise AdapterError(
                    AdapterCode.CONTAINER_EXISTS, f"{name} is there already", {"container": name}
                )
            made = Container(id=runtime.new_identity(), stamp=spec.stamp, image=spec.image)
            runtime.containers[made.id] = made
            return made.id

        return await self._line.call("create_container", effect)

    async def start(self, container_id: str) -> None:
        """Start what `create` returned."""

        def effect() -> None:
            runtime = self._runtime
            container = runtime.containers.get(container_id)
            if container is None:
                raise AdapterError(
                    AdapterCode.CONTAINER_START_FAILED,
                    f"container {container_id} is gone",
                    {"container": container_id},
                )
            if not container.runs:
                runtime.labelled(container.stamp)
                runtime.containers[container_id] = attrs.evolve(
                    container, phase=ContainerPhase.RUNNING, exit=None
                )

        await self._line.call("start_container", effect)

    async def remove(self, container_id: str, grace_seconds: int) -> None:
        """End and remove it; nothing here takes its grace."""
        del grace_seconds
        await self._line.call(
            "remove_container", lambda: self._runtime.containers.pop(container_id, None)
        )

    async def address(self, workspace_id: str) -> str | None:
        """Where the running container's port would answer."""

        def effect() -> str | None:
            container = self._runtime.container_of(workspace_id)
            if container is None or not container.runs:
                return None
            return f"{container.id}.localhost:80"

        return await self._line.call("container_address", effect)


@attrs.frozen
class MemoryVolumes:
    """Volumes of one installation, by name."""

    _runtime: MemoryRuntime
    _line: Line
    _installation: str

    async def of_workspace(self, workspace_id: str) -> tuple[str, ...]:
        """The names of this installation's volumes of a workspace."""

        def effect() -> tuple[str, ...]:
            return tuple(
                volume.name
                for volume in self._runtime.volumes.values()
                if volume.stamp is not None
                and volume.stamp.workspace_id == workspace_id
                and volume.stamp.installation == self._installation
            )

        return await self._line.call("volumes_of_workspace", effect)

    async def make(self, stamp: Stamp) -> None:
        """Make the labelled, empty volume of that incarnation."""

        def effect() -> None:
            name = volume_of(stamp)
            there = self._runtime.volumes.get(name)
            if there is None:
                self._runtime.volumes[name] = Volume(name=name, stamp=stamp)
            elif not there.carries(stamp):
                raise AdapterError(
                    AdapterCode.VOLUME_CREATE_FAILED,
                    f"something that is not ours has the name {name}",
                    {"volume": name},
                )

        await self._line.call("make_volume", effect)

    async def remove(self, name: str) -> None:
        """Delete one volume that nothing is on."""

        def effect() -> None:
            for container in self._runtime.containers.values():
                if container.volume == name:
                    raise AdapterError(
                        AdapterCode.VOLUME_IN_USE,
                        f"container {container.id} is on {name}",
                        {"volume": name, "container": container.id},
                    )
            self._runtime.volumes.pop(name, None)

        await self._line.call("remove_volume", effect)
