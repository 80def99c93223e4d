"""The conformance kit can fail: each check notices an adapter that breaks its promise."""

import importlib
import inspect
import pkgutil

import pytest

from tests.adapters import broken_archives, broken_runtime, broken_signals, broken_stores
from tests.adapters.breaking import Breakage
from wsctl_adapters import conformance
from wsctl_adapters.conformance import (
    activity,
    archives,
    feed,
    homes,
    leadership,
    runtime,
    signals,
    stores,
    transfers,
)
from wsctl_adapters.conformance.kit import Check
from wsctl_app.simulation.virtual_time import run

BREAKAGES = [
    *broken_stores.BREAKAGES,
    *broken_runtime.BREAKAGES,
    *broken_archives.BREAKAGES,
    *broken_signals.BREAKAGES,
]
MODULES = (
    *(stores, feed, leadership),
    *(runtime, archives, homes, transfers),
    *(activity, signals),
)
CHECKS = [check for module in MODULES for check in module.CHECKS]


@pytest.mark.parametrize(
    ("breakage", "check"),
    [
        pytest.param(breakage, check, id=f"{breakage.name}-{check.__name__}")
        for breakage in BREAKAGES
        for check in breakage.checks
    ],
)
def test_a_broken_promise_is_noticed(breakage: Breakage, check: Check[object]):
    """An adapter that is wrong in one way fails the check of what it breaks."""

    async def checked() -> None:
        await check(breakage.subject())

    with pytest.raises(breakage.fails_with):
        run(checked())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_check_can_fail(check: Check[object]):
    """Each check is among those that a breakage names."""
    assert any(check in breakage.checks for breakage in BREAKAGES)


def test_no_module_of_the_kit_is_forgotten():
    """Every check that any module has is among those above."""
    for found in pkgutil.iter_modules(conformance.__path__):
        module = importlib.import_module(f"{conformance.__name__}.{found.name}")
        assert set(getattr(module, "CHECKS", ())) <= set(CHECKS), found.name


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_check_says_its_promise(module):
    """A check's docstring is a sentence, and `CHECKS` leaves out none of the module's own."""
    for check in module.CHECKS:
        assert (inspect.getdoc(check) or "").split("\n")[0].strip(), check.__name__
    own = [one for name, one in vars(module).items() if name.startswith("check_")]
    assert [check for check in own if check not in module.CHECKS] == []
