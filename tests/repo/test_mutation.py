"""The mutants of tables are all different, and all wrong."""

import pytest

from tests.mutation import tables
from wsctl_core.decisions.health import HEALTH
from wsctl_core.decisions.limits import LIMIT


@pytest.mark.parametrize("table", [HEALTH, LIMIT], ids=lambda table: table.name)
def test_a_mutant_decides_otherwise_somewhere(table: tables.AnyTable):
    """What is run as a mutant differs from the table in the outcome or the reason of some facts."""
    mutants, same = tables.of_table(table)
    variants = list(tables.rows(table))
    assert len(mutants) + same == len(variants)
    differing = [
        name
        for name, _first, rules in variants
        if any(
            tables.decided(rules, facts) != tables.decided(table.rules, facts)
            for facts in table.every_facts()
        )
    ]
    assert [mutant.name for mutant in mutants] == [f"{table.name} {name}" for name in differing]


def test_a_mutant_changes_the_table_in_place_and_wholly():
    """After it is applied, the very table that the code reads decides as the mutant does."""
    mutants, _same = tables.of_table(LIMIT)
    facts = LIMIT.facts(user_full=True, all_full=False)
    right = LIMIT.decide(facts).outcome
    dropped = next(mutant for mutant in mutants if mutant.name == "limit L1: dropped")
    restore = tables._replacing(LIMIT, LIMIT.rules)
    try:
        dropped.apply()
        assert LIMIT.decide(facts).outcome != right
    finally:
        restore()
    assert LIMIT.decide(facts).outcome == right


def test_every_mutant_has_a_name_of_its_own():
    """The list of survivors is kept by name."""
    mutants = [*tables.of_operations(), *tables.of_sets()]
    for table in (HEALTH, LIMIT):
        mutants += tables.of_table(table)[0]
    names = [mutant.name for mutant in mutants]
    assert len(set(names)) == len(names)
