"""Write the pages that are drawn from the code: every table, the state diagram, the tree.

    python docs/generate.py            writes them
    python docs/generate.py --check    fails when one of them is stale

Nothing here is typed by hand but the sentences that join the tables: rows, reasons, stages and
arrows are read from `wsctl_core`, so the page can't tell a different story than the code.
"""

import ast
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import attrs

from wsctl_core.decisions.collection import GC, REAP
from wsctl_core.decisions.completion import COMPLETION
from wsctl_core.decisions.facts import HomeFact
from wsctl_core.decisions.failure import FAILURE, Retry
from wsctl_core.decisions.health import HEALTH
from wsctl_core.decisions.intent import INTENT
from wsctl_core.decisions.limits import LIMIT
from wsctl_core.decisions.observed import OBSERVED
from wsctl_core.decisions.operations import ANY_HOME, OPERATIONS, Stage
from wsctl_core.decisions.planning import PLAN, PlanFacts
from wsctl_core.decisions.polling import POLL
from wsctl_core.decisions.reconcile import MOVE
from wsctl_core.decisions.recovery import RECOVERY
from wsctl_core.decisions.rules import ALWAYS, Condition, Rule, Table
from wsctl_core.decisions.ttl import ARCHIVE_TTL, STANDBY_TTL
from wsctl_core.values.errors import IN_THE_WAY, REASON_OF_CODE, AdapterCode, ErrorReason
from wsctl_core.values.policy import DEFAULT_POLICY, Policy
from wsctl_core.values.reasons import sentence
from wsctl_core.values.states import ObservedStatus, Operation, Writer
from wsctl_core.values.workspace import COLUMN_WRITER
from wsctl_core.views.display import DISPLAY
from wsctl_core.views.events import EVENT

DOCS = Path(__file__).parent
ROOT = DOCS.parent

Lines = Iterator[str]

TABLES: Sequence[tuple[str, str, Table[Any, Any]]] = (
    ("What exists", "`decide_observed`: the monitor's status for one workspace.", OBSERVED),
    ("Health", "`decide_health`: policy's verdict, on an axis of its own.", HEALTH),
    ("Planning", "`plan_operation`: what to do with a workspace at rest.", PLAN),
    ("A running operation", "`reconcile`: what to do inside an operation.", MOVE),
    ("Completion", "`check_completion`: has the result been seen?", COMPLETION),
    ("Failure", "`retry_decision`: is a failed attempt repeated?", FAILURE),
    ("Standby TTL", "`standby_ttl_decision`: idle long enough to stop?", STANDBY_TTL),
    ("Archive TTL", "`archive_ttl_decision`: unused long enough to archive?", ARCHIVE_TTL),
    ("Archive collection", "`gc_decision`: may an archive be deleted?", GC),
    ("Reaping", "`reap_decision`: may a container or volume be removed?", REAP),
    ("Limits", "`limit_decision`: is there a place?", LIMIT),
    ("Intent", "`intent_decision`: what becomes of a wish?", INTENT),
    ("Polling", "`poll_interval`: which of policy's intervals applies?", POLL),
    ("Recovery", "`recovery_decision`: may this person end this error so?", RECOVERY),
    ("Display", "`display_status`: which word is a person shown?", DISPLAY),
    ("Events", "`event_of`: what is a change worth telling?", EVENT),
)

QUIET_HOME = {
    ObservedStatus.PENDING: {HomeFact.NONE},
    ObservedStatus.STANDBY: {HomeFact.CLEAN, HomeFact.DIRTY},
    ObservedStatus.RUNNING: {HomeFact.DIRTY},
}
"""The home that goes with a status when nothing was interrupted."""


def word(value: object) -> str:
    """A value of a fact or an outcome, as people read it."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "nothing" if value is None else str(value)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Lines:
    """A Markdown table."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""


def condition(one: Condition, domains: Mapping[str, Sequence[object]]) -> str:
    """One condition: each fact with the values that satisfy it, in the order of its type."""
    parts = []
    for name, allowed in one.items():
        values = [value for value in domains[name] if value in allowed]
        if values == [True]:
            parts.append(f"`{name}`")
        elif values == [False]:
            parts.append(f"not `{name}`")
        else:
            parts.append(f"`{name}` = {' / '.join(map(word, values))}")
    return ", ".join(parts)


def facts_of(rule: Rule[Any], domains: Mapping[str, Sequence[object]]) -> str:
    """When a row matches, in facts."""
    if rule.when == (ALWAYS,):
        return "always"
    return "; **or** ".join(condition(one, domains) for one in rule.when)


def decision(title: str, says: str, one: Table[Any, Any]) -> Lines:
    """One table of the core."""
    domains = one.domains()
    combinations = sum(1 for _ in one.every_facts())
    yield f"### {title}"
    yield ""
    yield f"{says} {combinations:,} combinations of facts; the first row that matches decides."
    yield ""
    yield from table(
        ("row", "when", "in facts", "outcome", "reason", "what people read"),
        (
            (
                rule.name,
                rule.says,
                facts_of(rule, domains),
                f"**{word(rule.then)}**",
                f"`{rule.reason.value}`",
                sentence(rule.reason),
            )
            for rule in one.rules
        ),
    )


def stage(one: Stage) -> str:
    """One stage, with the states of the home in which it is carried out."""
    if one.home == ANY_HOME:
        return f"`{one.action.value}`"
    return f"`{one.action.value}` (home {' / '.join(sorted(one.home))})"


def operations() -> Lines:
    """What each operation is made of."""
    yield "## Operations"
    yield ""
    yield "Stages in order; one in brackets is carried out only while the home is in that state."
    yield ""
    yield from table(
        ("operation", "stages", "target", "timeout"),
        (
            (
                f"**{operation.value}**",
                "<br>".join(f"{i}. {stage(one)}" for i, one in enumerate(plan.stages, 1)),
                plan.target.value,
                f"{DEFAULT_POLICY.timeouts[operation].seconds // 60} min",
            )
            for operation, plan in OPERATIONS.items()
        ),
    )


def possible(facts: PlanFacts) -> bool:
    """A row can have these facts: DELETED is only ever observed of what was to be deleted."""
    return facts.deletion_asked or facts.observed is not ObservedStatus.DELETED


def quiet(facts: PlanFacts) -> bool:
    """Nothing was interrupted: no error, and a home that goes with the status."""
    return word(facts.error) == "none" and facts.home in QUIET_HOME.get(facts.observed, ())


def arrows(of: Callable[[PlanFacts], bool]) -> dict[tuple[str, str, str], set[str]]:
    """Every move that planning can lead to: from, to and by what, with the rows that say so."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for facts in PLAN.every_facts():
        if not possible(facts) or not of(facts):
            continue
        verdict = PLAN.decide(facts)
        match verdict.outcome:
            case Operation() as operation:
                to = OPERATIONS[operation].target.value
            case ErrorReason():
                to = "Error"
            case _:
                continue
        edge = (facts.observed.value, to, word(verdict.outcome))
        found.setdefault(edge, set()).add(verdict.rule)
    return found


def diagram(edges: Mapping[tuple[str, str, str], set[str]], *, new: bool) -> Lines:
    """A state diagram in Mermaid. Arrows between the same two states share a line."""
    names = [rule.name for rule in PLAN.rules]
    places = [state.value for state in ObservedStatus] + ["Error"]
    yield "```mermaid"
    yield "stateDiagram-v2"
    if new:
        yield "    [*] --> PENDING : created"
    joined: dict[tuple[str, str], list[str]] = {}
    for (before, to, by), rules in sorted(edges.items()):
        rows = ", ".join(sorted(rules, key=names.index))
        joined.setdefault((before, to), []).append(f"{by} ({rows})")
    order = sorted(joined, key=lambda pair: (places.index(pair[0]), places.index(pair[1])))
    for before, to in order:
        yield f"    {before} --> {to} : {'<br/>'.join(joined[before, to])}"
    if new:
        yield "    DELETED --> [*] : purged"
    yield "```"
    yield ""


def diagrams() -> Lines:
    """The observed states, and the operations that lead from one to another."""
    ordinary = arrows(quiet)
    everything = arrows(lambda _facts: True)
    rest = {
        edge: rules - ordinary.get(edge, set())
        for edge, rules in everything.items()
        if rules - ordinary.get(edge, set())
    }
    yield "## States"
    yield ""
    yield "Observed states, and the operation that planning chooses to leave each; in brackets the"
    yield "rows of the planning table. An arrow leads to the operation's target: whether it was"
    yield "reached is for an observation to say. First what happens when nothing is interrupted:"
    yield ""
    yield from diagram(ordinary, new=True)
    yield "And what else can happen: after a crash, a failure, a recovery, or in front of a home"
    yield "that is unfinished, condemned or gone. *Error* is no observed state: it is a terminal"
    yield "error, which health shows and a person ends."
    yield ""
    yield from diagram(rest, new=False)


def ends(reason: ErrorReason) -> str:
    """When a failure of this reason, and of nothing else, is terminal."""
    facts = next(f for f in FAILURE.every_facts() if f.reason is reason and sum(f[1:]) == 0)
    if FAILURE.decide(facts).outcome is Retry.END:
        return "at once"
    return f"failure {DEFAULT_POLICY.attempts}"


def code(one: AdapterCode) -> str:
    """A code; one that stands for something in the way is no failure."""
    return f"`{one.value}`{' (not counted)' if one in IN_THE_WAY else ''}"


def errors() -> Lines:
    """Reasons of errors, and the codes that adapters speak in."""
    yield "## Errors"
    yield ""
    yield "An adapter reports a code; the code stands for a reason; the reason says when it ends."
    yield ""
    yield from table(
        ("reason", "terminal", "codes"),
        (
            (
                f"**{reason.value}**",
                ends(reason),
                ", ".join(code(c) for c, r in REASON_OF_CODE.items() if r is reason) or "-",
            )
            for reason in ErrorReason
        ),
    )


def columns() -> Lines:
    """Who writes what."""
    yield "## Columns and their writers"
    yield ""
    yield from table(
        ("writer", "columns"),
        (
            (
                f"**{writer.value}**",
                ", ".join(f"`{name}`" for name, by in COLUMN_WRITER.items() if by is writer),
            )
            for writer in Writer
        ),
    )


def policy() -> Lines:
    """Every number that decides, with its default."""
    yield "## Policy"
    yield ""
    yield from table(
        ("number", "default"),
        (
            (f"`{field.name}`", word(getattr(DEFAULT_POLICY, field.name)))
            for field in attrs.fields(Policy)
            if field.init
        ),
    )


def decisions_page() -> str:
    """`docs/reference/decisions.md`."""
    return "\n".join(_decisions_page()).rstrip() + "\n"


def _decisions_page() -> Lines:
    yield "<!-- Generated from the code by `nox -s docs`. Edit the tables, not this page. -->"
    yield ""
    yield "# Every decision"
    yield ""
    yield "Each table below is the one that the code decides by. A decision reduces its inputs to"
    yield "the facts named here, takes the first row that matches, and answers with the outcome"
    yield "and the row's reason. [How a decision is made](../explanation/how-a-decision-is-made.md)"
    yield "tells why."
    yield ""
    yield from diagrams()
    yield from operations()
    yield "## Tables"
    yield ""
    for title, says, one in TABLES:
        yield from decision(title, says, one)
    yield from errors()
    yield from columns()
    yield from policy()


def first_sentence(module: Path) -> str:
    """The first line of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(module.read_text())) or ""
    return docstring.partition("\n")[0]


def tree() -> Lines:
    """Every package and module of the source, with its first sentence."""
    yield "```text"
    for package in sorted((ROOT / "src").rglob("__init__.py"), key=_reading_order):
        folder = package.parent.relative_to(ROOT)
        depth = "  " * (len(folder.parts) - 2)
        yield _entry(f"{depth}{folder if not depth else folder.name}/", package)
        for module in sorted(package.parent.glob("*.py")):
            if module.name != "__init__.py":
                yield _entry(f"{depth}  {module.stem}", module)
    yield "```"


def _entry(name: str, module: Path) -> str:
    return f"{name:<28}{first_sentence(module)}".rstrip()


ORDER = ("wsctl_core", "wsctl_adapters", "wsctl_app", "values", "decisions", "views", "contracts")


def _reading_order(package: Path) -> tuple[tuple[int, str], ...]:
    parts = package.parent.relative_to(ROOT / "src").parts
    return tuple((ORDER.index(p) if p in ORDER else len(ORDER), p) for p in parts)


def architecture_page() -> str:
    """`docs/explanation/architecture.md`, with the tree as it is on the disk."""
    page = (DOCS / "explanation" / "architecture.md").read_text()
    before, rest = page.split("<!-- tree -->\n", 1)
    _, after = rest.split("<!-- end of tree -->", 1)
    lines = "\n".join(tree())
    return f"{before}<!-- tree -->\n{lines}\n<!-- end of tree -->{after}"


PAGES: Mapping[str, Callable[[], str]] = {
    "reference/decisions.md": decisions_page,
    "explanation/architecture.md": architecture_page,
}


def stale() -> list[str]:
    """The pages that tell something else than the code."""
    return [
        name
        for name, make in PAGES.items()
        if not (DOCS / name).exists() or (DOCS / name).read_text() != make()
    ]


def main(arguments: Sequence[str]) -> int:
    """Write the stale pages, or only name them."""
    found = stale()
    for name in found:
        if "--check" not in arguments:
            (DOCS / name).write_text(PAGES[name]())
        print(f"docs/{name} {'is stale' if '--check' in arguments else 'written'}")
    return 1 if found and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
