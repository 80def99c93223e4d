"""The safeguard against a database that was rolled back (H33).

Everything that wsctl makes carries a number of the database's sequence. If something outside
carries a larger one than the sequence ever gave, the database is older than the world, and what it
does not know may be somebody's home: nothing is collected until a person has looked.
"""

from collections.abc import Iterable

from wsctl_app.coordinator.mandate import Mandate


async def may_collect(mandate: Mandate, numbers: Iterable[int], what: str) -> bool:
    """Whether collection may run, given the numbers that a listing found; latches if not.

    Asked after the listing: a number is given before the thing that carries it is made.
    """
    housekeeping = mandate.outside.housekeeping
    guard = await housekeeping.safeguard()
    largest = max(numbers, default=0)
    if guard.latched is None and largest > guard.number:
        why = (
            f"{what} carry the number {largest}, and this database has only given {guard.number}: "
            "it was restored from a backup that is older than they are"
        )
        await housekeeping.latch(mandate.epoch, why, largest)
        mandate.log.warning("collection is refused", why=why)
        return False
    if guard.latched is not None:
        mandate.log.warning("collection is refused", why=guard.latched)
        return False
    return True
