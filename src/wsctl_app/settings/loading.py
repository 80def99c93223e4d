"""How settings are read: from the environment, and a few from the command line.

Each value is parsed and checked where it is read, so that a bad one is refused by the name under
which it was said. Nothing but variables is read here.
"""

import shlex
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import attrs
import typed_settings as ts
from typed_settings.types import LoadedSettings, LoaderMeta, OptionInfo, OptionList

from wsctl_app.settings.declared import OPTIONS, BadSetting, LogLevel, Settings, variable_of
from wsctl_core.values.policy import Policy
from wsctl_core.values.validation import InvalidValue

T = TypeVar("T")


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"expected a whole number, got {text!r}") from None


def _level(text: str) -> LogLevel:
    try:
        return LogLevel(text.upper())
    except ValueError:
        raise ValueError(f"expected one of {', '.join(LogLevel)}, got {text!r}") from None


def _url(text: str, schemes: tuple[str, ...]) -> str:
    if urlsplit(text).scheme not in schemes:
        raise ValueError(f"expected an address that begins with {' or '.join(schemes)}://")
    return text


def _command(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f"can't be split into words: {error}") from None


_PARSERS: Mapping[str, Callable[[str], object]] = {
    "data": lambda text: Path(text).expanduser(),
    "database_url": lambda text: _url(text, ("postgresql", "postgres")),
    "redis_url": lambda text: _url(text, ("redis", "rediss", "unix")),
    "url": lambda text: _url(text, ("http", "https")),
    "command": _command,
    "log_level": _level,
    "restart_delays_seconds": lambda text: tuple(_whole(part) for part in text.split(",")),
}


def _checked(option: OptionInfo, said: str, value: object) -> object:
    """The value of one setting, parsed and validated; BadSetting names what was said by whom."""
    try:
        if isinstance(value, str):
            parse = _PARSERS.get(option.name, _whole if option.cls is int else str)
            value = parse(value)
        field = attrs.fields_dict(Settings)[option.name]
        if field.validator is not None:
            field.validator(None, field, value)
    except InvalidValue as error:
        raise BadSetting(said, error.problem) from None
    except ValueError as error:
        raise BadSetting(said, str(error)) from None
    return value


class _Said:
    """A loader: what somebody said about some settings, each under a name of its own."""

    def __init__(self, values: Mapping[str, object], name: Callable[[str], str]) -> None:
        self._values = values
        self._name = name

    def __call__(
        self,
        settings_cls: type,  # noqa: ARG002  # what a loader is given
        options: OptionList,
    ) -> LoadedSettings:
        said = {
            option.path: _checked(option, self._name(option.path), self._values[option.path])
            for option in options
            if option.path in self._values
        }
        return LoadedSettings(said, LoaderMeta(self))


class _Kept:
    """A converter for values that the loaders have made already."""

    def structure(self, obj: Any, cl: type[T]) -> T:
        """The value itself; only the settings as a whole are made here."""
        return cl(**obj) if cl is Settings else obj

    def get_structure_hook(self, cl: type[T]) -> Callable[[Any, type[T]], T]:
        """Nothing is special."""
        raise KeyError(cl)


class Source(StrEnum):
    """Where a setting's value comes from."""

    DEFAULT = "default"
    ENVIRONMENT = "environment"
    COMMAND_LINE = "command line"


@attrs.frozen(kw_only=True)
class Loaded:
    """The settings, and where each came from."""

    settings: Settings
    sources: Mapping[str, Source]
    policy: Policy


def load(environ: Mapping[str, str], options: Mapping[str, object] | None = None) -> Loaded:
    """The settings of an environment and a command line; BadSetting when one can't be used.

    An empty variable is one that is not set, and so is an option that is None.

    >>> load({"WSCTL_PORT": "9000"}).settings.port
    9000
    >>> load({"WSCTL_PORT": "abc"})
    Traceback (most recent call last):
    wsctl_app.settings.declared.BadSetting: WSCTL_PORT: expected a whole number, got 'abc'
    """
    variables = {name: text for name in OPTIONS if (text := environ.get(variable_of(name)))}
    said = {name: value for name, value in (options or {}).items() if value is not None}
    settings = ts.load_settings(
        Settings,
        [_Said(variables, variable_of), _Said(said, lambda name: f"--{name.replace('_', '-')}")],
        converter=_Kept(),
    )
    sources = dict.fromkeys(OPTIONS, Source.DEFAULT)
    sources |= dict.fromkeys(variables, Source.ENVIRONMENT)
    sources |= dict.fromkeys(said, Source.COMMAND_LINE)
    return Loaded(settings=settings, sources=sources, policy=settings.policy())
