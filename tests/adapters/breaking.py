"""Adapters that break one promise each: a memory adapter with one method that is wrong."""

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs

from wsctl_adapters.conformance.kit import Check, PromiseBroken


class Broken:
    """Something in which some methods are replaced."""

    def __init__(self, target: Any, **replaced: Any) -> None:
        self._target = target
        self._replaced = replaced

    def __getattr__(self, name: str) -> Any:
        return self._replaced.get(name) or getattr(self._target, name)


@attrs.frozen
class Breakage:
    """One way to be wrong, and the checks that notice."""

    name: str
    subject: Callable[[], Any]
    checks: tuple[Check[Any], ...]
    fails_with: type[Exception]


def breaker(registry: list[Breakage], kind: Callable[[], Any]) -> Callable[..., Any]:
    """A decorator for wrong methods: they get the subject, the right method, and its arguments.

    It names the ports of the subject, the method, and the checks that notice. `fails_with` is for
    promises such as "none of them fails", where the failure itself is what is noticed.
    """

    def breaks(
        ports: str,
        method: str,
        *checks: Check[Any],
        fails_with: type[Exception] = PromiseBroken,
    ) -> Callable[..., Any]:
        def register(wrong: Callable[..., Any]) -> Callable[..., Any]:
            def subject() -> Any:
                made = kind()
                for port in ports.split():
                    right = getattr(made, port)
                    replaced = partial(wrong, made, getattr(right, method))
                    setattr(made, port, Broken(right, **{method: replaced}))
                return made

            registry.append(Breakage(wrong.__name__, subject, checks, fails_with))
            return wrong

        return register

    return breaks
