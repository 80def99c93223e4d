"""The catalogue of contracts and invariants, and those invariants that are no contract's."""

from hypothesis import given

from tests.contracts.runs import HAPPENING, anything, reality
from tests.core.builders import container, row
from tests.core.tiny_world import TinyWorld
from wsctl_core import ContainerPhase, ObservedStatus, Policy, Workspace, contracts
from wsctl_core.contracts import (
    CONTRACTS,
    INVARIANTS,
    Reality,
    one_container_runs,
    strays_are_removed,
    within_limits,
)


def test_there_are_thirteen_contracts_and_thirteen_invariants() -> None:
    """Numbered as the design numbers them, each with a sentence and a predicate."""
    assert list(CONTRACTS) == list(range(1, 14))
    assert list(INVARIANTS) == [f"I{n}" for n in range(1, 14)]
    for contract in (*CONTRACTS.values(), *INVARIANTS.values()):
        assert contract.says.endswith(".")
        assert contract.predicates


def test_every_predicate_stands_for_something() -> None:
    """There is no predicate that no contract and no invariant names."""
    named = {
        predicate.__name__
        for contract in (*CONTRACTS.values(), *INVARIANTS.values())
        for predicate in contract.predicates
    }
    values = {"CONTRACTS", "INVARIANTS", "Contract", "Reality", "Settled"}
    assert named == set(contracts.__all__) - values


@given(events=anything)
def test_at_most_one_container_runs(events: list[str]) -> None:
    """I8: through any events, never two at once."""
    world = TinyWorld()
    for event in events:
        HAPPENING[event](world)
        assert one_container_runs(reality(world, "")) is None


def test_two_running_containers_are_rejected() -> None:
    """Two that run are one too many; one that ended does not count."""
    ended = container(ContainerPhase.ENDED, id="c2")
    assert one_container_runs(Reality(containers=(container(), ended))) is None
    both = Reality(containers=(container(), container(id="c2")))
    assert one_container_runs(both) == "2 containers run at once"


def test_strays_that_are_left_are_rejected() -> None:
    """I10: old strays are named in order; none is fine."""
    assert strays_are_removed([]) is None
    assert strays_are_removed({"ws-w1-i2", "ws-w1-i1"}) == "strays are left: ws-w1-i1, ws-w1-i2"


def test_a_fleet_over_a_limit_is_rejected() -> None:
    """I13: more places than a user's or everyone's limit are rejected, with whose they are."""

    def fleet(*owners: str) -> list[Workspace]:
        runs = ObservedStatus.RUNNING
        return [row(id=f"w{n}", owner_id=o, observed_status=runs) for n, o in enumerate(owners)]

    policy = Policy(max_running_per_user=2, max_running_global=3)
    assert within_limits(fleet("ann", "ann", "bob"), 0, policy) is None
    told = "too many places are held by ann"
    assert within_limits(fleet("ann", "ann", "ann"), 0, policy) == told
    assert within_limits(fleet("a", "b", "c", "d"), 0, policy) == "4 places are held in all"
    assert within_limits([*fleet("ann", "ann"), row(owner_id="ann")], 0, policy) is None
