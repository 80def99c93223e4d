"""The mutation run: change a decision a little, and see whether a test notices.

    python tests/mutation/run.py [functions] [tables] [a table's name ...]

Mutants that survive are listed with a reason in tests/mutation_survivors.toml. This fails when
one survives that is not listed, and when one is listed that no longer survives.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
LISTED = ROOT / "tests" / "mutation_survivors.toml"
TESTS = ["tests/core", "tests/contracts"]

NOTICED = {"killed", "timeout", "caught by type check"}


def mutmut(*arguments: str) -> str:
    """What mutmut answers."""
    command = [sys.executable, "-m", "mutmut", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if run.returncode:
        sys.exit(
            f"mutmut {' '.join(arguments)} failed:\n{run.stdout[-3000:]}\n{run.stderr[-3000:]}"
        )
    return run.stdout


def function_of(mutant: str) -> str:
    """The function that a mutant of mutmut changes.

    >>> function_of("wsctl_core.decisions.facts.x_home_fact__mutmut_3")
    'facts.home_fact'
    >>> function_of("wsctl_core.decisions.rules.xǁTableǁdecide__mutmut_1")
    'rules.Table.decide'
    """
    module, _, name = mutant.rpartition("__mutmut_")[0].rpartition(".")
    name = name[2:].replace("ǁ", ".")
    return f"{module.rpartition('.')[2]}.{name}"


def change_of(mutant: str) -> str:
    """What a mutant of mutmut changes, on one line."""
    diff = mutmut("show", mutant)
    changed = re.findall(r"^[-+](?![-+]).*$", diff, re.MULTILINE)
    return " ".join(" ".join(line.split()) for line in changed)


def functions() -> tuple[Counter[str], list[str]]:
    """Mutants of function bodies: how many met which end, and the survivors."""
    shutil.rmtree(ROOT / "mutants", ignore_errors=True)
    mutmut("run")
    told = re.findall(
        r"^\s*(\S+__mutmut_\d+): (.+)$", mutmut("results", "--all", "true"), re.MULTILINE
    )
    alive = []
    for mutant, status in told:
        if status == "no tests":
            alive.append(f"{function_of(mutant)}: no test calls it")
        elif status not in NOTICED:
            alive.append(f"{function_of(mutant)}: {change_of(mutant)}")
    return Counter(status for _, status in told), list(dict.fromkeys(alive))


def tables(only: str | None = None) -> tuple[Counter[str], list[str]]:
    """Mutants of tables, operations and sets: the same. Or those of one table `only`."""
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]
    from tests.mutation import tables as these  # noqa: PLC0415  # needs the path

    chosen = [table for table in these.TABLES if only in (None, table.name)]
    if not chosen:
        sys.exit(f"no table is called {only}; there are {[t.name for t in these.TABLES]}")
    mutants, same = [*these.of_operations(), *these.of_sets()] if only is None else [], 0
    for table in chosen:
        found, equal = these.of_table(table)
        mutants += found
        same += equal
    alive = these.survivors(mutants, TESTS, jobs=os.cpu_count() or 1)
    figures = Counter(
        {
            "killed": len(mutants) - len(alive),
            "survived": len(alive),
            "the same table, by enumeration": same,
        }
    )
    return figures, [mutant.name for mutant in alive]


KINDS = {"functions": functions, "tables": tables}


def kind_of(mutant: str) -> str:
    """Which half of the run a mutant belongs to: only those of tables have a space in their place.

    >>> kind_of("plan 6-once: dropped"), kind_of("rules.Table.decide: - a + b")
    ('tables', 'functions')
    """
    return "tables" if " " in mutant.partition(": ")[0] else "functions"


def listed(kind: str) -> list[str]:
    """The survivors of one half that are known, each with its reason."""
    entries = tomllib.loads(LISTED.read_text()).get("survivor", [])
    if bare := [entry["mutant"] for entry in entries if not entry["reason"].strip()]:
        sys.exit(f"{LISTED.name}: no reason given for {bare}")
    return [entry["mutant"] for entry in entries if kind_of(entry["mutant"]) == kind]


def covers(entry: str, mutant: str) -> bool:
    """An entry names one mutant, or by its function alone every mutant of that function.

    >>> covers("ttl._skip", "ttl._skip: - a + b")
    True
    >>> covers("ttl._skip: - a + c", "ttl._skip: - a + b")
    False
    """
    return entry in (mutant, mutant.partition(": ")[0])


def main(kinds: list[str]) -> int:
    """Run, tell the figures, and fail when the list and the survivors differ."""
    failed = False
    for kind in kinds or KINDS:
        figures, alive = KINDS[kind]() if kind in KINDS else tables(only=kind)
        print(f"{kind}: {sum(figures.values())} mutants:", flush=True)
        for status, count in figures.most_common():
            print(f"  {count:>6} {status}")
        known = listed(kind if kind in KINDS else "tables")
        unknown = [m for m in alive if not any(covers(entry, m) for entry in known)]
        dead = [entry for entry in known if not any(covers(entry, m) for m in alive)]
        if kind not in KINDS:  # a slice says nothing about the rest of the list
            dead = []
        for mutant in unknown:
            print(f"  survived, and is not listed: {mutant}")
        for entry in dead:
            print(f"  listed, and does not survive: {entry}")
        failed |= bool(unknown or dead)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
