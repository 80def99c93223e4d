"""The `wsctl` command: what is said, where, and with which exit code."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import attrs
import pytest

from tests.app.house import House
from tests.app.served import TOKEN, served
from tests.core.builders import DIRTY, T0
from wsctl_app import cli
from wsctl_app.cli.waiting import settled
from wsctl_core import ErrorInfo, ErrorReason, HealthStatus, Operation, Policy

WSCTL = (sys.executable, "-m", "wsctl_app.cli")


@attrs.frozen
class Said:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@attrs.frozen
class Terminal:
    """Commands that reach one wsctl."""

    house: House
    url: str
    capture: pytest.CaptureFixture[str]

    def __call__(self, *words: str) -> Said:
        self.capture.readouterr()
        code = cli.main([*words, "--url", self.url, "--token", TOKEN])
        told = self.capture.readouterr()
        assert "Traceback" not in told.err
        return Said(code, told.out, told.err)


@pytest.fixture
def house() -> House:
    return House(Policy(busy_poll_seconds=1, unconverged_poll_seconds=1))


@pytest.fixture
def wsctl(house: House, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    for name in [name for name in os.environ if name.startswith(("WSCTL_", "COORDINATOR_"))]:
        monkeypatch.delenv(name)
    with served(house) as url:
        yield Terminal(house, url, capsys)


@pytest.fixture
def alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Commands without a wsctl to reach."""
    for name in [name for name in os.environ if name.startswith(("WSCTL_", "COORDINATOR_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("WSCTL_DATA", str(tmp_path / "data"))

    def run(*words: str) -> Said:
        code = cli.main(words)
        told = capsys.readouterr()
        assert "Traceback" not in told.err
        return Said(code, told.out, told.err)

    return run


# ------------------------------------------------------------------------------ the command itself


def test_version_is_the_distributions(alone: Any):
    """`wsctl --version` tells the installed version and succeeds."""
    assert alone("--version") == Said(0, f"wsctl {version('wsctl')}\n", "")


def test_help_names_every_command_and_exit_code(alone: Any):
    """`wsctl --help` lists what there is, and what the codes mean."""
    told = alone("--help")
    assert told.code == 0
    for command in (
        *("up", "demo", "create", "list", "show", "start", "stop", "archive", "delete"),
        *("recover", "explain", "events", "config", "db"),
    ):
        assert f" {command} " in told.out
    for code in ("0 done", "1 refused", "2 bad usage", "3 no", "4 waited", "130 interrupted"):
        assert code in told.out


@pytest.mark.parametrize(
    "command", ["up", "demo", "create", "list", "events", "config", "db migrate", "db unlatch"]
)
def test_every_command_explains_itself(alone: Any, command: str):
    """`--help` of a command works without anything running."""
    told = alone(*command.split(), "--help")
    assert told.code == 0
    assert "--json" in told.out


@pytest.mark.parametrize("words", [(), ("fly",), ("list", "--fast"), ("create",), ("stop",)])
def test_bad_usage_is_told(alone: Any, words: tuple[str, ...]):
    """Exit code 2, and something on how to do better."""
    told = alone(*words)
    assert told.code == 2
    assert told.err.startswith("wsctl: ") or "Usage: wsctl" in told.out


@pytest.mark.parametrize("command", ["up", "list", "db"])
def test_without_extras_it_says_what_to_install(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """One sentence, to stderr, with the command that helps and what is missing."""
    monkeypatch.setattr(cli, "find_spec", lambda module: None if module == "httpx" else module)
    assert cli.main([command]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == (
        f"wsctl {command} needs more than the core: pip install 'wsctl[all]' (missing: httpx)\n"
    )


def test_only_who_serves_needs_servers():
    """A client of another machine's wsctl needs no database driver."""
    assert "psycopg" in cli.missing(["up"], installed=lambda _module: False)
    assert "psycopg" not in cli.missing(["list"], installed=lambda _module: False)
    assert cli.missing(["up"], installed=lambda _module: True) == []


# ------------------------------------------------------------------------------------ finding it


def test_without_a_wsctl_it_says_how_to_start_one(alone: Any):
    """Exit code 3, and a sentence with what to do."""
    told = alone("list")
    assert told.code == 3
    assert "no wsctl is running on" in told.err
    assert "`wsctl up`" in told.err


def test_an_address_that_does_not_answer_is_told(alone: Any):
    """Exit code 3 names the address."""
    told = alone("list", "--url", "http://127.0.0.1:1", "--token", "x")
    assert told.code == 3
    assert "can't be reached at http://127.0.0.1:1" in told.err


def test_a_token_is_needed_and_goes_nowhere_else(alone: Any, tmp_path: Path):
    """Without one it says so; the one of the data folder is not sent to another machine."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "token").write_text("hush\n")
    told = alone("list", "--url", "https://example.com")
    assert told.code == 1
    assert "no token" in told.err


def test_a_wrong_token_is_told(wsctl: Terminal):
    """Refused, with what to do."""
    code = cli.main(["list", "--url", wsctl.url, "--token", "wrong"])
    assert code == 1
    assert "does not know this token" in wsctl.capture.readouterr().err


def test_the_data_folder_tells_where_wsctl_answers(
    wsctl: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Endpoint and token of the data folder are enough; endpoints of the dead are passed over."""
    monkeypatch.setenv("WSCTL_DATA", str(tmp_path))
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    (tmp_path / "endpoints").mkdir()
    for name, pid, url in (
        ("1", 2**22 + 1, "http://127.0.0.1:1"),
        ("2", os.getpid(), "http://127.0.0.1:1"),
        ("3", os.getpid(), wsctl.url),
    ):
        endpoint = json.dumps({"url": url, "pid": pid})
        (tmp_path / "endpoints" / f"{name}.json").write_text(endpoint)
    (tmp_path / "endpoints" / "4.json").write_text("{")
    assert cli.main(["list", "--json"]) == 0
    assert json.loads(wsctl.capture.readouterr().out) == []


def test_bad_settings_are_told(alone: Any, monkeypatch: pytest.MonkeyPatch):
    """Exit code 2, the variable and what is wrong, whatever the command."""
    monkeypatch.setenv("WSCTL_PORT", "abc")
    for command in ("list", "up", "config"):
        told = alone(command)
        assert told == Said(2, "", "wsctl: WSCTL_PORT: expected a whole number, got 'abc'\n")


def test_config_shows_every_setting(alone: Any, monkeypatch: pytest.MonkeyPatch):
    """Value, default, source and sentence; a secret is masked, in JSON too."""
    monkeypatch.setenv("WSCTL_TOKEN", "hush")
    told = alone("config")
    assert told.code == 0
    assert "WSCTL_GC_GRACE_SECONDS" in told.out
    settings = {one["variable"]: one for one in alone("config", "--json").json}
    assert settings["WSCTL_TOKEN"]["value"] == "***"
    assert settings["WSCTL_DATA"]["source"] == "environment"
    assert settings["WSCTL_PORT"]["default"] == "8080"
    assert "hush" not in told.out


@pytest.mark.parametrize("command", ["migrate", "check", "unlatch"])
def test_a_database_is_not_made_by_looking_at_it(alone: Any, tmp_path: Path, command: str):
    """Where nothing was ever started, `wsctl db` says so and makes nothing."""
    told = alone("db", command)
    assert told.code == 1
    assert "there is no database in" in told.err
    assert not (tmp_path / "data").exists()


# ------------------------------------------------------------------------------------- workspaces


def test_a_whole_life_by_commands(wsctl: Terminal):
    """Create, list, show, explain, stop, archive, start, delete; each waits, and says what is."""
    made = wsctl("create", "thesis", "--wait", "--timeout", "20")
    assert made.code == 0
    assert made.out.startswith("thesis (")
    assert "is RUNNING at http://" in made.out
    assert "thesis:" in made.err
    assert "thesis" in wsctl("list").out
    shown = wsctl("show", "thesis", "--json").json
    assert shown["display_status"] == "RUNNING"
    assert "What exists is what is wanted." in wsctl("explain", "thesis").out
    assert wsctl("explain", "thesis", "--json").json["reason"] == "converged"
    assert "is STANDBY" in wsctl("stop", shown["id"][:12], "--wait").out
    assert wsctl("archive", "thesis", "--wait", "--json").json["display_status"] == "ARCHIVED"
    assert "ARCHIVED" in wsctl("show", "thesis").out
    assert "is RUNNING" in wsctl("start", "thesis", "--wait").out
    assert "is DELETED" in wsctl("delete", "thesis", "--yes", "--wait").out
    assert wsctl("list").out == ""
    assert wsctl("list", "--deleted", "--json").json[0]["name"] == "thesis"


def test_without_wait_it_comes_back_at_once_and_says_what_is_wanted(wsctl: Terminal):
    """The wish is written; the rest takes its time."""
    made = wsctl("create", "thesis", "--state", "standby", "--json")
    assert made.code == 0
    assert made.json["desired_state"] == "STANDBY"


def test_stop_all_stops_everything_that_is_to_run(wsctl: Terminal):
    """Before wsctl itself is stopped, all workspaces can be, in one command."""
    for name in ("a", "b"):
        wsctl("create", name, "--wait")
    stopped = wsctl("stop", "--all", "--wait")
    assert stopped.code == 0
    assert stopped.out.count("is STANDBY") == 2
    assert wsctl("stop", "a", "--all").code == 2


def test_waiting_in_vain_has_a_code_of_its_own(house: House, capsys: pytest.CaptureFixture[str]):
    """Exit code 4 after the timeout, with what it is and why."""
    with served(house, leads=False) as url:
        told = Terminal(house, url, capsys)("create", "thesis", "--wait", "--timeout", "0.3")
    assert told.code == 4
    assert "thesis is still PENDING after 0.3 s: Nothing has been observed" in told.err


def test_an_error_ends_the_waiting_with_the_ways_out(wsctl: Terminal, house: House):
    """What can't become so is said at once, with what can be done; recovery is one of them."""
    wsctl("create", "thesis", "--state", "standby", "--wait")
    (row,) = house.world.database.rows.values()
    lost = ErrorInfo(
        reason=ErrorReason.DATA_LOST,
        message="the home is gone",
        is_terminal=True,
        operation=Operation.NONE,
        error_count=1,
        occurred_at=T0,
    )
    for name in tuple(house.world.runtime.volumes):
        house.world.runtime.remove_volume_by_force(name)
    house.put(row, error_info=lost, health_status=HealthStatus.ERROR, home=DIRTY)
    told = wsctl("start", "thesis", "--wait")
    assert told.code == 1
    assert "DataLost: the home is gone (ways out: recover, accept_loss, delete)" in told.err
    assert "accept_loss" in wsctl("explain", "thesis").out
    recovered = wsctl("recover", "thesis", "--accept-loss", "i1", "--wait")
    assert recovered.code == 0
    assert "is RUNNING" in recovered.out
    refused = wsctl("recover", "thesis")
    assert refused == Said(
        1, "", "wsctl: The workspace is not in error, so there is nothing to recover.\n"
    )


def test_over_a_limit_it_names_who_holds_the_places(wsctl: Terminal):
    """A refusal says what to stop."""
    for name in ("a", "b"):
        wsctl("create", name)
    told = wsctl("create", "c")
    assert told.code == 1
    assert "This user has as many running workspaces as allowed (2)." in told.err
    assert "These hold the places: a (" in told.err


def test_names_must_be_unique_to_name_one(wsctl: Terminal):
    """Two of one name are named by their ids; what nobody has is told."""
    for _ in range(2):
        wsctl("create", "twin", "--state", "standby")
    assert "may mean 2 workspaces" in wsctl("show", "twin").err
    assert "there is no workspace nobody" in wsctl("show", "nobody").err
    refused = wsctl("create", " ")
    assert (refused.code, refused.err) == (1, "wsctl: name: expected some text\n")


def test_deletion_asks_unless_told_not_to(wsctl: Terminal, monkeypatch: pytest.MonkeyPatch):
    """On a terminal it asks, elsewhere it wants --yes; no answer is no."""
    wsctl("create", "thesis", "--state", "standby")
    monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: SIM115, PTH123  # closed below
    refused = wsctl("delete", "thesis")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    sys.stdin.close()
    for answer, code in (("n\n", 1), ("\n", 1), ("y\n", 0)):
        ours, theirs = pty.openpty()
        os.write(ours, answer.encode())
        with os.fdopen(theirs) as terminal:
            monkeypatch.setattr("sys.stdin", terminal)
            told = wsctl("delete", "thesis")
        os.close(ours)
        assert told.code == code
        assert "its home and its archives? [y/N]" in told.err


# --------------------------------------------------------------------------------- as a process


@contextmanager
def watcher(command: list[str]) -> "Iterator[subprocess.Popen[str]]":
    """A command that would watch for ever; it ends with the test, however that ends."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as watching:
        try:
            yield watching
        finally:
            watching.kill()


def test_events_are_shown_until_ctrl_c(wsctl: Terminal):
    """A snapshot first, then changes, one JSON object per line; Ctrl-C is exit code 130."""
    wsctl("create", "thesis", "--wait")
    command = [*WSCTL, "events", "--json", "--url", wsctl.url, "--token", TOKEN]
    with watcher(command) as watching:
        assert watching.stdout is not None
        assert watching.stderr is not None
        first = json.loads(watching.stdout.readline())
        assert first["event"] == "snapshot"
        wsctl("stop", "thesis")
        second = json.loads(watching.stdout.readline())
        assert second["event"] == "state_changed"
        assert second["data"]["workspace"]["desired_state"] == "STANDBY"
        watching.send_signal(signal.SIGINT)
        assert watching.wait(20) == 130
        assert "Traceback" not in watching.stderr.read()


def test_events_are_lines_for_people(wsctl: Terminal):
    """Without --json each change is a line."""
    wsctl("create", "thesis", "--wait")
    command = [*WSCTL, "events", "thesis", "--url", wsctl.url, "--token", TOKEN]
    with watcher(command) as watching:
        assert watching.stdout is not None
        assert "thesis (" in watching.stdout.readline()
        wsctl("stop", "thesis")
        assert "it is to be STANDBY" in watching.stdout.readline()
        watching.send_signal(signal.SIGINT)
        watching.wait(20)


def test_a_reader_that_leaves_is_no_error(wsctl: Terminal):
    """`wsctl ... | head` ends quietly."""
    command = f"{' '.join(WSCTL)} config --json | head -n 1"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, check=False, timeout=30
    )
    assert (done.stdout, done.stderr) == ("[\n", "")


def test_help_and_version_need_no_server_libraries():
    """What is heavy is imported by the commands that need it."""
    script = (
        "import sys; from wsctl_app.cli import main; main(['--help']);"
        "heavy = {'psycopg', 'redis', 'uvicorn', 'httpx', 'structlog'} & set(sys.modules);"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=30
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_runs_answers_somewhere():
    """A status that is older than the end of its process is not what was waited for."""
    ws: dict[str, Any] = {
        "operation": "NONE",
        "error_info": None,
        "health_status": "OK",
        "deleted_at": None,
        "desired_state": "RUNNING",
        "observed_status": "RUNNING",
        "address": "127.0.0.1:1",
    }
    assert settled(ws)
    assert not settled(ws | {"address": None})
    stopped = {"desired_state": "STANDBY", "observed_status": "STANDBY", "address": None}
    assert settled(ws | stopped)
