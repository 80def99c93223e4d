"""A rule whose removal no check notices is not yet tested: each is removed, and is missed."""

from pathlib import Path

import pytest

from tests.model.ablations import ABLATIONS, Ablation
from tests.model.mixes import MIXES
from wsctl_core.model import STARTS, Exploration, Model, explore, tell

ROOT = Path(__file__).parents[2]


def explored(ablation: Ablation, patch: pytest.MonkeyPatch, *, removed: bool) -> Exploration:
    """The ablation's mix, with or without its rule."""
    if removed:
        for remove in ablation.remove:
            remove(patch)
    model = Model(ablation.laws) if removed else Model()
    start = ablation.start if not isinstance(ablation.start, str) else STARTS[ablation.start]
    found = explore(
        model,
        start._replace(dies=ablation.dies),
        ablation.budget,
        errors=ablation.errors,
        limit=ablation.limit,
    )
    if removed:
        assert tell(model, found).startswith(f"Broken: {found.broken}")
    return found


def name(ablation: Ablation) -> str:
    """What is removed, in a line."""
    return f"{ablation.hazard}: {ablation.rule}"


REMOVALS = [
    pytest.param(a, id=name(a), marks=[pytest.mark.campaign] if a.long else []) for a in ABLATIONS
]


@pytest.mark.parametrize("ablation", REMOVALS)
def test_without_the_rule_something_breaks(
    ablation: Ablation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The explorer finds the counterexample that the rule excludes."""
    found = explored(ablation, monkeypatch, removed=True)
    assert not found.holds, f"{name(ablation)}: not missed in {found.states} worlds"


CONTROLS = {(a.start, a.budget, a.errors, a.dies): a for a in ABLATIONS if isinstance(a.start, str)}
"""Each mix that an ablation uses, once."""
EXPLORED = {(mix.start, mix.budget, mix.errors, mix.dies) for mix in MIXES}


@pytest.mark.campaign
@pytest.mark.parametrize(
    "ablation", [a for mix, a in CONTROLS.items() if mix not in EXPLORED], ids=name
)
def test_with_the_rule_the_same_mix_holds(
    ablation: Ablation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the rule, and not the mix, that makes the difference."""
    found = explored(ablation, monkeypatch, removed=False)
    assert found.holds
    assert found.exhausted


def test_every_hazard_is_accounted_for() -> None:
    """Each hazard has an ablation here, a test in the core, or one with the adapter it is about."""
    here = {word for a in ABLATIONS for word in a.hazard.replace(",", "").split() if word[0] == "H"}
    in_the_core = {"H18", "H30", "H31", "H32", "H33"}
    # Bytes of archives, the outbox and lock sessions.
    with_the_adapters = {"H12", "H35", "H36"}
    tests = "".join(path.read_text() for path in (ROOT / "tests").glob("a[dp]*/test_*.py"))
    assert {hazard for hazard in with_the_adapters if hazard in tests} == with_the_adapters
    assert here | in_the_core | with_the_adapters == {f"H{n}" for n in range(1, 38)}
    assert not here & (in_the_core | with_the_adapters)
