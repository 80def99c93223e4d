"""Volumes as folders: a label and a home. What carries no label of ours is never touched."""

import threading
from pathlib import Path

import attrs

from wsctl_adapters.local.layout import (
    HOME,
    LABELS,
    Layout,
    is_labelled,
    label_of,
    listing,
    put_in_place,
    sync_folder,
    told_as,
    unused,
    write_json,
)
from wsctl_adapters.local.records import volumes_in_use
from wsctl_adapters.local.trash import destroy, throw_away
from wsctl_adapters.local.work import Workers
from wsctl_core.ports import AdapterError
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.stamps import Stamp


class LocalVolumes:
    """Implements `wsctl_core.ports.Volumes` on folders."""

    def __init__(self, layout: Layout, installation: str, workers: Workers) -> None:
        self._layout = layout
        self._installation = installation
        self._workers = workers

    async def of_workspace(self, workspace_id: str) -> tuple[str, ...]:
        """The names of this installation's volumes of a workspace."""
        return await self._workers.run(lambda: self._of_workspace(workspace_id))

    async def make(self, stamp: Stamp) -> None:
        """Make the labelled, empty volume of that incarnation; there already is as good."""
        await self._workers.run(lambda: self._make(stamp))

    async def remove(self, name: str) -> None:
        """Delete one volume. Gone already is as good, and what carries no label is left alone."""
        stop = threading.Event()
        await self._workers.run(lambda: self._remove(name, stop), cut_off=stop.set)

    def _of_workspace(self, workspace_id: str) -> tuple[str, ...]:
        with told_as(AdapterCode.LOCAL_IO_ERROR, "the volumes can't be listed"):
            begins = f"ws-{workspace_id}-"
            candidates = [
                place for place in listing(self._layout.volumes) if place.name.startswith(begins)
            ]
            return tuple(
                place.name
                for place in candidates
                if (label := label_of(place)) is not None
                and label.workspace_id == workspace_id
                and label.installation == self._installation
            )

    def _make(self, stamp: Stamp) -> None:
        place = self._layout.volume(stamp)
        with told_as(AdapterCode.VOLUME_CREATE_FAILED, f"the volume {place.name} can't be made"):
            if self._is_made(place, stamp):
                return
            made = unused(self._layout.tmp)
            try:
                made.mkdir(mode=0o700)
                (made / HOME).mkdir(mode=0o700)
                write_json(made / LABELS, attrs.asdict(stamp))
                sync_folder(made)
                if not put_in_place(made, place) and not self._is_made(place, stamp):
                    raise AdapterError(
                        AdapterCode.VOLUME_CREATE_FAILED,
                        f"the volume {place.name} came and went while it was being made",
                    )
            finally:
                destroy(made)

    def _is_made(self, place: Path, stamp: Stamp) -> bool:
        """The volume is there and ours; refused when something else has its name."""
        # An empty folder would be replaced by a rename, so it is looked for first. Nobody of
        # wsctl's ever makes one, so nobody of wsctl's can make one in between. And it is looked
        # for before the label: another may be making the volume right now.
        taken = place.exists() or place.is_symlink()
        if is_labelled(place, stamp):
            return True
        if taken:
            raise AdapterError(
                AdapterCode.VOLUME_CREATE_FAILED,
                f"something that carries no label of this installation is at {place.name}",
                {"volume": place.name},
            )
        return False

    def _remove(self, name: str, stop: threading.Event) -> None:
        place = self._layout.volumes / name
        with told_as(AdapterCode.LOCAL_IO_ERROR, f"the volume {name} can't be removed"):
            label = label_of(place) if place.parent == self._layout.volumes else None
            if label is None:
                return
            self._refuse_in_use(label, name)
            grave = throw_away(place, self._layout.trash)
            if grave is None:
                return
            try:
                # A create may have looked at the volume before it went, and claimed its name
                # after the look above. One of the two sees the other: it looks again as well.
                self._refuse_in_use(label, name)
            except AdapterError:
                grave.rename(place)
                raise
            destroy(grave, stop)

    def _refuse_in_use(self, label: Stamp, name: str) -> None:
        if name in volumes_in_use(self._layout, label.workspace_id):
            raise AdapterError(
                AdapterCode.VOLUME_IN_USE,
                f"a container of {label.workspace_id} is on the volume {name}",
                {"volume": name},
            )
