"""H32 on a real server: places are counted under one lock, after the wait for it, or not at all."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from tests.adapters.postgres_rows import insert
from tests.adapters.postgres_waiting import waiting_for
from tests.core.builders import busy, row
from tests.servers import swept_database
from wsctl_adapters.conformance.stores_kit import at_rest, begins, wanted, wishing
from wsctl_adapters.postgres import PostgresStores, open_postgres
from wsctl_core import (
    DesiredState,
    IntentAnswer,
    IntentOutcome,
    ObservedStatus,
    Operation,
    Policy,
    Workspace,
)
from wsctl_core.ports import Situation

ONE = Policy(max_running_per_user=1, max_running_global=1)
RUNNING, STANDBY = DesiredState.RUNNING, DesiredState.STANDBY
PLACES = "SELECT pg_advisory_xact_lock(30579, 1)"
TRY_PLACES = "SELECT pg_try_advisory_xact_lock(30579, 1)"

RESTING = row(id="w1", desired_state=STANDBY, observed_status=ObservedStatus.STANDBY)


async def create(stores: PostgresStores) -> bool:
    answer = await stores.intents.create(wanted("w9", desired=RUNNING), ONE)
    return answer.verdict.outcome is IntentOutcome.WRITTEN


async def change(stores: PostgresStores) -> bool:
    wake = wishing(policy=ONE, desired_state=RUNNING)
    answer = await stores.intents.change("w1", wake)
    assert answer is not None
    return answer.verdict.outcome is IntentOutcome.WRITTEN


async def claim(stores: PostgresStores) -> bool:
    term = await stores.leadership.acquire()
    assert term is not None
    claimed = await stores.reconciler.claim(
        term.epoch, "w1", at_rest(RESTING), begins(Operation.STARTING), ONE
    )
    await term.resign()
    return claimed is not None


Take = Callable[[PostgresStores], Awaitable[bool]]
TAKES = [create, change, claim]


@asynccontextmanager
async def resting(url: str) -> AsyncIterator[PostgresStores]:
    """Stores with one workspace that could run."""
    with psycopg.connect(url) as owner:
        insert(owner, [RESTING])
    async with open_postgres(url, node_id="here") as stores:
        yield stores


async def overtaken(url: str, take: Take, other: Workspace) -> bool:
    """Whether a place is taken by one that waited while the last one went to another."""
    async with resting(url) as stores, await psycopg.AsyncConnection.connect(url) as holder:
        await holder.execute(PLACES)
        taking = asyncio.ensure_future(take(stores))
        await waiting_for(url, "advisory")
        with psycopg.connect(url) as owner:
            insert(owner, [other])
        await holder.rollback()
        return await taking


@pytest.mark.parametrize("take", TAKES)
def test_places_are_counted_after_the_wait(take: Take):
    """Whoever waited for the lock counts what was taken meanwhile."""
    other = busy(Operation.STARTING, id="w2", owner_id="bob", desired_state=RUNNING)
    with swept_database() as url:
        assert not asyncio.run(overtaken(url, take, other))


@pytest.mark.parametrize("take", TAKES)
def test_who_waited_takes_a_place_that_is_still_free(take: Take):
    """Waiting alone refuses nobody."""
    other = row(id="w2", owner_id="bob", desired_state=STANDBY)
    with swept_database() as url:
        assert asyncio.run(overtaken(url, take, other))


async def locks(url: str, **wish: Any) -> list[bool]:
    """Each time that a change is decided: whether the lock of the places is held."""
    held = []

    def decide(situation: Situation) -> IntentAnswer:
        with psycopg.connect(url) as other:
            ((free,),) = other.execute(TRY_PLACES).fetchall()
        held.append(not free)
        return wishing(**wish)(situation)

    async with resting(url) as stores:
        await stores.intents.change("w1", decide)
    return held


@pytest.mark.parametrize(
    ("wish", "held"),
    [
        ({"desired_state": RUNNING}, [False, True]),
        ({"desired_state": DesiredState.PENDING}, [False]),
        ({"name": "other"}, [False]),
        ({"delete": True}, [False]),
    ],
)
def test_only_a_change_that_takes_a_place_is_decided_under_the_lock(
    wish: dict[str, Any], held: list[bool]
):
    """A change is decided at once; one that would take a place once more, with the lock."""
    with swept_database() as url:
        assert asyncio.run(locks(url, **wish)) == held


async def beside_the_lock(url: str) -> None:
    async with resting(url) as stores, await psycopg.AsyncConnection.connect(url) as holder:
        await holder.execute(PLACES)
        answer = await stores.intents.create(wanted("w9", desired=STANDBY), ONE)
        assert answer.ws is not None
        await stores.intents.change("w1", wishing(name="other"))
        term = await stores.leadership.acquire()
        assert term is not None
        claimed = await stores.reconciler.claim(
            term.epoch, "w1", at_rest(RESTING), begins(Operation.ARCHIVING), ONE
        )
        assert claimed is not None
        await term.resign()


def test_what_takes_no_place_does_not_wait():
    """Everything else is written while somebody else holds the lock of the places."""
    with swept_database() as url:
        asyncio.run(beside_the_lock(url))
