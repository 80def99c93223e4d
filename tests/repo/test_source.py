"""Habits of the source: short modules, each with a paragraph; functions that show their use."""

import ast
import inspect
from pathlib import Path

import pytest

import wsctl_core

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "src").rglob("*.py"))

LONGEST = 350
LONGER: dict[str, str] = {}
"""Modules that may be longer, each with its reason."""


def faults(name: str, text: str) -> list[str]:
    """What is wrong with one module."""
    found = []
    lines = text.count("\n")
    if lines > LONGEST and name not in LONGER:
        found.append(f"{lines} lines; at most {LONGEST}, or a reason in LONGER")
    if not (ast.get_docstring(ast.parse(text)) or "").strip():
        found.append("no docstring")
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_a_module_is_short_and_says_what_it_is(path: Path):
    """Fifty to three hundred lines, and a docstring at the top."""
    assert faults(str(path.relative_to(ROOT / "src")), path.read_text()) == []


def test_long_and_silent_modules_are_found():
    """The check can fail."""
    assert faults("bad.py", "x = 1\n" * 351) == [
        "351 lines; at most 350, or a reason in LONGER",
        "no docstring",
    ]


def test_every_exception_is_still_needed():
    """A module that became short leaves the list."""
    needless = [name for name in LONGER if (ROOT / "src" / name).read_text().count("\n") <= LONGEST]
    assert needless == []


FUNCTIONS = [name for name in wsctl_core.__all__ if inspect.isfunction(getattr(wsctl_core, name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_shows_its_use(name: str):
    """Every function that `wsctl_core` offers has a docstring with an example that is run."""
    assert ">>> " in (inspect.getdoc(getattr(wsctl_core, name)) or "")


def test_everything_public_is_offered_once_and_in_order():
    """`__all__` is sorted, without repetition, and everything in it exists."""
    assert wsctl_core.__all__ == sorted(set(wsctl_core.__all__))
    assert [name for name in wsctl_core.__all__ if not hasattr(wsctl_core, name)] == []
