"""The story: what is done, step by step, and how each step is verified."""

import hashlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from json import loads
from pathlib import Path
from typing import Any, Protocol

import attrs
import httpx

from wsctl_app.cli import words
from wsctl_app.cli.client import Client
from wsctl_app.cli.waiting import settled
from wsctl_app.demo.stage import Stage

FILE = "/api/file"
"""Where the starter workspace's page reads and writes files."""
NOTE = "note.txt"
NOTE_TEXT = b"Remember the milk.\n"
LARGE = "large.bin"
LARGE_BYTES = 300 * 1024 * 1024
PIECE_BYTES = 1024 * 1024
WAIT_SECONDS = 60.0


class NotVerified(Exception):
    """A step did not lead to what it should; its text says what was found."""


class Telling(Protocol):
    """Who the story is told to."""

    def doing(self, what: str) -> None:
        """What is being done now."""

    def done(self, title: str, seconds: float, found: str) -> None:
        """A step was verified."""


def verify(holds: object, found: str) -> None:
    """What should hold does, or the step has failed."""
    if not holds:
        raise NotVerified(found)


@attrs.define
class Story:
    """One telling: the stage, and what the steps know of one another."""

    stage: Stage
    telling: Telling
    large_bytes: int = LARGE_BYTES
    _client: Client | None = None
    _id: str = ""
    _checksum: str = ""
    _op_id: str = ""

    @property
    def client(self) -> Client:
        """The API of the wsctl that runs."""
        if self._client is None:
            raise NotVerified("wsctl does not run")
        return self._client

    def close(self) -> None:
        """Speak to wsctl no more."""
        if self._client is not None:
            self._client.close()
            self._client = None

    # ----------------------------------------------------------------------------- the steps

    def up(self) -> str:
        """Start a whole installation."""
        self._client = self.stage.start()
        return f"it answers at {self.client.url}"

    def create(self) -> str:
        """Make a workspace, with an empty home."""
        order = {"name": "demo", "desired_state": "STANDBY"}
        self._id = self.client.ask("POST", "/workspaces", order)["id"]
        self._until("STANDBY")
        verify(len(self.stage.volumes(self._id)) == 1, "there is no volume")
        return "it has a home and does not run"

    def start(self) -> str:
        """Start it."""
        address = self._started()
        return f"it answers at {words.page(address)}"

    def write(self) -> str:
        """Write a file into its home, through its own page."""
        address = self._address()
        with _speaking() as http:
            answer = http.put(words.page(address, FILE), params={"path": NOTE}, content=NOTE_TEXT)
        verify(answer.is_success, f"writing was answered with {answer.status_code}")
        verify(self._read(NOTE) == NOTE_TEXT, "the file does not say what was written")
        return f"{NOTE} holds {len(NOTE_TEXT)} bytes"

    def stop(self) -> str:
        """Stop it."""
        pid = self._pid()
        self._want("STANDBY")
        self._until("STANDBY")
        verify(not _lives(pid), "its process still runs")
        verify(len(self.stage.volumes(self._id)) == 1, "its home is gone")
        return "its process has ended, its home is there"

    def archive(self) -> str:
        """Archive it."""
        self._want("PENDING")
        ws = self._until("ARCHIVED")
        verify(not self.stage.volumes(self._id), "its volume is still there")
        return f"its home is in {ws['archive_key']}, and nowhere else"

    def wake(self) -> str:
        """Wake it."""
        self._started()
        return "its home was restored, and it runs"

    def read(self) -> str:
        """Read the file back."""
        verify(self._read(NOTE) == NOTE_TEXT, "the file is not what it was")
        return "it says what was written"

    def heal(self) -> str:
        """Kill its container, and watch it heal."""
        pid = self._pid()
        os.killpg(pid, signal.SIGKILL)
        ends_at = time.monotonic() + WAIT_SECONDS
        while self._pid_or_none() in (None, pid):
            verify(time.monotonic() < ends_at, "it was not started again")
            self._tell_why()
            time.sleep(0.05)
        self._until("RUNNING")
        self._answers()
        verify(self._read(NOTE) == NOTE_TEXT, "the file is not what it was")
        return f"process {pid} was killed, process {self._pid()} took its place"

    def fill(self) -> str:
        """Fill its home with a large file."""
        (volume,) = self.stage.volumes(self._id)
        checksum = hashlib.sha256()
        with (volume / "home" / LARGE).open("wb") as file:
            for _ in range(self.large_bytes // PIECE_BYTES):
                piece = os.urandom(PIECE_BYTES)
                checksum.update(piece)
                file.write(piece)
        self._checksum = checksum.hexdigest()
        return f"{LARGE} holds {self.large_bytes // 2**20} MiB of noise"

    def kill(self) -> str:
        """Kill the coordinator with -9 in the middle of an archive."""
        self._want("PENDING")
        ends_at = time.monotonic() + WAIT_SECONDS
        while True:
            ws = self.client.get(self._id)
            moved = ws["transfer"] or {"done": 0}
            if ws["display_status"] == "ARCHIVING" and moved["done"] > 0:
                break
            verify(ws["display_status"] != "ARCHIVED", "the archive was done too soon")
            verify(time.monotonic() < ends_at, "the archive was not begun")
            self.telling.doing(f"waiting for the archive: {ws['display_status']}")
            time.sleep(0.01)
        pid = self.stage.kill()
        self._op_id = ws["op_id"]
        self.close()
        verify(len(self.stage.volumes(self._id)) == 1, "the volume was deleted too soon")
        return f"process {pid} is gone, {moved['done'] // 2**20} MiB were on their way"

    def resume(self) -> str:
        """Start it again on the same data, and watch it resume and finish."""
        self._client = self.stage.start()
        ws = self._until("ARCHIVED")
        verify(self._op_id in ws["archive_key"], "another operation has written the archive")
        verify(not self.stage.volumes(self._id), "its volume is still there")
        return "the same operation was taken up, and finished"

    def compare(self) -> str:
        """Wake it, and compare the large file's checksum."""
        self._started()
        checksum = hashlib.sha256()
        with (
            _speaking() as http,
            http.stream(
                "GET",
                words.page(self._address(), FILE),
                params={"path": LARGE, "download": ""},
            ) as answer,
        ):
            verify(answer.is_success, f"reading was answered with {answer.status_code}")
            for piece in answer.iter_bytes(PIECE_BYTES):
                checksum.update(piece)
        verify(checksum.hexdigest() == self._checksum, "the file is not what it was")
        verify(self._read(NOTE) == NOTE_TEXT, "the note is not what it was")
        return f"SHA-256 {self._checksum[:16]}... is what it was"

    def delete(self) -> str:
        """Delete it."""
        pid = self._pid()
        self.client.ask("DELETE", f"/workspaces/{self._id}")
        self._until("DELETED")
        verify(not _lives(pid), "its process still runs")
        verify(not self.stage.volumes(self._id), "a volume is left")
        verify(not self.stage.containers(self._id), "a container is left")
        return "no process, no container and no volume is left"

    def down(self) -> str:
        """Stop wsctl."""
        self.close()
        code = self.stage.stop()
        verify(code == 0, f"it ended with code {code}")
        verify(not (left := self.stage.processes()), f"processes still run: {left}")
        return "it ended in order, and nothing runs any more"

    # ------------------------------------------------------------------------------- helpers

    def _want(self, state: str) -> None:
        self.client.ask("PATCH", f"/workspaces/{self._id}", {"desired_state": state})

    def _started(self) -> str:
        self._want("RUNNING")
        self._until("RUNNING")
        return self._answers()

    def _until(self, status: str) -> dict[str, Any]:
        """The workspace, once it is shown so and nothing is left to be done."""
        ends_at = time.monotonic() + WAIT_SECONDS
        while True:
            ws = self.client.get(self._id)
            if ws["display_status"] == status and settled(ws):
                return ws
            verify(ws["display_status"] != "ERROR", f"it is in ERROR: {ws['error_info']}")
            verify(time.monotonic() < ends_at, f"it is {ws['display_status']}, not {status}")
            self._tell_why()
            time.sleep(0.05)

    def _tell_why(self) -> None:
        why = self.client.explain(self._id)
        self.telling.doing(f"{why['status']}: {why['because']}")

    def _address(self) -> str:
        address = self.client.get(self._id)["address"]
        verify(address, "it has no address")
        return str(address)

    def _answers(self) -> str:
        """Its address, once its own page answers."""
        address, ends_at = self._address(), time.monotonic() + WAIT_SECONDS
        with _speaking() as http:
            while True:
                try:
                    if http.get(words.page(address)).is_success:
                        return address
                except httpx.HTTPError:
                    self.telling.doing("waiting for its page")
                verify(time.monotonic() < ends_at, "its page does not answer")
                time.sleep(0.05)

    def _read(self, name: str) -> bytes:
        with _speaking() as http:
            answer = http.get(
                words.page(self._address(), FILE), params={"path": name, "download": ""}
            )
        verify(answer.is_success, f"reading {name} was answered with {answer.status_code}")
        return answer.content

    def _pid(self) -> int:
        pid = self._pid_or_none()
        if pid is None:
            raise NotVerified("it has no process")
        return pid

    def _pid_or_none(self) -> int | None:
        for container in self.stage.containers(self._id):
            with suppress(FileNotFoundError):  # not started yet, or removed just now
                return int(loads((container / "program.json").read_text())["pid"])
        return None


def _lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@contextmanager
def _speaking() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, timeout=30.0) as http:
        yield http


STEPS: tuple[tuple[str, Callable[[Story], str]], ...] = (
    ("start wsctl", Story.up),
    ("create a workspace", Story.create),
    ("start it", Story.start),
    ("write a file", Story.write),
    ("stop it", Story.stop),
    ("archive it", Story.archive),
    ("wake it", Story.wake),
    ("read the file back", Story.read),
    ("kill its container, and let it heal", Story.heal),
    ("write a large file", Story.fill),
    ("kill wsctl with -9 while it archives", Story.kill),
    ("start wsctl again, and let it resume", Story.resume),
    ("wake it, and compare the large file", Story.compare),
    ("delete it", Story.delete),
    ("stop wsctl", Story.down),
)


def told(story: Story) -> None:
    """Tell the whole story. NotVerified, or whatever went wrong, by the first step that failed."""
    for title, step in STEPS:
        began = time.monotonic()
        story.telling.doing(title)
        found = step(story)
        story.telling.done(title, time.monotonic() - began, found)
