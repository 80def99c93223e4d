"""Habits of the SQL: every statement has its sentence and its use, and is one statement."""

import re
from pathlib import Path

import pytest

from wsctl_adapters import postgres
from wsctl_adapters.postgres.statements import statements

FOLDER = Path(postgres.__file__).parent
FILES = sorted(path.stem for path in (FOLDER / "sql").glob("*.sql"))
USERS = {"monitor": "monitoring", "reconciler": "reconciling"}
NAMES = [(file, name) for file in FILES for name in statements(file)]


def source(file: str) -> str:
    text = (FOLDER / f"{USERS.get(file, file)}.py").read_text()
    kinds = ("at_rest", "in_operation")
    for form in ("holds", "write"):
        text = text.replace(f'f"{form}_{{kind}}"', " ".join(f'"{form}_{kind}"' for kind in kinds))
    return text


@pytest.mark.parametrize(("file", "name"), NAMES)
def test_a_statement_is_used_by_its_module(file: str, name: str):
    """Nothing lies in a file that nobody sends."""
    assert f'"{name}"' in source(file)


@pytest.mark.parametrize(("file", "name"), NAMES)
def test_a_statement_says_what_it_does(file: str, name: str):
    """A sentence stands above it, and there is one of it."""
    text = statements(file)[name].decode()
    comment = [line for line in text.splitlines() if line.startswith("--")]
    assert re.fullmatch(rf"-- {name}: [A-Z].*", comment[0])
    assert comment[-1].endswith(".")
    code = "\n".join(line for line in text.splitlines() if not line.strip().startswith("--"))
    assert code.count(";") == 1
    assert code.endswith(";")


@pytest.mark.parametrize("path", sorted((FOLDER / "sql").rglob("*.sql")), ids=lambda p: p.name)
def test_lines_are_short(path: Path):
    """SQL is read beside the code, so its lines end where the code's do, or little later."""
    assert [line for line in path.read_text().splitlines() if len(line) > 110] == []


def test_every_part_of_a_migration_has_its_sentence():
    """What makes something stands under a comment that says why."""
    text = (FOLDER / "sql" / "migrations" / "0001_workspaces.sql").read_text()
    lines = text.splitlines()
    silent = [
        line
        for before, line in zip(["", *lines], lines, strict=False)
        if re.match(r"(CREATE (TABLE|INDEX|SEQUENCE|FUNCTION)|INSERT|DO) ?", line)
        and not before.startswith("--")
    ]
    assert silent == []
