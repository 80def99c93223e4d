"""Marks: how far a reader of the outbox has come, as text that it gives back (H35).

Numbers of events are given before their transactions commit, so "all up to 8" is not a place: 7 may
still come. A mark says instead: told are the events up to `top` of every transaction that began
before `xmin`, the oldest one that still ran; and, of younger ones, those in `told`.
"""

import re
from collections.abc import Iterable

import attrs
from psycopg.types.multirange import Multirange
from psycopg.types.range import Range

from wsctl_core.values.validation import InvalidValue

_TEXT = re.compile(r"(\d{1,18}):(\d{1,18}):((?:\d{1,18}-\d{1,18}(?:,|$))*)", re.ASCII)

Spans = tuple[tuple[int, int], ...]
"""Numbers as spans, first and last included, in order and apart."""


def joined(spans: Iterable[tuple[int, int]]) -> Spans:
    """Spans in order, those that touch made one.

    >>> joined([(7, 7), (1, 2), (3, 5)])
    ((1, 5), (7, 7))
    """
    found: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)


def spans_of(found: Multirange[int] | None) -> Spans:
    """The spans that the database tells: its ranges end before their upper bound."""
    if found is None:
        return ()
    bounds = ((each.lower, each.upper) for each in found)
    return joined((a, b - 1) for a, b in bounds if a is not None and b is not None)


@attrs.frozen(kw_only=True)
class Mark:
    """A place in the outbox.

    >>> mark = Mark(xmin=900, top=8, told=((5, 6), (8, 8)))
    >>> mark.text
    '900:8:5-6,8-8'
    >>> Mark.read(mark.text) == mark
    True
    """

    xmin: int
    top: int
    told: Spans = ()

    @property
    def text(self) -> str:
        """The mark as its reader keeps it."""
        spans = ",".join(f"{first}-{last}" for first, last in self.told)
        return f"{self.xmin}:{self.top}:{spans}"

    @property
    def ranges(self) -> Multirange[int]:
        """What is told of younger transactions, as the database takes it."""
        return Multirange([Range(first, last + 1) for first, last in self.told])

    @classmethod
    def read(cls, text: str) -> "Mark":
        """The mark that a reader gave back; it may come from outside, so it is not believed.

        >>> Mark.read("8; DROP TABLE")
        Traceback (most recent call last):
        wsctl_core.values.validation.InvalidValue: Mark.text: '8; DROP TABLE' is no mark
        """
        found = _TEXT.fullmatch(text)
        if found is None:
            raise InvalidValue("Mark", "text", f"{text[:100]!r} is no mark")
        spans = [span.split("-") for span in found[3].split(",") if span]
        told = joined((int(first), int(last)) for first, last in spans if int(first) <= int(last))
        return cls(xmin=int(found[1]), top=int(found[2]), told=told)

    def moved(
        self, *, xmin: int, still: Spans, batch: Iterable[tuple[int, int]], limited: bool
    ) -> "Mark":
        """The mark after a batch was told: pairs of event and transaction, in the events' order.

        `xmin` is the oldest transaction that ran when the batch was read, and `still` what was told
        before of that one and younger ones. `limited`: there may have been more events.

        >>> mark = Mark(xmin=900, top=8)
        >>> mark.moved(xmin=905, still=(), batch=[(9, 903), (10, 907)], limited=False).text
        '905:10:10-10'
        """
        batch = tuple(batch)
        last = batch[-1][0] if batch else 0
        if limited and last < self.top:
            # All of the batch were late, and more of them may remain below `top`: only what is
            # listed counts as told, until a batch has gone past them.
            told = joined([*self.told, *((id, id) for id, _ in batch)])
            return attrs.evolve(self, told=told)
        young = ((id, id) for id, xid in batch if xid >= xmin)
        return Mark(xmin=xmin, top=max(self.top, last), told=joined([*still, *young]))
