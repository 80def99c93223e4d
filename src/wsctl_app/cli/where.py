"""Where commands find wsctl: an address that is named, or the node that runs on a data folder."""

import os
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import attrs
from cyclopts import Group, Parameter

from wsctl_app.cli.failures import Exit, Failed
from wsctl_app.node.data import DataFolder
from wsctl_app.settings import BadSetting, Loaded, load

REACHING = Group("Where to find wsctl", sort_key=90)


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class Where:
    """Which wsctl is meant."""

    url: Annotated[str | None, Parameter(group=REACHING)] = None
    "Its address; else WSCTL_URL, else that of the `wsctl up` that runs on the data folder."
    token: Annotated[str | None, Parameter(group=REACHING)] = None
    "The token; else WSCTL_TOKEN, else the file `token` of the data folder."
    data: Annotated[Path | None, Parameter(group=REACHING)] = None
    "The data folder; else WSCTL_DATA."


HERE = Where()
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def loaded(**options: object) -> Loaded:
    """The settings, or a sentence that names the one that is bad."""
    try:
        return load(os.environ, options)
    except BadSetting as error:
        raise Failed(str(error), Exit.USAGE) from None


def found(where: Where) -> tuple[list[str], str]:
    """The addresses to try, and the token to bring."""
    settings = loaded(url=where.url, token=where.token, data=where.data).settings
    folder = DataFolder(settings.data)
    urls = [settings.url] if settings.url else [node.url for node in folder.endpoints()]
    if not urls:
        raise Failed(
            f"no wsctl is running on {settings.data}: start one with `wsctl up`, "
            "or say where it is with --url or --data",
            Exit.NOT_RUNNING,
        )
    token = settings.token
    if token is None and all(urlsplit(url).hostname in _LOOPBACK for url in urls):
        token = folder.known_token()  # it is this machine's, and goes nowhere else
    if token is None:
        raise Failed("no token: give one with --token or WSCTL_TOKEN")
    return urls, token
