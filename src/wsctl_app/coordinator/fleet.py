"""The fleet as the leader knows it: every row that is not finished being deleted.

It is a copy that only changes update, so that looking at an unchanged fleet costs nothing. Whoever
acts on a row does so by compare-and-set, or reads it again first.
"""

from collections.abc import Iterator

from wsctl_core import (
    HealthStatus,
    Operation,
    Workspace,
    effective_seq,
    finished_deleting,
    is_terminal,
)
from wsctl_core.ports import Changes, WorkspaceReader


class Fleet:
    """Rows by their identities, and those among them in which something is going on."""

    def __init__(self, reader: WorkspaceReader) -> None:
        self._reader = reader
        self._mark: str | None = None
        self.rows: dict[str, Workspace] = {}
        self.active: dict[str, Workspace] = {}
        """Rows with an operation, a suspicion, or something that the monitor has yet to say."""

    async def refresh(self) -> Changes:
        """Take in every row that was written since the last time."""
        changes = await self._reader.changed(self._mark)
        self._mark = changes.mark
        for ws in changes.rows:
            if finished_deleting(ws):
                self.rows.pop(ws.id, None)
            else:
                self.rows[ws.id] = ws
            self._sort(ws, changes.pass_seq)
        for ws in tuple(self.active.values()):
            self._sort(ws, changes.pass_seq)
        return changes

    def _sort(self, ws: Workspace, pass_seq: int) -> None:
        if ws.id in self.rows and _goes_on(ws, pass_seq):
            self.active[ws.id] = ws
        else:
            self.active.pop(ws.id, None)

    def __iter__(self) -> Iterator[Workspace]:
        return iter(self.rows.values())


def _goes_on(ws: Workspace, pass_seq: int) -> bool:
    return (
        ws.operation is not Operation.NONE
        or (ws.suspect is not None and not is_terminal(ws))
        or is_terminal(ws) is not (ws.health_status is HealthStatus.ERROR)
        or effective_seq(ws, pass_seq) <= ws.op_ended_seq
    )
