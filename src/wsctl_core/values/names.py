"""Names that are used once, so that a late call can only touch what nothing uses any more.

A volume's name ends with its incarnation, an archive's key with the operation that wrote it
(specification, section 7). A container's name is the workspace's alone: a second create fails,
and that is wanted.
"""

import re

from wsctl_core.values.validation import IDENTITY, InvalidValue

_KEY = re.compile(rf"archives/({IDENTITY.pattern})/({IDENTITY.pattern})/home\.tar\.gz")


def _identity(field: str, value: str) -> str:
    if not IDENTITY.fullmatch(value):
        raise InvalidValue("name", field, f"{value!r} is no identity")
    return value


def volume_name(workspace_id: str, incarnation: str) -> str:
    """The volume of one incarnation of a home.

    >>> volume_name("w1", "i7")
    'ws-w1-i7'
    """
    return f"ws-{_identity('workspace_id', workspace_id)}-{_identity('incarnation', incarnation)}"


def container_name(workspace_id: str) -> str:
    """The one container that a workspace may have.

    >>> container_name("w1")
    'ws-w1'
    """
    return f"ws-{_identity('workspace_id', workspace_id)}"


def archive_key(workspace_id: str, op_id: str) -> str:
    """Where the archive that this operation makes is kept.

    >>> archive_key("w1", "op9")
    'archives/w1/op9/home.tar.gz'
    """
    return (
        f"archives/{_identity('workspace_id', workspace_id)}/{_identity('op_id', op_id)}"
        "/home.tar.gz"
    )


def parse_archive_key(key: str) -> tuple[str, str] | None:
    """The workspace and the operation that a key names, or None when it is not one of ours.

    >>> parse_archive_key("archives/w1/op9/home.tar.gz")
    ('w1', 'op9')
    >>> parse_archive_key("backups/w1.tar") is None
    True
    """
    found = _KEY.fullmatch(key)
    return (found[1], found[2]) if found else None
