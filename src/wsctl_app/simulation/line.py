"""The line of one simulated node: where calls are slow, fail, land late, and are witnessed.

A call that was sent lands, whatever becomes of its sender: that is what late calls are.
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

import attrs

from wsctl_adapters.memory import unreachable
from wsctl_app.simulation.faults import Faults, draw
from wsctl_app.simulation.witness import Witness

T = TypeVar("T")


class SimulatedLine:
    """What carries the calls of one process, from its birth to its death."""

    def __init__(
        self, chance: Random, witness: Witness, broken: Callable[[Exception], None]
    ) -> None:
        self._chance = chance
        self._witness = witness
        self._broken = broken
        self.faults = Faults()
        self.dead = False
        self.speaking: int | None = None
        """The epoch that the call which is about to be made carries; None for one without."""
        self._thawed = asyncio.Event()
        self._thawed.set()

    def freeze(self) -> None:
        """The process stops: nothing that it waits for reaches it, and it sends nothing."""
        self._thawed.clear()

    def thaw(self) -> None:
        """The process goes on where it was."""
        self._thawed.set()

    async def call(self, what: str, effect: Callable[[], T]) -> T:
        """Send a call, and wait for its answer."""
        epoch, self.speaking = self.speaking, None
        if self.dead:
            raise asyncio.CancelledError
        await self._thawed.wait()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        fate = draw(self._chance, self.faults, what)

        def land() -> None:
            if not fate.lands:
                loop.call_later(fate.after, _fail, answer, unreachable(what))
                return
            before = self._witness.look()
            try:
                result = effect()
            except Exception as refusal:  # noqa: BLE001  # an answer like any other
                loop.call_later(fate.after, _fail, answer, refusal)
            else:
                if fate.answers:
                    loop.call_later(fate.after, _tell, answer, result)
                else:
                    loop.call_later(fate.after, _fail, answer, unreachable(what))
            try:
                self._witness.check(what, before, epoch)
            except AssertionError as broken:
                self._broken(broken)

        loop.call_later(fate.before, land)
        result = await answer
        await self._thawed.wait()
        return result


@attrs.frozen
class EpochTold:
    """A store whose calls tell the line which epoch they carry, for the witness to compare."""

    _store: Any
    _line: SimulatedLine

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if name not in ("write", "claim", "end_pass"):
            return method

        def told(epoch: int, *rest: object) -> Any:
            self._line.speaking = epoch
            return method(epoch, *rest)

        return told


def _tell(answer: "asyncio.Future[T]", result: T) -> None:
    if not answer.done():
        answer.set_result(result)


def _fail(answer: "asyncio.Future[T]", error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)
