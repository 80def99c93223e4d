"""Memory adapters keep every promise of every port."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import pytest

from tests.adapters.memory_subjects import (
    ActivitySubject,
    LeadershipSubject,
    MemorySubject,
    SignalsSubject,
    StoresSubject,
    StreamingSubject,
)
from wsctl_adapters.conformance import (
    activity,
    archives,
    feed,
    homes,
    leadership,
    runtime,
    signals,
    stores,
    transfers,
)
from wsctl_adapters.conformance.kit import Check

S = TypeVar("S")


def named(check: Callable[..., object]) -> str:
    return check.__name__


def run(check: Check[S], subject: S) -> None:
    async def checked() -> None:
        await check(subject)

    asyncio.run(checked())


@pytest.mark.parametrize("check", stores.CHECKS, ids=named)
def test_stores(check: Check[stores.StoresUnderTest]):
    """Rows in memory."""
    run(check, StoresSubject())


@pytest.mark.parametrize("check", feed.CHECKS, ids=named)
def test_feed(check: Check[stores.StoresUnderTest]):
    """Events in memory."""
    run(check, StoresSubject())


@pytest.mark.parametrize("check", leadership.CHECKS, ids=named)
def test_leadership(check: Check[leadership.LeadershipUnderTest]):
    """The lock in memory."""
    run(check, LeadershipSubject())


@pytest.mark.parametrize("check", runtime.CHECKS, ids=named)
def test_runtime(check: Check[runtime.RuntimeUnderTest]):
    """Containers and volumes in memory."""
    run(check, MemorySubject())


@pytest.mark.parametrize("check", archives.CHECKS, ids=named)
def test_archives(check: Check[archives.ArchivesUnderTest]):
    """Objects in memory."""
    run(check, MemorySubject())


@pytest.mark.parametrize("check", homes.CHECKS, ids=named)
def test_homes(check: Check[homes.HomesUnderTest]):
    """Homes as streams, in memory."""
    run(check, MemorySubject())


@pytest.mark.parametrize("check", transfers.CHECKS, ids=named)
def test_transfers(check: Check[transfers.TransfersUnderTest]):
    """Homes in motion, in memory."""
    run(check, MemorySubject())


@pytest.mark.parametrize("check", transfers.CHECKS, ids=named)
def test_streams(check: Check[transfers.TransfersUnderTest]):
    """The application's transfers, made of streams and a storage in memory."""
    subject = StreamingSubject()
    run(check, subject)
    subject.streaming.close()


@pytest.mark.parametrize("check", activity.CHECKS, ids=named)
def test_activity(check: Check[activity.ActivityUnderTest]):
    """Activity in memory."""
    run(check, ActivitySubject())


@pytest.mark.parametrize("check", signals.CHECKS, ids=named)
def test_signals(check: Check[signals.SignalsUnderTest]):
    """Hints and events in memory."""
    run(check, SignalsSubject())
