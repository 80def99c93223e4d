"""Archives: the proof that one was written, and what a listing of the storage shows."""

from datetime import datetime

import attrs

from wsctl_core.values import validation as must


@attrs.frozen(kw_only=True)
class ArchiveReceipt:
    """What an archiver confirms about the object it wrote: checksum and size of its content.

    The content is the tar stream, before compression.

    >>> ArchiveReceipt(key="archives/w1/op9/home.tar.gz", sha256="0" * 64, size=12).size
    12
    """

    key: str = attrs.field(validator=must.text)
    sha256: str = attrs.field(validator=must.sha256)
    size: int = attrs.field(validator=must.whole())


@attrs.frozen(kw_only=True)
class StoredArchive:
    """One object found in storage. None stands for metadata that is not there."""

    key: str = attrs.field(validator=must.text)
    installation: str | None = attrs.field(validator=must.optional(must.text))
    stored_at: datetime = attrs.field(validator=must.moment)
    incarnation: str | None = attrs.field(default=None, validator=must.optional(must.text))
    seq: int | None = attrs.field(default=None, validator=must.optional(must.whole()))
    """Where in the database's sequence the upload was begun (H33)."""
    stored_size: int | None = attrs.field(default=None, validator=must.optional(must.whole()))
    """Bytes that the storage holds: compressed, with the trailer."""
