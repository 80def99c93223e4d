"""How a port says that something went wrong. No vendor's exception ever passes through one."""

from collections.abc import Mapping

from wsctl_core.values.errors import AdapterCode, Context, Failure


class AdapterError(Exception):
    """The outside refused or could not be reached; `failure` is what the core makes of it.

    >>> error = AdapterError(AdapterCode.VOLUME_MISSING, "no volume ws-w1-i1", {"volume": "x"})
    >>> error.code.value, error.failure.reason.value
    ('VOLUME_MISSING', 'ActionFailed')
    """

    def __init__(
        self, code: AdapterCode, message: str, details: Mapping[str, object] | Context = ()
    ) -> None:
        super().__init__(message)
        self.code = code
        self.failure = Failure.of_code(code, message, details)


class StoreUnavailable(Exception):
    """The database could not be reached, or broke off: nothing is known of the write."""


class LeadershipLost(Exception):
    """The process no longer leads: its epoch is old, or its lock is gone (H1). Nothing changed."""
