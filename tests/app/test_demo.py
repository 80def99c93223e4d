"""`wsctl demo`: every step is verified, and whatever happens nothing is left."""

import json
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.processes import WSCTL, alive_in, environment, folder, run
from wsctl_app import cli
from wsctl_app.cli import demonstration
from wsctl_app.demo import STEPS, NotVerified, Story, story


@pytest.fixture
def place() -> Iterator[Path]:
    with folder() as path:
        yield path


def test_the_demonstration_verifies_every_step(place: Path):
    """Exit code 0, all steps in order, and an empty folder at the end."""
    done = run("demo", "--json", TMPDIR=str(place))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["verified"]
    assert [step["step"] for step in told["steps"]] == [title for title, _ in STEPS]
    assert list(place.iterdir()) == []
    assert alive_in(place) == []


def test_an_interrupted_demonstration_clears_up(place: Path):
    """Ctrl-C in the middle ends everything that it started, and removes its folder."""
    with subprocess.Popen(
        [*WSCTL, "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(TMPDIR=str(place)),
        start_new_session=True,
    ) as demo:
        assert demo.stderr is not None
        for line in demo.stderr:
            if "start it:" in line:
                break
        demo.send_signal(signal.SIGINT)
        rest = demo.stderr.read()
        assert demo.wait(60) == 130
    assert "Traceback" not in rest
    assert alive_in(place) == []
    assert [path.name for path in place.rglob("*") if path.is_file()] == ["up.log"]


def test_a_step_that_fails_is_named_and_the_log_is_kept(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Exit code 1, which step, why, and where the log is; what was begun is ended."""

    def fails(story: Story) -> str:
        raise NotVerified("the home is gone")

    steps = (STEPS[0], ("make a mistake", fails), STEPS[-1])
    for module in (story, demonstration):
        monkeypatch.setattr(module, "STEPS", steps)
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    assert cli.main(["demo"]) == 1
    told = capsys.readouterr().err
    (log,) = place.glob("*/up.log")
    assert f"the step 'make a mistake' was not verified: the home is gone; the log is {log}" in told
    assert "wsctl is up" in log.read_text()
    assert [path for path in place.rglob("*") if path.is_file()] == [log]
    assert alive_in(place) == []
