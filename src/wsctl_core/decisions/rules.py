"""The engine under every table: facts in, the first row that matches, a verdict out.

Facts are a `NamedTuple` of booleans and enum members, so there are finitely many. A table is
total because its last row has no condition. Each row has one verdict, and which row decides is
remembered for each combination of facts: deciding again is one dictionary look-up.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from itertools import combinations, product
from typing import Any, Generic, TypeVar, get_type_hints

import attrs

from wsctl_core.values.reasons import Reason, sentence
from wsctl_core.values.validation import InvalidValue

O = TypeVar("O", covariant=True)  # noqa: E741, PLC0105  # O is for outcome
F = TypeVar("F", bound=tuple[Any, ...])

Condition = Mapping[str, frozenset[Any]]


def all_of(**facts: Any) -> Condition:
    """A condition: each named fact has the given value, or one of the given set.

    >>> sorted(all_of(asked=True, status={"A"}))
    ['asked', 'status']
    """
    return {
        name: frozenset(value) if isinstance(value, set | frozenset) else frozenset({value})
        for name, value in facts.items()
    }


ALWAYS = all_of()


@attrs.frozen(kw_only=True)
class Rule(Generic[O]):
    """One row of a table: it matches when any one of its conditions holds."""

    name: str
    says: str
    when: tuple[Condition, ...]
    then: O
    reason: Reason

    def matches(self, facts: tuple[Any, ...]) -> bool:
        """The row applies to these facts."""
        return any(
            all(getattr(facts, name) in allowed for name, allowed in condition.items())
            for condition in self.when
        )


@attrs.frozen(kw_only=True, cache_hash=True)
class Verdict(Generic[O]):
    """An outcome, the reason code of the row that decided, and the rows looked at before it."""

    outcome: O
    reason: Reason
    rule: str
    looked_at: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """What the verdict says to a person."""
        return sentence(self.reason)


@attrs.frozen(kw_only=True)
class Change(Generic[O]):
    """Facts that, had they been so, would have led to another outcome."""

    facts: tuple[tuple[str, str], ...]
    outcome: O
    reason: Reason


@attrs.frozen(kw_only=True, eq=False)
class Table(Generic[F, O]):
    """A literal table over finite facts; the first row that matches decides."""

    name: str
    facts: type[F]
    rules: tuple[Rule[O], ...]
    _verdicts: dict[F, Verdict[O]] = attrs.field(init=False, factory=dict, repr=False)
    _by_rule: tuple[Verdict[O], ...] = attrs.field(init=False, repr=False)

    @_by_rule.default
    def _one_verdict_for_each_rule(self) -> tuple[Verdict[O], ...]:
        names = tuple(rule.name for rule in self.rules)
        return tuple(
            Verdict(outcome=rule.then, reason=rule.reason, rule=rule.name, looked_at=names[:place])
            for place, rule in enumerate(self.rules)
        )

    def __attrs_post_init__(self) -> None:
        names = [rule.name for rule in self.rules]
        if len(set(names)) != len(names):
            raise InvalidValue("Table", "rules", f"{self.name}: a row's name is used twice")
        if not self.rules or self.rules[-1].when != (ALWAYS,):
            raise InvalidValue("Table", "rules", f"{self.name}: the last row must match always")
        known = get_type_hints(self.facts)
        for rule in self.rules:
            for condition in rule.when:
                if unknown := condition.keys() - known.keys():
                    raise InvalidValue(
                        "Table", "rules", f"{self.name} {rule.name}: no such fact: {unknown}"
                    )

    def decide(self, facts: F) -> Verdict[O]:
        """The verdict of the first row that matches."""
        verdict = self._verdicts.get(facts)
        if verdict is None:
            verdict = self._verdicts[facts] = self._look_up(facts)
        return verdict

    def recall(self, values: tuple[Any, ...]) -> Verdict[O]:
        """The same, from the bare values of the facts in their order: for loops over fleets.

        A named tuple costs four times the look-up; it equals its bare values, so the verdicts
        that are remembered serve both.
        """
        verdict = self._verdicts.get(values)  # type: ignore[arg-type]  # equal, whatever its type
        return self.decide(self.facts(*values)) if verdict is None else verdict

    def _look_up(self, facts: F) -> Verdict[O]:
        return next(
            verdict
            for rule, verdict in zip(self.rules, self._by_rule, strict=True)
            if rule.matches(facts)
        )

    def domains(self) -> dict[str, tuple[Any, ...]]:
        """Every fact with every value that it can have."""
        return {
            name: (False, True) if kind is bool else tuple(kind)
            for name, kind in get_type_hints(self.facts).items()
        }

    def every_facts(self) -> Iterator[F]:
        """All combinations of facts: what 'total' means for this table."""
        return (self.facts(*values) for values in product(*self.domains().values()))

    def smallest_changes(self, facts: F) -> tuple[Change[O], ...]:
        """The fewest facts that would have to differ for another outcome, all such ways."""
        outcome = self.decide(facts).outcome
        domains = self.domains()
        for size in range(1, len(domains) + 1):
            found = []
            for names in combinations(domains, size):
                for values in product(*(domains[name] for name in names)):
                    if any(getattr(facts, n) == v for n, v in zip(names, values, strict=True)):
                        continue
                    changed = dict(zip(names, values, strict=True))
                    other = self.decide(facts._replace(**changed))  # type: ignore[attr-defined]
                    if other.outcome != outcome:
                        found.append(
                            Change(
                                facts=tuple((n, _word(v)) for n, v in changed.items()),
                                outcome=other.outcome,
                                reason=other.reason,
                            )
                        )
            if found:
                return tuple(found)
        return ()


def _word(value: Enum | bool) -> str:
    return str(value.value) if isinstance(value, Enum) else ("yes" if value else "no")
