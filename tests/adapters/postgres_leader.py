"""A process that leads and does what it is told, so that a test can kill it, or stop it.

It says a line when it leads, and one for each line that it reads: what came of a write with its
epoch, or of a beat.
"""

import asyncio
import sys

from wsctl_adapters.postgres import open_postgres
from wsctl_core import OperationGuard, ReconcilerPatch
from wsctl_core.ports import LeadershipLost
from wsctl_core.values.states import Operation

GUARD = OperationGuard(operation=Operation.STOPPING, op_id="op1")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def lead(url: str) -> None:
    async with open_postgres(url, node_id="child") as stores:
        term = await stores.leadership.acquire()
        assert term is not None
        say(f"leads {term.epoch}")
        asked = asyncio.to_thread(sys.stdin.readline)
        waiting = asyncio.ensure_future(asked)
        while True:
            done, _ = await asyncio.wait({waiting}, timeout=1)
            if not done:
                try:
                    await term.beat()
                except LeadershipLost:
                    await asyncio.wait({waiting})
                continue
            told = waiting.result().strip()
            if not told:
                return
            patch = ReconcilerPatch(error_count=7)
            try:
                if told == "beat":
                    await term.beat()
                else:
                    await stores.reconciler.write(term.epoch, "w1", GUARD, patch)
            except LeadershipLost:
                say("LeadershipLost")
            else:
                say("done")
            waiting = asyncio.ensure_future(asyncio.to_thread(sys.stdin.readline))


if __name__ == "__main__":
    asyncio.run(lead(sys.argv[1]))
