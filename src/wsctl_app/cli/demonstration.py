"""How the demonstration is told: a line per step, and at the end what happened, with times."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import attrs
from rich.console import Console
from rich.markup import escape
from rich.status import Status

from wsctl_app.cli import words
from wsctl_app.cli.failures import Exit, Failed
from wsctl_app.demo import STEPS, NotVerified, Stage, Story, told


@attrs.define
class Lines:
    """Tells each step when it is verified, and on a terminal what is being done."""

    _console: Console
    _status: Status | None
    steps: list[dict[str, object]] = attrs.field(factory=list)

    def doing(self, what: str) -> None:
        """What is being done now."""
        if self._status is not None:
            self._status.update(escape(what))

    def done(self, title: str, seconds: float, found: str) -> None:
        """A step was verified."""
        self.steps.append({"step": title, "seconds": round(seconds, 2), "found": found})
        self._console.print(
            f"[green]ok[/green] {seconds:6.2f} s  {escape(title)}: [dim]{escape(found)}[/dim]"
        )


def demonstrated(*, json: bool) -> int:
    """Tell the story; the exit code is 0 only when every step was verified."""
    signal.signal(signal.SIGTERM, _interrupted)
    stage = Stage()
    began = time.monotonic()
    console = words.aside()
    console.print(
        f"wsctl's demonstration, in {stage.root} (it looks more often than the defaults do)",
        markup=False,
    )
    well = False
    with _lines(console) as lines:
        story = Story(stage, lines)
        try:
            told(story)
            well = True
        except Exception as error:  # whatever it is, a step was not verified
            title = STEPS[len(lines.steps)][0]
            why = str(error) if isinstance(error, NotVerified | Failed) else repr(error)
            raise Failed(
                f"the step '{title}' was not verified: {why}; the log is {stage.log}"
            ) from error
        finally:
            lines.doing("clearing up")
            story.close()
            stage.clear(keep_log=not well)
    seconds = time.monotonic() - began
    if json:
        words.tell_json({"verified": True, "seconds": round(seconds, 2), "steps": lines.steps})
    else:
        rows = [
            (f"{one['seconds']:.2f} s", escape(str(one["step"])), escape(str(one["found"])))
            for one in lines.steps
        ]
        out = words.console()
        out.print(words.table(("TIME", "STEP", "FOUND"), rows))
        out.print(f"All {len(rows)} steps were verified, in {seconds:.1f} s. Nothing is left.")
    return Exit.OK


def _interrupted(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


@contextmanager
def _lines(console: Console) -> Iterator[Lines]:
    if not console.is_terminal:
        yield Lines(console, None)
        return
    with console.status("") as status:
        yield Lines(console, status)
