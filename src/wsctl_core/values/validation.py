"""How a value refuses nonsense: with an error that names the class, the field and the reason."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import attrs

Validator = Callable[[Any, "attrs.Attribute[Any]", Any], None]

IDENTITY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
SHA256 = re.compile(r"[0-9a-f]{64}")


class InvalidValue(ValueError):
    """A value could not be made; `field` names the part that was wrong.

    >>> raise InvalidValue("Home", "dirty", "only a READY home can be dirty")
    Traceback (most recent call last):
    wsctl_core.values.validation.InvalidValue: Home.dirty: only a READY home can be dirty
    """

    def __init__(self, owner: str, field: str, problem: str) -> None:
        super().__init__(f"{owner}.{field}: {problem}")
        self.owner = owner
        self.field = field
        self.problem = problem


def refuse(instance: object, field: str, problem: str) -> InvalidValue:
    """The error for one field of a value that is being made."""
    return InvalidValue(type(instance).__name__, field, problem)


def one_of(kind: type) -> Validator:
    """The field must be a member of that type; a plain string is not an enum member."""

    def check(instance: object, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        if not isinstance(value, kind):
            raise refuse(instance, attribute.name, f"expected {kind.__name__}, got {value!r}")

    return check


def optional(validator: Validator) -> Validator:
    """None is allowed; anything else goes to the validator."""

    def check(instance: object, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        if value is not None:
            validator(instance, attribute, value)

    return check


def whole(at_least: int = 0) -> Validator:
    """A whole number that is not smaller than the bound (True is no number)."""

    def check(instance: object, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        if type(value) is not int or value < at_least:
            raise refuse(
                instance, attribute.name, f"expected a whole number >= {at_least}, got {value!r}"
            )

    return check


def truth(instance: object, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """True or False, and nothing that merely looks like it."""
    if type(value) is not bool:
        raise refuse(instance, attribute.name, f"expected True or False, got {value!r}")


def moment(instance: object, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """A time that says its zone: times of the one clock are compared with one another."""
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise refuse(instance, attribute.name, f"expected a time with a zone, got {value!r}")


def matching(pattern: re.Pattern[str], what: str) -> Validator:
    """Text of a known shape."""

    def check(instance: object, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise refuse(instance, attribute.name, f"expected {what}, got {value!r}")

    return check


identity = matching(IDENTITY, "an identity (letters, digits, '-', '_' and '.', at most 100)")
sha256 = matching(SHA256, "a SHA-256 in hexadecimal")


def text(instance: object, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Text with something in it."""
    if not isinstance(value, str) or not value.strip():
        raise refuse(instance, attribute.name, f"expected some text, got {value!r}")
