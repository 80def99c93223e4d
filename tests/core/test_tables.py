"""Every table: total, every row reached, every row needed, every reason used and worded."""

from functools import cache
from typing import Any

import pytest

from wsctl_core import Reason, Rule, Table, sentence
from wsctl_core.decisions.collection import GC, REAP
from wsctl_core.decisions.completion import COMPLETION
from wsctl_core.decisions.failure import FAILURE
from wsctl_core.decisions.health import HEALTH
from wsctl_core.decisions.intent import INTENT
from wsctl_core.decisions.limits import LIMIT
from wsctl_core.decisions.observed import OBSERVED
from wsctl_core.decisions.planning import PLAN
from wsctl_core.decisions.polling import POLL
from wsctl_core.decisions.reconcile import MOVE
from wsctl_core.decisions.recovery import RECOVERY
from wsctl_core.decisions.ttl import ARCHIVE_TTL, STANDBY_TTL
from wsctl_core.views.display import DISPLAY
from wsctl_core.views.events import EVENT

AnyTable = Table[Any, Any]

TABLES: tuple[AnyTable, ...] = (
    OBSERVED,
    HEALTH,
    PLAN,
    COMPLETION,
    MOVE,
    FAILURE,
    STANDBY_TTL,
    ARCHIVE_TTL,
    GC,
    REAP,
    LIMIT,
    INTENT,
    POLL,
    RECOVERY,
    DISPLAY,
    EVENT,
)

SAME_OUTCOME_AS_LATER_ROWS = {
    ("plan", "10"): "row 17 does nothing either, and reports a violation where there is none",
    ("recovery", "E7"): "an accepted loss recovers too; the row tells people which it was",
}
"""Rows that change what is told and not what is done."""

every_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)


def holds(rule: Rule[Any], facts: Any) -> bool:
    """The row's condition, evaluated without the engine."""
    known = facts._asdict()
    unmet = [{name for name in c if known[name] not in c[name]} for c in rule.when]
    return set() in unmet


@cache
def decided_by(table: AnyTable) -> dict[str, list[Any]]:
    """All combinations of facts, by the row that decides them."""
    found: dict[str, list[Any]] = {}
    for facts in table.every_facts():
        found.setdefault(table.decide(facts).rule, []).append(facts)
    return found


@every_table
def test_table_is_total(table: AnyTable) -> None:
    """Every combination of facts gets the verdict of exactly one row."""
    size = 1
    for values in table.domains().values():
        size *= len(values)
    assert sum(map(len, decided_by(table).values())) == size


@every_table
def test_every_row_is_reached(table: AnyTable) -> None:
    """Every row, the last one included, decides some combination of facts."""
    assert set(decided_by(table)) == {rule.name for rule in table.rules}


@every_table
def test_first_matching_row_decides(table: AnyTable) -> None:
    """The verdict is the first matching row's, and names the rows looked at before it."""
    for facts in list(table.every_facts())[:: 1 if table is not PLAN else 41]:
        verdict = table.decide(facts)
        at = [rule.name for rule in table.rules].index(verdict.rule)
        assert not any(holds(rule, facts) for rule in table.rules[:at])
        assert holds(table.rules[at], facts)
        assert verdict.looked_at == tuple(rule.name for rule in table.rules[:at])
        assert (verdict.outcome, verdict.reason) == (table.rules[at].then, table.rules[at].reason)
        assert verdict.sentence == sentence(table.rules[at].reason)


def matters(table: AnyTable, place: int) -> bool:
    """Without this row, some combination of facts would have another outcome."""
    rule, later = table.rules[place], table.rules[place + 1 :]
    return any(
        next(r for r in later if holds(r, facts)).then != rule.then
        for facts in decided_by(table)[rule.name]
    )


@every_table
def test_no_row_can_be_left_out(table: AnyTable) -> None:
    """Leaving any row out changes an outcome, but for rows listed with their reason."""
    idle = {
        (table.name, rule.name)
        for place, rule in enumerate(table.rules[:-1])
        if not matters(table, place)
    }
    assert idle == {key for key in SAME_OUTCOME_AS_LATER_ROWS if key[0] == table.name}


@every_table
def test_rows_are_described_and_told_apart(table: AnyTable) -> None:
    """Within a table no two rows share a description or a reason."""
    assert len({rule.says for rule in table.rules}) == len(table.rules)
    assert len({rule.reason for rule in table.rules}) == len(table.rules)


def test_table_names_are_unique() -> None:
    """A table is named by a word of its own."""
    assert len({table.name for table in TABLES}) == len(TABLES)


def test_every_reason_is_used() -> None:
    """There is no reason that no row gives."""
    assert {rule.reason for table in TABLES for rule in table.rules} == set(Reason)


def test_every_reason_has_a_sentence_of_its_own() -> None:
    """A reason's sentence is its own and no other's."""
    by_sentence: dict[str, list[Reason]] = {}
    for reason in Reason:
        by_sentence.setdefault(sentence(reason), []).append(reason)
    assert [reasons for reasons in by_sentence.values() if len(reasons) > 1] == []


@pytest.mark.parametrize("reason", Reason)
def test_every_sentence_is_one(reason: Reason) -> None:
    """A sentence starts with a capital letter and ends with its only period."""
    told = sentence(reason)
    assert told[0].isupper()
    assert told.endswith(".")
    assert told.count(".") == 1
