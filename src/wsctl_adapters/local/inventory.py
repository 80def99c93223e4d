"""Everything of wsctl's that is on the disk, whoever's it is: complete, or an error (H34)."""

from wsctl_adapters.local.layout import Layout, label_of, listing, told_as
from wsctl_adapters.local.records import folders_of, look
from wsctl_adapters.local.work import Workers
from wsctl_core.ports import AdapterError
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.observation import VolumeSeen
from wsctl_core.values.stamps import FoundContainer, FoundVolume


class LocalInventory:
    """Implements `wsctl_core.ports.Inventory`: one walk per kind, which changes nothing.

    What is removed during a walk is absent. What can't be read is an error.
    """

    def __init__(self, layout: Layout, workers: Workers) -> None:
        self._layout = layout
        self._workers = workers

    async def containers(self) -> tuple[FoundContainer, ...]:
        """Every container with wsctl's labels."""
        return await self._workers.run(self._containers)

    async def volumes(self) -> tuple[FoundVolume, ...]:
        """Every volume with wsctl's labels."""
        return await self._workers.run(self._volumes)

    def _containers(self) -> tuple[FoundContainer, ...]:
        with told_as(AdapterCode.LOCAL_IO_ERROR, "the containers can't be listed"):
            try:
                looks = [
                    look(folder, spec)
                    for place in listing(self._layout.containers)
                    for folder, spec in folders_of(place)
                ]
            except (ValueError, KeyError) as error:
                raise AdapterError(
                    AdapterCode.LOCAL_IO_ERROR, f"a container's record is broken: {error}"
                ) from error
        return tuple(found for found in looks if found is not None)

    def _volumes(self) -> tuple[FoundVolume, ...]:
        with told_as(AdapterCode.LOCAL_IO_ERROR, "the volumes can't be listed"):
            labelled = ((place, label_of(place)) for place in listing(self._layout.volumes))
            return tuple(
                FoundVolume(
                    stamp=label, seen=VolumeSeen(name=place.name, incarnation=label.incarnation)
                )
                for place, label in labelled
                if label is not None
            )
