"""The TTL manager: asks the service to step idle workspaces down (specification, 4.6).

It judges on the fleet as it is known, reads again what it found expired, and names the version of
the intent it judged: if the user has said anything since, nothing happens.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping

from wsctl_app.coordinator.component import Component
from wsctl_app.coordinator.fleet import Fleet
from wsctl_app.coordinator.mandate import Mandate
from wsctl_core import (
    UNKNOWN_ACTIVITY,
    Activity,
    DesiredState,
    IntentAnswer,
    ObservedStatus,
    PollFacts,
    Ttl,
    Wish,
    Workspace,
    poll_interval,
    ttl_decision,
)
from wsctl_core.ports import AdapterError
from wsctl_core.values.states import Component as Name

Expire = Callable[[str, Wish], Awaitable[IntentAnswer | None]]
"""The service's: change an intent; None when there is no such workspace."""

_WANTED = {Ttl.TO_STANDBY: DesiredState.STANDBY, Ttl.TO_PENDING: DesiredState.PENDING}


class TtlManager(Component):
    """Judges who is idle, and leaves the writing to the service."""

    name = "ttl_manager"

    def __init__(self, mandate: Mandate, fleet: Fleet, expire: Expire) -> None:
        super().__init__(mandate)
        self._fleet = fleet
        self._expire = expire

    async def tick(self) -> float:
        """Judge every workspace that runs or stands by."""
        now = (await self.outside.reader.some(())).now
        running = [ws for ws in self._fleet if ws.observed_status is ObservedStatus.RUNNING]
        activity = await self._activity(running)
        idle = [
            ws.id
            for ws in self._fleet
            if ttl_decision(ws, activity.get(ws.id, UNKNOWN_ACTIVITY), now).outcome is not Ttl.SKIP
        ]
        if idle:
            await self._step_down(idle, activity)
        quiet = PollFacts(Name.TTL_MANAGER, False, False, False)
        return poll_interval(quiet, self.policy).outcome

    async def _activity(self, running: Iterable[Workspace]) -> Mapping[str, Activity]:
        asked = {ws.id: ws.standby_ttl_seconds for ws in running}
        try:
            return await self.outside.activity.read(asked) if asked else {}
        except AdapterError as error:
            # H30: nothing is known of anyone, so nobody who runs is stopped.
            self.log.warning("activity is unknown", why=str(error))
            return {}

    async def _step_down(self, ids: list[str], activity: Mapping[str, Activity]) -> None:
        reading = await self.outside.reader.some(ids)
        for ws in reading.rows:
            verdict = ttl_decision(ws, activity.get(ws.id, UNKNOWN_ACTIVITY), reading.now)
            if verdict.outcome is Ttl.SKIP:
                continue
            wish = Wish(desired_state=_WANTED[verdict.outcome], intent_version=ws.intent_version)
            answer = await self._expire(ws.id, wish)
            self.log.info(
                "expired",
                workspace=ws.id,
                why=verdict.reason.value,
                answer=None if answer is None else answer.verdict.reason.value,
            )
