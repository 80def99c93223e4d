"""What can go wrong, in bounded amounts."""

from typing import NamedTuple


class Budget(NamedTuple):
    """How often each thing may still happen. What is not here happens as often as it likes."""

    crash: int = 0
    """The leader dies; its calls live on. The outage is longer than any timeout."""
    failover: int = 0
    """Another becomes leader; the old one does not know, and goes on."""
    fail: int = 0
    """An action reports a failure, with or without having had its effect."""
    timeout: int = 0
    """The running operation exceeds its time."""
    kill: int = 0
    """The container ends by itself."""
    remove: int = 0
    """The home's volume is removed by someone else."""
    bring_back: int = 0
    """A volume that was removed comes back."""
    corrupt: int = 0
    """The archive that the row names becomes unreadable."""
    mend: int = 0
    """An unreadable archive becomes readable again."""
    blind: int = 0
    """A listing fails."""
    intent: int = 0
    """The user wants something else."""
    delete: int = 0
    """The user asks for deletion."""
    ttl: int = 0
    """A time to live runs out."""
    recover: int = 0
    """An administrator recovers."""
    accept: int = 0
    """An administrator accepts a loss."""
    gc: int = 0
    """The archive GC runs."""
    reap: int = 0
    """The reaper runs."""
