"""Habits of the repository: two commands, links that lead somewhere, nothing of one machine."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "docs", "benchmarks", "examples", ".ci")
TEXT = {".py", ".md", ".toml", ".txt", ".cfg", ".sql", ".lua", ".yml", ""}

HOSTS = {
    "www.apache.org",
    "keepachangelog.com",
    "semver.org",
    "example.com",
    "localhost",
    "127.0.0.1",
}
"""The hosts that a file may name. A package index is none of them."""

BANNED = {
    "a path of one machine": re.compile(r"(?<![\w.}])/(?:root|home|Users|tmp|work)/\w"),
    "a package index": re.compile(
        r"(?:index|find-links|trusted)-(?:url|host)|^--hash", re.MULTILINE
    ),
    "a merge left over": re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE),
}


def files() -> Iterator[Path]:
    """Every text file of the repository."""
    here = (path for path in ROOT.iterdir() if path.is_file() and path.suffix in TEXT)
    yield from (path for path in here if not path.name.startswith(".coverage"))
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and path.suffix in TEXT and "__pycache__" not in path.parts:
                yield path


def unwanted(text: str) -> list[str]:
    """What a file says that it should not."""
    found = [what for what, pattern in BANNED.items() if pattern.search(text)]
    urls = re.findall(r"https?://[^\s)>\"'`\]]+", text)
    found += [f"an unknown host: {host}" for url in urls if (host := _host(url)) not in HOSTS]
    return found


def _host(url: str) -> str:
    """The host that a URL names; one that is filled in when it is used names none."""
    host = urlsplit(url.replace("[", "")).hostname or ""
    return "localhost" if host.startswith("{") else host


FILES = sorted(path for path in files() if path != Path(__file__))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_speaks_of_wsctl_alone(path: Path):
    """No paths of one machine, no package index, no host that is not on the list."""
    assert unwanted(path.read_text()) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see /home/ann/wsctl", ["a path of one machine"]),
        ("PATH=/root/bin", ["a path of one machine"]),
        ("--index-url=x", ["a package index"]),
        ("https://pypi.internal/simple", ["an unknown host: pypi.internal"]),
        ("<<<<<<< mine", ["a merge left over"]),
        ("docs/home/x, src/root/y, https://example.com/w", []),
        ("{target}/home/x, http://{host}:{port}/", []),
    ],
)
def test_unwanted_words_are_found(text: str, found: list[str]):
    """The check can fail, and fails only where it should."""
    assert unwanted(text) == found


RUN = "pip install '.[all]' && wsctl up"
TEST = "pip install nox && nox"


def commands(markdown: str) -> list[str]:
    """The lines of every fenced block."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", markdown, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def test_the_readme_has_exactly_two_commands():
    """One to run, one to test."""
    assert commands((ROOT / "README.md").read_text()) == [RUN, TEST]


def test_ci_runs_the_readmes_test_command():
    """What a reader is told to run is what is run for every change."""
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert TEST in script.read_text()


MARKDOWN = [path for path in FILES if path.suffix == ".md"]


def targets(markdown: str) -> list[str]:
    """The relative links of a page, code left out."""
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", markdown, flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"\]\(([^)\s]+)\)", prose)
    return [link for link in found if not re.match(r"\w+:|#", link)]


def anchors(markdown: str) -> set[str]:
    """The names that headings of a page can be linked by."""
    headings = re.findall(r"^#+ (.+)$", markdown, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path, markdown: str) -> list[str]:
    """The relative links that lead nowhere."""
    found = []
    for link in targets(markdown):
        name, _, anchor = link.partition("#")
        target = page.parent / name
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            found.append(link)
    return found


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path):
    """Relative links name files that exist, and headings that they have."""
    assert broken(page, page.read_text()) == []


def test_broken_links_are_found():
    """The check can fail."""
    page = ROOT / "README.md"
    text = "[a](LICENSE) [b](nowhere.md) [c](README.md#run-it) [d](README.md#walk-it)"
    assert broken(page, text) == ["nowhere.md", "README.md#walk-it"]
