"""What `wsctl config` tells about each setting. Secrets are masked; nobody is told them."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import attrs

from wsctl_app.settings.declared import OPTIONS, variable_of
from wsctl_app.settings.loading import Loaded

MASK = "***"


@attrs.frozen(kw_only=True)
class Described:
    """One setting, as people are told about it. None is a setting without a value."""

    name: str
    variable: str
    value: str | None
    default: str | None
    source: str
    sentence: str


def _plain(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, tuple):
        return (" " if any(isinstance(part, str) for part in value) else ",").join(map(str, value))
    return str(value)


def masked(text: str) -> str:
    """A secret, of which an address keeps all but its password.

    >>> masked("postgresql://ann:secret@example.com/wsctl")
    'postgresql://ann:***@example.com/wsctl'
    >>> masked("secret")
    '***'
    """
    address = urlsplit(text)
    if not address.scheme or not address.netloc or "password" in address.query:
        return MASK
    if address.password is None:
        return text
    return text.replace(f":{address.password}@", f":{MASK}@", 1)


def describe(loaded: Loaded) -> tuple[Described, ...]:
    """Every setting in the order in which they are declared."""
    return tuple(_described(name, loaded) for name in OPTIONS)


def _described(name: str, loaded: Loaded) -> Described:
    option = OPTIONS[name]
    default = option.default.factory() if option.default_is_factory else option.default
    value = _plain(getattr(loaded.settings, name))
    return Described(
        name=name,
        variable=variable_of(name),
        value=masked(value) if option.is_secret and value else value,
        default=_plain(default),
        source=loaded.sources[name].value,
        sentence=_sentence(option.metadata),
    )


def _sentence(metadata: Mapping[object, object]) -> str:
    return str(metadata["help"])
