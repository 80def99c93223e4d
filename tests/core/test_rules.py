"""The engine under the tables, on tables made for the test."""

from enum import StrEnum
from typing import Any, NamedTuple

import pytest

from wsctl_core import InvalidValue, Reason, Rule, Table
from wsctl_core.decisions.rules import ALWAYS, all_of


class Light(StrEnum):
    """A fact with three values."""

    RED = "red"
    AMBER = "amber"
    GREEN = "green"


class Facts(NamedTuple):
    """What the tests' tables read."""

    light: Light
    hurry: bool
    police: bool


def rule(name: str, then: str, *when: Any, reason: Reason = Reason.HEALTHY) -> Rule[str]:
    """A row of the tests' tables."""
    return Rule(name=name, says=name, when=when or (ALWAYS,), then=then, reason=reason)


def crossing() -> Table[Facts, str]:
    """Go on green, and on amber in a hurry unless the police looks; else stop."""
    return Table[Facts, str](
        name="crossing",
        facts=Facts,
        rules=(
            rule("green", "go", all_of(light=Light.GREEN), reason=Reason.CONVERGED),
            rule("amber", "go", all_of(light={Light.AMBER}, hurry=True, police=False)),
            rule("else", "stop", reason=Reason.NOT_SEEN),
        ),
    )


def test_all_of_makes_sets_of_allowed_values() -> None:
    """A single value, a set and a frozen set all become the set of what is allowed."""
    made = all_of(one=1, some={1, 2}, frozen=frozenset({3}))
    assert made == {"one": frozenset({1}), "some": frozenset({1, 2}), "frozen": frozenset({3})}


def test_any_one_condition_suffices() -> None:
    """A row with two conditions matches when either holds, and not when neither does."""
    either = rule("r", "x", all_of(hurry=True), all_of(light=Light.RED, police=True))
    assert either.matches(Facts(Light.GREEN, True, False))
    assert either.matches(Facts(Light.RED, False, True))
    assert not either.matches(Facts(Light.RED, False, False))


def test_the_first_match_decides() -> None:
    """The verdict carries outcome, reason and name of the first row that matches."""
    verdict = crossing().decide(Facts(Light.AMBER, True, False))
    assert (verdict.outcome, verdict.reason, verdict.rule) == ("go", Reason.HEALTHY, "amber")
    assert verdict.looked_at == ("green",)
    assert crossing().decide(Facts(Light.RED, True, True)).looked_at == ("green", "amber")


class Asked(frozenset[bool]):
    """Allowed values that remember how often they were asked for."""

    times = 0

    def __contains__(self, value: object) -> bool:
        """Whether the value is allowed; each question counts."""
        Asked.times += 1
        return super().__contains__(value)


def test_facts_are_looked_up_once() -> None:
    """Deciding the same facts again asks no condition, and gives the very same verdict."""
    rules = (rule("a", "x", {"hurry": Asked({True})}), rule("e", "y"))
    table = Table[Facts, str](name="counts", facts=Facts, rules=rules)
    facts = Facts(Light.RED, True, True)
    first, asked = table.decide(facts), Asked.times
    assert asked > 0
    assert table.decide(facts) is first
    assert table.recall(tuple(facts)) is first
    assert Asked.times == asked


def test_bare_values_are_recalled_as_facts() -> None:
    """The bare values of facts get the verdict of the facts, asked for before or not."""
    for facts in crossing().every_facts():
        fresh, known = crossing(), crossing()
        decided = known.decide(facts)
        assert known.recall(tuple(facts)) is decided
        assert fresh.recall(tuple(facts)) == decided
        assert fresh.decide(facts) is fresh.recall(tuple(facts))


def test_domains_and_every_facts() -> None:
    """All values of all facts, and all their combinations, each once."""
    table = crossing()
    assert table.domains() == {
        "light": (Light.RED, Light.AMBER, Light.GREEN),
        "hurry": (False, True),
        "police": (False, True),
    }
    facts = list(table.every_facts())
    assert len(facts) == len(set(facts)) == 12
    assert all(isinstance(each, Facts) for each in facts)


def test_smallest_changes_of_one_fact() -> None:
    """When one fact suffices, every single fact that suffices is named, and no pair."""
    table = crossing()
    found = table.smallest_changes(Facts(Light.AMBER, True, True))
    assert {(change.facts, change.outcome, change.reason) for change in found} == {
        ((("light", "green"),), "go", Reason.CONVERGED),
        ((("police", "no"),), "go", Reason.HEALTHY),
    }
    assert len(found) == 2


def test_smallest_changes_of_two_facts() -> None:
    """When no single fact suffices, all sufficient pairs are named, each fact really changed."""
    table = Table[Facts, str](
        name="both",
        facts=Facts,
        rules=(rule("b", "yes", all_of(hurry=True, police=True)), rule("e", "no")),
    )
    found = table.smallest_changes(Facts(Light.RED, False, False))
    assert [change.facts for change in found] == [(("hurry", "yes"), ("police", "yes"))]


def test_smallest_change_may_be_of_all_facts() -> None:
    """A change of every fact at once is found too."""
    needs = all_of(light=Light.GREEN, hurry=True, police=True)
    table = Table[Facts, str](
        name="all", facts=Facts, rules=(rule("a", "yes", needs), rule("e", "no"))
    )
    (found,) = table.smallest_changes(Facts(Light.RED, False, False))
    assert found.facts == (("light", "green"), ("hurry", "yes"), ("police", "yes"))


def test_no_change_helps_where_all_outcomes_are_one() -> None:
    """A table with one outcome has no change that would decide otherwise."""
    table = Table[Facts, str](name="one", facts=Facts, rules=(rule("e", "no"),))
    assert table.smallest_changes(Facts(Light.RED, False, False)) == ()


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        ((), "odd: the last row must match always"),
        ((rule("a", "x", all_of(hurry=True)),), "odd: the last row must match always"),
        ((rule("a", "x", all_of(hurry=True)), rule("a", "y")), "odd: a row's name is used twice"),
        (
            (rule("a", "x", all_of(weather=1)), rule("b", "y")),
            "odd a: no such fact: {'weather'}",
        ),
    ],
)
def test_a_table_that_makes_no_sense_is_refused(rules: tuple[Rule[str], ...], problem: str) -> None:
    """Missing last row, a name used twice and an unknown fact are refused when a table is made."""
    with pytest.raises(InvalidValue) as refused:
        Table[Facts, str](name="odd", facts=Facts, rules=rules)
    assert (refused.value.owner, refused.value.field) == ("Table", "rules")
    assert refused.value.problem == problem
