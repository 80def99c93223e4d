"""The archive GC: deletes archives that nothing can need any more (specification, 4.7; H13).

It lists storage first, reads rows second, and deletes by decision, a batch at a time. Rows whose
deletion is finished go after their last archive.
"""

from collections.abc import AsyncIterator
from datetime import timedelta

from wsctl_app.coordinator.component import Component
from wsctl_app.coordinator.safeguard import may_collect
from wsctl_core import (
    Keep,
    PollFacts,
    Reason,
    StoredArchive,
    finished_deleting,
    gc_decision,
    parse_archive_key,
    poll_interval,
)
from wsctl_core.values.states import Component as Name

BATCH = 500


class ArchiveGc(Component):
    """Collects archives and purges rows."""

    name = "archive_gc"
    retry_seconds = 300.0

    async def tick(self) -> float:
        """One collection."""
        numbers = [max(archive.seq or 0 for archive in batch) async for batch in self._batches()]
        if await may_collect(self.mandate, numbers, "archives"):
            kept: dict[str, None] = {}
            async for batch in self._batches():
                kept |= await self._collect(batch)
            await self._purge(kept)
        await self.outside.housekeeping.trim_events(self.mandate.epoch)
        quiet = PollFacts(Name.ARCHIVE_GC, False, False, False)
        return poll_interval(quiet, self.policy).outcome

    async def _batches(self) -> AsyncIterator[list[StoredArchive]]:
        """Our archives, some at a time; another installation's are invisible (H33)."""
        batch: list[StoredArchive] = []
        async for archive in self.outside.storage.list_all():
            if archive.installation == self.outside.installation:
                batch.append(archive)
            if len(batch) == BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    async def _collect(self, batch: list[StoredArchive]) -> dict[str, None]:
        """Delete what a batch holds and nobody needs: the workspaces of what is kept."""
        owners = {archive.key: _workspace(archive.key) for archive in batch}
        reading = await self.outside.reader.some(dict.fromkeys(filter(None, owners.values())))
        rows = {ws.id: ws for ws in reading.rows}
        kept: dict[str, None] = {}
        for archive in batch:
            owner = owners[archive.key] or ""
            verdict = gc_decision(
                archive,
                rows.get(owner),
                installation=self.outside.installation,
                now=reading.now,
                policy=self.policy,
            )
            if verdict.outcome is Keep.REMOVE:
                self.log.info("collected", archive=archive.key, why=verdict.reason.value)
                await self.outside.storage.delete(archive.key)
                continue
            if owner in rows and finished_deleting(rows[owner]):
                kept[owner] = None
            if verdict.reason in (Reason.NO_ROW, Reason.GIVEN_UP, Reason.KEY_NOT_OURS):
                self.log.warning("left alone", archive=archive.key, why=verdict.reason.value)
        return kept

    async def _purge(self, kept: dict[str, None]) -> None:
        """Remove rows whose deletion is finished and old, and whose archives are gone."""
        grace = timedelta(seconds=self.policy.gc_grace_seconds)
        now = (await self.outside.reader.some(())).now
        after: str | None = None
        while True:
            page = await self.outside.reader.finished(after=after, limit=BATCH)
            ids = [
                ws.id
                for ws in page.rows
                if ws.id not in kept and ws.deleted_at is not None and now - ws.deleted_at > grace
            ]
            if ids:
                purged = await self.outside.housekeeping.purge(self.mandate.epoch, ids)
                self.log.info("purged", rows=purged)
            if page.after is None:
                return
            after = page.after


def _workspace(key: str) -> str | None:
    parsed = parse_archive_key(key)
    return None if parsed is None else parsed[0]
