"""The executor: one action, carried out through the ports (specification, 4.4).

It translates actions into calls and adds what every call needs: the stamp. What an action yields
goes back to the attempt; what goes wrong leaves as AdapterError.
"""

from typing import assert_never

import attrs

from wsctl_app.coordinator.mandate import Mandate
from wsctl_core import (
    ArchiveHome,
    ArchiveReceipt,
    ConfirmArchive,
    CreateContainer,
    DeleteContainers,
    DeleteVolume,
    DeleteVolumes,
    MakeVolume,
    RestoreHome,
    SetIdleTimer,
    Stamp,
    StartContainer,
    Workspace,
    volume_name,
)
from wsctl_core.ports import AdapterError, ContainerSpec
from wsctl_core.values.actions import OutsideAction


@attrs.frozen(kw_only=True)
class Yielded:
    """What an action gave: the identity of a new container, or the receipt of an archive."""

    container_id: str | None = None
    receipt: ArchiveReceipt | None = None


NOTHING = Yielded()


@attrs.frozen(kw_only=True)
class Transferred:
    """How far a transfer has come, in bytes; `of` is None while nobody knows."""

    done: int
    of: int | None


class Executor:
    """Carries out actions on the outside."""

    def __init__(self, mandate: Mandate) -> None:
        self._mandate = mandate
        self._outside = mandate.outside
        self.transferred: dict[str, Transferred] = {}
        """The transfers that are under way, by workspace."""

    async def perform(self, ws: Workspace, action: OutsideAction) -> Yielded:
        """Carry out one action; done already is as good as done."""
        outside = self._outside
        match action:
            case DeleteContainers(grace_seconds=grace):
                await self._delete_containers(ws, grace)
            case MakeVolume(incarnation=incarnation):
                await outside.volumes.make(await self._stamp(ws, incarnation))
            case RestoreHome() | ArchiveHome():
                return await self._transfer(ws, action)
            case CreateContainer(incarnation=incarnation):
                return await self._create(ws, incarnation)
            case StartContainer(container_id=container_id):
                await outside.containers.start(container_id)
            case SetIdleTimer(seconds=seconds):
                await self._set_idle_timer(ws, seconds)
            case ConfirmArchive(archive=archive):
                await outside.transfers.confirm(archive)
            case DeleteVolume(incarnation=incarnation):
                await outside.volumes.remove(volume_name(ws.id, incarnation))
            case DeleteVolumes():
                for name in await outside.volumes.of_workspace(ws.id):
                    await outside.volumes.remove(name)
            case _:
                assert_never(action)
        return NOTHING

    async def _stamp(self, ws: Workspace, incarnation: str) -> Stamp:
        return Stamp(
            installation=self._outside.installation,
            workspace_id=ws.id,
            incarnation=incarnation,
            seq=await self._outside.reconciler.next_number(),
        )

    async def _delete_containers(self, ws: Workspace, grace: int) -> None:
        # H7: by identities listed before, never by name.
        for container_id in await self._outside.containers.of_workspace(ws.id):
            await self._outside.containers.remove(container_id, grace)

    async def _create(self, ws: Workspace, incarnation: str) -> Yielded:
        spec = ContainerSpec(stamp=await self._stamp(ws, incarnation), image=ws.image)
        return Yielded(container_id=await self._outside.containers.create(spec))

    async def _set_idle_timer(self, ws: Workspace, seconds: int) -> None:
        try:
            await self._outside.activity.set_idle_timer(ws.id, seconds)
        except AdapterError as error:
            # No failure of the start: `started_at` gives the workspace its idle time as well,
            # and activity that can't be read is unknown, which stops nobody (H30).
            self._mandate.log.warning("no idle timer", workspace=ws.id, why=str(error))

    async def _transfer(self, ws: Workspace, action: RestoreHome | ArchiveHome) -> Yielded:
        def say(done: int, of: int | None) -> None:
            self.transferred[ws.id] = Transferred(done=done, of=of)

        stamp = await self._stamp(ws, action.incarnation)
        try:
            if isinstance(action, RestoreHome):
                await self._outside.transfers.restore(action.archive, stamp, say)
                return NOTHING
            receipt = await self._outside.transfers.archive(stamp, action.key, say)
            return Yielded(receipt=receipt)
        finally:
            self.transferred.pop(ws.id, None)
