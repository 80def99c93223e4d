"""Policy: every number that decides. A policy that would break a contract can't be made."""

from collections.abc import Mapping
from datetime import timedelta

import attrs

from wsctl_core.values import validation as must
from wsctl_core.values.states import Operation


@attrs.frozen(kw_only=True)
class Policy:
    """The numbers of the specification, with its defaults.

    >>> Policy().attempts
    3
    >>> Policy(gc_grace_seconds=60)
    Traceback (most recent call last):
    wsctl_core.values.validation.InvalidValue: Policy.gc_grace_seconds: must exceed the longest \
timeout (1800 s), or an archive could be collected while it is being written
    """

    attempts: int = attrs.field(default=3, validator=must.whole(1))
    retry_interval_seconds: int = attrs.field(default=30, validator=must.whole(1))
    retry_factor: int = attrs.field(default=1, validator=must.whole(1))
    """1 waits the same time before each attempt; 2 doubles it, up to the longest interval."""
    retry_longest_seconds: int = attrs.field(default=3600, validator=must.whole(1))

    provisioning_timeout_seconds: int = attrs.field(default=300, validator=must.whole(1))
    restoring_timeout_seconds: int = attrs.field(default=1800, validator=must.whole(1))
    starting_timeout_seconds: int = attrs.field(default=300, validator=must.whole(1))
    stopping_timeout_seconds: int = attrs.field(default=300, validator=must.whole(1))
    archiving_timeout_seconds: int = attrs.field(default=1800, validator=must.whole(1))
    deleting_timeout_seconds: int = attrs.field(default=600, validator=must.whole(1))

    restart_delays_seconds: tuple[int, ...] = attrs.field(
        default=(0, 10, 20, 40, 80), validator=must.one_of(tuple)
    )
    """The wait before each start without a stable run; as many starts as there are waits."""
    stable_run_seconds: int = attrs.field(default=600, validator=must.whole(1))

    gc_grace_seconds: int = attrs.field(default=7200, validator=must.whole(1))
    reaper_grace_seconds: int = attrs.field(default=600, validator=must.whole(1))
    stop_grace_seconds: int = attrs.field(default=10, validator=must.whole())

    max_running_per_user: int = attrs.field(default=2, validator=must.whole(1))
    max_running_global: int = attrs.field(default=100, validator=must.whole(1))

    idle_poll_seconds: int = attrs.field(default=30, validator=must.whole(1))
    busy_poll_seconds: int = attrs.field(default=2, validator=must.whole(1))
    unconverged_poll_seconds: int = attrs.field(default=5, validator=must.whole(1))
    ttl_poll_seconds: int = attrs.field(default=60, validator=must.whole(1))
    gc_poll_seconds: int = attrs.field(default=3600, validator=must.whole(1))

    timeouts: Mapping[Operation, timedelta] = attrs.field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        delays = self.restart_delays_seconds
        if not delays:
            raise must.refuse(self, "restart_delays_seconds", "expected at least one wait")
        for delay in delays:
            if type(delay) is not int or not 0 <= delay < self.stable_run_seconds:
                raise must.refuse(
                    self,
                    "restart_delays_seconds",
                    f"each wait is a whole number of seconds, shorter than a stable run "
                    f"({self.stable_run_seconds} s), got {delay!r}",
                )
        if self.retry_longest_seconds < self.retry_interval_seconds:
            raise must.refuse(
                self,
                "retry_longest_seconds",
                f"is shorter than the first interval ({self.retry_interval_seconds} s)",
            )
        timeouts = {
            Operation.PROVISIONING: self.provisioning_timeout_seconds,
            Operation.RESTORING: self.restoring_timeout_seconds,
            Operation.STARTING: self.starting_timeout_seconds,
            Operation.STOPPING: self.stopping_timeout_seconds,
            Operation.ARCHIVING: self.archiving_timeout_seconds,
            Operation.DELETING: self.deleting_timeout_seconds,
        }
        by_operation = {operation: timedelta(seconds=s) for operation, s in timeouts.items()}
        object.__setattr__(self, "timeouts", by_operation)
        longest = max(timeouts.values())
        # Contract 9: what an operation may still be writing is never collected.
        if self.gc_grace_seconds <= longest:
            raise must.refuse(
                self,
                "gc_grace_seconds",
                f"must exceed the longest timeout ({longest} s), or an archive could be "
                "collected while it is being written",
            )
        if self.max_running_per_user > self.max_running_global:
            raise must.refuse(
                self,
                "max_running_per_user",
                f"exceeds the limit for everyone ({self.max_running_global})",
            )


DEFAULT_POLICY = Policy()
