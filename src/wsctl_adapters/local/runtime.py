"""The local runtime: a workspace is a process group on a folder.

It isolates nothing: a workspace's program runs as the user that wsctl runs as, sees the same files
and ports, and has no limits. It is for one machine, for trying wsctl out, and for tests.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from wsctl_adapters.local.containers import LocalContainers
from wsctl_adapters.local.inventory import LocalInventory
from wsctl_adapters.local.layout import Layout, listing, told_as
from wsctl_adapters.local.streams import LocalHomes
from wsctl_adapters.local.trash import DAY_SECONDS, sweep
from wsctl_adapters.local.volumes import LocalVolumes
from wsctl_adapters.local.work import Workers
from wsctl_core.ports import Containers, HomeStreams, Inventory, Volumes
from wsctl_core.values.errors import AdapterCode

NOTHING: Mapping[str, str] = MappingProxyType({})


class LocalRuntime:
    """Everything of the runtime on one root folder; any number of processes may share the root.

    `command` is what runs in every workspace: `{home}`, `{host}`, `{port}`, `{workspace_id}` and
    `{image}` in it are replaced. `environment` is added to the small one that it gets.
    """

    def __init__(
        self,
        root: Path,
        installation: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] = NOTHING,
    ) -> None:
        self._layout = Layout(root.absolute())
        self._workers = Workers()
        with told_as(AdapterCode.LOCAL_IO_ERROR, f"the folder {root} can't be used"):
            self._layout.prepare()
        self.inventory: Inventory = LocalInventory(self._layout, self._workers)
        self.volumes: Volumes = LocalVolumes(self._layout, installation, self._workers)
        self.containers: Containers = LocalContainers(
            self._layout, installation, command, environment, self._workers
        )
        self.homes: HomeStreams = LocalHomes(self._layout, self._workers)

    async def sweep(self, older_than_seconds: float = DAY_SECONDS) -> int:
        """Delete what crashes have left behind, and tell how many things that were."""
        return await self._workers.run(lambda: self._sweep(older_than_seconds))

    def _sweep(self, older_than_seconds: float) -> int:
        with told_as(AdapterCode.LOCAL_IO_ERROR, "what crashes left can't be swept"):
            listing(self._layout.trash)
            return sweep(
                self._layout.tmp, self._layout.trash, older_than_seconds=older_than_seconds
            )

    def close(self) -> None:
        """Let go of the threads. What runs goes on running."""
        self._workers.close()
