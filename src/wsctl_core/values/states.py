"""The words for what is wanted, what exists and what is being done (specification, section 2)."""

from enum import StrEnum


class DesiredState(StrEnum):
    """What the user wants."""

    PENDING = "PENDING"
    STANDBY = "STANDBY"
    RUNNING = "RUNNING"


class ObservedStatus(StrEnum):
    """What exists, as last observed. There is no ERROR here: health is an axis of its own."""

    PENDING = "PENDING"
    STANDBY = "STANDBY"
    RUNNING = "RUNNING"
    DELETED = "DELETED"


class HealthStatus(StrEnum):
    """The verdict of policy, independent of what exists."""

    OK = "OK"
    ERROR = "ERROR"


class Operation(StrEnum):
    """What is being done now."""

    NONE = "NONE"
    PROVISIONING = "PROVISIONING"
    RESTORING = "RESTORING"
    STARTING = "STARTING"
    STOPPING = "STOPPING"
    ARCHIVING = "ARCHIVING"
    DELETING = "DELETING"


class HomeState(StrEnum):
    """What the volume is worth."""

    NONE = "NONE"
    """The home is in the archive, or there is none yet. A volume would be a stray."""
    MAKING = "MAKING"
    """An attempt is filling it; no container ever ran on it."""
    READY = "READY"
    """It is the home."""
    CONDEMNED = "CONDEMNED"
    """Nothing in it is needed any more: it waits to be deleted and is never used again."""


class ContainerPhase(StrEnum):
    """What a container that exists is doing."""

    CREATED = "CREATED"
    IN_PROGRESS = "IN_PROGRESS"
    RUNNING = "RUNNING"
    ENDED = "ENDED"


class Writer(StrEnum):
    """The three that write a row, each its own columns (contract 3)."""

    SERVICE = "SERVICE"
    MONITOR = "MONITOR"
    RECONCILER = "RECONCILER"


class Actor(StrEnum):
    """Who asks for something."""

    OWNER = "OWNER"
    ADMINISTRATOR = "ADMINISTRATOR"


class Component(StrEnum):
    """The components that poll."""

    MONITOR = "MONITOR"
    RECONCILER = "RECONCILER"
    TTL_MANAGER = "TTL_MANAGER"
    ARCHIVE_GC = "ARCHIVE_GC"
