"""The laws of the modelled world: what interpreters and the outside promise.

All hold in production. An ablation switches one off, to prove that it is needed: for each there is
a story, found by the explorer, of what goes wrong without it.
"""

import attrs


@attrs.frozen(kw_only=True)
class Laws:
    """Each law is a rule of HAZARDS.md that lives outside the decisions."""

    epoch_on_writes: bool = True
    """H1: a write by a process that is no longer the leader changes nothing."""
    epoch_before_acts: bool = True
    """H8: before each action, epoch, operation and op_id are still ours."""
    guarded_writes: bool = True
    """Contract 4: a write repeats the condition that it was decided on."""
    create_then_start: bool = True
    """H5: create, check, and start by the identity that create returned."""
    create_refuses_missing: bool = True
    """H5: creating a container does not make a missing volume."""
    delete_by_identity: bool = True
    """H4, H7: deletion names identities listed before it was issued."""
    no_overwrite: bool = True
    """H3: completing an upload refuses to overwrite."""
    archive_there_is_done: bool = True
    """H3: an archive of this operation that is there already counts as written."""
    archiver_checks_label: bool = True
    """H3: the archiver refuses a volume that is not ours, and makes none."""
    number_before_listing: bool = True
    """H19: the monitor takes its number before it lists."""
    newer_observation_wins: bool = True
    """H19: a monitor's write needs a larger number than the row's."""
    row_read_after_number: bool = True
    """H19: the monitor reads rows after it took its number."""
    whole_listing_or_none: bool = True
    """H34: a listing that failed is unknown, not empty."""
    gc_lists_first: bool = True
    """H13: GC lists storage, then reads rows."""
    reaper_lists_first: bool = True
    """H6: the reaper lists, then reads rows."""
    reaper: bool = True
    """H6: there is a reaper."""
    ttl_names_version: bool = True
    """4.6: an expiry takes effect only if the user has said nothing since."""


LAWS = Laws()
