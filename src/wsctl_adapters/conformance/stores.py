"""The promises of the stores: rows that three write, each its own columns, under guards and epochs.

A check takes the stores of one database that is empty. The checks of each port stand in a module of
their own; `CHECKS` is all of them.
"""

from wsctl_adapters.conformance import (
    stores_housekeeping,
    stores_intents,
    stores_monitor,
    stores_places,
    stores_reading,
    stores_reconciler,
)
from wsctl_adapters.conformance.kit import Check
from wsctl_adapters.conformance.stores_kit import StoresUnderTest

__all__ = ["CHECKS", "StoresUnderTest"]

CHECKS: tuple[Check[StoresUnderTest], ...] = (
    *stores_reading.CHECKS,
    *stores_intents.CHECKS,
    *stores_monitor.CHECKS,
    *stores_reconciler.CHECKS,
    *stores_places.CHECKS,
    *stores_housekeeping.CHECKS,
)
