"""Slots: how many operations act at once (specification, 4.3).

An operation gets a slot before it is claimed, so that waiting never eats its timeout (H37).
Transfers have slots of their own: a long archive never holds up a start.
"""

from wsctl_core import Operation

SHORT, TRANSFERS = 10, 4
_TRANSFERS = (Operation.RESTORING, Operation.ARCHIVING)


class Slots:
    """Counts what is taken, of two kinds."""

    def __init__(self, short: int = SHORT, transfers: int = TRANSFERS) -> None:
        self._free = {False: short, True: transfers}

    def take(self, operation: Operation) -> bool:
        """Take a slot for that operation; False when none is free."""
        kind = operation in _TRANSFERS
        if self._free[kind] == 0:
            return False
        self._free[kind] -= 1
        return True

    def give_back(self, operation: Operation) -> None:
        """Return a slot that was taken for that operation."""
        self._free[operation in _TRANSFERS] += 1
