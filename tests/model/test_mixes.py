"""Every mix of faults: nothing breaks, and nothing is left unvisited."""

import pytest

from tests.model.mixes import LONG_MIXES, MIXES, Mix
from wsctl_core.model import STARTS, Model, explore, tell


def holds(mix: Mix) -> None:
    """Whatever happens within the mix, every contract holds and calm leads to rest."""
    model = Model(forget_fenced=not mix.keep_fenced)
    start = STARTS[mix.start]._replace(dies=mix.dies)
    found = explore(model, start, mix.budget, errors=mix.errors)
    assert found.holds, tell(model, found)
    assert found.exhausted
    assert found.states >= mix.states


@pytest.mark.campaign
@pytest.mark.parametrize("mix", MIXES, ids=lambda mix: mix.name)
def test_nothing_breaks(mix: Mix) -> None:
    """Every mix is explored to its end, and nothing in it breaks."""
    holds(mix)


@pytest.mark.long
@pytest.mark.parametrize("mix", LONG_MIXES, ids=lambda mix: mix.name)
def test_nothing_breaks_in_a_larger_mix(mix: Mix) -> None:
    """The same, with more going wrong at once."""
    holds(mix)


def test_enough_is_explored() -> None:
    """Forty mixes and more, from at least five starts, and over a million worlds."""
    assert len({mix.name for mix in MIXES}) == len(MIXES) >= 40
    assert len({mix.start for mix in MIXES}) >= 5
    assert {mix.start for mix in MIXES} == set(STARTS)
    assert sum(mix.states for mix in MIXES) > 1_200_000


def test_every_fault_is_in_some_mix() -> None:
    """No kind of fault is left out."""
    used = {name for mix in MIXES for name, left in mix.budget._asdict().items() if left}
    assert used == set(MIXES[0].budget._fields)
