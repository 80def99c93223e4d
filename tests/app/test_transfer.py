"""Transfers: homes that move between folders and archives, and stay what they are."""

import asyncio
import time
from pathlib import Path

import pytest

from tests.adapters.local_subjects import LocalSubject
from wsctl_adapters.conformance import transfers
from wsctl_adapters.conformance.kit import Check
from wsctl_adapters.local import FolderArchives
from wsctl_app.transfer import StreamTransfers


class RealClock:
    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Subject(LocalSubject):
    def __init__(self, root: Path) -> None:
        super().__init__(root / "runtime")
        self.archives = root / "storage"
        self.storage = FolderArchives(self.archives)
        self.transfers = StreamTransfers(self.homes, self.storage, RealClock())

    def __exit__(self, *problem: object) -> None:
        super().__exit__(*problem)
        self.storage.close()
        self.transfers.close()

    async def spoil(self, key: str) -> None:
        file = self.archives / key
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 0xFF
        file.chmod(0o600)
        file.write_bytes(content)


@pytest.mark.parametrize("check", transfers.CHECKS, ids=lambda check: check.__name__)
def test_transfers_keep_their_promises(check: Check[transfers.TransfersUnderTest], tmp_path: Path):
    """Every promise of transfers holds between folders."""
    with Subject(tmp_path) as subject:
        asyncio.run(check(subject))
