"""A mandate: all that a component acts with while its process leads."""

import attrs

from wsctl_app.outside import Outside
from wsctl_app.telemetry.log import Log
from wsctl_core.decisions.facts import Moment
from wsctl_core.ports import Reading
from wsctl_core.values.policy import Policy


@attrs.frozen(kw_only=True)
class Mandate:
    """The outside, the epoch that every write carries, and the policy. It ends with the term."""

    outside: Outside
    epoch: int
    policy: Policy
    log: Log

    def moment(self, reading: Reading, *, place_free: bool = True) -> Moment:
        """What a decision about a row of that reading needs beside the row."""
        return Moment(
            now=reading.now,
            fresh_id=self.outside.ids.fresh(),
            pass_seq=reading.pass_seq,
            place_free=place_free,
            policy=self.policy,
        )
