"""`wsctl config`: every setting, its value, its default, where it comes from, and its sentence."""

import attrs
from rich.markup import escape

from wsctl_app.cli import words
from wsctl_app.cli.options import Json
from wsctl_app.cli.where import HERE, Where, loaded
from wsctl_app.settings import describe


def config(*, json: Json = False, where: Where = HERE) -> None:
    """Show every setting, its value, and where that comes from. Secrets are masked."""
    described = describe(loaded(url=where.url, token=where.token, data=where.data))
    if json:
        words.tell_json([attrs.asdict(setting) for setting in described])
        return
    rows = [
        (
            setting.variable,
            _shown(setting.value),
            _shown(setting.default),
            setting.source,
            escape(setting.sentence),
        )
        for setting in described
    ]
    words.console().print(words.table(("VARIABLE", "VALUE", "DEFAULT", "FROM", ""), rows))


def _shown(value: str | None) -> str:
    return "[dim]not set[/dim]" if value is None else escape(value)
