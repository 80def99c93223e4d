"""Archives in a folder: every promise of a storage, and what folders add to them."""

import asyncio
from pathlib import Path

import pytest

from wsctl_adapters.conformance import archives
from wsctl_adapters.conformance.kit import Check
from wsctl_adapters.local import FolderArchives


class Subject:
    def __init__(self, root: Path) -> None:
        self.storage = FolderArchives(root)


@pytest.mark.parametrize("check", archives.CHECKS, ids=lambda check: check.__name__)
def test_folder_archives_keep_their_promises(check: Check[archives.ArchivesUnderTest], tmp_path):
    """Every promise of a storage holds for a folder."""
    subject = Subject(tmp_path)

    async def checked() -> None:
        await check(subject)

    asyncio.run(checked())
    subject.storage.close()
    assert list((tmp_path / "uploads").iterdir()) == []
    assert list((tmp_path / "trash").iterdir()) == []
