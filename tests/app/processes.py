"""`wsctl` as real processes: one that runs an installation, and commands that end."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

WSCTL = (sys.executable, "-m", "wsctl_app.cli")
PATIENCE_SECONDS = 60.0


def environment(**settings: str) -> dict[str, str]:
    """The environment without settings of wsctl's but these."""
    ours = ("WSCTL_", "COORDINATOR_")
    return {k: v for k, v in os.environ.items() if not k.startswith(ours)} | settings


def run(*words: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    """One command, to its end."""
    done = subprocess.run(
        [*WSCTL, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
        env=environment(**settings),
        stdin=subprocess.DEVNULL,
    )
    assert "Traceback" not in done.stderr
    return done


def wait_for(what: str, condition: Callable[[], Any]) -> Any:
    """Ask again and again until it is so."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not (found := condition()):
        assert time.monotonic() < end, f"in vain: {what}"
        time.sleep(0.02)
    return found


def alive_in(folder: Path) -> list[int]:
    """Every process that works in a folder or was told of it."""
    here, found = os.fsencode(folder), []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with suppress(OSError):
                told = (entry / "cmdline").read_bytes()
                if here in told or here in os.fsencode((entry / "cwd").readlink()):
                    found.append(int(entry.name))
    return found


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that ends empty of processes, whatever a test has left there."""
    with tempfile.TemporaryDirectory(prefix="wsctl-test-") as name:
        yield Path(name)
        end = time.monotonic() + PATIENCE_SECONDS
        while left := alive_in(Path(name)):
            assert time.monotonic() < end, f"still alive: {left}"
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)


class Up:
    """One `wsctl up`."""

    def __init__(
        self, data: Path, *options: str, settings: Mapping[str, str] | None = None, port: int = 0
    ):
        self.data = data
        with (data.parent / "up.err").open("ab") as err:
            self.process = subprocess.Popen(
                [*WSCTL, "up", "--data", str(data), "--port", str(port), *options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=err,
                text=True,
                env=environment(**(settings or {})),
                start_new_session=True,
            )
        self.client = httpx.Client(trust_env=False, timeout=20)

    def ready(self) -> dict[str, Any]:
        """What it says with --json once it answers; it has to be read before the rest."""
        assert self.process.stdout is not None
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if line == "}\n":
                break
        told: dict[str, Any] = json.loads("".join(lines))
        self.client.base_url = httpx.URL(told["url"])
        return told

    def get(self, path: str) -> Any:
        """What a path answers."""
        return self.client.get(path).json()

    @property
    def leads(self) -> bool:
        """This node's coordinator leads."""
        return bool(self.get("/health/coordinator")["is_leader"])

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send a signal, and wait for the end: the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE_SECONDS)
        self.close()
        return code

    def close(self) -> None:
        """Let go of its output."""
        self.client.close()
        assert self.process.stdout is not None
        self.process.stdout.close()
        # What the log tells of an exception is inside of an event; a bare one is a crash.
        said = (self.data.parent / "up.err").read_text()
        assert not any(line.startswith("Traceback") for line in said.splitlines()), said
