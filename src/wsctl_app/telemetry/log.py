"""What everybody who tells events needs of a log, whoever keeps it."""

from typing import Protocol


class Log(Protocol):
    """Where events are told, with what they are about beside them."""

    def info(self, event: str, /, **about: object) -> object:
        """Something happened."""

    def warning(self, event: str, /, **about: object) -> object:
        """Something did not go as it should, and wsctl goes on."""

    def exception(self, event: str, /, **about: object) -> object:
        """Something failed that nobody foresaw; the exception is told too."""
