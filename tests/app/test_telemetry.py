"""Telemetry: lines for people on a terminal, JSON elsewhere, one event per verdict."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from tests.app.house import Heard
from wsctl_app import telemetry
from wsctl_core import Usage, limit_decision


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """The logging of the tests themselves is left as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


class Terminal(io.StringIO):
    """A stream that people look at."""

    def isatty(self) -> bool:
        return True


def test_elsewhere_each_event_is_one_json_object():
    """With its level, its time, and what it is about."""
    stream = io.StringIO()
    telemetry.configure("INFO", stream=stream)
    telemetry.logger().info("leads", epoch=3)
    told = json.loads(stream.getvalue())
    assert (told["event"], told["level"], told["epoch"]) == ("leads", "info", 3)
    assert told["at"].endswith("Z")


def test_on_a_terminal_an_event_is_a_line_for_people():
    """No braces, the event first."""
    stream = Terminal()
    telemetry.configure("INFO", stream=stream)
    telemetry.logger().info("leads", epoch=3)
    assert "leads" in stream.getvalue()
    assert "{" not in stream.getvalue()


def test_an_exception_is_told_with_its_traceback():
    """In one object: nothing of it is on a line of its own."""
    stream = io.StringIO()
    telemetry.configure("INFO", stream=stream)
    try:
        int("no")
    except ValueError:
        telemetry.logger().exception("tick failed", component="reaper")
    told = json.loads(stream.getvalue())
    assert told["component"] == "reaper"
    assert "ValueError: invalid literal" in told["exception"]


def test_what_is_less_important_is_left_out():
    """The level counts, and libraries are heard only when they warn."""
    stream = io.StringIO()
    telemetry.configure("WARNING", stream=stream)
    telemetry.logger().info("leads")
    assert stream.getvalue() == ""
    telemetry.configure("DEBUG", stream=stream)
    logging.getLogger("uvicorn.error").info("started")
    assert stream.getvalue() == ""
    logging.getLogger("uvicorn.error").warning("too many connections")
    assert json.loads(stream.getvalue())["event"] == "too many connections"


def test_a_verdict_is_told_by_its_outcome_and_reason():
    """What is None is left out, and nothing is added."""
    log = Heard()
    verdict = limit_decision(Usage(by_user=2, in_all=2))
    telemetry.verdict_told(log, "place", verdict, workspace="w1", gives_up=None)
    about = {"outcome": "False", "why": "user_limit_reached", "workspace": "w1"}
    assert log.events == [("place", about)]
