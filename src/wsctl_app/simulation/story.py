"""The story of a run: what happened, when, in the order in which it happened."""

import traceback
from collections.abc import Callable


class Story:
    """A log that remembers."""

    def __init__(self, time: Callable[[], float]) -> None:
        self._time = time
        self._lines: list[str] = []

    @property
    def lines(self) -> tuple[str, ...]:
        """Everything that was told."""
        return tuple(self._lines)

    def info(self, event: str, /, **about: object) -> None:
        """Something happened."""
        details = " ".join(f"{key}={value}" for key, value in about.items())
        self._lines.append(f"{self._time():10.3f}  {event}  {details}".rstrip())

    def warning(self, event: str, /, **about: object) -> None:
        """Something did not go as it should."""
        self.info(event, **about)

    def exception(self, event: str, /, **about: object) -> None:
        """Something failed that nobody foresaw."""
        self.info(event, **about)
        self._lines.extend(traceback.format_exc().splitlines())
