"""The examples run, and do what they say."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

LANDMARKS = [
    "PROVISIONING is complete",
    "STARTING is complete",
    "It is RUNNING now.",
    "The user finds b'', and writes.",
    "The user wants it PENDING.",
    "STOPPING is complete",
    "Unreachable: ",
    "ARCHIVING is complete",
    "It is ARCHIVED now.",
    "The user wants it RUNNING.",
    "RESTORING is complete",
    "STARTING is complete",
    "It is RUNNING now.",
    "The user finds b'a day of work; ', and writes.",
    "The user wants it deleted.",
    "DELETING is complete",
    "It is DELETED now.",
]


def test_the_runner_tells_the_whole_life_of_a_workspace(capsys: pytest.CaptureFixture[str]):
    """From creation to deletion, through an archive and a failed upload, with the home kept."""
    runpy.run_path(str(EXAMPLES / "runner.py"), run_name="__main__")
    told = capsys.readouterr().out
    place = 0
    for landmark in LANDMARKS:
        place = told.find(landmark, place)
        assert place >= 0, f"{landmark!r} is not told, or not in its place:\n{told}"
        place += len(landmark)


def test_the_runner_tells_the_same_story_each_time(capsys: pytest.CaptureFixture[str]):
    """Nothing in it depends on chance or on the time of day."""
    stories = []
    for _ in range(2):
        runpy.run_path(str(EXAMPLES / "runner.py"), run_name="__main__")
        stories.append(capsys.readouterr().out)
    assert stories[0] == stories[1]
