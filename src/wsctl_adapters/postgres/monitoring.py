"""`MonitorStore` on Postgres: what a pass found, of the whole fleet, in a handful of statements."""

from wsctl_adapters.postgres.rows import as_json
from wsctl_adapters.postgres.sessions import FLEET_WITHIN, Call, Sessions
from wsctl_adapters.postgres.statements import statements
from wsctl_core.ports import Findings, PassStart

SQL = statements("monitor")


class PostgresMonitor:
    """The health monitor's: what exists."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def begin_pass(self) -> PassStart:
        """The next number of the sequence, and the time."""
        ((number, now),) = await self._sessions.rows(SQL["begin_pass"])
        return PassStart(number=number, now=now)

    async def end_pass(self, epoch: int, findings: Findings) -> int:
        """Write all that a pass found, in one transaction: how many rows it changed."""
        alarms = sorted(findings.alarms.items())
        patches = sorted(findings.patches.items())
        calls: list[Call] = [
            (SQL["fence"], {"epoch": epoch}),
            # Alarms first: the patch of the same row would make its number the pass's own.
            (
                SQL["alarm"],
                {
                    "number": findings.number,
                    "ids": [id for id, _ in alarms],
                    "infos": [as_json(alarm.error_info) for _, alarm in alarms],
                },
            ),
            (
                SQL["observe"],
                {
                    "ids": [id for id, _ in patches],
                    "observed_status": [patch.observed_status.value for _, patch in patches],
                    "health_status": [patch.health_status.value for _, patch in patches],
                    "observed_at": [patch.observed_at for _, patch in patches],
                    "observed_seq": [patch.observed_seq for _, patch in patches],
                    "suspect": [as_json(patch.suspect) for _, patch in patches],
                    "last_exit": [as_json(patch.last_exit) for _, patch in patches],
                },
            ),
        ]
        if findings.complete:
            calls.append((SQL["pass_complete"], {"number": findings.number}))
        _, alarmed, observed, *_ = await self._sessions.batch(*calls, within=FLEET_WITHIN)
        return len({id for (id,) in [*alarmed, *observed]})
