"""Evidence: whether what an administrator would give up is really lost (section 5, H25).

It looks and never decides: the core refuses an acceptance while the thing is there, and as well
when nobody could look.
"""

from wsctl_app.outside import Outside
from wsctl_core.decisions.recovery import Evidence
from wsctl_core.ports import AdapterError
from wsctl_core.values.archives import ArchiveReceipt
from wsctl_core.values.workspace import Workspace


async def look(outside: Outside, ws: Workspace, gives_up: str) -> Evidence:
    """What a look at the volume or the archive of that name shows, just now."""
    if gives_up == ws.home.incarnation:
        return await _volume(outside, ws, gives_up)
    if gives_up == ws.archive_key:
        return await _archive(outside, ws, gives_up)
    return Evidence.NOT_LOOKED


async def _volume(outside: Outside, ws: Workspace, incarnation: str) -> Evidence:
    try:
        volumes = await outside.inventory.volumes()
    except AdapterError:
        # Contract 1: a listing that failed is no absence. The core refuses what nobody saw.
        return Evidence.NOT_LOOKED
    there = any(
        found.stamp.installation == outside.installation
        and found.stamp.workspace_id == ws.id
        and found.stamp.incarnation == incarnation
        for found in volumes
    )
    return Evidence.THERE if there else Evidence.GONE


async def _archive(outside: Outside, ws: Workspace, key: str) -> Evidence:
    if ws.archive_sha256 is None or ws.archive_size is None:
        return Evidence.NOT_LOOKED
    receipt = ArchiveReceipt(key=key, sha256=ws.archive_sha256, size=ws.archive_size)
    try:
        return await outside.transfers.look(receipt)
    except AdapterError:
        return Evidence.NOT_LOOKED
