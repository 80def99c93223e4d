"""Errors: what went wrong, in the words of the specification's section 5.

Adapters speak in codes. Codes become reasons here, in one table, so that no decision ever reads
a vendor's exception.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

import attrs

from wsctl_core.values import validation as must
from wsctl_core.values.states import Operation


class ErrorReason(StrEnum):
    """Why an operation failed."""

    MISMATCH = "Mismatch"
    UNREACHABLE = "Unreachable"
    ACTION_FAILED = "ActionFailed"
    TIMEOUT = "Timeout"
    DATA_LOST = "DataLost"
    RETRY_EXCEEDED = "RetryExceeded"


class AdapterCode(StrEnum):
    """What an adapter may report. It never lets its vendor's exception escape."""

    ARCHIVE_NOT_FOUND = "ARCHIVE_NOT_FOUND"
    CHECKSUM_MISMATCH = "CHECKSUM_MISMATCH"
    ARCHIVE_UNCONFIRMED = "ARCHIVE_UNCONFIRMED"
    S3_ACCESS_ERROR = "S3_ACCESS_ERROR"
    K8S_API_ERROR = "K8S_API_ERROR"
    DOCKER_API_ERROR = "DOCKER_API_ERROR"
    TAR_EXTRACT_FAILED = "TAR_EXTRACT_FAILED"
    VOLUME_CREATE_FAILED = "VOLUME_CREATE_FAILED"
    VOLUME_MISSING = "VOLUME_MISSING"
    VOLUME_IN_USE = "VOLUME_IN_USE"
    CONTAINER_EXISTS = "CONTAINER_EXISTS"
    CONTAINER_START_FAILED = "CONTAINER_START_FAILED"
    CONTAINER_WITHOUT_VOLUME = "CONTAINER_WITHOUT_VOLUME"
    LOCAL_IO_ERROR = "LOCAL_IO_ERROR"
    TAR_CREATE_FAILED = "TAR_CREATE_FAILED"
    ARCHIVE_WRITE_FAILED = "ARCHIVE_WRITE_FAILED"
    ACTIVITY_UNREACHABLE = "ACTIVITY_UNREACHABLE"
    SIGNALS_UNREACHABLE = "SIGNALS_UNREACHABLE"


REASON_OF_CODE: Mapping[AdapterCode, ErrorReason] = {
    AdapterCode.ARCHIVE_NOT_FOUND: ErrorReason.DATA_LOST,
    AdapterCode.CHECKSUM_MISMATCH: ErrorReason.DATA_LOST,
    # An upload that can't be confirmed loses nothing: the home is still in its volume.
    AdapterCode.ARCHIVE_UNCONFIRMED: ErrorReason.ACTION_FAILED,
    AdapterCode.S3_ACCESS_ERROR: ErrorReason.UNREACHABLE,
    AdapterCode.K8S_API_ERROR: ErrorReason.UNREACHABLE,
    AdapterCode.DOCKER_API_ERROR: ErrorReason.UNREACHABLE,
    AdapterCode.TAR_EXTRACT_FAILED: ErrorReason.ACTION_FAILED,
    AdapterCode.VOLUME_CREATE_FAILED: ErrorReason.ACTION_FAILED,
    # Whether a home that is not there is lost is for the monitor to see twice (H16), not for
    # the action that missed it.
    AdapterCode.VOLUME_MISSING: ErrorReason.ACTION_FAILED,
    AdapterCode.VOLUME_IN_USE: ErrorReason.ACTION_FAILED,
    AdapterCode.CONTAINER_EXISTS: ErrorReason.ACTION_FAILED,
    AdapterCode.CONTAINER_START_FAILED: ErrorReason.ACTION_FAILED,
    AdapterCode.CONTAINER_WITHOUT_VOLUME: ErrorReason.MISMATCH,
    AdapterCode.LOCAL_IO_ERROR: ErrorReason.UNREACHABLE,
    AdapterCode.TAR_CREATE_FAILED: ErrorReason.ACTION_FAILED,
    AdapterCode.ARCHIVE_WRITE_FAILED: ErrorReason.ACTION_FAILED,
    AdapterCode.ACTIVITY_UNREACHABLE: ErrorReason.UNREACHABLE,
    AdapterCode.SIGNALS_UNREACHABLE: ErrorReason.UNREACHABLE,
}

IN_THE_WAY = frozenset({AdapterCode.CONTAINER_EXISTS, AdapterCode.VOLUME_IN_USE})
"""What a call that landed late has left: it is removed by the next attempt's first action."""

_CODES = {code.value: code for code in AdapterCode}

Context = tuple[tuple[str, str], ...]
"""Details of an error as sorted pairs: a value, so that errors compare and hash."""


def context(details: Mapping[str, object] | Context) -> Context:
    """Details as sorted pairs of text.

    >>> context({"expected": "STANDBY", "actual": "PENDING"})
    (('actual', 'PENDING'), ('expected', 'STANDBY'))
    """
    pairs = details.items() if isinstance(details, Mapping) else details
    return tuple(sorted((str(key), str(value)) for key, value in pairs))


def code_in(details: Context) -> AdapterCode | None:
    """The adapter's code, where the details name one of ours; a vendor's own code is none.

    >>> code_in((("code", "VOLUME_IN_USE"),)).value
    'VOLUME_IN_USE'
    >>> code_in((("code", "EBUSY"),)) is None
    True
    """
    return next((_CODES.get(value) for key, value in details if key == "code"), None)


def reason_of_code(code: AdapterCode) -> ErrorReason:
    """The reason that a code from an adapter stands for.

    >>> reason_of_code(AdapterCode.CHECKSUM_MISMATCH).value
    'DataLost'
    """
    return REASON_OF_CODE[code]


@attrs.frozen(kw_only=True)
class Failure:
    """An attempt that did not succeed, before anyone has counted it.

    >>> Failure.of_code(AdapterCode.S3_ACCESS_ERROR, "no route", {"status_code": 503}).reason.value
    'Unreachable'
    """

    reason: ErrorReason = attrs.field(validator=must.one_of(ErrorReason))
    message: str = attrs.field(validator=must.text)
    context: Context = attrs.field(default=(), converter=context)

    @classmethod
    def of_code(
        cls, code: AdapterCode, message: str, details: Mapping[str, object] | Context = ()
    ) -> "Failure":
        """The failure that an adapter reports by a code; a vendor's code beside it is dropped."""
        others = tuple(pair for pair in context(details) if pair[0] != "code")
        return cls(
            reason=reason_of_code(code),
            message=message,
            context=(*others, ("code", code.value)),
        )


@attrs.frozen(kw_only=True)
class ErrorInfo:
    """The last failure of a workspace, as it is kept in its row and shown to people."""

    reason: ErrorReason = attrs.field(validator=must.one_of(ErrorReason))
    message: str = attrs.field(validator=must.text)
    is_terminal: bool = attrs.field(validator=must.truth)
    operation: Operation = attrs.field(validator=must.one_of(Operation))
    error_count: int = attrs.field(validator=must.whole())
    context: Context = attrs.field(default=(), converter=context)
    occurred_at: datetime = attrs.field(validator=must.moment)

    @property
    def code(self) -> AdapterCode | None:
        """The adapter's code, when the error came with one."""
        return code_in(self.context)
