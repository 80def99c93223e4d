"""A component: a loop of ticks that a nudge makes come sooner (specification, section 6).

A failed tick is logged, counted and skipped. A database that can't be reached, or a term that is
over, ends the loop, and with it the term.
"""

import asyncio
from abc import ABC, abstractmethod

from wsctl_app.coordinator.mandate import Mandate
from wsctl_core.ports import AdapterError, LeadershipLost, StoreUnavailable

BREATH_SECONDS = 0.02
"""Between two ticks, however many nudges come: what they tell of is then seen by one tick."""


class Component(ABC):
    """One duty of the leader."""

    name: str
    retry_seconds: float = 5.0
    """The pause after a failed tick."""

    def __init__(self, mandate: Mandate) -> None:
        self.mandate = mandate
        self.outside = mandate.outside
        self.policy = mandate.policy
        self.log = mandate.log
        self.last_good: float | None = None
        """When a tick last succeeded, by the process's own clock; None until one has."""
        self.failed_ticks = 0
        self._nudged = asyncio.Event()

    @abstractmethod
    async def tick(self) -> float:
        """Do what is due, once; the answer is the number of seconds until the next time."""

    def nudge(self) -> None:
        """Make the next tick come now. Losing a nudge loses nothing but time (contract 2)."""
        self._nudged.set()

    async def run(self) -> None:
        """Tick for ever."""
        while True:
            self._nudged.clear()
            pause = await self._tick()
            await self.outside.clock.sleep(BREATH_SECONDS)
            await self._wait(pause)

    async def _tick(self) -> float:
        try:
            pause = await self.tick()
        except (LeadershipLost, StoreUnavailable):
            raise
        except AdapterError as error:
            self.failed_ticks += 1
            self.log.warning(
                "tick failed", component=self.name, code=error.code.value, why=str(error)
            )
            return self.retry_seconds
        except Exception:
            self.failed_ticks += 1
            self.log.exception("tick failed", component=self.name)
            return self.retry_seconds
        self.last_good = self.outside.clock.monotonic()
        return pause

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._nudged.wait()
        except TimeoutError:
            return
