"""Mutants of the tables: every small way in which a row could be wrong.

A tool that changes the bodies of functions never touches a literal table, and here the tables are
the decisions. So each is changed in place, in a child process, and the tests are run there.

Because facts are finite, a mutant that decides the same for all of them is known to be the same
table. It is counted, and not run.
"""

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from enum import Enum
from time import monotonic, sleep
from typing import Any, NamedTuple, cast

import attrs
import pytest

from wsctl_core.decisions import failure, health
from wsctl_core.decisions.collection import GC, REAP
from wsctl_core.decisions.completion import COMPLETION
from wsctl_core.decisions.failure import FAILURE
from wsctl_core.decisions.health import HEALTH
from wsctl_core.decisions.intent import INTENT
from wsctl_core.decisions.limits import LIMIT
from wsctl_core.decisions.observed import OBSERVED
from wsctl_core.decisions.operations import ANY_HOME, OPERATIONS, OperationPlan, Stage
from wsctl_core.decisions.planning import PLAN
from wsctl_core.decisions.polling import POLL
from wsctl_core.decisions.reconcile import MOVE
from wsctl_core.decisions.recovery import RECOVERY
from wsctl_core.decisions.rules import ALWAYS, Condition, Rule, Table
from wsctl_core.decisions.ttl import ARCHIVE_TTL, STANDBY_TTL
from wsctl_core.values.states import ObservedStatus, Operation

AnyTable = Table[Any, Any]
Rules = tuple[Rule[Any], ...]
Plans = dict[Operation, OperationPlan]

TABLES: tuple[AnyTable, ...] = (
    OBSERVED,
    HEALTH,
    PLAN,
    MOVE,
    COMPLETION,
    FAILURE,
    STANDBY_TTL,
    ARCHIVE_TTL,
    GC,
    REAP,
    LIMIT,
    INTENT,
    POLL,
    RECOVERY,
)
SETS: tuple[tuple[Any, str], ...] = ((failure, "AT_ONCE"), (health, "_ENDS_BY_ITSELF"))
"""Collections beside the tables that decide something."""

LONGEST_SECONDS = 300


class Mutant(NamedTuple):
    """One way to be wrong: its name, which is stable, and how to bring it about."""

    name: str
    of: str
    apply: Callable[[], None]


def word(value: object) -> str:
    """A value, as it stands in a mutant's name."""
    return value.name if isinstance(value, Enum) else str(value)


# ------------------------------------------------------------------------------------ a table


def conditions(rule: Rule[Any], domains: dict[str, tuple[Any, ...]]) -> Iterator[tuple[str, Any]]:
    """A row's conditions, each a little wrong."""
    for at, one in enumerate(rule.when):
        others = (*rule.when[:at], *rule.when[at + 1 :])
        if others:
            yield f"without its condition {at + 1}", others
        for name, allowed in one.items():
            for what, wrong in _facts(one, name, allowed, domains[name]):
                changed = (*rule.when[:at], wrong, *rule.when[at + 1 :])
                yield f"condition {at + 1} {what}", changed


def _facts(
    one: Condition, name: str, allowed: frozenset[Any], domain: tuple[Any, ...]
) -> Iterator[tuple[str, Condition]]:
    yield f"whatever {name}", {n: values for n, values in one.items() if n != name}
    if len(domain) == 2:
        yield f"other {name}", {**one, name: frozenset(domain) - allowed}
        return
    for value in domain:
        if value not in allowed:
            yield f"{name} also {word(value)}", {**one, name: allowed | {value}}
        elif len(allowed) > 1:
            yield f"{name} not {word(value)}", {**one, name: allowed - {value}}


def rows(table: AnyTable) -> Iterator[tuple[str, int, Rules]]:
    """Every mutant of a table: its name, the first row that it changes, and its rows."""
    rules = table.rules
    domains = table.domains()
    outcomes = list(dict.fromkeys(rule.then for rule in rules))
    reasons = list(dict.fromkeys(rule.reason for rule in rules))
    for at, rule in enumerate(rules):

        def with_row(wrong: Rule[Any], at: int = at) -> Rules:
            return (*rules[:at], wrong, *rules[at + 1 :])

        if at < len(rules) - 1:
            yield f"{rule.name}: dropped", at, (*rules[:at], *rules[at + 1 :])
        if at < len(rules) - 2:
            below = (rules[at + 1], rule)
            yield f"{rule.name}: below the next", at, (*rules[:at], *below, *rules[at + 2 :])
        for wrong in outcomes:
            if wrong != rule.then:
                changed = attrs.evolve(rule, then=wrong)
                yield f"{rule.name}: then {word(wrong)}", at, with_row(changed)
        other = reasons[(reasons.index(rule.reason) + 1) % len(reasons)]
        changed = attrs.evolve(rule, reason=other)
        yield f"{rule.name}: because {word(other)}", at, with_row(changed)
        if rule.when != (ALWAYS,):
            for what, when in conditions(rule, domains):
                yield f"{rule.name}: {what}", at, with_row(attrs.evolve(rule, when=when))


def decided(rules: Rules, facts: Any) -> tuple[Any, Any]:
    """What a list of rows decides."""
    rule = next(rule for rule in rules if rule.matches(facts))
    return rule.then, rule.reason


def of_table(table: AnyTable) -> tuple[list[Mutant], int]:
    """The mutants of a table that decide otherwise somewhere, and the number of the rest."""
    reached = [
        (next(at for at, rule in enumerate(table.rules) if rule.matches(facts)), facts)
        for facts in table.every_facts()
    ]
    mutants, same = [], 0
    for name, first, rules in rows(table):
        if any(
            decided(rules, facts) != (table.rules[at].then, table.rules[at].reason)
            for at, facts in reached
            if at >= first
        ):
            mutants.append(Mutant(f"{table.name} {name}", table.name, _replacing(table, rules)))
        else:
            same += 1
    return mutants, same


def _replacing(table: AnyTable, rules: Rules) -> Callable[[], None]:
    def apply() -> None:
        wrong = attrs.evolve(table, rules=rules)
        for field in attrs.fields(type(table)):
            object.__setattr__(table, field.name, getattr(wrong, field.name))

    return apply


# ------------------------------------------------------------------------- operations and sets


def plans(plan: OperationPlan) -> Iterator[tuple[str, OperationPlan]]:
    """An operation, a little wrong."""
    stages = plan.stages
    for at, stage in enumerate(stages):
        name = f"stage {at + 1}"
        yield f"{name} dropped", attrs.evolve(plan, stages=(*stages[:at], *stages[at + 1 :]))
        if at < len(stages) - 1:
            turned = (*stages[:at], stages[at + 1], stage, *stages[at + 2 :])
            yield f"{name} after the next", attrs.evolve(plan, stages=turned)
        if stage.home != ANY_HOME:
            freed = (*stages[:at], Stage(stage.action), *stages[at + 1 :])
            yield f"{name} whatever the home", attrs.evolve(plan, stages=freed)
    for target in ObservedStatus:
        if target is not plan.target:
            yield f"target {target.value}", attrs.evolve(plan, target=target)


def of_operations() -> list[Mutant]:
    """The mutants of what operations are made of."""

    def replacing(operation: Operation, wrong: OperationPlan) -> Callable[[], None]:
        return lambda: cast("Plans", OPERATIONS).__setitem__(operation, wrong)

    return [
        Mutant(f"operations {operation.value}: {name}", "operations", replacing(operation, wrong))
        for operation, plan in OPERATIONS.items()
        for name, wrong in plans(plan)
    ]


def of_sets() -> list[Mutant]:
    """The mutants of the collections beside the tables: each without one of its members."""

    def replacing(module: Any, name: str, wrong: Any) -> Callable[[], None]:
        return lambda: setattr(module, name, wrong)

    found = []
    for module, name in SETS:
        members = getattr(module, name)
        for member in sorted(members):
            wrong = type(members)(one for one in members if one is not member)
            title = f"set {module.__name__.rpartition('.')[2]}.{name}: without {word(member)}"
            found.append(Mutant(title, name, replacing(module, name, wrong)))
    return found


# ---------------------------------------------------------------------------------- the runs


class Killer:
    """A plugin that remembers the first test that failed."""

    def __init__(self) -> None:
        self.name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember a failure."""
        if report.failed and not self.name:
            self.name = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module that can't even be imported has failed too."""
        if report.failed and not self.name:
            self.name = report.nodeid


QUIETLY = ["-x", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "--import-mode=importlib"]
BROKEN = "the run itself failed: "


def killer_of(tests: list[str]) -> str:
    """The first test that fails, or nothing."""
    killer = Killer()
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        code = pytest.main([*QUIETLY, *tests], plugins=[killer])
    return killer.name or ("" if code == 0 else f"{BROKEN}pytest ended with {code}")


class Run(NamedTuple):
    """A mutant that is being tested in a child process."""

    mutant: Mutant
    pipe: int
    there: int
    began: float


def start(mutant: Mutant, suspects: list[str], tests: list[str]) -> tuple[int, Run]:
    """Fork a child that becomes the mutant, and runs the likeliest tests first."""
    here, there = os.pipe()
    child = os.fork()
    if child:
        return child, Run(mutant, here, there, monotonic())
    try:
        mutant.apply()
        name = killer_of(suspects) if suspects else ""
        os.write(there, (name or killer_of(tests)).encode())
    except BaseException as problem:  # noqa: BLE001  # whatever it is, the parent must hear of it
        os.write(there, f"{BROKEN}{problem!r}".encode())
    finally:
        os._exit(0)


UNCHANGED = Mutant("the tables as they are", "nothing", lambda: None)


def survivors(mutants: list[Mutant], tests: list[str], jobs: int) -> list[Mutant]:
    """The mutants that no test kills, after making sure that no test kills what is right."""
    if _survivors([UNCHANGED], tests, jobs) != [UNCHANGED]:
        sys.exit("the tests fail with no mutant at all")
    return _survivors(mutants, tests, jobs)


def _survivors(mutants: list[Mutant], tests: list[str], jobs: int) -> list[Mutant]:
    waiting, running, alive = list(reversed(mutants)), dict[int, Run](), list[Mutant]()
    suspects: dict[str, list[str]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            pid, run = start(mutant, suspects.get(mutant.of, []), tests)
            running[pid] = run
        for pid in _ended(running):
            run = running.pop(pid)
            with os.fdopen(run.pipe) as pipe:
                name = pipe.read()
            if name.startswith(BROKEN):
                sys.exit(f"{run.mutant.name}: {name}")
            if not name:
                alive.append(run.mutant)
                if run.mutant is not UNCHANGED:
                    _tell(f"survived: {run.mutant.name}")
            known = suspects.setdefault(run.mutant.of, [])
            if "::" in name and name not in known:
                known.insert(0, name)
            done = len(mutants) - len(waiting) - len(running)
            if done % 100 == 0:
                _tell(f"{done} of {len(mutants)} tried")
    return alive


def _ended(running: dict[int, Run]) -> list[int]:
    """Children that have ended. One that takes too long is ended, and counts as killed."""
    for pid, run in running.items():
        if monotonic() - run.began > LONGEST_SECONDS:
            os.write(run.there, b"took too long")
            os.kill(pid, signal.SIGKILL)
    ended = [pid for pid in running if os.waitpid(pid, os.WNOHANG)[0]]
    if not ended:
        sleep(0.02)
    for pid in ended:
        os.close(running[pid].there)
    return ended


def _tell(line: str) -> None:
    sys.stderr.write(f"  {line}\n")
