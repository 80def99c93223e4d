"""How a command fails: with a sentence and an exit code. The codes are told by `wsctl --help`."""

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes."""

    OK = 0
    REFUSED = 1
    USAGE = 2
    NOT_RUNNING = 3
    TIMED_OUT = 4
    INTERRUPTED = 130


MEANING = {
    Exit.OK: "done",
    Exit.REFUSED: "refused, or failed",
    Exit.USAGE: "bad usage, or bad settings",
    Exit.NOT_RUNNING: "no wsctl is running, or it can't be reached",
    Exit.TIMED_OUT: "waited in vain: --timeout is over",
    Exit.INTERRUPTED: "interrupted by Ctrl-C",
}


class Failed(Exception):
    """A command can't go on; its text is one sentence for people."""

    def __init__(self, sentence: str, code: Exit = Exit.REFUSED) -> None:
        super().__init__(sentence)
        self.code = code
